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
