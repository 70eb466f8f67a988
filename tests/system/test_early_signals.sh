#!/bin/sh
# Signals before a training's first step, and while it evaluates.   test_early_signals.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
has_faults || skip "this build has no fault points"

set -- mlp.cfg $(sets_of f64) --set system.name=pipedream --set train.steps=6 --set train.eval_every=2 \
	--set data.validation=0.1
train "$@" --set run.dir=r
expect 0 "a run"
mkdir empty

# --- what asks to end does so at once, and leaves everything as it was
begins() {
	sig=$1 want=$2 point=$3
	shift 3
	faults=MR_SIGNAL_AT=train.$point:1:$sig
	if [ "$point" = files ]; then : >r/LOCK; else rm -f r/LOCK; fi
	refused "$want" "SIG$sig at $point, for new" "$@" --set run.dir=new
	refused "$want" "SIG$sig at $point, for an empty folder, sequential" "$@" --set run.dir=empty \
		--set system.name=sequential
	refused "$want" "SIG$sig at $point, for new folders" "$@" --set run.dir=new/of/several/ --set system.name=1f1b
	before=$(ls -i r/checkpoints)
	refused "$want" "SIG$sig at $point, resumed" "$@" --set run.dir=r --resume --set train.steps=9
	[ "$(ls -i r/checkpoints)" = "$before" ] || fail "SIG$sig at $point, resumed: it left $(latest r)"
	faults=
}
for point in folder memory files; do
	begins TERM 143 $point "$@"
done
begins INT 130 memory "$@"
begins HUP 129 folder "$@"
begins INT 130 files "$@"
faults=MR_SIGNAL_AT=train.files:1:TERM
train "$@" --set run.dir=new
grep -q "^stopped before the first step: nothing is left of this run$" out || fail "it is not told that nothing is left"
faults=

# --- what asks for a save gets it behind the first step
for point in folder memory files; do
	rm -rf saved
	faults=MR_SIGNAL_AT=train.$point:1:USR1
	train "$@" --set run.dir=saved --set checkpoint.keep=9 --set system.name=sequential
	faults=
	expect 0 "SIGUSR1 at $point"
	[ "$(ls saved/checkpoints | grep -c '^step-')" = 2 ] || fail "SIGUSR1 at $point: $(echo saved/checkpoints/*)"
done

# --- what was saved when an evaluation was broken off is the best when the evaluation, made again, says so
set -- "$@" --set system.name=sequential --set optimizer.name=sgd --set optimizer.lr=1.0 --set train.seed=4 \
	--set train.steps=8 --set checkpoint.every=2
train "$@" --set run.dir=whole
best=$(sed 's/step-0*//' whole/checkpoints/BEST)
[ "$best" -gt 2 ] && [ "$best" -lt 8 ] || fail "step $best is the best, and it was to be one between"
faults=MR_SIGNAL_AT=train.eval:$((best / 2)):INT
train "$@" --set run.dir=broken
faults=
expect 130 "SIGINT while evaluating the best"
cut=$(sed 's/step-0*//' broken/checkpoints/BEST)
[ "$(latest broken)" = step-0000000$best ] && [ "$cut" -lt "$best" ] ||
	fail "broken off at $(latest broken), step $cut being the best"
cp -r broken ended
train "$@" --set run.dir=ended --resume --set train.steps=$best
expect 0 "the evaluation made again"
grep -q "^nothing to do: .*; validation loss " out || fail "there was more to do than the evaluation"
train "$@" --set run.dir=broken --resume
expect 0 "the evaluation made again, and further steps"
for run in ended broken; do
	[ "$(sed 's/[.]1$//' $run/checkpoints/BEST)" = step-0000000$best ] ||
		fail "$run: $(cat $run/checkpoints/BEST) is marked, step $best the best"
done
train "$@" --set run.dir=ended --resume
expect 0 "further steps behind the evaluation made again"
same "broken off, evaluated, continued" ended whole
same "broken off, continued" broken whole
[ "$(sed 's/[.]1$//' ended/checkpoints/BEST)" = step-0000000$best ] ||
	fail "the best was forgotten: $(cat ended/checkpoints/BEST) is marked"

finish
