#!/bin/sh
# Every #include of the sources points down, as tests/layers.txt says.   test_includes.sh SOURCE
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
cd "$1"
# (Examples stand outside: they include what is installed.)
find engine schedules models perf/theory perf/flamegraph -path engine/include/examples -prune -o \
	\( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) -print |
	LC_ALL=C sort | xargs awk -f "$rules/includes.awk" tests/layers.txt
