#!/bin/sh
# stat.sh - what perf counts for each thread of a training that runs.
#
#	perf/stat.sh RUN [SECONDS [EVENTS]]
#
# RUN is the folder of the run; its threads are mr-w0, mr-w1, ... (the leaders of the workers; members of their teams
# have no names of their own), mr-loader and the main thread. EVENTS are perf's; the default takes those that this
# machine has of: task-clock, context-switches, cpu-migrations, page-faults, cycles, instructions, LLC-load-misses,
# node-loads, node-load-misses.
set -eu
[ $# -gt 0 ] || {
	echo "usage: stat.sh RUN [SECONDS [EVENTS]]" >&2
	exit 2
}
run=$1
seconds=${2:-5}
command -v perf >/dev/null || {
	echo "stat.sh: there is no perf here: install linux-perf (Debian) or perf" >&2
	exit 1
}
pid=$(sed -n 's/^.*"pid": \([0-9]*\).*/\1/p' "$run/status.json" 2>/dev/null) || :
{ [ "${pid:-0}" -gt 0 ] && kill -0 "$pid" 2>/dev/null; } || {
	echo "stat.sh: no training runs in $run" >&2
	exit 1
}
events=${3:-}
if [ -z "$events" ]; then
	for event in task-clock context-switches cpu-migrations page-faults cycles instructions LLC-load-misses \
		node-loads node-load-misses; do
		perf stat -e $event true 2>&1 | grep -q "<not supported>\|not found\|unknown" ||
			events=$events${events:+,}$event
	done
fi
perf stat --per-thread -e "$events" -p "$pid" -x ';' -- sleep "$seconds" 2>&1 | awk -F ';' -v seconds="$seconds" '
# thread;value;unit;event;...
NF > 3 && $2 != "<not counted>" {
	sub(/-[0-9]+$/, "", $1)
	if ($2 + 0 == 0) next
	key = $1
	if (!(key in seen)) { seen[key] = 1; name[++n] = key }
	if (!($4 in had)) { had[$4] = 1; event[++m] = $4 }
	value[key, $4] += $2
}
END {
	if (!n) { print "stat.sh: perf counted nothing" > "/dev/stderr"; exit 1 }
	printf "%-16s", "thread"
	for (k = 1; k <= m; k++) printf " %18s", event[k]
	print ""
	for (i = 1; i <= n; i++) {
		printf "%-16s", name[i]
		for (k = 1; k <= m; k++) printf " %18.0f", value[name[i], event[k]]
		print ""
	}
	printf "in %s s; task-clock in ms\n", seconds
}'
