#!/bin/sh
# Every system trains to the same bits in virtual time as on its workers.   slow_simulate_all.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/simulate_lib.sh"

n=0
for system in $("$millrace" list systems | sed -n 's/^\([a-z0-9][a-z0-9_]*\) .*/\1/p'); do
	for workers in 2 4; do
		for micro in 4 1; do
			set -- --set system.name=$system --set machine.workers=$workers --set train.microbatches=$micro
			equal mlp $(sets_of f64) "$@" --set 'model.hidden=[12,12,12,12,12,12,12]' --set train.steps=12
			[ "$want" -ne 0 ] || n=$((n + 1))
		done
	done
done
[ $n -ge 20 ] || fail "only $n cases could be trained"

# Whatever train accepts of clipping, stealing and steps on trust: clips that never, sometimes and always hold.
n=0
for system in $("$millrace" list systems | sed -n 's/^\([a-z0-9][a-z0-9_]*\) .*/\1/p'); do
	"$millrace" list systems "$system" >keys
	more="-"
	! grep -q 'validated' keys || more="$more system.optimizer=validated"
	! grep -q '^ *steal' keys || more="$more system.steal=true"
	for option in $more; do
		for clip in 1000 0.3 0.001; do
			set -- $(sets_of f64) --set system.name=$system --set train.clip=$clip \
				--set train.microbatches=4
			[ "$option" = - ] || set -- "$@" --set $option
			equal mlp "$@" --set 'model.hidden=[12,12,12,12,12,12,12]' --set train.steps=12 \
				--set machine.workers=2
			[ "$want" -ne 0 ] || n=$((n + 1))
		done
	done
done
[ $n -ge 60 ] || fail "only $n cases with clipping could be trained"

# A signal ends a simulation at a pause point; what it has saved goes on as a training.
for system in 1f1b pipedream; do
	rm -rf whole part
	set -- mlp.cfg $(sets_of f64) --set system.name=$system --set train.eval_every=0
	[ $system != 1f1b ] || set -- "$@" --set train.microbatches=4
	: >out
	"$millrace" simulate "$@" --set run.dir=part --set train.steps=100000000 >out 2>err &
	pid=$!
	until grep -q '^step' out || ! kill -0 $pid 2>/dev/null; do
		sleep 0.02
	done
	kill -TERM $pid
	ended
	expect 143 "$system, SIGTERM"
	steps=$(($(latest part | sed -e 's/^step-0*//' -e 's/\..*//') + 20))
	train "$@" --set run.dir=whole --set train.steps=$steps
	expect 0 "$system"
	train "$@" --set run.dir=part --resume --set train.steps=$steps
	expect 0 "$system, resumed"
	same "$system, a simulation cut short, then training" whole part
done
finish
