# train_lib.sh - what the tests of whole trainings share. Source it with the paths of the source tree and the build
# tree:
#
#	. "$(dirname "$0")/train_lib.sh"
#
# It leaves the test in an empty folder of its own, which is removed at the end, with
#
#	$source, $millrace       the source tree; the program under test
#	$backends                "f64 f32" when the program has oneDNN, else "f64"; see sets_of
#	train CONF ARGS...       run it; exit code in $code, its output in the files out and err
#	start CONF ARGS...       the same in the background, as process $pid, until it has done a step
#	ended                    wait for $pid; exit code in $code
#	expect CODE WHAT [RE]    the last exit code was CODE, and a line of err matches RE
#	sanitized                is this a build with sanitizers? What numbers come out is left to the others
#	refused CODE WHAT ARGS...   train ARGS ends with CODE and leaves no file or folder behind, and takes none away
#	$faults                  settings of base/fault.h for what train and start run, such as MR_DELAY=1000:1:1
#	same WHAT A B            the runs in folders A and B ended in the same bits and told the same story
#	fail TEXT                note a failure and go on
#	finish                   the test's verdict
#
# and with tiny configurations mlp.cfg, norm.cfg, gpt.cfg, lstm.cfg and chain.cfg for pipelines of two workers. They
# give the machine's peak, since measuring it would be most of such a run.

set -eu
source=$(cd "$1" && pwd)
millrace=$(cd "$2" && pwd)/millrace
suite=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-$suite.XXXXXX")
cleanup() {
	[ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null || :
	cd /
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
unset MR_KILL_AT MR_KILL_LIST MR_FAIL_AT MR_SLOW MR_DELAY MR_LOG
faults=
export LC_ALL=C
# What sysfs says of the machine will do: a third of a small run was hwloc asking the CPU itself and loading plug-ins.
export HWLOC_COMPONENTS=linux,stop HWLOC_PLUGINS_PATH=/nonexistent
n_failed=0
pid=

backends=f64
if ! "$millrace" --version | grep -q "built without oneDNN"; then
	backends="f64 f32"
fi

# Does this build have fault points? A malformed setting is refused by one that has.
has_faults() {
	MR_DELAY=nonsense "$millrace" train chain.cfg --set run.dir=faults >/dev/null 2>&1 && return 1
	return 0
}

sanitized() {
	! grep -q '^MILLRACE_SANITIZE:STRING=$' "$(dirname "$millrace")/CMakeCache.txt"
}

fail() {
	echo "$suite: $*" >&2
	n_failed=$((n_failed + 1))
	if [ -s err ]; then
		sed 's/^/	/' err | tail -5 >&2
	fi
}

finish() {
	if [ "$n_failed" -gt 0 ]; then
		echo "$suite: $n_failed failed" >&2
		exit 1
	fi
	exit 0
}

skip() {
	echo "$suite: skipped: $*"
	exit 77
}

train() {
	code=0
	env $faults "$millrace" train "$@" >out 2>err || code=$?
}

start() {
	: >out # what the last one said must not count
	env $faults "$millrace" train "$@" >out 2>err &
	pid=$!
	tries=0
	until grep -q '^step' out; do
		if [ $tries -ge 2400 ] || ! kill -0 "$pid" 2>/dev/null; then
			fail "train $* did not begin"
			return 0
		fi
		tries=$((tries + 1))
		sleep 0.05
	done
}

# measure ARGS...: millrace profile, again where it was refused since other programs disturbed it.
measure() {
	for _ in $(seq 60); do
		code=0
		"$millrace" profile "$@" >out 2>err || code=$?
		[ $code -eq 6 ] && grep -q "too busy to be measured" err || break
	done
	[ $code -eq 0 ] || fail "profile $*: exit code $code"
}

ended() {
	code=0
	wait "$pid" 2>/dev/null || code=$?
	pid=
}

expect() {
	[ "$code" = "$1" ] || fail "$2: exit code $code, expected $1"
	if [ $# -gt 2 ]; then
		grep -q -- "$3" err || fail "$2: no message like \"$3\""
	fi
}

refused() {
	want=$1 what=$2
	shift 2
	find . ! -name out ! -name err ! -name before ! -name after | sort >before
	train "$@"
	expect "$want" "$what"
	find . ! -name out ! -name err ! -name before ! -name after | sort >after
	cmp -s before after || fail "$what: it left behind or took away $(diff before after | grep '^[<>]')"
}

# Metrics without what depends on the clock, and without the lines that the sed command $forget deletes.
story() {
	sed -e 's/,"seconds":[^,}]*//' -e 's/,"rate":[^,}]*//' -e 's/,"gflops":[^,}]*//' -e 's/,"bubble":[^,}]*//' \
		-e 's/,"wait_[a-z]*":[^,}]*//g' -e "${forget:-}" \
		"$1/metrics.jsonl"
}

latest() {
	cat "$1/checkpoints/LATEST" 2>/dev/null || echo none
}

same() {
	if [ "$(latest "$2")" != "$(latest "$3")" ]; then
		fail "$1: one ends at $(latest "$2"), the other at $(latest "$3")"
		return 0
	fi
	for f in model.safetensors optimizer.safetensors inflight.safetensors; do
		a=$2/checkpoints/$(latest "$2")/$f
		b=$3/checkpoints/$(latest "$3")/$f
		[ -e "$a" ] || [ -e "$b" ] || continue
		cmp -s "$a" "$b" || fail "$1: $f differs"
	done
	story "$2" >story.a
	story "$3" >story.b
	cmp -s story.a story.b || fail "$1: the metrics differ: $(diff story.a story.b | head -4)"
}

sets_of() {
	case $1 in
	f64) echo "--set backend=reference --set precision=f64" ;;
	f32) echo "--set backend=auto --set precision=f32" ;;
	bf16 | bf16_pure) echo "--set backend=reference --set precision=$1" ;;
	esac
}

awk 'BEGIN {
	for (i = 0; i < 400; i++) {
		line = ""
		for (k = 0; k < 8; k++) {
			x = (x * 61 + 17 + i) % 97
			line = line substr("the mill grinds slow and fine and never stops for rain", x % 50 + 1, 4)
		}
		print line
	}
}' >text.txt

cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [12, 12, 12]; activation = "gelu"; };
data = { name = "synthetic"; features = 6; classes = 3; samples = 600; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 40; batch = 8; eval_every = 10; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END

# The same with batch normalisation, whose statistics are no weights.
sed 's/activation = "gelu";/activation = "relu"; norm = "batch";/' mlp.cfg >norm.cfg

cat >gpt.cfg <<'END'
model = { name = "gpt"; layers = 3; width = 8; heads = 2; context = 8; dropout = 0.2; };
data = { name = "text"; path = "text.txt"; validation = 0.02; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 40; batch = 4; clip = 1.0; eval_every = 10; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
sample = { tokens = 4; };
END

# State that is carried from window to window.
cat >lstm.cfg <<'END'
model = { name = "awd_lm"; layers = 3; embed = 6; width = 8; context = 6; tied = false; weight_dropout = 0.2; };
data = { name = "text"; path = "text.txt"; validation = 0.02; order = "columns"; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 40; batch = 4; clip = 1.0; eval_every = 10; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END

cat >chain.cfg <<'END'
model = { name = "chain"; depth = 4; init = [0.9, 1.1, 0.8, 1.2]; };
data = { name = "numbers"; x = [1.0, 0.5, -0.75, 1.25, 0.25]; y = [0.5, 1.0, -0.25, 0.75, -0.5]; };
optimizer = { name = "momentum"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 40; batch = 4; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END
