#!/bin/sh
# One name, one thing: a struct, union or enum whose tag begins with mr_ has one body in the whole tree.   test_tags.sh
# SOURCE Tags without the prefix belong to one source file, so several files may use the same word.
set -eu
cd "$1"
# Each backend gives the context that only its own functions see a body of its own (engine/nn/kernels.h).
opaque=mr_kctx
find engine schedules models tests perf -name '*.[ch]' -o -name '*.inc' | LC_ALL=C sort | xargs \
	awk -v opaque="$opaque" '
# The body of a tag begins on its line or on the next one.
function defined(tag, at)
{
	n_tags++
	if (tag !~ /^mr_/ || tag == opaque)
		return
	if (tag in first) {
		print at ": " tag " has a body in " first[tag] " already; give one of them another name"
		bad = 1
	} else
		first[tag] = at
}

FNR == 1 { waiting = "" }

waiting != "" {
	if (/^[ \t]*\{/)
		defined(waiting, waiting_at)
	waiting = ""
}

{
	line = $0
	while (match(line, /(^|[^A-Za-z0-9_])(struct|union|enum)[ \t]+[A-Za-z0-9_]+[ \t]*(\{|$)/)) {
		found = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		open_brace = found ~ /\{$/
		sub(/[ \t]*\{?$/, "", found)
		sub(/.*[ \t]/, "", found)
		if (open_brace)
			defined(found, FILENAME ":" FNR)
		else {
			waiting = found
			waiting_at = FILENAME ":" FNR
		}
	}
}

END {
	if (!NR) print "no source was found"
	exit bad || !NR
}'
