#!/bin/sh
# A plan file is carried out as it stands: what schedule writes of every system, checked, trained and simulated, has one
# hash and the weights of the system's own run; contracts that disagree with the configuration are refused by name.
#	slow_plan_file.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

# of FILE: the hash of the plan that it names.
of() {
	sed -n 's/.*plan \([0-9a-f]\{16\}\).*/\1/p' "$1" | head -n 1
}

is() {
	[ "$(of "$2")" = "$want" ] || fail "$1: plan $(of "$2"), and check says $want"
}

# The order of no system: the weights are worth a comparison only if the plan is the file's.
other() {
	case $1 in
	naive) echo 1f1b ;;
	*) echo naive ;;
	esac
}

base="--set backend=reference --set precision=f64 --set train.steps=12 --set train.eval_every=0 --set optimizer.lr=0.01"
six='model.hidden=[12,12,12,12,12,12]'
n=0
for system in $("$millrace" list systems | awk '{ print $1 }'); do
	[ "$system" != sequential ] || continue
	[ "$system" != rpd ] || continue # whose lists are made as it runs
	micro=4
	case $system in
	pipedream | spectrain | pipeoptim | asgd) micro=1 ;;
	esac
	for clip in 0 0.05; do
		set -- $base --set "$six" --set train.microbatches=$micro --set train.clip=$clip
		own="--set system.name=$system"
		[ $system != search ] || own="$own --set system.tries=50"
		rm -rf own file virtual
		train mlp.cfg "$@" $own --set run.dir=own
		expect 0 "train, $system, clip $clip"
		"$millrace" schedule --config mlp.cfg "$@" $own --format text -o plan.txt 2>err ||
			fail "schedule of $system"
		"$millrace" check plan.txt >out 2>err || fail "check of the plan of $system"
		want=$(of out)
		# The configuration names another system, and too few workers for the file.
		set -- "$@" --set system.name=$(other $system) --set machine.workers=1 --plan plan.txt
		train mlp.cfg "$@" --set run.dir=file
		expect 0 "train --plan, $system, clip $clip"
		is "train --plan, $system" out
		grep -q "order of plan.txt" out || fail "$system: where the order comes from was not said"
		grep -q "$want" file/run.json || fail "run.json of $system has another plan than $want"
		grep -v '^#' plan.txt | cmp -s - file/plan.txt ||
			fail "$system, clip $clip: another plan was carried out than the file's"
		same "$system, clip $clip, its own and from a file" own file
		"$millrace" simulate mlp.cfg "$@" --set run.dir=virtual >out 2>err || fail "simulate --plan, $system"
		is "simulate --plan, $system" out
		same "$system, clip $clip, simulated from a file" own virtual
		n=$((n + 1))
	done
done
[ $n -gt 60 ] || fail "only $n plans were carried out"

# --- more stages than workers, named by a partition that fits the file alone, and the micro-batches of the file; what
# works on the run later follows its plan, too
"$millrace" schedule interleaved --workers 2 --microbatches 4 --chunks 3 --format text -o six.txt 2>err ||
	fail "schedule interleaved"
"$millrace" check six.txt >out || fail "check six.txt"
want=$(of out)
set -- $base --set "$six" --set train.eval_every=4
names='partition=["fc.1","fc.2","fc.3","fc.4","fc.5"]'
for system in pipedream 1f1b; do
	train mlp.cfg "$@" --set system.name=$system --set machine.workers=3 --set "$names" --plan six.txt \
		--set run.dir=six-$system
	expect 0 "six stages on two workers, $system"
	is "six stages on two workers" out
	train six-$system/resolved.cfg --set train.steps=16 --resume
	expect 0 "resumed with six stages, $system"
	"$millrace" eval six-$system/resolved.cfg >out 2>err || fail "eval of a run by a plan file"
done
# ... through a pipe, which can be read once
cat six.txt | "$millrace" train mlp.cfg "$@" --set system.name=pipedream --set machine.workers=3 --set "$names" \
	--plan - --set run.dir=six-pipe >out 2>err || fail "a plan through a pipe: $(cat err)"
is "a plan through a pipe" out
train mlp.cfg "$@" --set system.name=sequential --set machine.workers=1 --set train.microbatches=4 --set run.dir=six
expect 0 "sequential"
train mlp.cfg "$@" --set system.name=1f1b --plan six.txt --set run.dir=six-own
expect 0 "six stages"
cmp -s six/checkpoints/$(latest six)/model.safetensors six-own/checkpoints/$(latest six-own)/model.safetensors ||
	fail "six stages end in other weights than sequential"
refused 3 "a name too few" mlp.cfg "$@" --set system.name=1f1b --set 'partition=["fc.2","fc.3"]' --plan six.txt
expect 3 "a name too few" "partition: the plan has 6 stages, but the begin of 2 further ones is named, which makes 3"

# --- an order (JSON) is lowered for the configuration; what that adds gives the plan a hash of its own, and is said
"$millrace" schedule 1f1b --workers 2 --microbatches 4 --format json -o order.json 2>err
"$millrace" check order.json >out || fail "check order.json"
want=$(of out)
train mlp.cfg "$@" --set system.name=1f1b --plan order.json --set run.dir=order
expect 0 "an order"
is "an order" out
train mlp.cfg "$@" --set system.name=1f1b --plan order.json --set train.clip=1 --set run.dir=clipped
expect 0 "an order, clipped"
[ "$(of out)" != "$want" ] || fail "clipping does not change the plan"
grep -q "the file is an order, plan $want by itself" out || fail "the hash of the file alone is not said"

# --- contracts that disagree with the configuration, by name
"$millrace" schedule 1f1b --workers 2 --microbatches 4 --format text -o plain.txt 2>err
sed 's/ need=/ clip need=/' plain.txt >clips.txt
refused 3 "no clipping in the file" mlp.cfg "$@" --set system.name=1f1b --set train.clip=1 --plan plain.txt
expect 3 "no clipping in the file" 'plain.txt: .*lacks "clip", and train.clip is set'
sed 's/"clip": *false/"clip": true/' order.json >clips.json
refused 3 "clipping in the file alone" mlp.cfg "$@" --set system.name=1f1b --plan clips.json
expect 3 "clipping in the file alone" 'clips.json: the plan clips gradients.*and train.clip is 0'
"$millrace" schedule pipedream --workers 2 --format text -o stale.txt 2>err
set -- $base --set "$six" --set system.name=1f1b --set train.eval_every=0
refused 3 "predictions" mlp.cfg "$@" --set optimizer.name=momentum --set mitigation.name=weight_prediction \
	--plan stale.txt
expect 3 "predictions" 'lacks "aim"'
refused 3 "corrections" mlp.cfg "$@" --set mitigation.name=gap_aware --plan stale.txt
expect 3 "corrections" 'lacks "keep_read"'
refused 3 "a longer run than the list" mlp.cfg "$@" --plan stale.txt --set train.steps=100
expect 3 "a longer run than the list" "the plan has [0-9]* steps, and train.steps asks for 100"
sed 's/"repeats": *true/"repeats": false/' order.json >ends.json
refused 3 "a list that ends" mlp.cfg "$@" --plan ends.json
expect 3 "a list that ends" "a run that ends after 1 step, and a plan that flushes is trained by repeating one"
finish
