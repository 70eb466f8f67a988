#!/bin/sh
# What a user can do to a training from outside: signals, a closed pipe, a second process.   slow_signals.sh SOURCE
# BUILD
. "$(dirname "$0")/train_lib.sh"

# Long enough to be hit, short in steps: every instruction waits 2 ms on average, where this build can. The oracle is
# the same number of steps in one piece.
set -- mlp.cfg $(sets_of f64) --set system.name=pipedream --set train.eval_every=0 --set data.validation=0.0
long="--set train.steps=100000"
slow=4000:1:3

oracle() {
	rm -rf whole
	train "$@" --set run.dir=whole
	expect 0 oracle
}

# The step at which the newest checkpoint of folder $1 stands.
step_of() {
	latest "$1" | sed -e 's/^step-0*//' -e 's/\..*//'
}

# The signals of list $1, one after the other at once, end a run with code $2 after a save, and the rest of the run is
# as if nothing had been.
ends() {
	sig=$1 want=$2
	shift 2
	for _ in 1 2 3 4 5; do # several that a busy machine delivers 0.2 s apart are two wishes
		rm -rf r
		faults=MR_DELAY=$slow
		start "$@" $long --set run.dir=r
		faults=
		for s in $sig; do
			kill -"$s" "$pid" || :
			[ "$s" = "$sig" ] || sleep 0.01
		done
		ended
		[ "$s" != "$sig" ] && [ "$(latest r)" = none ] || break
	done
	expect "$want" "SIG$sig"
	[ -e "r/checkpoints/$(latest r)/MANIFEST.json" ] || fail "SIG$sig: no checkpoint"
	steps=$(($(step_of r) + 3))
	train "$@" --resume --set run.dir=r --set train.steps=$steps
	expect 0 "resumed after SIG$sig"
	oracle "$@" --set train.steps=$steps
	same "SIG$sig at step $((steps - 3))" r whole
}

ends INT 130 "$@"
ends TERM 143 "$@"
ends TERM 143 "$@" --set system.name=sequential
ends HUP 129 "$@" --set system.name=1f1b
# timeout(1) signals the process and then its group: one wish. (Between them the step must not end.)
slow=100000:1:3
ends "TERM TERM" 143 "$@"
slow=4000:1:3

# Who started it with SIGHUP ignored (nohup) wants it to outlive the terminal.
rm -rf r
: >out # what the last one said must not count
(
	trap '' HUP
	MR_DELAY=$slow "$millrace" train "$@" $long --set run.dir=r >out 2>err &
	echo $! >pid.nohup
)
pid=$(cat pid.nohup)
sleep 0.5
until grep -q '^step' out || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
kill -HUP "$pid"
sleep 0.5
! grep -q "^stopped" out || fail "SIGHUP ended a run that was started with SIGHUP ignored"
kill -9 "$pid" 2>/dev/null || :
pid=

# A second signal ends at once and takes nothing away. Delays of up to 1000 s hold the first one up.
second() {
	rm -rf r
	train "$@" --set run.dir=r --set train.steps=5
	before=$(latest r)
	: >out
	MR_DELAY=1000000000:1:3 "$millrace" train "$@" $long --set run.dir=r --resume --set machine.watchdog=0 \
		>out 2>err &
	pid=$!
	until grep -q '^run' out || ! kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
	sleep 0.3
	kill -TERM "$pid"
	sleep 0.3
	kill -0 "$pid" 2>/dev/null || fail "the first signal should have waited for the step"
	kill -INT "$pid"
	began=$(date +%s)
	ended
	[ $(($(date +%s) - began)) -le 60 ] || fail "the second signal took long"
	expect 130 "second signal"
	[ "$(latest r)" = "$before" ] || fail "the second signal lost $before"
	train "$@" --resume --set run.dir=r --set train.steps=8
	expect 0 "resumed after a second signal"
	oracle "$@" --set train.steps=8
	same "two signals" r whole
}
if has_faults; then
	second "$@"
else
	echo "$suite: this build has no fault points: two signals within a step are skipped"
fi

