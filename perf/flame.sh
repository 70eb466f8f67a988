#!/bin/sh
# flame.sh - draws what perf/record.sh sampled as a flame graph.
#
#	perf/flame.sh [FOLDER [THREAD]]      writes FOLDER/flame.svg, or FOLDER/flame-THREAD.svg
#
# FOLDER is perf-out, THREAD a worker such as mr-w0: without it all threads stand side by side. The picture is made by
# perf_flame of the tree of MILLRACE, build-perf or build, or by the one that is installed with this script.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-perf-out}
thread=${2:-}
[ -s "$folder/stacks.folded" ] || {
	echo "flame.sh: there is no $folder/stacks.folded: run perf/record.sh first" >&2
	exit 1
}
[ -z "$thread" ] || grep -q "^$thread;" "$folder/stacks.folded" || {
	threads=$(sed 's/;.*//' "$folder/stacks.folded" | sort -u | tr '\n' ' ')
	echo "flame.sh: $folder/stacks.folded has no thread $thread; it has: $threads" >&2
	exit 1
}
flame=
for tree in "$(dirname "${MILLRACE:-/}")" "$root/build-perf" "$root/build" "$root/build-test" \
	"$root/../../libexec/millrace"; do
	[ -n "$flame" ] || [ ! -x "$tree/perf_flame" ] || flame=$tree/perf_flame
done
[ -n "$flame" ] || {
	echo "flame.sh: there is no perf_flame: cmake --build build --target perf_flame" >&2
	exit 1
}
picture=$folder/flame${thread:+-$thread}.svg
grep "^${thread:-.*};" "$folder/stacks.folded" |
	"$flame" "time of ${thread:-all threads}, sampled" >"$picture.new"
mv "$picture.new" "$picture"
echo "$picture"
