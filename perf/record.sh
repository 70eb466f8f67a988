#!/bin/sh
# record.sh - samples a training by perf, from its first step on, with the names of generated code.
#
#	perf/record.sh [-s SECONDS] [-F HZ] [-o FOLDER] CONF [TRAIN OPTION...]
#
# Starts `millrace train CONF` in FOLDER/run, waits for a step, samples all its threads for SECONDS (10) with call
# stacks, and ends the training. Then FOLDER (perf-out) holds
#
#	perf.data       for `perf report -i`, `perf annotate -i`
#	stacks.folded   for perf/flame.sh
#	jit/            what oneDNN generated, for annotate
#	train.out       what the training printed
#
# The program is that of the preset perf, build-perf/millrace (with lines and complete stacks), else build/millrace;
# MILLRACE names another. Installed, in share/millrace/perf, it takes the millrace of PATH. Where the processor gives no
# cycles, as in most virtual machines, time is sampled.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
seconds=10 hz=499 out=perf-out
while getopts s:F:o: option; do
	case $option in
	s) seconds=$OPTARG ;;
	F) hz=$OPTARG ;;
	o) out=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || {
	echo "usage: record.sh [-s SECONDS] [-F HZ] [-o FOLDER] CONF [TRAIN OPTION...]" >&2
	exit 2
}
say() {
	echo "record.sh: $*" >&2
}
command -v perf >/dev/null || {
	say "there is no perf here: install linux-perf (Debian) or perf"
	exit 1
}
millrace=${MILLRACE:-$root/build-perf/millrace}
[ -x "$millrace" ] || millrace=$root/build/millrace
[ -x "$millrace" ] || millrace=$(command -v millrace) || :
[ -x "$millrace" ] || {
	say "there is no program: cmake --preset perf && cmake --build build-perf --target millrace"
	exit 1
}

mkdir -p "$out/jit"
out=$(cd "$out" && pwd)
[ ! -e "$out/run" ] || {
	say "$out/run is there already: give another folder by -o, or remove it"
	exit 1
}
event=cpu-clock
if perf stat -e cycles true 2>&1 | grep -q '[0-9]  *cycles'; then
	event=cycles
fi

# oneDNN writes a map for perf into the temporary folder, and a dump of its code into JITDUMPDIR (both: 6); the program
# one with the names of layers into $out, which is added to the other below: oneDNN would write over its lines.
export JITDUMPDIR="$out/jit" ONEDNN_JIT_PROFILE=6 MR_PERF_MAP="$out"
"$millrace" train "$@" --set run.dir="$out/run" >"$out/train.out" 2>&1 &
pid=$!
end() {
	kill -TERM $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
	rm -f "${TMPDIR:-/tmp}/perf-$pid.map" "/tmp/perf-$pid.map" "$out/perf-$pid.map"
}
trap end EXIT
until grep -q '"step": [1-9]' "$out/run/status.json" 2>/dev/null; do
	kill -0 $pid 2>/dev/null || {
		say "the training ended before its first step: $(tail -1 "$out/train.out")"
		exit 1
	}
	sleep 0.1
done
say "samples $event at $hz Hz for $seconds s"
perf record -q -F "$hz" -g -e "$event" -k 1 -o "$out/perf.data" -p $pid -- sleep "$seconds" 2>"$out/perf.log" || {
	say "perf could not record: $(tail -2 "$out/perf.log")"
	exit 1
}
[ ! -s "$out/perf-$pid.map" ] || cat "$out/perf-$pid.map" >>"/tmp/perf-$pid.map"
# While the map is there. One line a stack: thread;outermost;...;innermost samples.
perf script -i "$out/perf.data" -F comm,ip,sym 2>/dev/null | awk '
/^[^ \t]/ { thread = $1; n = 0; next }
NF == 0 {
	if (n) {
		stack = thread
		for (i = n; i > 0; i--) stack = stack ";" frame[i]
		count[stack]++
	}
	n = 0
	next
}
{ frame[++n] = $2 }
END { for (stack in count) print stack, count[stack] }' | LC_ALL=C sort >"$out/stacks.folded"
# So that perf annotate finds the generated code later.
if perf inject --jit -i "$out/perf.data" -o "$out/perf.jit.data" 2>>"$out/perf.log"; then
	mv "$out/perf.jit.data" "$out/perf.data"
fi
end
trap - EXIT
samples=$(awk '{ n += $NF } END { print n + 0 }' "$out/stacks.folded")
say "$samples samples are in $out"
awk '{ split($0, part, ";"); n[part[1]] += $NF; all += $NF }
END { for (t in n) printf "  %-16s %5.1f%%\n", t, 100 * n[t] / all }' "$out/stacks.folded" | LC_ALL=C sort
