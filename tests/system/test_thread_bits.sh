#!/bin/sh
# `plan` names the operations whose bits may depend on the number of threads a worker: where it names none, two threads
# give the weights of one, to the bit. Networks wide enough for a team to share their work, in all backends and types.
#   test_thread_bits.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
[ "$backends" != f64 ] || skip "this build has no oneDNN"

export OMP_WAIT_POLICY=passive
i=0
while [ $i -lt 200 ]; do
	echo "line $i of a text that repeats itself, though each line has a number: $((i * i))"
	i=$((i + 1))
done >long.txt

for sort in mlp muon soap; do
	cat >$sort.cfg <<END
model = { name = "mlp"; hidden = [256, 256]; activation = "relu"; norm = "batch"; };
data = { name = "synthetic"; features = 64; classes = 10; samples = 4096; };
optimizer = { name = "$([ $sort = mlp ] && echo momentum || echo $sort)"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 3; batch = 256; };
machine = { workers = 1; threads = 2; peak_gflops = 50.0; };
END
done
for sort in gpt llama; do
	cat >$sort.cfg <<END
model = { name = "$sort"; layers = 2; width = 128; heads = 4; context = 64; };
data = { name = "text"; path = "long.txt"; validation = 0.02; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 3; batch = 8; clip = 1.0; };
machine = { workers = 1; threads = 2; peak_gflops = 50.0; };
END
done
# CIFAR's form: a label and 3 x 32 x 32 bytes
mkdir images
for part in 1 2 3 4 5; do
	awk -v p=$part 'BEGIN {
		for (i = 0; i < 4; i++) {
			printf "%c", 48 + i
			for (j = 0; j < 3072; j++)
				printf "%c", 33 + (i * 7 + j * j * p) % 90
		}
	}' | tr 0-9 '\000-\011' >images/data_batch_$part.bin
done
cp images/data_batch_1.bin images/test_batch.bin
cat >resnet.cfg <<'END'
model = { name = "resnet18"; form = "cifar"; };
data = { name = "cifar"; path = "images"; };
optimizer = { name = "momentum"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 2; batch = 4; };
machine = { workers = 1; threads = 2; peak_gflops = 50.0; };
END

n_same=0
n_named=0
# check CONF ARGS...
check() {
	conf=$1
	shift
	"$millrace" plan "$conf.cfg" "$@" >plan 2>err || fail "$conf $*: no plan: $(cat err)"
	if grep -q '^bits may depend on the threads a worker: [a-z_]* (' plan; then
		n_named=$((n_named + 1))
		return
	fi
	grep -q '^bits are those of one thread a worker$' plan || fail "$conf $*: plan says nothing about bits"
	n_same=$((n_same + 1))
	for threads in 1 2; do
		"$millrace" train "$conf.cfg" "$@" --set machine.threads=$threads --set run.dir="run$threads" \
			--set train.eval_every=0 >log 2>&1 || fail "$conf $*: no training: $(cat log)"
	done
	cmp run1/checkpoints/*/model.safetensors run2/checkpoints/*/model.safetensors ||
		fail "$conf $*: plan names no operation, and the bits differ"
	rm -rf run1 run2
}

for conf in mlp muon soap gpt llama resnet; do
	for backend in fused auto; do
		check $conf --set backend=$backend --set precision=f32
		if "$millrace" plan $conf.cfg --set backend=$backend --set precision=bf16 >/dev/null 2>&1; then
			check $conf --set backend=$backend --set precision=bf16
		fi
	done
done
check mlp --set backend=onednn
[ $n_same -gt 0 ] && [ $n_named -gt 0 ] || fail "$n_same runs with equal bits, $n_named with named operations"
"$millrace" plan mlp.cfg --set machine.threads=1 2>/dev/null | grep '^bits' && fail "one thread: a line about bits"
finish
