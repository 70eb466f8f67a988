#!/bin/sh
# A plan from a file is trained like a system's: written by hand, printed by schedule, resumed, simulated, and refused
# where it does not fit.   test_own_plan.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

# The second worker takes micro-batches in an order of its own: the boundary is not first in, first out.
cat >own.json <<'EOF'
{"D": 2, "T": 2, "stages": 2,
 "workers": [[["F",0,0,0], ["F",1,0,0], ["B",0,0,0], ["B",1,0,0]],
             [["F",1,1,0], ["F",0,1,0], ["B",0,1,0], ["B",1,1,0]]]}
EOF
# Gradients go back in another order than they are taken.
cat >back.json <<'EOF'
{"D": 2, "T": 2, "stages": 2,
 "workers": [[["F",0,0,0], ["F",1,0,0], ["I",0,0,0], ["I",1,0,0], ["W",0,0,0], ["W",1,0,0]],
             [["F",0,1,0], ["F",1,1,0], ["I",1,1,0], ["I",0,1,0], ["W",0,1,0], ["W",1,1,0]]]}
EOF
for type in $backends; do
	set -- mlp.cfg $(sets_of $type) --set train.microbatches=2
	train "$@" --set system.name=sequential --set machine.workers=1 --set machine.threads=1 \
		--set run.dir=sequential-$type
	expect 0 "sequential, $type"
	for plan in own back; do
		"$millrace" check $plan.json >out 2>err || fail "$plan.json is refused: $(cat err)"
		train "$@" --set system.name=1f1b --plan $plan.json --set run.dir=$plan-$type
		expect 0 "$plan.json, $type"
		grep -q "order of $plan.json" out || fail "where the order comes from was not said"
		"$millrace" simulate "$@" --set system.name=1f1b --plan $plan.json \
			--set run.dir=virtual-$plan-$type >out 2>err || fail "no simulation: $(cat err)"
		for d in $plan-$type virtual-$plan-$type; do
			cmp -s sequential-$type/checkpoints/$(latest sequential-$type)/model.safetensors \
				$d/checkpoints/$(latest $d)/model.safetensors ||
				fail "$d: not the weights of sequential"
		done
		"$millrace" plan "$@" --set system.name=1f1b --plan $plan.json >out 2>err ||
			fail "no forecast of $plan.json: $(cat err)"
	done
done

# Steps on trust, many of which are taken back: forwards are repeated whose inputs came in another order than they are
# used.
set -- mlp.cfg $(sets_of f64) --set train.microbatches=2 --set train.clip=0.01 --set system.name=1f1b
sed '1s/,/, "contract": {"flush": "validated", "clip": true},/' own.json >trust.json
train "$@" --set run.dir=waits
expect 0 "clipping behind a barrier"
train "$@" --plan trust.json --set run.dir=trust
expect 0 "clipping on trust"
cmp -s waits/checkpoints/$(latest waits)/model.safetensors trust/checkpoints/$(latest trust)/model.safetensors ||
	fail "clipping on trust ends in other weights"

# --- what schedule prints, in both forms, is that system: flushing, in folded stages, without a flush, with clipping
set -- mlp.cfg $(sets_of f64) --set train.microbatches=4 --set machine.workers=3 \
	--set 'model.hidden=[24,24,24,24,24,24]'
for system in "gpipe --set backward=lifo" zb_h1 zb_v chimera; do
	name=${system%% *}
	workers=3
	[ $name != chimera ] || workers=2
	"$millrace" schedule $system --workers $workers --microbatches 4 --format text -o $name.txt ||
		fail "no text of $system"
	# A text says everything, clipping too.
	"$millrace" schedule --config "$@" --set machine.workers=$workers --set system.name=$name \
		$([ $name != gpipe ] || echo --set system.backward=lifo) --set train.clip=0.5 --format text \
		-o $name-clips.txt || fail "no text of $system with clipping"
	"$millrace" schedule $system --workers $workers --microbatches 4 --format json -o $name.json ||
		fail "no JSON of $system"
	cp $name.json $name-clips.json
	train "$@" --set machine.workers=$workers --set system.name=$name $([ $name != gpipe ] ||
		echo --set system.backward=lifo) \
		--set train.clip=0.5 --set run.dir=$name
	expect 0 "$name"
	for form in txt json; do
		train "$@" --set machine.workers=$workers --set train.clip=0.5 --set system.name=1f1b \
			--plan $name-clips.$form --set run.dir=$name-$form
		expect 0 "$name.$form"
		same "$name as $form" $name $name-$form
	done
done

# --- resumed with its own copy, without another word
train "$@" --set system.name=1f1b --plan zb_v.json --set run.dir=whole
expect 0 "zb_v, whole"
train "$@" --set system.name=1f1b --plan zb_v.json --set run.dir=parts --set checkpoint.every=10 --set train.steps=20
expect 0 "zb_v, the first part"
rm zb_v.json
train "$@" --set system.name=1f1b --set run.dir=parts --set checkpoint.every=10 --resume
expect 0 "zb_v, resumed"
grep -q "order of parts/plan.txt" out || fail "the resumed run does not follow its copy"
cmp -s whole/checkpoints/$(latest whole)/model.safetensors parts/checkpoints/$(latest parts)/model.safetensors ||
	fail "the resumed run ends in other weights"
# Another plan with the same order of sums makes the same weights.
train "$@" --set system.name=1f1b --set run.dir=parts --set train.steps=80 --resume --plan zb_h1.txt
expect 0 "resumed with another plan of the same order of sums"

# --- what does not fit, in a message
refused 3 "micro-batches" "$@" --set system.name=1f1b --set train.microbatches=2 --set run.dir=x --plan zb_h1.txt
expect 3 "micro-batches" \
	"zb_h1.txt: a step of the plan sums 4 micro-batches, and train.microbatches is 2: set train.microbatches = 4"
refused 3 "stages" "$@" --set system.name=1f1b --set 'model.hidden=[24,24]' --set run.dir=x --plan zb_v.txt
expect 3 "stages" "model.name: the plan file: 6 stages were asked for, but this model"
refused 2 "both" "$@" --set system.name=1f1b --set run.dir=x --plan zb_h1.txt --replay zb_h1.txt
expect 2 "both" "a record goes with --replay, any other plan with --plan"
refused 3 "a plan as a record" "$@" --set system.name=1f1b --set run.dir=x --replay zb_h1.txt
expect 3 "a plan as a record" "train it with --plan"
refused 3 "sequential" "$@" --set system.name=sequential --set run.dir=x --plan zb_h1.txt
expect 3 "sequential" "zb_h1.txt: the plan has 3 workers, and sequential takes 1 alone: set system.name to another"
finish
