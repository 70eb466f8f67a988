#!/bin/sh
# Signals before a training's first step.   test_early_signals.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
has_faults || skip "this build has no fault points"

set -- mlp.cfg $(sets_of f64) --set system.name=pipedream --set train.steps=6 --set train.eval_every=2 --set data.validation=0.1
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
	refused "$want" "SIG$sig at $point, for an empty folder, sequential" "$@" --set run.dir=empty --set system.name=sequential
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

finish
