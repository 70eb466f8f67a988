#!/bin/sh
# What bf16 costs a training: the validation loss of an mlp and a gpt, over three seeds, against that of f32, on the
# reference backend and on our kernels.
#   slow_precision.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

cat >class.cfg <<'END'
model = { name = "mlp"; hidden = [48, 48]; };
data = { name = "synthetic"; features = 16; classes = 10; samples = 2000; noise = 2.0; };
optimizer = { name = "adamw"; lr = 0.002; };
system = { name = "pipedream_2bw"; };
train = { steps = 200; batch = 32; microbatches = 4; };
lr_schedule = { name = "cosine"; };
machine = { workers = 2; threads = 1; peak_gflops = 10.0; };
END
cat >chars.cfg <<'END'
model = { name = "gpt"; layers = 2; width = 32; heads = 4; context = 32; tied = true; };
data = { name = "text"; path = "text.txt"; };
optimizer = { name = "adamw"; lr = 0.005; };
system = { name = "1f1b"; };
train = { steps = 250; batch = 16; microbatches = 4; clip = 1.0; };
lr_schedule = { name = "cosine"; warmup = 10; };
machine = { workers = 2; threads = 1; peak_gflops = 10.0; };
END
# Sixteen words in a random order: once they are learned, what is left of the loss is the choice of the next word.
awk 'BEGIN {
	n = split("stage worker pipe micro slot ring boundary version " \
		"span lower check unroll replay loader plan link", word, " ")
	x = 7
	for (i = 0; i < 10000; i++) {
		x = (x * 16807) % 2147483647
		printf "%s%s", word[1 + int(x / 1024) % n], i % 12 == 11 ? "\n" : " "
	}
}' >text.txt

# Validation losses of the seeds, on one line: losses CONF PRECISION [BACKEND].
losses() {
	for seed in 1 2 3; do
		rm -rf r
		train "$1.cfg" --set backend="${3:-reference}" --set precision="$2" --set train.seed=$seed \
			--set run.dir=r
		expect 0 "$1 in $2, seed $seed"
		sed -n 's/^done: .*validation loss \([0-9.]*\).*/\1/p' out
	done | tr '\n' ' '
}

compare() {
	echo "$2 $3" | awk -v name="$1" '
		NF != 6 { print name ": losses are missing: " $0; exit 1 }
		{
			f32 = ($1 + $2 + $3) / 3
			bf16 = ($4 + $5 + $6) / 3
			print name ": f32 " f32 ", bf16 " bf16 " (" $0 ")"
			if (!(bf16 - f32 < 0.01 && f32 - bf16 < 0.01)) exit 1
		}' || fail "$1: bf16 does not end where f32 does"
}
# Rounding to the nearest changes the mean of three seeds by 0.0005 at most. Rounding at random scatters a seed's loss
# by 0.0035, and so the mean of three by 0.002: 0.01 is five times that.
for conf in class chars; do
	f32=$(losses $conf f32)
	compare $conf "$f32" "$(losses $conf bf16)"
	compare "$conf, pure" "$f32" "$(losses $conf bf16_pure)"
	case $backends in
	*f32*) compare "$conf, fused" "$f32" "$(losses $conf bf16 fused)" ;;
	esac
done
finish
