#!/bin/sh
# The memory that `plan` promises for the process against the peak that the kernel measured: 26 configurations of
# networks, systems, precisions, backends and threads. A plan is never too small, and at most a tenth and a few MiB too
# large; a run whose limit is the plan stays below it.   slow_plan_memory.sh SOURCE BUILD
. "$(dirname "$0")/../system/train_lib.sh"

if grep -q __asan_init "$millrace" || grep -q __tsan_init "$millrace"; then
	skip "a sanitizer has memory of its own"
fi
case $backends in *f32*) ;; *) skip "this build has no oneDNN" ;; esac

awk 'BEGIN { srand(5); for (i = 0; i < 6000; i++) { s = ""; for (j = 0; j < 50; j++) s = s sprintf("%c",
	97 + int(rand() * 16)); print s } }' >text.txt
text='data = { name = "text"; path = "text.txt"; };'
image='data = { name = "synthetic"; image = [32, 32, 3]; classes = 10; samples = 400; };'
mlp='data = { name = "synthetic"; features = 64; classes = 10; samples = 2000; };'

# config NAME MODEL DATA OPTIMIZER BATCH
config() {
	cat >"$1.cfg" <<-END
	model = { $2 };
	$3
	optimizer = { name = "$4"; lr = 0.001; };
	train = { steps = 3; batch = $5; microbatches = 4; };
	machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
	END
}
config mlp 'name = "mlp"; hidden = [1024, 1024];' "$mlp" adamw 64
config deep 'name = "mlp"; hidden = [256, 256, 256, 256, 256, 256];' "$mlp" adamw 64
config gpt 'name = "gpt"; layers = 4; width = 128; heads = 4; context = 64;' "$text" adamw 16
config llama 'name = "llama"; layers = 4; width = 256; heads = 4; context = 128;' "$text" adamw 16
config resnet18 'name = "resnet18";' "$image" momentum 16
config vgg16 'name = "vgg16";' "$image" momentum 8
config vit 'name = "vit";' "$image" adamw 16
config awd 'name = "awd_lm"; width = 256; embed = 128; layers = 3; context = 32;' \
	'data = { name = "text"; path = "text.txt"; order = "columns"; };' sgd 16

# Many versions: each is a tensor of the checkpoint.
cat >wide.cfg <<'END'
model = { name = "quadratic"; blocks = 64; };
data = { name = "generated"; rows = 640; features = 512; };
optimizer = { name = "sgd"; lr = 0.03125; };
system = { name = "rpd"; };
train = { steps = 3200; batch = 16; microbatches = 1; };
machine = { workers = 64; peak_gflops = 50.0; };
END

# Bytes of a figure "12 MiB", in MiB.
mib() {
	awk -v x="$1" -v unit="$2" 'BEGIN {
		print unit == "GiB" ? 1024 * x : unit == "MiB" ? x : unit == "KiB" ? x / 1024 : x / 1048576 }'
}

# Figures have whole MiB from 10 on: one of rounding on either side.
holds() {
	cfg=$1.cfg name="$*"
	shift
	sets=
	for set in "$@"; do
		sets="$sets --set $set"
	done
	code=0
	"$millrace" plan "$cfg" $sets >out 2>err || code=$?
	if [ "$code" = 3 ] && grep -q 'it needs a CPU with' err; then
		echo "$name: not on this CPU"
		return 0
	fi
	expect 0 "plan: $name"
	[ "$code" = 0 ] || return 0
	planned=$(mib $(awk '/^  at most at once/ { print $5, $6 }' out | tail -n 1))
	# The limit: the figure may be rounded down, and of the program itself, counted in whole MiB, the next process
	# may find one or two more in memory.
	# What the kernel counts is less where it has no large pages to give, and where micro-batches happened never
	# to be under way all at once; a plan is a MiB more where the kernel has just given many. The most of three
	# trainings counts, with 4 MiB for what none of them happened to touch.
	peak=0
	for _ in 1 2 3; do
		rm -rf r
		train "$cfg" $sets --set run.dir=r --set machine.memory_limit=$(((planned + beyond) * 1048576))
		[ "$code" = 0 ] || continue
		peak=$(mib $(awk '/^peak memory/ { print $7, $8 }' out))
		! awk -v planned="$planned" -v peak="$peak" 'BEGIN { exit !(planned <= 1.1 * peak + 4) }' || break
	done
	expect 0 "$name"
	[ "$code" = 0 ] || return 0
	awk -v name="$name" -v planned="$planned" -v peak="$peak" 'BEGIN {
		printf "%-78s planned %4d MiB, measured %4d MiB, %+.1f%%\n", name, planned, peak,
			100 * (planned / peak - 1)
		exit !(peak <= planned + 1 && planned <= 1.1 * peak + 4) }' ||
		fail "$name: planned $planned MiB, took $peak"
}

beyond=3
alone="system.name=sequential machine.workers=1"
holds mlp $alone
holds mlp system.name=1f1b
holds mlp system.name=pipedream train.microbatches=1 precision=bf16
holds mlp system.name=gpipe machine.threads=2 backend=onednn
holds mlp system.name=zb_h1 precision=bf16_pure
holds mlp system.name=data_parallel precision=f64 backend=reference
holds mlp $alone optimizer.state=int8
holds mlp system.name=data_parallel optimizer.state=int8 precision=bf16
holds deep system.name=chimera machine.workers=4
holds deep system.name=pipedream machine.workers=4 train.microbatches=1 checkpoint.every=2
holds gpt $alone machine.threads=2
holds gpt system.name=1f1b backend=onednn
holds gpt system.name=pipedream_2bw
holds gpt system.name=1f1b system.recompute=always
holds gpt system.name=1f1b checkpoint.every=2 trace.steps=1-2
holds llama system.name=gpipe precision=bf16
holds llama $alone backend=fused
holds resnet18 system.name=1f1b
holds resnet18 system.name=1f1b optimizer.state=bf16
holds resnet18 $alone precision=bf16 backend=onednn
holds resnet18 system.name=pipedream train.microbatches=1 precision=bf16
holds awd $alone machine.threads=2 backend=onednn
holds awd system.name=1f1b
holds vgg16 system.name=1f1b
holds vit system.name=interleaved
holds wide
finish
