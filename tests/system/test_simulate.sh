#!/bin/sh
# Training in virtual time gives the bits of training, with times that follow from the costs.   test_simulate.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/simulate_lib.sh"

for type in $backends; do
	equal mlp $(sets_of $type) --set system.name=1f1b --set train.microbatches=4 --set machine.workers=3
done
equal mlp $(sets_of f64) --set system.name=pipedream --set machine.workers=3
equal gpt $(sets_of $type) --set system.name=gpipe --set train.microbatches=4

# Steps on trust: the order is planned for steps that are right.
set -- mlp $(sets_of f64) --set system.name=zb_h2 --set system.optimizer=validated --set train.microbatches=4
equal "$@" --set train.clip=1e6
shift
simulate mlp.cfg "$@" --set run.dir=wrong --set train.clip=1e-3
expect 3 "a step that is clipped" "the step to version 1 is clipped"

# Bent times change no weight; saving and tracing change no time.
set -- mlp.cfg $(sets_of f64) --set system.name=1f1b --set train.microbatches=4
train "$@" --set run.dir=t
simulate "$@" --set run.dir=plain
expect 0 "plain"
grep -q '^time     simulated: costs nominal' out || fail "no word of the costs"
simulate "$@" --set run.dir=saved --set checkpoint.every=1 --set trace.steps=3-9 --set checkpoint.keep=40
expect 0 "saved"
cmp -s plain/metrics.jsonl saved/metrics.jsonl || fail "saving and tracing change the simulated times"
simulate "$@" --set run.dir=bent --jitter lognormal:0.5 --straggler 1:3
expect 0 "bent"
same "bent" t bent
seconds() {
	sed -n 's/^{"step":40,.*"seconds":\([^,}]*\).*/\1/p' "$1/metrics.jsonl" | tail -1
}
awk "BEGIN { exit !($(seconds bent) > 1.5 * $(seconds plain)) }" ||
	fail "with a straggler $(seconds bent) s, without $(seconds plain) s"
# The trace's times are the simulated ones: the last traced step ends where its row of the metrics says.
row=$(sed -n 's/^{"step":9,.*"seconds":\([^,}]*\).*/\1/p' saved/metrics.jsonl)
grep -q '"name":"F m35"' saved/trace.json || fail "no F of the last micro-batch in the trace"
sed -n 's/.*"cat":"[BU]","ts":\([0-9.]*\),"dur":\([0-9.]*\),.*/\1 \2/p' saved/trace.json |
	awk -v row="$row" '{ if ($1 + $2 > last) last = $1 + $2 }
		END { if (last < row * 1e6 - 0.01) { print "the trace ends at " last " us, step 9 at " row " s"; exit 1 } }' ||
	fail "the trace has other times"

# Twenty workers on two cores, on a machine that there is not.
equal chain $(sets_of f64) --set system.name=1f1b --set train.microbatches=4 --set machine.workers=4 \
	--set 'machine.topology="numa:4 core:16 pu:1"'

# What a simulation has saved goes on as a training.
simulate "$@" --set run.dir=half --set train.steps=20
train "$@" --set run.dir=half --resume
expect 0 "resumed"
same "a simulation, then training" t half

simulate mlp.cfg --set run.dir=s
expect 3 "sequential" "sequential has no schedule to simulate"
[ ! -e s ] || fail "a folder for a run that cannot be"
simulate "$@" --set run.dir=x --straggler 2:2
expect 2 "no such worker" "worker 2 cannot be slow"
simulate "$@" --set run.dir=x --jitter much
expect 2 "no such jitter" "expected lognormal:A or uniform:A"
simulate "$@" --set run.dir=x --far 0.001 --set machine.topology="core:4 pu:1"
expect 2 "one node" "--far: all workers are on one node, and no hand-over goes to another"
simulate "$@" --set run.dir=nodes --far 0.001 --set machine.topology="numa:2 core:1 pu:1"
expect 0 "two nodes"
simulate "$@" --set run.dir=x --costs missing.csv
expect 3 "no costs" "missing.csv"
simulate "$@" --set run.dir=t
expect 2 "a taken folder"
"$millrace" profile "$@" --seconds 0 -o costs.csv >out 2>err || fail "no profile"
simulate "$@" --set run.dir=measured --costs costs.csv
expect 0 "measured costs"
grep -q 'simulated: costs measured, costs.csv' out || fail "no word of the measured costs"
same "measured costs" t measured
finish
