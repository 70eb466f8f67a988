#!/bin/sh
# perf/record.sh, stat.sh and flame.sh on a tiny training, where perf may sample here.   test_profilers.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

code=0
"$source/perf/flame.sh" nowhere >out 2>err || code=$?
expect 1 "flame.sh without a recording" "run perf/record.sh first"
mkdir recorded
printf 'mr-w0;main;mr_exec_run 3\nmr-loader;main 1\n' >recorded/stacks.folded
code=0
"$source/perf/flame.sh" recorded mr-w9 >out 2>err || code=$?
expect 1 "flame.sh of a thread that is not there" "recorded/stacks.folded has no thread mr-w9; it has: mr-loader mr-w0"
mkdir old
echo '{ "pid": 0 }' >old/status.json
. "$source/tests/missing.sh"
command -v perf >/dev/null || missing_package "$suite" perf linux-perf
if ! perf record -q -e cpu-clock -o probe.data true >/dev/null 2>&1; then
	skip "perf may not sample here"
fi
code=0
"$source/perf/stat.sh" old 1 >out 2>err || code=$?
expect 1 "stat.sh of a run that has ended" "no training runs in old"
code=0
"$source/perf/stat.sh" nowhere 1 >out 2>err || code=$?
expect 1 "stat.sh of no run" "^stat.sh: no training runs in nowhere"

export MILLRACE="$millrace"
start mlp.cfg --set system.name=1f1b --set train.steps=100000000 --set train.eval_every=0 --set run.dir=live
tries=0 # before the run has a status and its workers their names, and while they get no time on a busy machine
until "$source/perf/stat.sh" live 0.3 task-clock >stat 2>stat.err && grep -q '^mr-w1  *[0-9]' stat; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || break
	sleep 0.1
done
[ $tries -lt 100 ] || fail "stat.sh has no line of worker 1: $(cat stat stat.err)"
kill -TERM "$pid"
ended
expect 143 "SIGTERM"
layer='linear_forward'
case $(uname -m) in
x86_64 | aarch64) layer='linear:x_W:[0-9]*x[0-9]*x[0-9]*;.*linear_forward' ;;
esac
layer="^mr-w0;.*;mr_exec_run;.*$layer.* [0-9]*\$"
for _ in 1 2 3 4 5; do # a worker may get no time in a second of a busy machine
	rm -rf perf
	"$source/perf/record.sh" -s 1 -o perf mlp.cfg --set system.name=1f1b --set train.steps=100000000 \
		--set train.eval_every=0 >out 2>err || fail "record.sh: $(cat err)"
	grep -q "$layer" perf/stacks.folded && grep -q 'mr-w1 .*%' out && break
done
grep -q "$layer" perf/stacks.folded ||
	fail "no stack of worker 0 leads to a layer: $(head -3 perf/stacks.folded)"
grep -q 'mr-w1 .*%' out || fail "record.sh: $(cat out)"
if [ -x "$(dirname "$millrace")/perf_flame" ]; then
	picture=$("$source/perf/flame.sh" perf mr-w0 2>err) || fail "flame.sh: $(cat err)"
	grep -q 'linear_forward (x W): [0-9]* samples' "$picture" || fail "the flame graph has no x W"
	! grep -q '<title>mr-w1' "$picture" || fail "the flame graph of mr-w0 has mr-w1"
fi
finish
