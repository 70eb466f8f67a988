#!/bin/sh
# A run that was stopped and resumed equals one that was not, to the bit.   slow_resume.sh SOURCE BUILD
#
# Stopped by the end of its steps, early and in the middle, and by SIGTERM wherever that finds it. A session that ends
# by itself evaluates, which the whole run does not do at that step.
. "$(dirname "$0")/../system/train_lib.sh"

systems='sequential
gpipe --set system.backward=fifo
gpipe --set system.backward=lifo
1f1b
interleaved
chimera
data_parallel --set system.weights=private --set system.chunks=2
pipedream
pipedream --set system.vertical_sync=true
pipedream --set system.replicas=[2,1] --set machine.workers=3
rpd --set system.delta=5
rpd --set system.delays=exact --set system.stage=timeline --set system.batch=timeline'

# Micro-batches, where the system divides a batch.
micro() {
	case $1 in
	pipedream* | rpd*) echo "" ;;
	*) echo "--set train.microbatches=4" ;;
	esac
}

# Stop at the end of sessions of 1 and 17 steps; that between merges its weight gradients, which changes no bit.
stops() {
	name=$1
	shift
	rm -rf b
	resume=
	for steps in 1 17 40; do
		merges=each
		[ $steps != 17 ] || merges=merged
		train "$@" --set run.dir=b --set train.steps=$steps --set train.gradients=$merges $resume
		expect 0 "$name, to step $steps"
		resume=--resume
	done
	forget="/\"step\":17,\"val_loss\"/d; /\"step\":1,\"val_loss\"/d"
	same "$name, stopped at 1 and 17" a b
	forget=
}

# Interrupt it where it happens to be; delays make the run long enough to be hit.
interrupted() {
	name=$1
	shift
	rm -rf b
	faults=MR_DELAY=4000:1:7
	start "$@" --set run.dir=b
	faults=
	kill -TERM "$pid" 2>/dev/null || :
	ended
	# It may have been done before the signal came.
	[ $code = 0 ] || expect 143 "$name, SIGTERM"
	train "$@" --set run.dir=b --resume
	expect 0 "$name, after SIGTERM"
	same "$name, stopped by SIGTERM" a b
}

each() {
	conf=$1
	type=$2
	echo "$systems" >systems
	while read -r system; do
		case $conf,$system in
		chain,*replicas*) sets="--set train.batch=2" ;;
		chain,pipedream* | chain,rpd*) sets="--set train.batch=1" ;;
		*) sets= ;;
		esac
		# A split word is an argument on purpose.
		set -- "$conf.cfg" $(sets_of "$type") --set system.name=$system $(micro "$system") $sets
		name="$conf $type $system"
		rm -rf a
		train "$@" --set run.dir=a
		expect 0 "$name"
		stops "$name" "$@"
		[ "$system" = sequential ] || interrupted "$name" "$@"
	done <systems
}

for conf in mlp gpt; do
	for type in $backends; do
		each $conf "$type"
	done
done
each chain f64
systems='data_parallel
data_parallel --set system.gradients=joint
data_parallel --set system.gradients=released --set system.chunks=3
data_parallel --set system.parameters=sharded --set system.chunks=3
pipedream
pipedream --set system.replicas=[2,1] --set machine.workers=3'
each norm f64
systems='sequential
1f1b
pipedream'
each lstm f64
finish
