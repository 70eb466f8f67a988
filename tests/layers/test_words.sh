#!/bin/sh
# Words with no place in the tree.   test_words.sh SOURCE
# Without git, as in a released archive, every file counts that a build or a run did not make.
set -eu
rules=$(cd "$(dirname "$0")" && pwd)
cd "$1"
status=0
find . \( -name .git -o -name 'build*' -o -path ./runs -o -path ./.cache \) -prune -o -type f ! -name '*.o' -print |
	LC_ALL=C sort | xargs awk -f "$rules/strip.awk" -f "$rules/words.awk" || status=1
# Examples and first configurations choose one.
find engine \( -path engine/include/examples -o -path engine/starter \) -prune -o \
	\( -name '*.[ch]' -o -name '*.inc' \) -print | LC_ALL=C sort |
	xargs awk -v code=1 -f "$rules/strip.awk" -f "$rules/words.awk" || status=1
exit $status
