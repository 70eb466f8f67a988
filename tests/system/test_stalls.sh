#!/bin/sh
# test_stalls.sh SOURCE BUILD - a training that stands ends with exit code 8, names the thread that stands and shows
# where: pipelines, and sequential training on one thread, which has nobody beside it to notice.
. "$(dirname "$0")/train_lib.sh"

# The thread that stands keeps what it has until the process is gone: that is no leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
has_faults || skip "this build has no fault points"
for how in "1f1b --set machine.workers=2" "sequential --set machine.workers=1"; do
	for _ in 1 2 3 4 5; do # a thread that has no core does not show in time where it stands
		rm -rf r
		faults=MR_DELAY=1000000000:1:1
		# shellcheck disable=SC2086
		train mlp.cfg --set run.dir=r --set train.steps=10 --set machine.threads=1 --set machine.watchdog=2 \
			--set system.name=$how
		faults=
		grep -q "does not answer" err || break
	done
	expect 8 "$how" "for 2\.[0-9] seconds.*w[01] stands"
	grep -q "watchdog: warning: mr-w[01] (thread [0-9]*) " err || fail "$how: no line about the thread"
	grep -q "watchdog: warning:     mr_.*+0x" err || fail "$how: no backtrace"
done
finish
