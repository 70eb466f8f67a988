#!/bin/sh
# Files are read and written through base/file.h and base/result.h; files.txt names the others.   test_files.sh SOURCE
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
cd "$1"
find engine models schedules \( -path engine/include/examples -o -path engine/python \) -prune -o \
	\( -name '*.[ch]' -o -name '*.inc' -o -name '*.cpp' \) -print | LC_ALL=C sort |
	xargs awk -f "$rules/strip.awk" -f "$rules/files.awk" tests/layers/files.txt
