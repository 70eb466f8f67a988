#!/bin/sh
# One question, one plan: `schedule --config` shows the plan that `train`, `simulate` and `plan` of that configuration
# have, for every system; with measured costs it is the plan for them; and an order for equal costs says so.
#	test_same_plan.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

# of FILE: the hash of the plan that it names.
of() {
	sed -n 's/.*plan \([0-9a-f]\{16\}\).*/\1/p' "$1" | head -n 1
}

# show ARGS...: what `schedule --config mlp.cfg ARGS` says, in out and err.
show() {
	"$millrace" schedule --config mlp.cfg "$@" >out 2>err || fail "schedule --config mlp.cfg $*: exit code $?"
}

# is WHAT: out names the plan $want.
is() {
	[ "$(of out)" = "$want" ] || fail "$1: plan $(of out), and train has $want"
}

base="--set backend=reference --set precision=f64 --set train.steps=4 --set train.eval_every=0 --set optimizer.lr=0.001"
six='model.hidden=[12,12,12,12,12,12]'
n=0
for system in $("$millrace" list systems | awk '{ print $1 }'); do
	micro=4
	case $system in
	pipedream | spectrain | pipeoptim | rpd | asgd) micro=1 ;;
	esac
	set -- $base --set "$six" --set system.name=$system --set train.microbatches=$micro
	[ $system != search ] || set -- "$@" --set system.tries=50
	train mlp.cfg "$@" --set run.dir=runs/$system
	expect 0 "train, $system"
	want=$(of out)
	[ -n "$want" ] || fail "train, $system: no hash of a plan"
	show "$@"
	is "schedule --config, $system"
	[ $system = rpd ] && continue # whose lists are made as it runs
	show "$@" --format text -o plan.txt
	"$millrace" check plan.txt >out 2>err || fail "check of the plan of $system"
	is "check of what schedule --config printed, $system"
	n=$((n + 1))
done
[ $n -gt 30 ] || fail "only $n systems were compared"

# --- the same from the others that ask, and with clipping
set -- $base --set "$six" --set system.name=zb_auto --set train.microbatches=4 --set train.clip=1
train mlp.cfg "$@" --set run.dir=runs/clipped
want=$(of out)
for command in "plan mlp.cfg" "simulate mlp.cfg --set run.dir=runs/virtual" "schedule --config mlp.cfg"; do
	"$millrace" $command "$@" >out 2>err || fail "$command"
	is "$command"
done
nominal=$want

# --- costs: measured ones where the configuration names them, or else nominal ones
grep -q "ordered for nominal: " out || fail "which costs zb_auto is ordered for is not said"
show $base --set system.name=gpipe
grep -q "ordered for" out && fail "gpipe is ordered for no costs"
measure mlp.cfg "$@" --method alone --seconds 0.001 -o raw.csv
# Where the first layers take long, another order is best.
awk -F, -v OFS=, '/^#/ || /^layer/ { print; next }
	{ $6 = $7 = $8 = (NR < 7 ? 5e-3 : 1e-4); $10 = 0; print }' raw.csv >costs.csv
train mlp.cfg "$@" --set costs=costs.csv --set run.dir=runs/measured
expect 0 "with measured costs"
want=$(of out)
show "$@" --costs costs.csv
is "schedule --config --costs"
grep -q "ordered for .*costs.csv" out || fail "that the order is for measured costs is not said: $(grep ordered out)"
[ "$want" != "$nominal" ] || fail "measured costs change nothing of zb_auto's order"

# --- options of a system by itself: three are keys of the configuration, and the others change what is simulated alone
set -- $base --set "$six" --set system.name=interleaved
show "$@" --set machine.workers=4 --set train.microbatches=8 --set system.chunks=1
want=$(of out)
makespan=$(sed -n 's/.*makespan \([^ ,]*\).*/\1/p' out)
show "$@" --workers 4 --microbatches 8 --chunks 1
is "schedule --config --workers --microbatches --chunks"
for nodes in "--nodes 2" "--set machine.topology=numa:2\ core:2"; do
	eval "show \"\$@\" --workers 4 --microbatches 8 --chunks 1 --far 1000 $nodes"
	is "schedule --config --far $nodes"
	longer=$(sed -n 's/.*makespan \([^ ,]*\).*/\1/p' out)
	awk "BEGIN { exit !($longer > 1000 && $longer > $makespan) }" || fail "--far $nodes: makespan $longer"
done
# --- a system by itself
for system in hanayo zb_auto search; do
	for format in ascii text svg json; do
		set -- --workers 2 --microbatches 4 --format $format
		"$millrace" schedule $system "$@" >out 2>err || fail "schedule $system"
		grep -q "ordered.for.*equal costs; --costs has others" out ||
			fail "$system as $format: equal costs, and no word"
		"$millrace" schedule $system "$@" --costs 1,1,1 >out 2>err
		grep -q "equal costs" out && fail "$system as $format: the costs were given"
	done
done
"$millrace" schedule gpipe --workers 2 >out 2>err
grep -q "costs" out && fail "gpipe follows from no costs"
"$millrace" schedule zb_auto --workers 2 --set costs=1,2,1 >out 2>err
grep -q "costs" out && fail "zb_auto was given costs as its option"

# --- what does not go together
no() {
	want=$1
	text=$2
	shift 2
	code=0
	"$millrace" schedule "$@" >out 2>err || code=$?
	expect "$want" "schedule $*" "$text"
}
no 2 "schedule needs a SYSTEM, or --config FILE"
no 2 "schedule needs --workers" gpipe
no 2 "got 0" gpipe --workers 0
no 2 "--config names the system too: give gpipe as --set system.name=gpipe" gpipe --config mlp.cfg
no 2 "--nodes: without --far" --config mlp.cfg --set system.name=gpipe --nodes 2
no 2 "--far: all workers are on one node" --config mlp.cfg --set system.name=gpipe --set machine.topology=core:4 \
	--far 1
no 3 "train.microbatches" --config mlp.cfg --set system.name=pipedream --microbatches 4
no 2 "take --format text" --config mlp.cfg --set system.name=pipedream --format json
no 2 "made while it runs" --config mlp.cfg --set system.name=rpd --format text
no 3 "no system is called" --config mlp.cfg --set system.name=gpip
no 3 "missing.cfg" --config missing.cfg
no 3 "missing.csv" --config mlp.cfg --set system.name=gpipe --costs missing.csv
finish
