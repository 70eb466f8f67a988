#!/bin/sh
# test_width.sh SOURCE - no line is wider than 120 columns; a tab goes to the next multiple of 8.
# Left out: golden data, pictures, rows of tables in pages, conf/reference.cfg (each summary of an option is one line of
# it) and tests/mutants.txt (lines of the sources behind a sign).
set -eu
cd "$1"
find . \( -path './.git*' -o -path './build*' -o -path ./runs -o -path ./rpd -o -path ./tests/golden \) -prune -o \
	-type f \
	! -name '*.svg' ! -name '*.json' ! -path ./conf/reference.cfg ! -path ./tests/mutants.txt -print |
	LC_ALL=C sort | LC_ALL=C.UTF-8 xargs awk '
	FNR == 1 { page = FILENAME ~ /[.]md$/ }
	length($0) * 8 > 120 && !(page && /^[|]/) {
		n = split($0, part, "\t")
		width = 0
		for (i = 1; i < n; i++) {
			width += length(part[i])
			width += 8 - width % 8
		}
		width += length(part[n])
		if (width > 120) {
			print substr(FILENAME, 3) ":" FNR ": " width " columns"
			bad = 1
		}
	}
	END { exit bad }'