# SIGUSR1 saves and goes on; a watcher that leaves, or a stop and go, changes nothing.
rm -rf r
faults=MR_DELAY=$slow
start "$@" $long --set run.dir=r --set machine.watchdog=6
faults=
kill -USR1 "$pid"
tries=0
until [ -e r/checkpoints/LATEST ] || [ $tries -ge 2400 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
[ -e r/checkpoints/LATEST ] || fail "SIGUSR1 did not save"
saved=$(step_of r)
newest() {
	sed -n 's/^{"step":\([0-9]*\),"loss".*/\1/p' r/metrics.jsonl | tail -n 1
}
kill -STOP "$pid"
sleep 8
kill -CONT "$pid"
tries=0
until [ "$(newest)" -gt "$saved" ] || ! kill -0 "$pid" 2>/dev/null || [ $tries -ge 2400 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
kill -0 "$pid" 2>/dev/null || fail "SIGSTOP and SIGCONT, or SIGUSR1, ended the run"
kill -TERM "$pid"
ended
expect 143 "SIGTERM after SIGUSR1, SIGSTOP and SIGCONT"
steps=$(step_of r)
[ "$steps" -gt "$saved" ] || fail "it did not go on after SIGUSR1 at step $saved"
oracle "$@" --set train.steps="$steps"
same "saved, stopped, continued" r whole

# Nor is an evaluation a reason to make anybody wait: it is broken off, and made again by the run that goes on.
if has_faults; then
	long_eval="--set train.eval_every=3 --set data.samples=100000 --set data.validation=0.5"
	rm -rf r
	faults=MR_DELAY=$slow
	start "$@" $long $long_eval --set run.dir=r
	faults=
	tries=0 # the evaluation of step 3 takes 12 s
	until grep -q '"state": "evaluates"' r/status.json 2>/dev/null || [ $tries -ge 2400 ]; do
		tries=$((tries + 1))
		sleep 0.05
	done
	kill -INT "$pid"
	ended
	expect 130 "SIGINT while evaluating"
	[ "$(step_of r)" = 3 ] || fail "SIGINT while evaluating: it stands at step $(step_of r)"
	! grep -q val_loss r/metrics.jsonl || fail \
		"SIGINT while evaluating: the evaluation of a part of the data was recorded"
	train "$@" $long_eval --resume --set run.dir=r --set train.steps=7
	expect 0 "resumed after SIGINT while evaluating"
	"$millrace" train "$@" $long_eval --resume --set run.dir=r --set train.steps=7 >again ||
		fail "resumed at the end"
	! grep -q "validation loss" again || fail "what was evaluated at the end is evaluated again"
	oracle "$@" $long_eval --set train.steps=7
	same "broken off while evaluating" r whole
fi

# The text at the end is no reason to make anybody wait.
rm -rf r
start gpt.cfg $(sets_of f64) --set run.dir=r --set sample.tokens=1000000
tries=0
until grep -q "^sample:" out || [ $tries -ge 2400 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
kill -INT "$pid"
tries=0
while kill -0 "$pid" 2>/dev/null && [ $tries -lt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
kill -KILL "$pid" 2>/dev/null || :
ended
expect 130 "SIGINT while a sample is written"
[ "$(step_of r)" = 40 ] || fail "SIGINT while a sample is written: it stands at step $(step_of r)"

rm -rf r
# The reader goes away at once; the exit code is that of the training.
{
	code=0
	"$millrace" train "$@" --set run.dir=r --set train.steps=300 2>err || code=$?
	echo $code >code
} | head -1 >out
code=$(cat code)
expect 0 "stdout into head -1"
[ "$(step_of r)" = 300 ] || fail "stdout into head -1: it stands at step $(step_of r)"
rm -rf r
code=0
"$millrace" train "$@" --set run.dir=r >&- 2>err || code=$?
expect 0 "stdout closed" "cannot write to standard output, so tables and progress are lost"
[ "$(grep -c "cannot write" err)" = 1 ] || fail "stdout closed: it is told more than once"
! grep -q step r/LOCK || fail "stdout closed: the output went into a file of the run: $(head -1 r/LOCK)"

# One process a folder.
rm -rf r
faults=MR_DELAY=$slow
start "$@" $long --set run.dir=r
faults=
first=$pid
code=0
"$millrace" train "$@" --set run.dir=r >out 2>err || code=$?
expect 6 "a second process in the folder" "r: process $first is running there"
code=0
"$millrace" train "$@" --set run.dir=r --resume >out 2>err || code=$?
expect 6 "a second process resuming in the folder" "process $first"
kill -TERM "$pid"
ended
expect 143 "the first process"

finish
