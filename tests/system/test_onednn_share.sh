#!/bin/sh
# The share of a step's FLOPs that oneDNN executes, as plan and train say it: the same as what the library itself says
# that it was called for (ONEDNN_VERBOSE).
#   test_onednn_share.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
[ "$backends" != f64 ] || skip "this build has no oneDNN"

# FLOPs of the products and convolutions in a log of the library, of either form: the shapes are the field before the
# time, "64x32:32x16" for products (those of one row are sums of columns); those of convolutions look like
# "mb8_ic3oc4_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1", of whole LSTMs "l1t64mb16sic256slc64dhc256dic256".
flops_of() {
	awk -F, '
	function field(text, name,   at) {
		at = match(text, name "[0-9]+")
		return at ? substr(text, RSTART + length(name), RLENGTH - length(name)) + 0 : 1
	}
	/,exec,/ && /,matmul,/ {
		split($(NF - 1), side, ":"); split(side[1], a, "x"); split(side[2], b, "x")
		n += a[1] == 1 ? 0 : 2 * a[1] * a[2] * b[2]
	}
	/,exec,/ && /,convolution,/ {
		t = $(NF - 1); sub(/^g/, "_g", t)
		n += 2 * field(t, "mb") * field(t, "ic") * field(t, "oc") * field(t, "oh") * field(t, "ow") * \
		     field(t, "kh") * field(t, "kw") / field(t, "_g")
	}
	/,exec,/ && /,rnn,/ {
		t = $(NF - 1); gates = /_lstm/ ? 4 : 3
		n += 2 * field(t, "t") * field(t, "mb") * gates * field(t, "dhc") * \
		     (field(t, "slc") + field(t, "sic")) * (/,backward,/ ? 2 : 1)
	}
	END { printf "%.0f\n", n }' "$1"
}

# FLOPs that the library was called for in @1 steps of what follows, with what comes before the first step and after the
# last one.
called() {
	steps=$1
	shift
	ONEDNN_VERBOSE=1 DNNL_VERBOSE=1 "$millrace" train "$@" --set run.dir="$name-$steps" --set train.steps="$steps" \
		--set train.eval_every=0 --set checkpoint.every=0 --set train.norm_every=0 >log 2>&1 || :
	flops_of log
}

# check NAME CONF ARGS...: in 3 steps the library executes three times what plan gives it, and what train says is the
# same share.
check() {
	name=$1
	shift
	"$millrace" plan "$@" --format json >plan.json 2>err || fail "$name: no plan: $(cat err)"
	sed -n 's/.*"onednn_flops": \([0-9.e+-]*\).*/\1/p' plan.json >share
	# one operation a line: its FLOPs times the backend
	awk -F'[:,]' '/"flops"/ { f = $2 } /"backend": "onednn"/ { n += f } /"backend"/ { all += f; f = 0 }
		END { printf "%.0f %.0f\n", n, all }' plan.json >sums
	read -r mine all <sums
	micros=$(sed -n 's/.*"microbatches": \([0-9]*\).*/\1/p' plan.json)
	"$millrace" train "$@" --set run.dir="$name" --set train.steps=3 --set train.eval_every=0 \
		--set checkpoint.every=0 --set train.norm_every=0 >quiet 2>&1 || fail "$name: no training: $(cat quiet)"
	called=$(($(called 6 "$@") - $(called 3 "$@")))
	awk -v c="$called" -v m="$mine" -v k="$micros" 'BEGIN {
		want = 3 * k * m
		exit !(c > 0.999 * want - 1 && c < 1.001 * want + 1)
	}' ||
		fail "$name: the library was called for $called FLOPs in 3 steps of $micros micro-batches of $mine"
	awk -v m="$mine" -v a="$all" -v s="$(cat share)" 'BEGIN {
		exit !(a > 0 && s > m / a - 1e-3 && s < m / a + 1e-3)
	}' ||
		fail "$name: plan says a share of $(cat share), and its operations are $mine of $all"
	text=$(awk -v m="$mine" -v a="$all" 'BEGIN { printf "oneDNN %.1f %%", 100 * m / a }')
	grep -q "^FLOPs of a step by .*$text" quiet || fail "$name: the end of train does not say $text"
	grep -q "\"FLOPs by\": \".*$text" "$name/run.json" || fail "$name: run.json does not say $text"
	"$millrace" plan "$@" 2>/dev/null | grep -q "^FLOPs of a step by .*$text" ||
		fail "$name: plan does not say $text"
	"$millrace" report "$name" -o "$name.html" >/dev/null 2>&1 || fail "$name: no report"
	grep -q "$text" "$name.html" || fail "$name: the report does not say $text"
}

for isa in avx512 avx2; do
	for kind in gemm_nn_relu gemm_nt; do
		echo "MR_CHOICE($isa, f32, one, $kind, 0, 0, onednn)"
	done
done >half.def
check mlp-half mlp.cfg --set backend=auto --set machine.choices=half.def
check mlp mlp.cfg --set backend=onednn --set machine.threads=1
check gpt gpt.cfg --set backend=auto --set machine.choices=half.def --set system.name=1f1b
check lstm lstm.cfg --set backend=auto --set machine.choices=half.def
check lstm-whole lstm.cfg --set backend=onednn --set machine.threads=1
plan_says() {
	"$millrace" plan mlp.cfg --set backend="$1" 2>/dev/null | grep -q "^FLOPs of a step by $2" ||
		fail "$1: plan does not say $2"
}
plan_says fused "oneDNN 0.0 %, our kernels 100.0 %"
plan_says reference "reference kernels 100.0 %"
finish
