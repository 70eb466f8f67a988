#!/bin/sh
# Every #include of the sources points down, as tests/layers.txt says.   test_includes.sh SOURCE
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
cd "$1"
find engine schedules models -name '*.[ch]' -o -name '*.inc' -o -name '*.def' |
	LC_ALL=C sort | xargs awk -f "$rules/includes.awk" tests/layers.txt
