#!/bin/sh
# train --init with what transformers saves: the loss is the one that it computes, from F32, F16 and BF16, from one
# file, an index of shards, a folder, and through links as the cache of the hub has them; what has no place in the
# network, or is otherwise in config.json, is refused by name; heads of older builds are turned.
#	test_init_foreign.sh SOURCE BUILD
. "$(dirname "$0")/../system/train_lib.sh"

golden=$source/tests/golden/torch/import
tokens() # VOCAB: token i is (7 i^2 + 3 i) mod VOCAB, two bytes
{
	i=0
	while [ $i -le 320 ]; do
		printf "\\$(printf %03o $(((7 * i * i + 3 * i) % $1)))\\000"
		i=$((i + 1))
	done
}
tokens 61 >61.bin
tokens 12 >12.bin
configuration() # VOCAB: with the line of the model on standard input
{
	cat
	cat <<END
data = { name = "tokens"; path = "$1.bin"; validation_path = "$1.bin"; format = "nanogpt"; vocab = $1; };
optimizer = { name = "sgd"; lr = 1e-12; };
system = { name = "sequential"; };
train = { steps = 1; batch = 4; microbatches = 2; eval_every = 1; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
backend = "reference";
END
}
configuration 61 >llama.cfg <<'END'
model = { name = "llama"; layers = 2; width = 16; heads = 4; kv_heads = 2; hidden = 24; context = 16; bias = "qkv";
	eps = 1e-6; rope_theta = 5000.0; };
END
configuration 12 >gpt.cfg <<'END'
model = { name = "gpt"; layers = 2; width = 12; heads = 2; context = 16; };
END

near() # WHAT DIR MODEL: the run's validation loss is the recorded one of MODEL
{
	want=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' "$golden/$3/loss.json")
	got=$(sed -n 's/.*"val_loss":\([0-9.e+-]*\).*/\1/p' "$2/metrics.jsonl")
	awk -v a="$got" -v b="$want" 'BEGIN { d = a - b; exit !(a > 0 && d * d < 1e-12 * b * b) }' ||
		fail "$1: loss $got, transformers has $want"
}
begins() # MODEL CONF INIT ...: and has the loss of MODEL
{
	model=$1 conf=$2 init=$3
	shift 3
	rm -rf run
	train "$conf" --init "$init" --set run.dir=run "$@"
	expect 0 "$init $*"
	near "$init $*" run "$model"
}
no_run() # TEXT CONF INIT ...: refused with a message that has TEXT
{
	text=$1 conf=$2 init=$3
	shift 3
	train "$conf" --init "$init" --set run.dir=none "$@"
	expect 5 "$init $*" "$text"
	[ ! -e none ] || fail "$init $*: the refused run left a folder"
}

# Shards, by folder and by index; f64; a pipeline.
begins qwen2 llama.cfg "$golden/qwen2"
begins qwen2 llama.cfg "$golden/qwen2/model.safetensors.index.json" --set precision=f64
begins qwen2 llama.cfg "$golden/qwen2" --set system.name=gpipe
# The cache of the hub: a folder of links to files with other names.
mkdir blobs snapshot
for f in "$golden"/qwen2/*; do
	name=$(basename "$f")
	cp "$f" "blobs/$(cksum <"$f" | cut -d' ' -f1)"
	ln -s "../blobs/$(cksum <"$f" | cut -d' ' -f1)" "snapshot/$name"
done
begins qwen2 llama.cfg snapshot
# F16 and tied, into a tied network and into one with a head of its own; BF16 and biases everywhere.
begins qwen2_f16 llama.cfg "$golden/qwen2_f16/model.safetensors"
begins qwen2_f16 llama.cfg "$golden/qwen2_f16" --set model.tied=true
begins llama_bias llama.cfg "$golden/llama_bias" --set model.bias=attention
# A head of its own lies as in transformers, and so does the one that is saved.
begins gpt2_own gpt.cfg "$golden/gpt2_own"
mv run own
begins gpt2_own gpt.cfg own/checkpoints/step-00000001/model.safetensors
train gpt.cfg --set data.vocab=40 --set run.dir=wide
expect 0 "40 tokens"
"$millrace" inspect wide >out 2>&1
grep -q '^ *lm_head.weight  *F32  *40 x 12 ' out || fail "the head is saved otherwise: $(grep lm_head out)"

# A checkpoint of a larger network does not pass for one of a smaller.
"$millrace" eval gpt.cfg --set run.dir=own >out 2>&1 || fail "eval: $(cat out)"
code=0
"$millrace" eval gpt.cfg --set run.dir=own --set model.layers=1 >out 2>err || code=$?
expect 5 "eval of fewer layers" 'model.safetensors: the network has no parameter for tensor "h.1'

# A file of a run says what its network computes where tensors do not show it: weights that fit by their shapes are not
# taken by another one, at --init and in eval. Its copy is read without a word, and so are more or fewer positions.
train llama.cfg --set model.bias=none --set run.dir=ours
expect 0 "a llama of our own"
ours=ours/checkpoints/step-00000001/model.safetensors
for change in 'model.eps=1e-5 "rms_norm eps=1e-06", and in this one it is "rms_norm eps=1e-05"' \
	'model.rope_theta=1e4 theta=5000", and in this one it is "rope heads=4 kv_heads=2 theta=10000"'; do
	no_run "${change#* }.*--init-anyway" llama.cfg $ours --set model.bias=none --set "${change%% *}"
	code=0
	"$millrace" eval llama.cfg --set model.bias=none --set run.dir=ours --set "${change%% *}" >out 2>err ||
		code=$?
	expect 5 "eval with ${change%% *}" "${change#* }"
done
no_run 'has a layer model.layers.1.input_layernorm (rms_norm eps=1e-06), and this one has none' llama.cfg $ours \
	--set model.bias=none --set model.layers=1
no_run 'this network has a layer model.layers.2.input_layernorm (rms_norm), and' llama.cfg $ours \
	--set model.bias=none --set model.layers=3
train llama.cfg --init $ours --set model.bias=none --set model.context=8 --set run.dir=shorter
expect 0 "fewer positions"
train llama.cfg --init $ours --init-anyway --set model.bias=none --set model.eps=1e-5 --set run.dir=other_eps
expect 0 "--init-anyway with another eps" 'and in this one it is "rms_norm eps=1e-05"'
sed 's/lm_head linear/lm_head_linear/' $ours >scratched.safetensors
no_run 'the metadata "network" have a line without an operation' llama.cfg scratched.safetensors --set model.bias=none
gpt=own/checkpoints/step-00000001/model.safetensors
no_run '"attention heads=2", and in this one it is "attention heads=3"' gpt.cfg $gpt --set model.heads=3

# What has no place is named: by config.json ...
no_run 'qwen2/config.json: model_type is qwen2, and model.bias is none, not qkv' llama.cfg "$golden/qwen2" \
	--set model.bias=none
no_run 'config.json: num_hidden_layers is 2, and model.layers is 1' llama.cfg "$golden/qwen2" --set model.layers=1
no_run 'config.json: rms_norm_eps is 1e-06, and model.eps is 1e-05' llama.cfg "$golden/qwen2" --set model.eps=1e-5
no_run 'config.json: rope_theta is 5000, and model.rope_theta is 10000' llama.cfg "$golden/qwen2" \
	--set model.rope_theta=1e4
no_run 'config.json: num_attention_heads is 4, and model.heads is 8' llama.cfg "$golden/qwen2" --set model.heads=8
no_run 'config.json: attention_bias is true, and model.bias is qkv, not attention' llama.cfg "$golden/llama_bias"
no_run 'config.json: n_head is 2, and model.heads is 3' gpt.cfg "$golden/gpt2_own" --set model.heads=3
no_run 'config.json: model_type is qwen2, and gpt has gpt2' gpt.cfg "$golden/qwen2"
mkdir other
sed 's/"silu"/"gelu"/' "$golden/qwen2_f16/config.json" >other/config.json
cp "$golden/qwen2_f16/model.safetensors" other
no_run 'other/config.json: hidden_act is gelu, and llama has silu' llama.cfg other
sed 's/"rope_type": "default"/"rope_type": "yarn"/' "$golden/qwen2_f16/config.json" >other/config.json
no_run 'rope_type is yarn, and llama has the positions called default' llama.cfg other
sed 's/"layer_types".*/{/' "$golden/qwen2_f16/config.json" >other/config.json
no_run 'other/config.json' llama.cfg other
# ... and without it by the tensors.
rm other/config.json
no_run 'parameter for 6 of its tensors: .*self_attn.._proj.bias.*--init-anyway' llama.cfg other --set model.bias=none
no_run 'parameter for 12 of its tensors: model.layers.1.*, \.\.\. ' llama.cfg other --set model.layers=1
mkdir tied
cp "$golden"/qwen2/model* tied
no_run 'parameter for 1 of its tensors: lm_head.weight' llama.cfg tied --set model.tied=true
# The same, when asked: a warning for each.
train llama.cfg --init "$golden/qwen2" --init-anyway --set model.layers=1 --set run.dir=anyway
expect 0 "--init-anyway" "num_hidden_layers is 2, and model.layers is 1"
grep -q 'no parameter for 12 of its tensors' err || fail "--init-anyway does not name the tensors: $(cat err)"
refused 2 "init-anyway is about" llama.cfg --init-anyway

# Damaged sets.
no_run 'broken: is a folder without model.safetensors and' llama.cfg "$(mkdir -p broken; echo broken)"
mkdir shards
cp "$golden"/qwen2/* shards
rm shards/model-00002-of-00002.safetensors
no_run 'model-00002-of-00002.safetensors: cannot open' llama.cfg shards
cp shards/model-00001-of-00002.safetensors shards/model-00002-of-00002.safetensors
no_run 'shards/model.safetensors.index.json: tensor ".*" is not in model-00002-of-00002.safetensors' llama.cfg shards
sed 's|model-00002|../qwen2/model-00002|' "$golden/qwen2/model.safetensors.index.json" \
	>shards/model.safetensors.index.json
no_run 'is in no file of its folder' llama.cfg shards
mkfifo pipe.safetensors
no_run 'pipe.safetensors: is not a regular file' llama.cfg pipe.safetensors
finish
