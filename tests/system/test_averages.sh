#!/bin/sh
# nt_asgd: the weights are averaged from an evaluation on that is no better, at the same step in every system that
# flushes; a stopped and resumed run ends in the same bits, whether it stopped before or behind that step; a checkpoint
# holds the averages as its model.
#	test_averages.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

averaged() # ARGS: the step from which the last run averaged
{
	sed -n 's/.*from step \([0-9]*\) on the weights are averaged.*/\1/p' err
}

set -- mlp.cfg --set backend=reference --set optimizer.name=nt_asgd --set optimizer.wait=2 --set optimizer.lr=2 \
	--set train.steps=36 --set train.eval_every=4
train "$@" --set run.dir=whole
expect 0 "sequential"
from=$(averaged)
[ "${from:-0}" -ge 12 ] && [ "$from" -le 28 ] || fail "it averages from step \"$from\": $(cat err)"
train "$@" --set run.dir=gpipe --set system.name=gpipe --set train.microbatches=2
expect 0 "gpipe"
train "$@" --set run.dir=halves --set train.microbatches=2
forget='s/,"[a-z_]*staleness[a-z_]*":[^,}]*//g' same "gpipe" halves gpipe
train "$@" --set system.name=pipedream --set optimizer.lr=1.3 --set run.dir=stale
expect 0 "pipedream"
stale=$(averaged)
[ -n "$stale" ] || fail "pipedream never averages"

resumes() # WHOLE STOP ARGS: stopped behind step STOP and resumed, the run ends as WHOLE
{
	whole=$1 stop=$2
	shift 2
	train "$@" --set run.dir=r --set train.steps=$stop
	train "$@" --set run.dir=r --resume
	expect 0 "$whole stopped at $stop"
	for f in model optimizer; do
		cmp -s $whole/checkpoints/step-00000036/$f.safetensors r/checkpoints/step-00000036/$f.safetensors ||
			fail "$whole stopped at $stop: $f differs"
	done
	rm -rf r
}
for stop in $((from - 3)) $from $((from + 3)); do
	resumes whole $stop "$@"
done
resumes stale $((stale + 1)) "$@" --set system.name=pipedream --set optimizer.lr=1.3

# The model of the checkpoint is what was evaluated, and not the weights that are stepped.
last=$(sed -n 's/.*"val_loss":\([0-9.e+-]*\).*/\1/p' whole/metrics.jsonl | tail -n 1)
"$millrace" eval "$@" --set run.dir=whole >out 2>err || fail "eval: exit code $?"
grep -qF "validation loss $last" out || fail "eval gives another loss than $last: $(cat out)"
cmp -s whole/checkpoints/step-00000036/model.safetensors halves/checkpoints/step-00000036/model.safetensors &&
	fail "one and two micro-batches end in the same bits"

train "$@" --set run.dir=none --set precision=bf16
expect 3 "bf16" "optimizer.name: nt_asgd exchanges weights and averages, which must have one type"
train "$@" --set run.dir=none --set train.eval_every=0
expect 3 "no evaluations" "nt_asgd begins to average when evaluations no longer get better: set train.eval_every"
finish
