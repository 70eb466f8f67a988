# The commands as users call them: exit codes, help, messages, and what comes through a pipe.
# Arguments: source tree, build tree.
source=$1
millrace=$2/millrace
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# expect CODE TEXT ARGS...: the exit code is CODE, and the output (either stream) has TEXT.
expect() {
	code=$1
	text=$2
	shift 2
	"$millrace" "$@" >"$dir/out" 2>&1 </dev/null
	got=$?
	if [ "$got" -ne "$code" ] || { [ -n "$text" ] && ! grep -qF -- "$text" "$dir/out"; }; then
		echo "millrace $*: exit $got, expected $code with \"$text\":"
		cat "$dir/out"
		failed=1
	fi
}

expect 0 "usage: millrace COMMAND" --help
expect 0 "usage: millrace COMMAND" help
expect 2 "usage: millrace COMMAND"
expect 0 "libconfig" --version
expect 0 "kernels" --version
expect 2 'no command is called "shedule"; did you mean "schedule"?' shedule
expect 2 'there is no option --vresion; did you mean --version?' --vresion
for command in $("$millrace" --help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'); do
	expect 0 "usage: millrace $command" "$command" --help
	expect 0 "usage: millrace $command" help "$command"
	expect 2 "has no option --xyzzy" "$command" --xyzzy
done
expect 2 'no command is called "trian"; did you mean "train"?' help trian

expect 0 "sequential" list systems
expect 0 "pipedream" list systems
expect 0 "gpt" list models
expect 0 "attention" list layers
expect 0 "adamw" list optimizers
expect 0 "dc_asgd" list mitigations
expect 0 "gemm_step                reference         fused, oneDNN" list kernels
expect 0 "norm_backward            reference         fused             oneDNN, fused  by table  both" list kernels
expect 2 "list kernels takes no name" list kernels gemm
expect 2 'did you mean "kernels"?' list kernel
expect 0 "source: Zheng et al." list mitigations dc_asgd
expect 0 "needs: an optimizer that looks ahead" list mitigations delayed_nesterov
expect 0 "sources" list data
expect 0 "backward  fifo or lifo, default fifo" list systems gpipe
expect 0 "also called pipedream_flush" list systems pipedream_flush
expect 0 "also called zero1" list systems zero1
for name in zero2 zero3 fsdp hsdp; do
	expect 0 "$name - no system of its own here: " list systems "$name"
	expect 2 "$name is no system of its own here: " schedule "$name" --workers 2
done
expect 0 "the nearest: data_parallel" list systems fsdp
expect 0 "1f1b, 2 workers" schedule pipedream_flush --workers 2
expect 2 'cannot list "system"; did you mean "systems"?' list system
expect 2 "usage: millrace list" list
expect 2 'no model is called "gtp"; did you mean "gpt"?' list models gtp
expect 2 'no system is called "gpt"; it is among the models (known: ' list systems gpt
expect 2 'no system is called "gpt"; it is among the models (known: ' schedule gpt --workers 2

expect 2 "schedule needs --workers" schedule 1f1b
expect 2 'no system is called "1f1bb"; did you mean "1f1b"?' schedule 1f1bb --workers 2
expect 0 "w0 F0B0--" schedule sequential --workers 1
expect 3 "it has 1 worker and no other number, got 2" schedule sequential --workers 2
expect 2 "schedule has no option --wrkers; did you mean --workers?" schedule 1f1b --wrkers 2
expect 2 "--workers: expected an integer from 1 to 4096, got 0" schedule 1f1b --workers 0
expect 2 "--costs: expected f,i,w" schedule 1f1b --workers 2 --costs 1,2
expect 2 "--costs: expected f,i,w" schedule 1f1b --workers 2 --costs 0,0,0
expect 2 "--costs: expected f,i,w" schedule 1f1b --workers 2 --costs 1,1,nan
expect 2 "--set backwards: unknown key" schedule gpipe --workers 2 --set backwards=lifo
expect 2 'expected one of fifo|lifo, got "lfo"; did you mean "lifo"?' schedule gpipe --workers 2 --set backward=lfo
expect 2 "unknown key \"x\"" schedule 1f1b --workers 2 --set x=1
expect 0 "makespan 15" schedule 1f1b --workers 2 --microbatches 4
expect 0 "makespan 25" schedule 1f1b --workers 2 --microbatches 4 --costs 2,1,2
expect 0 "[body x N micro+4 ver+1]" schedule gpipe --workers 2 --microbatches 4 --format text
expect 0 "<svg" schedule gpipe --workers 2 --format svg
expect 1 "/nonexistent/x: cannot write" schedule gpipe --workers 2 -o /nonexistent/x
printf 'stage,f,i,w\n0,6,2,5\n1,3,6,2\n2,4,5,2\n' >"$dir/uneven.csv" # buffers for even costs would make it 118
expect 0 "makespan 117" schedule zb_h2 --workers 3 --microbatches 9 --costs "$dir/uneven.csv"
expect 0 "" schedule pipedream --workers 3 --format json -o "$dir/plan.json"
expect 0 "ok  plan " check "$dir/plan.json"
for system in gpipe 1f1b pipedream; do
	for format in json text; do
		if ! "$millrace" schedule $system --workers 3 --microbatches 6 --format $format |
			"$millrace" check /dev/stdin >"$dir/out" 2>&1 || ! grep -q "^ok  plan .* S 3  D 3  T 6 " \
				"$dir/out"; then
			echo "schedule $system as $format does not pass check:"
			cat "$dir/out"
			failed=1
		fi
	done
done
# The JSON form keeps the contract, so a plan without flushes is judged as one; lowered anew it is the same plan.
for options in "" "--set vertical_sync=true"; do
	for format in json text; do
		"$millrace" schedule pipedream --workers 4 --microbatches 8 $options --format $format |
			"$millrace" check - >"$dir/$format.out" 2>&1
	done
	if ! cmp "$dir/json.out" "$dir/text.out" || ! grep -q "period -  peak activations 4" "$dir/json.out"; then
		echo "pipedream $options is another plan as JSON than as text:"
		cat "$dir/json.out" "$dir/text.out"
		failed=1
	fi
done
{
	"$millrace" schedule 1f1b --workers 64 --microbatches 256 --format json
	echo $? >"$dir/code"
} 2>"$dir/out" | head -n 1 >/dev/null
if [ "$(cat "$dir/code")" -ne 0 ] || [ -s "$dir/out" ]; then
	echo "a reader that leaves is taken for an error: exit $(cat "$dir/code")"
	cat "$dir/out"
	failed=1
fi
"$millrace" list systems >/dev/full 2>"$dir/out"
if [ $? -ne 1 ] || ! grep -q "cannot write to standard output" "$dir/out"; then
	echo "a full disk behind standard output goes unnoticed"
	failed=1
fi

expect 3 "/nonexistent/plan" check /nonexistent/plan
expect 2 "usage: millrace check PLAN" check
printf '{"D":2,"T":1,"stages":2,"workers":[[["F",0,0,0]],[["B",0,1,0],["F",0,1,0]]]}' >"$dir/bad.json"
expect 3 "$dir/bad.json: " check "$dir/bad.json"
printf 'plan x\nstages two\n' >"$dir/bad.txt"
expect 3 "line 2" check "$dir/bad.txt"
printf '{"D":2,' >"$dir/torn.json"
expect 3 "$dir/torn.json" check "$dir/torn.json"
: >"$dir/empty"
expect 3 "is empty" check "$dir/empty"

n=0
for plan in "$source"/tests/golden/sync/*.json; do
	expect 0 "ok  plan " check "$plan"
	n=$((n + 1))
done
if [ $n -ne 62 ]; then
	echo "$n golden plans, expected 62"
	failed=1
fi
(
	export MR_LOG=loud
	expect 0 'warning: MR_LOG: expected warn, info or debug, got "loud"' list systems
	exit $failed
) || failed=1

# What cannot be written to the end is told, and no half of it stays.
code=0
(
	ulimit -f 8
	exec "$millrace" schedule 1f1b --workers 60 --microbatches 60 --format svg -o "$dir/picture"
) >"$dir/out" 2>&1 || code=$?
if [ $code -ne 1 ] || ! grep -qF "$dir/picture: cannot write: File too large" "$dir/out" || [ -e "$dir/picture" ]; then
	echo "a picture that is too large for the file: exit $code: $(cat "$dir/out")"
	failed=1
fi
if [ -w /dev/full ]; then
	for command in "list systems" "schedule 1f1b --workers 60 --microbatches 60 --format json"; do
		code=0
		"$millrace" $command >/dev/full 2>"$dir/out" || code=$?
		if [ $code -ne 1 ] || ! grep -qF "cannot write to standard output" "$dir/out"; then
			echo "$command >/dev/full: exit $code: $(cat "$dir/out")"
			failed=1
		fi
	done
fi

exit $failed
