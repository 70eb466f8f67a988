#!/bin/sh
# Every system trains to the same bits in virtual time as on its workers.   slow_simulate_all.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/simulate_lib.sh"

n=0
for system in $("$millrace" list systems | sed -n 's/^\([a-z0-9][a-z0-9_]*\) .*/\1/p'); do
	[ "$system" != sequential ] || continue
	for workers in 2 4; do
		for micro in 4 1; do
			set -- --set system.name=$system --set machine.workers=$workers --set train.microbatches=$micro
			equal mlp $(sets_of f64) "$@" --set 'model.hidden=[12,12,12,12,12,12,12]' --set train.steps=12
			[ "$want" -ne 0 ] || n=$((n + 1))
		done
	done
done
[ $n -ge 20 ] || fail "only $n cases could be trained"

# Steps that clip on trust: alike while none has to be taken back, and else refused with the way out.
set -- $(sets_of f64) --set system.name=zb_h2 --set system.optimizer=validated --set machine.workers=3 --set train.microbatches=4
equal mlp "$@" --set train.clip=1000
simulate mlp.cfg "$@" --set train.clip=0.01 --set run.dir=clipped
expect 3 "a clipped step" "without optimizer = validated the weights are the same"

# A signal ends a simulation at a pause point; what it has saved goes on as a training.
for system in 1f1b pipedream; do
	rm -rf whole part
	set -- mlp.cfg $(sets_of f64) --set system.name=$system --set train.steps=4000 --set train.eval_every=0
	[ $system != 1f1b ] || set -- "$@" --set train.microbatches=4
	train "$@" --set run.dir=whole
	expect 0 "$system"
	: >out
	"$millrace" simulate "$@" --set run.dir=part >out 2>err &
	pid=$!
	until grep -q '^step' out || ! kill -0 $pid 2>/dev/null; do
		sleep 0.02
	done
	kill -TERM $pid 2>/dev/null || fail "$system: it was over before the signal"
	ended
	expect 143 "$system, SIGTERM"
	train "$@" --set run.dir=part --resume
	expect 0 "$system, resumed"
	same "$system, a simulation cut short, then training" whole part
done
finish
