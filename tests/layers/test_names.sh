#!/bin/sh
# Every path and every name in a comment exists, in C and in scripts (what a name is: comments.awk).
#	test_names.sh SOURCE
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
cd "$1"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Files and names that are not in this tree, of libraries, formats and other programs; names that tables make of words.
cat >"$dir/elsewhere" <<'END'
format.md
jpeglib.h
libconfig.h
llm.c
karpathy/llm.c
stdatomic.h
sys/sdt.h
train_gpt2.c
groups.c
MR_FIELD_need
MR_FIELD_average_rule
mr_by_onednn_gemm
CONFIG_SCHED_INFO
DCMAKE_DISABLE_FIND_PACKAGE_PNG
MPOL_BIND
MPOL_MF_MOVE
RULE.awk
dclass_token
dpos_embedding
dweight_hh
dweight_ih
jit_1x1
kat_vectors
lbr_gru
max_active_keys
mb8_ic3oc4_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1
min_update_frequency
perf_event_open
sched_setattr
seq_cst
utf8proc_map
END
sources() {
	find engine schedules models perf tests \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.sh' \
		-o -name '*.awk' -o -name '*.cmake' -o -name '*.py' \) ! -path 'tests/golden/*' \
		! -name test_planted.sh -print
	find . -maxdepth 2 \( -name CMakeLists.txt -o -name mill -o -path ./.ci/run \) ! -path './build*' -print
}
: >"$dir/code.part"
sources | LC_ALL=C sort | xargs awk -v names="$dir/code.part" -f "$rules/comments.awk" >"$dir/said"
LC_ALL=C sort -u "$dir/code.part" >"$dir/code"
[ -s "$dir/code" ] || { echo "no identifier was found at all" && exit 1; }
# A file may be named by the end of its path: host/ring.c, ring.c.
find . -path './build*' -prune -o -path './.git' -prune -o -type f -print | awk '{
	n = split($0, part, "/")
	path = part[n]
	print path
	stem = path
	sub(/[.].*/, "", stem)
	print stem
	for (i = n - 1; i > 1; i--)
		print path = part[i] "/" path
}' | LC_ALL=C sort -u >"$dir/paths"
awk -v dir="$dir" '
BEGIN {
	while ((getline line <(dir "/code")) > 0) {
		known[line] = 1
		# The beginning of a name that a table completes (mr_layer_, MR_FACT_).
		while (line ~ /_/) {
			sub(/_[^_]*$/, "", line)
			begin[line "_"] = 1
		}
	}
	while ((getline line <(dir "/paths")) > 0)
		known[line] = 1
	while ((getline line <(dir "/elsewhere")) > 0)
		known[line] = 1
}
!($1 in known) && !($1 ~ /_$/ && ($1 in begin)) {
	print $2 ": there is no " $1
	bad = 1
}
END {
	exit bad
}' "$dir/said"
