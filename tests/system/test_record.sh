#!/bin/sh
# The order of a race as a file: written, checked, followed, and refused where it does not fit.   test_record.sh SOURCE
# BUILD
. "$(dirname "$0")/train_lib.sh"

set -- mlp.cfg $(sets_of f64) --set system.name=ampnet --set train.microbatches=2 --set train.steps=12 \
	--set train.eval_every=5 \
	--set data.validation=0.1
train "$@" --set system.order=racing --set run.dir=raced --record order.plan
expect 0 "a race that is recorded"
grep -q "order of the run is in order.plan" out || fail "where the record is was not said"
"$millrace" check order.plan >out 2>err || fail "the record is no sound plan"
grep -q "^ok .* T 24 .*ampnet" out || fail "the record is not of 24 micro-batches: $(cat out)"
for how in static racing; do # the configuration's own order does not matter
	train "$@" --set system.order=$how --set run.dir=$how --replay order.plan
	expect 0 "following the record, order=$how"
	cmp raced/checkpoints/step-00000012/model.safetensors $how/checkpoints/step-00000012/model.safetensors ||
		fail "the weights of the race and of its record differ"
	cmp raced/checkpoints/step-00000012/optimizer.safetensors \
		$how/checkpoints/step-00000012/optimizer.safetensors ||
		fail "the optimizers of the race and of its record differ"
	for f in raced $how; do
		sed -n 's/.*"step": *\([0-9]*\).*"loss": *\([^,}]*\).*/\1 \2/p' $f/metrics.jsonl >$f.losses
	done
	[ "$(wc -l <raced.losses)" -ge 12 ] || fail "the race reports too few losses"
	cmp raced.losses $how.losses || fail "the losses of the race and of its record differ"
done

# --- mitigations in a race: what they go by and what they keep is the record's as well
for m in "gap_aware" "delayed_nesterov --set optimizer.name=nadamw --set optimizer.beta1=0.9" "weight_prediction" \
	"weight_prediction --set optimizer.name=muon" \
	"none --set optimizer.name=rotated_adam --set optimizer.frequency=3 --set optimizer.refresh=delay"; do
	d=$(echo "$m" | tr -dc a-z)
	train "$@" --set mitigation.name=$m --set system.order=racing --set system.in_flight=4 --set run.dir=raced-$d \
		--record $d.plan
	expect 0 "a race with $m"
	train "$@" --set mitigation.name=$m --set system.in_flight=4 --set run.dir=again-$d --replay $d.plan
	expect 0 "following the record of a race with $m"
	for f in model optimizer; do
		cmp raced-$d/checkpoints/step-00000012/$f.safetensors \
			again-$d/checkpoints/step-00000012/$f.safetensors ||
			fail "$m: the $f of the race and of its record differ"
	done
done
train "$@" --set mitigation.name=weight_prediction --set run.dir=x --replay order.plan
expect 3 "predictions on a record without" \
	'order.plan: .*the contract of this one lacks "aim", and the mitigation predicts weights'

# --- who took which weight gradient: the weights are the same whichever worker did, and the record says who
set -- mlp.cfg $(sets_of f64) --set system.name=zb_h2 --set train.microbatches=8 --set train.steps=6 \
	--set machine.workers=3 \
	--set train.clip=0.5
train "$@" --set run.dir=home
expect 0 "zb_h2 without steals"
train "$@" --set system.steal=true --set run.dir=stolen --record steal.plan
expect 0 "steals that are recorded"
grep -q "^stolen: [0-9]* weight gradients* w.* over from another worker, of [1-9]" out ||
	fail "how many were taken over was not said"
"$millrace" check steal.plan >out 2>err || fail "the record is no sound plan: $(cat err)"
train "$@" --set system.steal=true --set run.dir=again --replay steal.plan
expect 0 "following the record of steals"
"$millrace" simulate "$@" --set system.steal=true --set run.dir=virtual >out 2>err ||
	fail "steals were not simulated: $(cat err)"
grep -q "^stolen: [1-9]" out || fail "in virtual time nothing was taken over"
for d in stolen again virtual; do
	cmp home/checkpoints/step-00000006/model.safetensors $d/checkpoints/step-00000006/model.safetensors ||
		fail "the weights with steals differ from those without: $d"
done
"$millrace" schedule zb_h2 --workers 8 --microbatches 16 --set steal=true >out 2>err || fail "a schedule with steals"
grep -q "^makespan 52," out && grep -q "^[1-9][0-9]* weight gradients are taken over" out ||
	fail "zb_h2 with steals takes 52: $(cat out)"
"$millrace" schedule zb_h1 --workers 2 --microbatches 4 --set steal=true --set optimizer=validated >out 2>err &&
	fail "steals without a barrier"
grep -q "zb_h1: steal: .* optimizer = validated has none" err || fail "why there are no steals was not said"
"$millrace" schedule 1f1b --workers 2 --microbatches 4 --set steal=true >out 2>err &&
	fail "steals without weight gradients apart"
grep -q "1f1b: steal: .* none to take" err || fail "why there is nothing to take was not said"
set -- mlp.cfg $(sets_of f64) --set system.name=ampnet --set train.microbatches=2 --set train.steps=12 \
	--set train.eval_every=5 \
	--set data.validation=0.1

# --- what cannot be
train "$@" --set run.dir=x --record x.plan
expect 2 "a record of a fixed order" "this one's order is fixed"
train "$@" --set system.order=racing --set run.dir=x --record nowhere/x.plan
expect 1 "a record that cannot be written" "nowhere/x.plan: cannot write: No such file"
train "$@" --set system.order=racing --set run.dir=x --record x.plan --set train.steps=40000
expect 2 "a record of too much" "at most 65536 micro-batches, and 40000 steps of 2 are more"
train "$@" --set system.order=racing --set run.dir=raced --resume --record x.plan
expect 2 "a record of the rest of a run" "does not go with --resume"
train "$@" --set run.dir=x --replay order.plan --set train.steps=13
expect 3 "more steps than were recorded" "order.plan: the plan has 12 steps, and train.steps asks for 13"
train "$@" --set run.dir=workers --replay order.plan --set machine.workers=1
expect 0 "a record, which says how many workers there are"
grep -q "^system .* 2 workers" out || fail "the workers are not those of the record"
train "$@" --set run.dir=x --replay order.plan --set train.microbatches=1
expect 3 "a record of other steps" "order.plan: .* train.microbatches is 1"
train "$@" --set run.dir=x --replay order.plan --set train.clip=0.5
expect 3 "a record of a run that did not clip" "steps inside its backward passes"
train "$@" --set system.name=sequential --set run.dir=x --replay order.plan
expect 3 "sequential in another order" "the plan has 2 workers, and sequential takes 1 alone"
"$millrace" schedule 1f1b --workers 2 --microbatches 2 --format text >flush.plan
train "$@" --set run.dir=x --replay flush.plan
expect 3 "a plan that flushes" "flush.plan: it is a plan that flushes, and not the record of a run"
sed 's/^w0 F m3 /w0 F m4 /' order.plan >bad.plan
train "$@" --set run.dir=x --replay bad.plan
expect 3 "a damaged record" "bad.plan: "
train "$@" --set run.dir=x --replay missing.plan
expect 3 "a record that is not there" "missing.plan: no such file"
[ ! -e x/checkpoints ] || fail "a run that was refused left checkpoints"

finish
