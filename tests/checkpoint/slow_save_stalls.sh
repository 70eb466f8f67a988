#!/bin/sh
# A disk that is gone while something is written to it: whatever thread hangs, the run ends with exit code 8, names the
# thread, the call and the file, and the newest checkpoint stays; or it trains on without checkpoints, where it is asked
# to. A signal to end works meanwhile.   slow_save_stalls.sh SOURCE BUILD
. "$(dirname "$0")/../system/train_lib.sh"

# What hangs keeps its memory until the process is gone: that is no leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
has_faults || skip "this build has no fault points"
for_ever=600000

set -- mlp.cfg $(sets_of f64) --set machine.threads=1
train "$@" --set run.dir=good --set train.steps=4 --set system.name=1f1b
expect 0 "the run before"
train "$@" --set run.dir=whole --set train.steps=40 --set system.name=1f1b
expect 0 "the run without a fault"

# hangs POINT RE ARGS...: the run hangs at POINT, and the message matches RE.
hangs() {
	point=$1 re=$2
	shift 2
	rm -rf r
	cp -R good r
	faults="MR_SLOW=$point:$for_ever timeout -s KILL 300"
	train "$@" --set run.dir=r --resume --set machine.watchdog=3
	faults=
	expect 8 "$point" "^millrace: $re has not returned for [0-9.]* seconds; the newest checkpoint is that of step "
	"$millrace" inspect r >inspected 2>&1 || fail "$point: the newest checkpoint is damaged"
}

# --- on the thread that writes checkpoints while the training goes on: every call of a save
set -- "$@" --set system.name=1f1b --set train.steps=40
for call in mkdir:mkdir open:open write:write fsync:fsync syncdir:fsync rename:rename; do
	hangs checkpoint.${call%:*}.before \
		"mr-save hangs where it saves a checkpoint: ${call#*:} of [^ ]*r/checkpoints[^ ]*" \
		"$@" --set checkpoint.every=6
	[ "$(latest r)" = step-00000004 ] || fail "$call: the newest checkpoint is $(latest r)"
done
hangs metrics.fsync "mr-save hangs where it saves a checkpoint: fsync of [^ ]*/r/metrics.jsonl" "$@" \
	--set checkpoint.every=6
train "$@" --set run.dir=r --resume
expect 0 "resumed after a save that hung"
forget='/"step":4,"val_/d' # the run before evaluated its last step
same "resumed after a save that hung" r whole
rm -rf r
faults="MR_SLOW=checkpoint.read:$for_ever timeout -s KILL 300"
train "$@" --set run.dir=r --set checkpoint.every=6 --set machine.watchdog=3
expect 8 "comparing what was written" \
	"mr-save hangs where it saves a checkpoint: read of [^ ]*/r/checkpoints/[^ ]* has .*no checkpoint had been"
rm -rf r
cp -R good r
train "$@" --set run.dir=r --resume --set machine.watchdog=3
faults=
expect 8 "reading a checkpoint" \
	"the main thread hangs: read of [^ ]*/r/checkpoints/[^ ]* has .*nothing has been trained"

# --- on the caller's thread: the save at the end, and all that is written beside it
main="the main thread hangs"
hangs checkpoint.fsync.before "$main where it saves a checkpoint: fsync of [^ ]*/r/checkpoints/[^ ]*" "$@"
hangs train.first "$main where it writes the first files of the run: its work" "$@"
hangs metrics.write "$main: write of [^ ]*/r/metrics.jsonl" "$@"
hangs status.write "$main: write of r/status.json" "$@"
hangs events.write "$main: write of [^ ]*/r/tensorboard/[^ ]*" "$@" --set run.tensorboard=true
hangs train.trace "$main where it writes the trace: its work" "$@" --set trace.steps=10-12
hangs train.ends "$main where it writes what the run was: its work" "$@"
[ "$(latest r)" = step-00000040 ] || fail "train.ends: the newest checkpoint is $(latest r)"

# --- checkpoint.hung = skip: the training goes on to its last step, which cannot be saved
rm -rf r
cp -R good r
faults="MR_SLOW=checkpoint.fsync.before:$for_ever timeout -s KILL 300"
train "$@" --set run.dir=r --resume --set checkpoint.every=6 --set checkpoint.hung=skip --set machine.watchdog=3
faults=
expect 8 "skip" "the training stands at step 40, and its newest checkpoint is that of step 4"
[ "$(grep -c "the training goes on, and until that returns no step is saved" err)" = 1 ] || fail "skip: not told once"
grep -q '"step":40,' r/metrics.jsonl || fail "skip: it did not train to the end"
[ "$(latest r)" = step-00000004 ] || fail "skip: the newest checkpoint is $(latest r)"

# A disk that comes back is written to again: a run of some seconds, whose saves take as many.
rm -rf r
cp -R good r
faults="MR_SLOW=checkpoint.rename.before:5000 MR_DELAY=200000:1:1 timeout -s KILL 400"
train "$@" --set run.dir=r --resume --set checkpoint.every=2 --set checkpoint.hung=skip --set machine.watchdog=3
faults=
if [ $code = 0 ]; then
	same "a disk that came back" r whole
else
	expect 8 "a disk that is slow" "newest checkpoint is that of step"
fi
grep -q "the write of step [0-9]* has returned: steps are saved again" err || fail "a disk that came back: not told"

# --- a signal to end: the first one within the limit, the second one at once
hung() {
	rm -rf r
	cp -R good r
	MR_SLOW=checkpoint.fsync.before:$for_ever "$millrace" train "$@" --set run.dir=r --resume \
		--set checkpoint.every=6 --set train.steps=100000000 >out 2>err &
	pid=$!
	tries=0
	until ls r/checkpoints/.tmp-* >/dev/null 2>&1 || [ $tries -ge 1200 ]; do
		tries=$((tries + 1))
		sleep 0.05
	done
	sleep 0.5
	kill -INT "$pid"
}
hung "$@" --set machine.watchdog=4
began=$(date +%s)
ended
expect 8 "SIGINT while a save hangs" "mr-save hangs where it saves a checkpoint"
[ $(($(date +%s) - began)) -le 60 ] || fail "SIGINT while a save hangs: it took $(($(date +%s) - began)) s"
hung "$@" --set machine.watchdog=0
sleep 1
kill -0 "$pid" 2>/dev/null || fail "without a watchdog the first SIGINT should wait for the save"
kill -INT "$pid"
began=$(date +%s)
ended
expect 130 "a second SIGINT while a save hangs"
[ $(($(date +%s) - began)) -le 60 ] || fail "a second SIGINT while a save hangs: it took long"
finish
