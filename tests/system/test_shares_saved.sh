#!/bin/sh
# What a training with shares leaves behind is a model as any other: eval finds the loss that the training ended with,
# with and without shares, and a resume needs the same number of them.   test_shares_saved.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

train gpt.cfg --set machine.shares=2 --set run.dir=r --set train.steps=6 --set checkpoint.every=3
expect 0 "train"
"$millrace" report r -o page.html >out 2>err || fail "no report: $(cat err)"
grep -q "2 a worker: .* layers with weights are cut" page.html || fail "the report does not name the shares"
want=$(sed -n 's/.*"val_loss":\([0-9.]*\).*/\1/p' r/metrics.jsonl | tail -n 1)
for shares in 2 1; do
	code=0
	"$millrace" eval r/resolved.cfg --set machine.shares=$shares >out 2>err || code=$?
	expect 0 "eval with $shares shares"
	awk -v want="$want" '{ gsub(",", "", $5); d = $5 - want
		exit !($3 == "validation" && d < 1e-5 && d > -1e-5) }' out ||
		fail "eval with $shares shares: $(cat out), and the training said $want"
done
# Each share of a worker is a row, called by both, of the last table, the status, the trace and the page.
rows="w0.0 w0.1 w1.0 w1.1"
train gpt.cfg --set machine.shares=2 --set system.name=1f1b \
	--set train.microbatches=2 --set run.dir=traced --set train.steps=6 --set trace.steps=3-4
expect 0 "traced"
[ "$(sed -n 's/^\(w[0-9.]*\) .*%.*/\1/p' out | tr '\n' ' ')" = "$rows " ] || fail "the table at the end: $(cat out)"
[ "$("$millrace" top traced --once | sed -n 's/^\(w[0-9.]*\) .*/\1/p' | tr '\n' ' ')" = "$rows " ] ||
	fail "top: $("$millrace" top traced --once)"
"$millrace" report traced -o page.html >out 2>err || fail "no report: $(cat err)"
track=0
for row in $rows; do
	[ "$(grep -c ">$row<" page.html)" -ge 2 ] || fail "the page does not show $row in timeline and times"
	grep -q "$row: stage" page.html || fail "the page does not say where $row is"
	grep -q "\"thread_name\",\"pid\":1,\"tid\":$track,\"args\":{\"name\":\"$row stage" traced/trace.json ||
		fail "the trace has no track $row"
	n=$(sed 's/{"ph":/\n&/g' traced/trace.json |
		grep -c "^{\"ph\":\"X\",\"name\":\"F m[0-9]*\",\"pid\":1,\"tid\":$track,")
	[ "$n" -ge 2 ] || fail "the trace has $n forward passes of $row"
	track=$((track + 1))
done

train gpt.cfg --set machine.shares=1 --set run.dir=r --set train.steps=9 --resume
expect 5 "resumed with another number of shares" "cannot be resumed"
train gpt.cfg --set machine.shares=2 --set run.dir=r --set train.steps=9 --resume
expect 0 "resumed"

# By rows of the sums, which is another order: a resume needs the same.
train gpt.cfg --set machine.shares=2 --set machine.sequence_parallel=true --set run.dir=r --set train.steps=12 \
	--resume
expect 5 "resumed by rows" "cannot be resumed"

# In virtual time: the same weights, whether the order is known before (1f1b) or found during the run (ampnet).
for system in 1f1b ampnet; do
	for command in train simulate; do
		code=0
		"$millrace" $command gpt.cfg --set machine.shares=2 --set machine.sequence_parallel=true \
			--set run.dir=$command-$system --set train.steps=6 --set system.name=$system \
			>out 2>err || code=$?
		expect 0 "$command $system"
	done
	for file in model optimizer; do
		saved=checkpoints/step-00000006/$file.safetensors
		cmp -s train-$system/$saved simulate-$system/$saved ||
			fail "a simulated run of $system has another $file"
	done
done
finish
