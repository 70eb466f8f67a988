#!/bin/sh
# A file that has grown past 700 lines holds more than one noun.   test_size.sh SOURCE
set -eu
cd "$1"
find engine schedules models tests perf -name '*.[ch]' | LC_ALL=C sort | xargs awk '
FNR == 701 { print FILENAME ": more than 700 lines; split it by nouns"; bad = 1 }
END { if (!NR) print "no source was found"; exit bad || !NR }'
