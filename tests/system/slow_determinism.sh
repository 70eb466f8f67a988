#!/bin/sh
# The same configuration gives the same bytes: again, with random delays, on one CPU.   slow_determinism.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

case_of() {
	conf=$1
	type=$2
	system=$3
	set -- "$conf.cfg" $(sets_of "$type") --set system.name="$system" --set machine.workers="$4"
	[ "$system" = pipedream ] || set -- "$@" --set train.microbatches=4
	name="$conf $type $system"
	rm -rf a b
	train "$@" --set run.dir=a
	expect 0 "$name"
	train "$@" --set run.dir=b
	same "$name, again" a b
	rm -rf b
	faults=MR_DELAY=200:5:11
	train "$@" --set run.dir=b
	faults=
	same "$name, delayed" a b
	rm -rf b
	train "$@" --set run.dir=b --set checkpoint.every=1 --set trace.steps=3-9 --set machine.spin_us=0
	same "$name, saving and traced" a b
	if command -v taskset >/dev/null; then
		rm -rf b
		code=0
		taskset -c "$cpu" "$millrace" train "$@" --set run.dir=b >out 2>err || code=$?
		expect 0 "$name, on one CPU"
		same "$name, on one CPU" a b
	fi
}

# The first CPU that this test may use.
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
for type in $backends; do
	for system in sequential gpipe 1f1b pipedream; do
		case_of mlp "$type" $system 3
		case_of gpt "$type" $system 2
	done
done

# Two threads a worker have their own bits, which are the same every time too. (The team sums in a fixed order.)
if [ "$(nproc)" -ge 2 ]; then
	for type in $backends; do
		rm -rf a b
		set -- gpt.cfg $(sets_of "$type") --set machine.threads=2 --set system.name=sequential
		train "$@" --set run.dir=a
		expect 0 "two threads"
		train "$@" --set run.dir=b
		same "two threads, again" a b
	done
fi
finish
