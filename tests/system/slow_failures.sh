#!/bin/sh
# What ends a training against its will: the code, the message, and the checkpoint that is left.   slow_failures.sh
# SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

set -- mlp.cfg $(sets_of f64) --set train.eval_every=0 --set data.validation=0.0 --set optimizer.name=sgd
intact="the checkpoint of step 5 is intact, and --resume goes on from there"

# A run of 5 steps in r, as every case begins; the whole is 10 steps long.
begin() {
	rm -rf r
	train "$@" --set run.dir=r --set train.steps=5
	expect 0 "5 steps"
}

# The run in r goes on as if nothing had happened.
goes_on() {
	what=$1
	shift
	rm -rf whole
	train "$@" --set run.dir=whole --set train.steps=10
	train "$@" --set run.dir=r --resume --set train.steps=10
	expect 0 "$what: resumed"
	grep -q "at step 5" out || fail "$what: it did not resume at step 5"
	same "$what" r whole
}

# --- divergence
for system in sequential gpipe 1f1b pipedream; do
	begin "$@" --set system.name=$system
	train "$@" --set system.name=$system --set run.dir=r --resume --set train.steps=40 --set optimizer.lr=1e6
	expect 7 "$system diverges" "loss of micro-batch .* is .*; $intact"
	goes_on "after divergence of $system" "$@" --set system.name=$system
	# Saving every step must not push the last good checkpoint out by spoiled ones.
	begin "$@" --set system.name=$system
	train "$@" --set system.name=$system --set run.dir=r --resume --set train.steps=40 --set optimizer.lr=1e6 \
		--set checkpoint.every=1
	expect 7 "$system diverges and saves" "the checkpoint of step [0-9]* is intact"
	train "$@" --set system.name=$system --set run.dir=r --resume --set train.steps=20
	expect 0 "$system: what is left after divergence goes on"
done
# A gradient of 8e32 times a rate of 1e6 is beyond f32, a loss of 2e37 is not.
rm -rf r
train chain.cfg --set backend=reference --set precision=f32 --set optimizer.name=sgd --set "model.init=[5e4]" \
	--set train.batch=1 \
	--set optimizer.lr=1e6 --set checkpoint.every=1 --set run.dir=r
expect 7 "infinite weights" \
	"step 1 left weights that are not finite in w.*, and is not saved; no checkpoint had been saved before"
[ "$(latest r)" = none ] || fail "infinite weights: $(latest r) was saved"
rm -rf r
train "$@" --set run.dir=r --set optimizer.lr=1e6
expect 7 "divergence before the first checkpoint" "no checkpoint had been saved before"

# --- memory
for system in sequential pipedream; do
	rm -rf r
	train "$@" --set run.dir=r --set system.name=$system --set machine.memory_limit=5000
	expect 6 "$system, too little memory" "needs .* of memory.* 4.9 KiB is the limit"
done

set -- "$@" --set system.name=pipedream

# --- a small disk, where mounting one is allowed
mkdir disk
if mount -t tmpfs -o size=64k millrace disk 2>/dev/null; then
	train "$@" --set run.dir=disk/r
	expect 6 "a disk without room for checkpoints" "checkpoints .* need .* on the disk, only .* are free"
	umount disk
else
	echo "$suite: no file system of a small size can be mounted here: that case is skipped"
fi

if ! has_faults; then
	echo "$suite: this build has no fault points: full disks and hangs are skipped"
	finish
fi

# --- the disk fills up while a checkpoint is written
for call in mkdir open write:1 write:2 write:4 fsync syncdir rename rename:2; do
	name=${call%:*}
	nth=${call#*:}
	[ "$nth" != "$call" ] || nth=1
	begin "$@"
	faults=MR_FAIL_AT=checkpoint.$name:$nth:ENOSPC
	train "$@" --set run.dir=r --resume --set train.steps=40 --set checkpoint.every=3
	faults=
	expect 6 "no space at $call" "checkpoint of step 6: .*No space left on device; $intact"
	[ -z "$(find r/checkpoints -name '.tmp-*')" ] || fail "no space at $call: temporary files remain"
	goes_on "after no space at $call" "$@"
done

# --- a slow disk: a save waits for the one before and none is lost, nor when one fails or a signal comes meanwhile
train "$@" --set run.dir=quick --set train.steps=5 --set checkpoint.every=1 --set checkpoint.keep=9
slow=MR_SLOW=checkpoint.background.before:150
faults=$slow
train "$@" --set run.dir=slow --set train.steps=5 --set checkpoint.every=1 --set checkpoint.keep=9
expect 0 "a slow disk"
diff -r slow/checkpoints quick/checkpoints >diffs || fail "a slow disk: other checkpoints: $(head -3 diffs)"
faults="$slow MR_FAIL_AT=checkpoint.rename:3:ENOSPC"
train "$@" --set run.dir=full --set train.steps=5 --set checkpoint.every=1
expect 6 "a slow disk that fills up" "checkpoint of step 2: .*; the checkpoint of step 1 is intact"
faults="$slow MR_SIGNAL_AT=checkpoint.copied.before:2:TERM"
train "$@" --set run.dir=ended --set train.steps=5 --set checkpoint.every=1
expect 143 "a signal while a slow disk has a save to write"
faults=
for dir in full ended; do
	[ -z "$(find $dir/checkpoints -name '.tmp-*')" ] || fail "a slow disk, $dir: temporary files remain"
	train "$@" --set run.dir=$dir --resume --set train.steps=5
	expect 0 "a slow disk, $dir: resumed"
	same "a slow disk, $dir" $dir quick
done

# --- a limit on the size of files (in blocks of 512 bytes) that metrics keep to and tensors do not
begin "$@"
code=0
(
	ulimit -f 12
	exec "$millrace" train "$@" --set run.dir=r --resume --set train.steps=6 >out 2>err
) || code=$?
expect 6 "a limit on file sizes" "checkpoint of step 6: .*File too large; $intact"
goes_on "after a limit on file sizes" "$@"

# --- a hang
begin "$@"
faults=MR_DELAY=1000000000:1:1
train "$@" --set run.dir=r --resume --set train.steps=10 --set machine.watchdog=3
faults=
expect 8 "a hang" "no worker has finished an instruction for [0-9.]* seconds: w0 F m6 s0 computes; w1 .*; $intact"
goes_on "after a hang" "$@"

finish
