# cli_lib.sh - what the command-line tests share: sourced as `. "$(dirname "$0")/cli_lib.sh"` with the test's own
# arguments. Arguments: source tree, build tree. Afterwards the test stands in an empty folder of its own; it ends with
# `exit $failed`.
source=$1
millrace=$2/millrace
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
command= # a test of one command names it here

complain() {
	echo "$1"
	cat out
	failed=1
}

# calm ARGS...: runs the program, again where a measurement was refused since other programs disturbed it.
calm() {
	for _ in $(seq 60); do
		"$millrace" "$@" >out 2>&1 </dev/null
		got=$?
		[ $got -eq 6 ] && grep -q "too busy to be measured" out || break
	done
	return $got
}

# expect CODE TEXT ARGS...: the exit code is CODE, and the output (either stream) has TEXT.
expect() {
	code=$1
	text=$2
	shift 2
	if [ "$code" = 0 ]; then
		calm $command "$@" || :
	else
		"$millrace" $command "$@" >out 2>&1 </dev/null
		got=$?
	fi
	if [ "$got" -ne "$code" ] || { [ -n "$text" ] && ! grep -qF -- "$text" out; }; then
		complain "millrace $command $*: exit $got, expected $code with \"$text\":"
	fi
}

# has TEXT: the output of the last command has it too.
has() {
	grep -qF -- "$1" out || complain "expected \"$1\" as well:"
}

# tiny_configs [LINE]: ok.cfg, an mlp on the table rows.csv, and text.cfg, a gpt on prose.txt; LINE ends ok.cfg.
tiny_configs() {
	how='optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };'
	where='machine = { workers = 2; threads = 1; peak_gflops = 1.0; };'
	cat >ok.cfg <<-END
	model = { name = "mlp"; hidden = [16, 16, 16]; };
	data = { name = "csv"; path = "rows.csv"; targets = "classes"; };
	$how
	train = { steps = 3; batch = 8; microbatches = 4; };
	$where
	${1:-}
	END
	cat >text.cfg <<-END
	model = { name = "gpt"; layers = 2; width = 16; heads = 2; context = 16; };
	data = { name = "text"; path = "prose.txt"; };
	$how
	train = { steps = 3; batch = 4; };
	$where
	END
	awk 'BEGIN { srand(1); print "a,b,kind"; for (i = 0; i < 60; i++) print rand() "," rand() "," i % 2 }' >rows.csv
	awk 'BEGIN { for (i = 0; i < 150; i++) print "a text, about this and that" }' >prose.txt
}
