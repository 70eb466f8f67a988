#!/bin/sh
# A file of more than 700 lines holds more than one noun, a function of more than 80 does more than one thing; a folder
# of more than 9000 lines of code is two rooms (kernels apart; layers, one a file, are a room, and so are features
# of plans and what systems share), and the command line has at most 5500.
#	test_size.sh SOURCE
# A function's body stands between a "{" and a "}" in the first column, as in the whole tree; both are not counted.
set -eu
cd "$1"
status=0
for folder in engine/* engine/nn/layers engine/exec/features schedules schedules/common models; do
	[ -d "$folder" ] || continue
	n=$(find "$folder" -path engine/nn/kernels -prune -o -mindepth 1 -path engine/nn/layers -prune -o -mindepth 1 \
		-path engine/exec/features -prune -o -mindepth 1 -path schedules/common -prune -o \
		\( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) -print | LC_ALL=C sort | xargs -r cat | wc -l)
	most=9000
	[ "$folder" != engine/cli ] || most=5500
	[ "$n" -le "$most" ] && continue
	echo "$folder: $n lines of code; at most $most: move what is a room of its own"
	status=1
done
find engine schedules models tests perf -name '*.[ch]' -o -name '*.inc' | LC_ALL=C sort | xargs awk '
FNR == 1 { body = 0 }
FNR == 701 { print FILENAME ": more than 700 lines; split it by nouns"; bad = 1 }
/^[A-Za-z_].*\)[ \t]*\{[ \t]*$/ {
	print FILENAME ":" FNR ": the \"{\" of a function stands in a line of its own"
	bad = 1
}
/^\{/ { body = FNR }
/^\}/ {
	if (body && FNR - body - 1 > 80) {
		print FILENAME ":" body ": a function of " FNR - body - 1 " lines; at most 80, split it"
		bad = 1
	}
	body = 0
}
END { if (!NR) print "no source was found"; exit bad || !NR }' || status=1
exit $status
