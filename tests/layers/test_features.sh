#!/bin/sh
# What a feature of plans has stands in its own files: the rest of engine/exec asks the list (engine/exec/feature.h) and
# names none of them, neither their functions and structs nor what they keep of a run, a worker or a stage.
#	test_features.sh SOURCE
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
cd "$1"
list=engine/exec/features.def
kept=engine/weights/features.def
types() { sed -nE 's/^MR_OF_[A-Z]+\(([a-z_]+), ([a-z_]+).*/\1/p' "$@" | sort -u | paste -sd '|' -; }
members() { sed -nE 's/^MR_OF_[A-Z]+\(([a-z_]+), ([a-z_]+).*/\2/p' "$@" | sort -u | paste -sd '|' -; }
headers() { grep -oE 'weights/[a-z_]+\.h' "$kept" | sort -u | paste -sd '|' -; }
ids() { sed -nE 's/^MR_FEATURE\(([a-z_]+), .*/\1/p' "$list" | paste -sd '|' -; }
[ -n "$(ids)" ] && [ -n "$(types "$list" "$kept")" ] && [ -n "$(headers)" ] || { echo "the lists are empty"; exit 1; }
find engine/exec -path engine/exec/features -prune -o -name '*.[ch]' -print | LC_ALL=C sort |
	xargs awk -v word="(^|[^a-z_])(mr_feature_($(ids))|$(types "$list" "$kept"))([^a-z_]|\$)" \
		-v member="->($(members "$list" "$kept"))([^a-z_]|\$)" -v header="\"(exec/features/|$(headers))" \
		-f "$rules/strip.awk" -f "$rules/features.awk"
