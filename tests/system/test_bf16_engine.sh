#!/bin/sh
# By which instructions bf16 numbers are multiplied: what reports say of it, and trainings by the model of AMX tiles.
#   test_bf16_engine.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
[ "$backends" != f64 ] || skip "this build has no products of bf16 of its own"
unset MR_BF16_ENGINE
bf16="--set precision=bf16 --set backend=fused"
# Also without AVX-512 some of its products are then computed by blocks.
sed -i 's/width = 8;/width = 32;/' gpt.cfg

MR_BF16_ENGINE=model "$millrace" list kernels | grep -q '^bf16  *products of fused and auto by model$' ||
	fail "list kernels does not name the model"
"$millrace" list kernels | grep -q '^bf16  *products of fused and auto by \(amx$\|[a-z0-9_]*, not amx: .\)' ||
	fail "list kernels does not say why not amx"
ONEDNN_MAX_CPU_ISA=AVX2 "$millrace" list kernels | grep -q '^bf16  *products of fused and auto by f32, not amx: .' ||
	fail "instructions are not left out where oneDNN must not use them"
"$millrace" plan gpt.cfg $bf16 2>err | grep -q '^bf16  *products by ' || fail "plan does not name the instructions"
"$millrace" plan gpt.cfg 2>err | grep -q '^bf16 ' && fail "plan names instructions of bf16 in f32"

MR_BF16_ENGINE=tiles
export MR_BF16_ENGINE
refused 3 "an engine of no name" mlp.cfg $bf16 --set run.dir=none
grep -q 'MR_BF16_ENGINE names none of' err || fail "the variable is not named"

# The same bits each time, and after a stop.
MR_BF16_ENGINE=model
for conf in mlp gpt; do
	train $conf.cfg $bf16 --set system.name=1f1b --set run.dir=$conf-one
	expect 0 "$conf by the model"
	grep -q '^bf16  *products by model$' out || fail "train does not name the model"
	train $conf.cfg $bf16 --set system.name=1f1b --set run.dir=$conf-two --set train.steps=20
	train $conf.cfg $bf16 --set system.name=1f1b --set run.dir=$conf-two --resume
	expect 0 "$conf by the model, resumed"
	grep -q '"isa": *"model"' $conf-one/checkpoints/$(latest $conf-one)/MANIFEST.json ||
		fail "the manifest does not name the instructions"
	grep -q 'other last bits' err && fail "$conf: a warning of another run that is the same"
	grep -q 'the last bits may differ' err && fail "$conf: a warning of other instructions that are the same"
	same "$conf by the model, stopped and resumed" $conf-one $conf-two
done

# Other instructions have other last bits, and to go on by them is allowed, with a warning.
MR_BF16_ENGINE=f32
train gpt.cfg $bf16 --set system.name=1f1b --set run.dir=gpt-f32
expect 0 "gpt by multiply-adds"
one=gpt-one/checkpoints/$(latest gpt-one) other=gpt-f32/checkpoints/$(latest gpt-f32)
cmp -s $one/model.safetensors $other/model.safetensors &&
	fail "two sums and one chain give the same bits: the variable does nothing"
train gpt.cfg $bf16 --set system.name=1f1b --set run.dir=gpt-one --set train.steps=60 --resume
expect 0 "gone on by multiply-adds" 'made with .*bf16 by model, this is .*bf16 by avx.*: the last bits may differ'
grep -q 'was computed by model, this run is by avx[0-9]*: it goes on as another run, with other last bits$' err ||
	fail "it is not said that other instructions make another run"
identity() {
	sed -n 's/.*"identity": *"\([0-9a-f]*\)".*/\1/p' $1/checkpoints/$(latest $1)/MANIFEST.json
}
[ "$(identity gpt-one)" = "$(identity gpt-f32)" ] || fail "the same run by the same instructions has two identities"
[ "$(identity gpt-one)" != "$(identity gpt-two)" ] || fail "instructions are no part of the identity"
finish
