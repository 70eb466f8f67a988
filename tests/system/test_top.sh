#!/bin/sh
# What a training shows while it goes on: status.json, millrace top, SIGUSR2; and what --counters counts.   test_top.sh
# SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

start mlp.cfg --set system.name=1f1b --set train.steps=10000000 --set train.eval_every=0 --set run.dir=r --counters
tries=0 # of a status with times of the workers
until { "$millrace" top r >screen 2>err.top && grep -q '^w1  .* [0-9]*%' screen; } || [ $tries -ge 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
"$millrace" top r >screen 2>err.top || fail "top: $(cat err.top)"
grep -q "pid $pid on" screen || fail "top does not show the run: $(cat screen)"
grep -q '^w1  .* [0-9]*%' screen || fail "top does not show worker 1: $(cat screen)"
[ -z "$(awk 'length > 80' screen)" ] || fail "top: lines above 80 columns: $(cat screen)"
"$millrace" top r --json >json || fail "top --json"
grep -q '"alive": true' json || fail "top --json: $(cat json)"
kill -USR2 "$pid"
tries=0
until grep -q '^versions s0 [0-9]*, s1 [0-9]*$' err.live 2>/dev/null || [ $tries -ge 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05
	cp err err.live
done
grep -q '^versions s0 [0-9]*, s1 [0-9]*$' err.live || fail "SIGUSR2 printed no status"
kill -TERM "$pid"
ended
expect 143 "SIGTERM"
"$millrace" top r >screen || fail "top of a run that has stopped"
grep -q '^stopped' screen || fail "top of a run that has stopped: $(cat screen)"
grep -q '^stage  op ' out || fail "--counters printed no table"
grep -q '"op": "F"' r/counters.json || fail "no F in counters.json"
if grep -q '^counters: .*cycles' out; then
	grep -q '"cycles": null' r/counters.json || fail "cycles are not counted, and not null"
fi
# Sequential is one worker; a clipped step is a U of its own.
train mlp.cfg --counters --set train.clip=1.0 --set run.dir=plain
expect 0 "counters of sequential"
for op in F B U; do
	grep -q "^    0  $op  *[1-9]" out || fail "sequential counted no $op: $(cat out)"
done
grep -q '"op": "U"' plain/counters.json || fail "no U in counters.json of sequential"
"$millrace" top plain >screen || fail "top of sequential"
grep -q '^w0    0  *[0-9].* [0-9]*%' screen || fail "top does not show the worker of sequential: $(cat screen)"
code=0
"$millrace" top none >out 2>err || code=$?
expect 4 "top of no run" "there is no such run"
mkdir empty
code=0
"$millrace" top empty >out 2>err || code=$?
expect 4 "top of an empty folder" "has no status.json"
# A look while the first steps still allocate reads nothing that workers write without saying so (for TSan).
if has_faults; then
	sed 's/hidden = [^;]*;/hidden = [256, 256];/' mlp.cfg >wide.cfg
	faults=MR_SIGNAL_AT=train.files:1:USR2
	train wide.cfg --set backend=reference --set precision=bf16 --set system.name=1f1b --set data.features=64 \
		--set train.batch=64 --set train.microbatches=2 --set train.steps=2 --set run.dir=early
	faults=
	expect 0 "a status of the first step"
	grep -q "^versions s0 " err || fail "no status of the first step: $(cat err)"
fi
finish
