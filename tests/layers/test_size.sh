#!/bin/sh
# A file of more than 700 lines holds more than one noun, a function of more than 80 does more than one thing; a folder
# of more than 7000 lines of code is two rooms (layers, one a file, are a room, and so are optimizers, the backends of
# kernels, the kinds of vector kernels, features of plans, what systems share and the exact scheduler). The command line
# has at most 5500.
#	test_size.sh SOURCE
# A function's body stands between a "{" and a "}" in the first column, as in the whole tree; both are not counted.
set -eu
cd "$1"
status=0
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
find engine schedules models -name "*.[ch]" -o -name "*.inc" -o -name "*.def" | xargs wc -l |
	grep -v " total$" >"$counts"
for folder in engine/* engine/nn/layers engine/nn/optim engine/nn/kernels engine/nn/kernels/* \
	engine/nn/kernels/fused/* engine/exec/features schedules schedules/common schedules/exact models; do
	[ ! -d "$folder" ] || echo "$folder"
done | LC_ALL=C sort | awk '
function room(file) { # the folder that the list names, or the nearest one above it
	do sub("/[^/]*$", "", file); while (file ~ "/" && !(file in most))
	return file
}
FNR == NR { most[$0] = $0 == "engine/cli" ? 5500 : 7000; next }
{ lines[room($2)] += $1 }
END {
	for (r in most)
		if (lines[r] > most[r]) {
			print r ": " lines[r] " lines of code; at most " most[r] ": move what is a room of its own"
			bad = 1
		}
	exit bad
}' - "$counts" || status=1
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
