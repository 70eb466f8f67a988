#!/bin/sh
# A run that was stopped and resumed equals one that was not, to the bit.   slow_resume.sh SOURCE BUILD
#
# Stopped by the end of its steps, early, in the middle and late, and by SIGTERM wherever that finds it. A session that ends
# by itself evaluates; so the stops lie where the whole run evaluates too.
. "$(dirname "$0")/train_lib.sh"

systems='sequential
gpipe --set system.backward=fifo
gpipe --set system.backward=lifo
1f1b
pipedream
pipedream --set system.vertical_sync=true'

# Micro-batches, where the system divides a batch.
micro() {
	case $1 in
	pipedream*) echo "" ;;
	*) echo "--set train.microbatches=4" ;;
	esac
}

# Stop after $2 steps and resume, to the end or to the next stop.
stops() {
	name=$1
	shift
	rm -rf b
	for steps in 10 20 40; do
		resume=
		[ ! -e b ] || resume=--resume
		train "$@" --set run.dir=b --set train.steps=$steps $resume
		expect 0 "$name, to step $steps"
	done
	same "$name, stopped at 10 and 20" a b
	rm -rf b
	for steps in 1 40; do
		resume=
		[ ! -e b ] || resume=--resume
		train "$@" --set run.dir=b --set train.steps=$steps --set train.eval_every=1 $resume
		expect 0 "$name, to step $steps"
	done
	for f in model optimizer; do
		[ ! -e a/checkpoints/step-00000040/$f.safetensors ] ||
			cmp -s a/checkpoints/step-00000040/$f.safetensors b/checkpoints/step-00000040/$f.safetensors ||
			fail "$name, stopped at 1: $f differs"
	done
}

# Interrupt it $1 times where it happens to be; delays make the run long enough to be hit.
interrupted() {
	name=$1
	shift
	rm -rf b
	for round in 1 2; do
		resume=
		[ ! -e b ] || resume=--resume
		MR_DELAY=4000:1:$round start "$@" --set run.dir=b $resume
		sleep 0.03
		kill -TERM "$pid" 2>/dev/null || :
		ended
		# It may have been done before the signal came.
		[ $code = 0 ] || expect 143 "$name, SIGTERM"
	done
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
		chain,pipedream*) sets="--set train.batch=1" ;;
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
finish
