#!/bin/sh
# The backend auto: its table is part of what a run is resumed with, plan shows what it says, and tune writes one.
#   test_choices.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
[ "$backends" != f64 ] || skip "auto chooses between kernels that this build does not have"
"$millrace" list kernels | grep -q '^norm .*by table' || fail "list kernels does not say what auto chooses"
case $("$millrace" list kernels | sed -n 's/^attn  *//p') in
*"none: fused"*) ;;
*) fail "list kernels does not say that attention has no primitive" ;;
esac

for isa in avx512 avx2; do
	for kind in gemm_nn gemm_nn_relu gemm_nn_gelu gemm_nt gemm_tn sum norm norm_backward xent; do
		echo "MR_CHOICE($isa, f32, one, $kind, 0, 0, onednn)"
	done
done >onednn.def
sed 's/onednn/fused/' onednn.def >fused.def

# plan counts executors for each stage, in its table and in JSON.
set -- gpt.cfg --set backend=auto --set system.name=1f1b
count() {
	"$millrace" plan "$@" --format json 2>/dev/null | grep -c '"backend": "onednn"'
}
"$millrace" plan "$@" --set machine.choices=onednn.def >out 2>err || fail "no plan: $(cat err)"
grep -q 'kernels  *avx.* by choices [0-9a-f]\{16\}, .*onednn.def' out || fail "plan does not name the table"
mixed=$(grep -c ' fused [0-9]*, onednn [0-9]*$' out)
[ "$mixed" = 2 ] || fail "plan shows what executes the operations of $mixed stages, expected 2"
total=$(sed -n 's/.* onednn \([0-9]*\)$/\1/p' out | awk '{ n += $1 } END { print n }')
[ "$(count "$@" --set machine.choices=onednn.def)" = "$total" ] || fail "the JSON of plan counts other operations"
[ "$(count "$@" --set machine.choices=fused.def)" = 0 ] || fail "a table of fused alone gives oneDNN something"
[ "$(count "$@" --set backend=fused)" = 0 ] || fail "fused gives oneDNN something"
"$millrace" plan "$@" --set backend=reference --format json 2>/dev/null | grep -q '"backend": "reference"' ||
	fail "plan does not show what executes operations on the reference backend"
"$millrace" plan gpt.cfg --set backend=auto --set train.clip=0.0 --format json >plan.json \
	2>err || fail "no JSON of sequential: $(cat err)"
grep -q '"operation": "gemm_step"' plan.json || fail "products with a step are not shown"

# In bf16 a table may say f32; plan says how many products are.
if "$millrace" plan "$@" --set precision=bf16 >out 2>err; then
	for isa in amx avx512_bf16 avx512 avx2; do
		for threads in one team; do
			echo "MR_CHOICE($isa, bf16, $threads, gemm_tn, 0, 0, f32)"
		done
	done >f32.def
	"$millrace" plan "$@" --set precision=bf16 --set machine.choices=f32.def >out 2>err ||
		fail "no plan in bf16: $(cat err)"
	grep -q '^[1-9][0-9]* of [1-9][0-9]* products are computed with f32 inside: ' out ||
		fail "plan does not say that products are computed in f32"
	inside=$(sed -n 's/.* f32 inside \([0-9]*\)$/\1/p' out | awk '{ n += $1 } END { print n }')
	grep -q "^$inside of " out || fail "the stages of the plan count other products with f32 inside"
	"$millrace" plan "$@" --set precision=bf16 --set machine.choices=fused.def >out 2>err
	grep -q 'f32 inside' out && fail "plan has products with f32 inside where no table says so"
fi

# A table of fused alone trains as fused does, to the bit; another one is another run.
for run in fused onednn; do
	train mlp.cfg --set machine.choices=$run.def --set run.dir=$run
	expect 0 "auto by $run.def"
done
train mlp.cfg --set backend=fused --set run.dir=plain
expect 0 "fused"
same "auto by a table of fused alone" fused plain
grep -q '"choices"' fused/checkpoints/$(latest fused)/MANIFEST.json || fail "the manifest does not name the choices"
grep -q '"choices"' plain/checkpoints/$(latest plain)/MANIFEST.json && fail "the manifest of fused names choices"

# A run goes on by its own copy of the table, and not by another one.
train mlp.cfg --set machine.choices=onednn.def --set train.steps=20 --set run.dir=half
train mlp.cfg --set run.dir=half --resume
expect 0 "resumed without naming the table"
same "resumed by its own table" onednn half
grep -q 'choices = ".*half/choices.def".*# the resumed run' half/resolved.cfg || fail "resolved.cfg does not say so"
train mlp.cfg --set machine.choices=onednn.def --set train.steps=20 --set run.dir=other
train mlp.cfg --set machine.choices=fused.def --set run.dir=other --resume
expect 5 "resumed by another table" "another table of choices"

# A run of fused, as auto was before there were tables, goes on as what it was.
train mlp.cfg --set backend=fused --set train.steps=20 --set run.dir=old
train mlp.cfg --set backend=auto --set run.dir=old --resume
expect 0 "an old run resumed"
same "an old run resumed" plain old
grep -q 'backend = "fused".*# the resumed run' old/resolved.cfg || fail "resolved.cfg does not say that it is fused"

# What tune measures is a table that auto takes.
"$millrace" tune --rounds 1 --largest 4096 --threads 1 --points tuned.points -o tuned.def 2>points ||
	fail "tune: $(cat points)"
grep -q '^gemm_nn ' points || fail "tune does not tell what it measures"
grep -q '^xent avx[0-9]* f32 one ' tuned.points || fail "tune leaves out what it measured"
grep -q '^MR_CHOICES_MADE(".*, oneDNN [0-9.]*")' tuned.def || fail "tune does not name the machine"
"$millrace" tune --from tuned.points -o again.def || fail "no table of the points"
"$millrace" tune --from tuned.points,tuned.points -o twice.def || fail "no table of the points of two machines"
grep MR_CHOICE again.def >again.lines
grep MR_CHOICE twice.def | cmp -s - again.lines || fail "two equal machines make another table than one"
"$millrace" plan mlp.cfg --set backend=auto --set machine.choices=again.def 2>/dev/null |
	grep -q '^ *measured on .*oneDNN' || fail "plan does not name the machine of a table"
"$millrace" list kernels | grep -q '^auto  *by a table that was measured on .*oneDNN' ||
	fail "list kernels does not name the machines of the table"
"$millrace" tune --rounds 1 --only gemm_mn -o none.def >out 2>err && fail "tune measures a kind that is not there"
grep -q '^millrace: .*--only takes .*"gemm_mn"' err || fail "the wrong kind is not named: $(cat err)"
train mlp.cfg --set machine.choices=tuned.def --set run.dir=tuned
expect 0 "auto by a table of tune"
"$millrace" tune --rounds 1 --largest 4096 --threads 1 --base nothing.def >out 2>err &&
	fail "a base that is not there"
grep -q 'nothing.def' err || fail "the missing base is not named"
refused 3 "a table that is not there" mlp.cfg --set machine.choices=nothing.def --set run.dir=none
echo "MR_CHOICE(avx512, f32, one, gemm, 0, 0, fused)" >wrong.def
refused 3 "a wrong table" mlp.cfg --set machine.choices=wrong.def --set run.dir=none
grep -q 'wrong.def:1: there is no kind of operation "gemm"' err || fail "what is wrong is not named"
finish
