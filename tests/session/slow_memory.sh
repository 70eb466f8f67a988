#!/bin/sh
# The peak of memory that is predicted against the one that the kernel measured.   slow_memory.sh SOURCE BUILD [all]
every=${3:-}
. "$(dirname "$0")/../system/train_lib.sh"

if grep -q __asan_init "$millrace" || grep -q __tsan_init "$millrace"; then
	skip "a sanitizer has memory of its own"
fi

# Within 5 % or 16 MiB, whichever is more (DECISIONS 40). The figures have two or three digits; the error is given in
# percent.
verdict() {
	awk -v name="$1" -v least="$2" '
	function mib(x, unit) {
		return unit == "GiB" ? 1024 * x : unit == "MiB" ? x : unit == "KiB" ? x / 1024 : x / 1048576 }
	/^peak memory/ {
		seen = 1
		predicted = mib($4, $5)
		percent = $NF
		gsub(/[()%]/, "", percent)
		off = predicted * percent / 100
		off = off < 0 ? -off : off
		printf "%-58s predicted %6.0f MiB, measured %6.0f MiB\n", name, predicted, mib($7, $8)
		if (off > 16 && off > 0.05 * predicted) { print name ": off by " off " MiB"; bad = 1 }
		if (predicted < least) { print name ": meant to need more than " least " MiB"; bad = 1 }
	}
	END { if (!seen) print name ": no peak was reported"; exit bad || !seen }' out || fail "$1"
}

peak() {
	least=$1
	shift
	name=$(echo "$*" | sed -e 's/--set //g' -e 's/[a-z]*\.name=//g')
	rm -rf r
	train "$@" --set run.dir=r --set train.steps=3 --set checkpoint.every=2
	expect 0 "$name"
	verdict "$name" "$least"
}

# Each case with one type, by turns, and each loop with both; or with all of them.
turn=0
next_types() {
	turn=$((turn + 1))
	types=$backends
	[ "$every" = all ] || types=$(echo "$backends" | awk -v turn=$turn '{ print $(turn % NF + 1) }')
}

deep=0
for system in sequential gpipe 1f1b pipedream; do
	next_types
	for type in $types; do
		peak 0 mlp.cfg $(sets_of "$type") --set system.name=$system
	done
	[ $deep = 1 ] || next_types
	for type in $types; do
		peak 0 mlp.cfg $(sets_of "$type") --set system.name=$system --set "model.hidden=[1024, 1024, 1024]" \
			--set train.batch=64
	done
	deep=$((1 - deep))
done
# Half of the weights and activations, and 2 bytes a parameter beside the optimizer's state; or half of everything.
for system in sequential 1f1b pipedream; do
	for type in bf16 bf16_pure; do
		peak 0 mlp.cfg $(sets_of $type) --set system.name=$system --set "model.hidden=[1024, 1024, 1024]" \
			--set train.batch=64
	done
done
# Several stages on a worker, several pipes over the workers, copies of the weights for each of them.
for system in interleaved zb_v chimera "data_parallel --set system.weights=shared" \
	"data_parallel --set system.weights=private" \
	"data_parallel --set system.gradients=released --set system.chunks=4" \
	"data_parallel --set system.parameters=sharded --set system.chunks=4"; do
	next_types
	for type in $types; do
		peak 0 mlp.cfg $(sets_of "$type") --set system.name=$system \
			--set "model.hidden=[1024, 1024, 1024, 1024]" --set train.batch=64 --set train.microbatches=4
	done
done
peak 0 chain.cfg $(sets_of f64) --set system.name=1f1b
peak 0 chain.cfg $(sets_of f64) --set system.name=pipedream --set model.depth=400 --set "model.init=[0.99]" \
	--set train.batch=1
# Many workers: a stack and a context each, and lists that grow with their square while they are made.
next_types
for type in $types; do
	peak 0 chain.cfg $(sets_of "$type") --set system.name=1f1b --set model.depth=256 --set machine.workers=256 \
		--set "model.init=[0.99]" --set train.microbatches=4
done
next_types
for type in $types; do
	peak 0 gpt.cfg $(sets_of "$type") --set system.name=1f1b --set model.layers=24 --set machine.workers=24 \
		--set train.microbatches=4 --set trace.steps=1-2
done
peak 0 chain.cfg $(sets_of f64) --set system.name=1f1b --set model.depth=768 --set machine.workers=768 \
	--set "model.init=[0.99]" --set train.microbatches=4
peak 0 mlp.cfg $(sets_of f64) --set data.samples=400000 --set data.features=64 --set system.name=1f1b
train mlp.cfg $(sets_of f64) --set data.samples=400000 --set data.features=64 --set run.dir=r --resume \
	--set train.steps=4 --set system.name=1f1b
expect 0 resumed
verdict "the same, resumed" 0
for system in sequential pipedream; do
	next_types
	for type in $types; do
		peak 0 gpt.cfg $(sets_of "$type") --set system.name=$system --set model.width=128 --set model.context=64
	done
done
next_types
for type in $types; do
	peak 0 gpt.cfg $(sets_of "$type") --set system.name=1f1b --set model.width=128 --set model.context=64 \
		--set train.microbatches=4 --set trace.steps=1-2
done
# A head tied to the embedding, most of whose rows have a gradient that is never written: 64 tokens of 256.
for type in $backends; do
	peak 0 gpt.cfg $(sets_of "$type") --set system.name=sequential --set model.tied=true --set data.vocab=byte \
		--set train.clip=0.0 \
		--set train.microbatches=1 --set model.width=512 --set model.layers=1 --set model.context=16
done
# One above 1 GiB: activations of long contexts, which cost little arithmetic.
last_type=${backends##* }
batch=32
[ "$last_type" = f32 ] || batch=16
if [ "$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)" -ge 3000 ]; then
	peak 1024 gpt.cfg $(sets_of "$last_type") --set system.name=pipedream --set model.width=128 \
		--set model.heads=8 \
		--set model.context=256 --set train.batch=$batch --set model.layers=6
fi
finish
