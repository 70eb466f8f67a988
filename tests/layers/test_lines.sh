#!/bin/sh
# Counters that threads share begin a cache line: a member of a struct that is _Atomic is aligned, or of a type that is
# (mr_parts, mr_event).   test_lines.sh SOURCE
#
# Members that one thread writes beside others of its own may share its line: they are named here, with the struct's
# file.
set -eu
cd "$1"
own="engine/exec/run.h:beat engine/exec/run.h:doing engine/exec/run.h:longest_ns engine/exec/run.h:busy_ns
	engine/exec/run.h:begun engine/host/pause.h:why engine/host/pause.h:subject"
find engine/exec engine/threads engine/host engine/link engine/weights -name '*.[ch]' | LC_ALL=C sort |
	xargs awk -v own="$own" '
BEGIN {
	n = split(own, name)
	for (i = 1; i <= n; i++)
		allowed[name[i]] = 1
}
# "_Atomic TYPE NAME;" after white space, no pointer, and no variable of a function.
/^[ \t]+(_Alignas\([A-Za-z_0-9]+\) )?_Atomic [a-z0-9_]+ [a-z0-9_, ]+;/ {
	n_found++
	line = $0
	sub(/;.*/, "", line)
	sub(/.*[ \t]/, "", line)
	at = FILENAME ":" line
	if (at in allowed) {
		seen[at] = 1
		next
	}
	if ($0 !~ /_Alignas/) {
		print FILENAME ":" FNR ": " line " is shared by threads and may lie on the line of another member: " \
			"_Alignas(64), and what follows as well"
		bad = 1
	}
}
END {
	for (at in allowed)
		if (!(at in seen)) {
			print at " is no atomic member: take it off the list of this test"
			bad = 1
		}
	if (n_found < 15) {
		print "only " n_found + 0 " atomic members were found"
		bad = 1
	}
	exit bad
}'
