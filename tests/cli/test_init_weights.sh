#!/bin/sh
# train --init: a GPT-2 that Hugging Face saved has the loss that Hugging Face computes, whole and cut into stages, with
# a tied head and one of its own; a run begins where another one ended; what does not fit is refused.
#	test_init_weights.sh SOURCE BUILD
. "$(dirname "$0")/../system/train_lib.sh"

golden=$source/tests/golden/torch/gpt2_import
{
	i=0
	while [ $i -le 320 ]; do # token i is (7 i^2 + 3 i) mod 61, two bytes
		printf "\\$(printf %03o $(((7 * i * i + 3 * i) % 61)))\\000"
		i=$((i + 1))
	done
} >text.bin
cat >gpt2.cfg <<'END'
model = { name = "gpt"; layers = 2; width = 12; heads = 2; context = 16; tied = true; };
data = { name = "tokens"; path = "text.bin"; validation_path = "text.bin"; format = "nanogpt"; vocab = 61; };
optimizer = { name = "sgd"; lr = 1e-12; };
system = { name = "sequential"; };
train = { steps = 1; batch = 4; microbatches = 2; eval_every = 1; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END

want=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' "$golden.json")
near() # WHAT DIR: the run's validation loss is the recorded one
{
	got=$(sed -n 's/.*"val_loss":\([0-9.e+-]*\).*/\1/p' "$2/metrics.jsonl")
	awk -v a="$got" -v b="$want" 'BEGIN { d = a - b; exit !(a > 0 && d * d < 1e-12 * b * b) }' ||
		fail "$1: loss $got, Hugging Face has $want"
}

for system in sequential gpipe data_parallel; do
	train gpt2.cfg --set backend=reference --set system.name=$system --init "$golden.safetensors" \
		--set run.dir=$system
	expect 0 "$system"
	near "$system" $system
done
grep -q "^weights  28 tensors of .*gpt2_import.safetensors" out || fail "no line about the weights: $(cat out)"
train gpt2.cfg --set backend=reference --set precision=f64 --set model.tied=false --set system.name=pipedream \
	--set train.microbatches=1 --init "$golden.safetensors" --set run.dir=own
expect 0 "a head of its own, f64"
near "a head of its own, f64" own

# A file of a run of its own, whose head lies [width, vocabulary].
train gpt2.cfg --set backend=reference --set model.tied=false --set run.dir=again \
	--init own/checkpoints/step-00000001/model.safetensors
expect 0 "a run's own file"
near "a run's own file" again

refused 2 "--init and --resume" gpt2.cfg --init "$golden.safetensors" --resume
for change in model.width=16 model.layers=3 model.context=32; do
	train gpt2.cfg --set $change --init "$golden.safetensors" --set run.dir=none
	expect 5 "$change" "gpt2_import.safetensors.*: \|gpt2_import.safetensors has no tensor h.2"
	[ ! -e none ] || fail "$change: the refused run left a folder"
done
finish
