#!/bin/sh
# Folders that cannot be used, resumptions that do not fit, and damaged checkpoints.   test_run_folder.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

set -- mlp.cfg $(sets_of f64) --set system.name=pipedream --set train.steps=6 --set train.eval_every=0 \
	--set data.validation=0.0
train "$@" --set run.dir=r --set checkpoint.every=2
expect 0 "a run"
tr -d ' \t\n' <r/memory.json | grep -q \
	'^{"step":6,"stages":\[{"stage":0,"pipe":0,"versions":{"measured":2,"predicted":2},' ||
	fail "memory.json does not say that two versions are live at the first of two stages"

# --- nothing to do: no tables of nothing, and what is known of the steps stays
cp r/memory.json .
for steps in 6 3; do
	train "$@" --set run.dir=r --resume --set train.steps=$steps
	expect 0 "resuming at the end"
	grep -q "^nothing to do: the run is at step 6, and train.steps asks for $steps$" out ||
		fail "$steps steps: not told that there is nothing to do"
	! grep -q -e "^worker" -e "^stage  versions" -e "^written" out ||
		fail "$steps steps: tables of what was not done"
	cmp -s r/memory.json memory.json || fail "$steps steps: memory.json was written over"
done

# --- no evaluation and no checkpoint at the end, but where they are due
set -- mlp.cfg $(sets_of f64) --set system.name=1f1b --set train.eval_at_end=false --set checkpoint.at_end=false
# steps_of DIR EVALUATIONS CHECKPOINTS: the steps that were evaluated and saved.
steps_of() {
	[ "$(sed -n 's/.*"step":\([0-9]*\),.*"val_loss".*/\1/p' "$1/metrics.jsonl" | tr '\n' ' ')" = "$2" ] ||
		fail "$1: evaluated are not steps $2: $(cat "$1/metrics.jsonl")"
	[ "$(ls "$1/checkpoints" 2>ls.err | sed -n 's/step-0*//p' | tr '\n' ' ')" = "$3" ] ||
		fail "$1: saved are not steps $3"
}
train "$@" --set train.steps=6 --set train.eval_every=0 --set run.dir=bare
expect 0 "neither"
steps_of bare "" ""
! grep -q "^written to .*checkpoints" out || fail "checkpoints are named that were not written"
train "$@" --set train.steps=6 --set run.dir=bare --resume
expect 5 "resuming a run without checkpoints" "nothing to resume in bare"
train "$@" --set train.steps=6 --set train.eval_every=4 --set checkpoint.every=4 --set run.dir=four
expect 0 "both at step 4"
steps_of four "4 " "4 "
train "$@" --set train.steps=6 --set train.eval_every=3 --set checkpoint.every=3 --set run.dir=three
expect 0 "both at the end, as asked"
steps_of three "3 6 " "3 6 "
train "$@" --set train.steps=6 --set train.eval_every=4 --set run.dir=four --resume --set checkpoint.at_end=true
expect 0 "resumed"
steps_of four "4 " "4 6 "
set -- mlp.cfg $(sets_of f64) --set system.name=pipedream --set train.steps=6 --set train.eval_every=0 \
	--set data.validation=0.0

# --- run.json has all sessions, and sums up what can be
cp -R r twice
train "$@" --set run.dir=twice --resume --set train.steps=8
expect 0 "a second session"
tr -d ' \t\n' <twice/run.json >facts
grep -q '"from":0,"to":6,.*"from":6,"to":8,' facts || fail "run.json has not both sessions: $(cat facts)"
# Of 8 micro-batches each: the first stage reads a version behind, but for the first one, and once after the resume.
grep -q '"staleness":\[{"stage":0,"gradients":\[[0-9]*,[0-9]*\]},{"stage":1,"gradients":\[8\]}\]' facts ||
	fail "staleness is not that of both sessions: $(cat facts)"
grep -q '"roofline":{"cores":1,.*"name":"w1B"' facts || fail "run.json has no roofline: $(cat facts)"

# --- folders
train "$@" --set run.dir=r
expect 2 "a folder with a run" \
	"r already holds a run: continue it with train --resume, or choose another folder with --set run.dir"
mkdir unborn
cp r/resolved.cfg unborn
train "$@" --set run.dir=unborn
expect 2 "a run without a checkpoint" "ended before its first checkpoint"
train "$@" --set run.dir=unborn --resume
expect 5 "resuming a run without a checkpoint" "nothing to resume in unborn"
# A queue or a service that starts it again has one command line, also for one that was killed before its first save.
echo '{"step":1,"loss":7,"lr":1}' >unborn/metrics.jsonl
touch unborn/run.json unborn/counters.json
train "$@" --set run.dir=unborn --continue
expect 0 "a run without a checkpoint begins anew" "unborn had ended before its first checkpoint: it begins anew"
train "$@" --set run.dir=born
expect 0 "a new folder"
cmp unborn/checkpoints/LATEST born/checkpoints/LATEST || fail "anew: another checkpoint"
cmp unborn/checkpoints/"$(cat born/checkpoints/LATEST)"/model.safetensors \
	born/checkpoints/"$(cat born/checkpoints/LATEST)"/model.safetensors || fail "anew: other weights"
[ "$(wc -l <unborn/metrics.jsonl)" = "$(wc -l <born/metrics.jsonl)" ] || fail "anew: metrics of the run before"
grep -q '"loss":7' unborn/metrics.jsonl.before || fail "anew: the metrics before are gone"
[ ! -e unborn/counters.json ] || fail "anew: counters of the run before"
train "$@" --set run.dir=nothing --resume
expect 5 "resuming nothing" "nothing to resume: there is no folder nothing"
[ ! -e nothing ] || fail "--resume made the folder that it did not find"
: >file
train "$@" --set run.dir=file
expect 1 "a file in the folder's place" "file cannot be used as a run folder"
train "$@" --set run.dir=file/below
expect 1 "a folder below a file" "file.*: Not a directory"
mkdir closed
chmod 500 closed
if [ ! -w closed ]; then # root may write anywhere
	train "$@" --set run.dir=closed
	expect 1 "a folder that cannot be written to" "closed.*: Permission denied"
	train "$@" --set run.dir=closed/below
	expect 1 "a folder below one that cannot be written to" "closed/below: Permission denied"
fi
train "$@" --set run.dir=/proc/millrace
expect 1 "a folder that the kernel refuses" "/proc/millrace: No such file"
train "$@" --set run.dir=deep/er/and/deeper
expect 0 "a folder with parents"

# --- a start that is refused leaves everything as it was
mkdir empty
for dir in new new/of/several/ empty; do
	refused 6 "too little memory for $dir" "$@" --set run.dir=$dir --set machine.memory_limit=1000
	refused 3 "a plan that does not suit $dir" "$@" --set run.dir=$dir --set system.name=wpipe \
		--set train.microbatches=3
	refused 5 "weights of another network for $dir" "$@" --set run.dir=$dir --init r/checkpoints/step-00000004 \
		--set 'model.hidden=[200, 200, 200]'
	refused 1 "a record in no folder for $dir" "$@" --set run.dir=$dir --set system.name=ampnet \
		--set system.order=racing --record no/where.json
done
rm -f r/LOCK
refused 2 "a folder with a run" "$@" --set run.dir=r
refused 5 "another model" "$@" --set run.dir=r --resume --set train.seed=9
cp r/metrics.jsonl metrics.before
refused 6 "resuming with too little memory" "$@" --set run.dir=r --resume --from step-00000004 \
	--set machine.memory_limit=1000
cmp -s r/metrics.jsonl metrics.before || fail "a refused resumption changed the metrics"

# --- a folder that is taken away while the run goes on: nothing is said to be left that is not
start "$@" --set run.dir=gone --set train.steps=1000000 --set checkpoint.every=50
tries=0
until [ -e gone/checkpoints/LATEST ] || [ $tries -ge 2400 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
mv gone taken
ended
[ "$code" != 5 ] || code=1 # it went while a checkpoint was read back
expect 1 "a folder that is gone" "; and the checkpoint of step [0-9]*, saved before, cannot be used: gone/checkpoints: \
there is no checkpoint: No such file"
! grep -q "is intact" err || fail "a checkpoint that is gone is said to be intact"
rm -rf taken

# --- resumptions that do not fit
misfit() {
	set=$1 message=$2
	shift 2
	train "$@" --set run.dir=r --resume --set train.steps=7 --set "$set"
	expect 5 "resuming with $set" "r/checkpoints/step-00000006: it was made with $message"
	[ "$(latest r)" = step-00000006 ] || fail "$set: the refused resumption left $(latest r)"
}
misfit train.seed=2 "train.seed 1 and cannot be resumed with 2" "$@"
misfit train.batch=16 "train.batch 8 and cannot be resumed with 16" "$@"
misfit system.name=1f1b "system pipedream and cannot be resumed with 1f1b" "$@"
misfit system.name=sequential "system pipedream and cannot be resumed with sequential" "$@"
misfit system.vertical_sync=true "system.vertical_sync = false and cannot be resumed with true" "$@"
misfit machine.workers=3 "machine.workers 2 and cannot be resumed with 3" "$@"
misfit "model.hidden=[12, 13, 12]" "model parameters" "$@"
misfit model.activation=relu "other options of the model" "$@"
misfit optimizer.weight_decay=0.5 "other options of the model, the optimizer" "$@"
misfit optimizer.decay_scope=all "other options of the model, the optimizer" "$@"
misfit train.clip=1.0 "train.clip 0 and cannot be resumed with 1" "$@"
misfit 'partition="fc.1"' "other options of the model, the optimizer or the mitigation, or another cut into stages" "$@"
misfit mitigation.name=gap_aware "mitigation none and cannot be resumed with gap_aware" "$@"
misfit optimizer.name=sgd "optimizer adamw and cannot be resumed with sgd" "$@"
misfit data.noise=0.25 "other data" "$@"
misfit precision=f32 "precision f64 and cannot be resumed with f32" "$@"

# --- no room for the metrics (a limit in blocks of 512 bytes, which the other files keep to). The thread sanitizer
# keeps its own memory in a file and breaks down under the limit: then there is nothing to see.
no_room() {
	code=0
	(
		ulimit -f 24
		exec "$millrace" train "$@" >out 2>err
	) || code=$?
	! grep -q 'ThreadSanitizer: BUS' err
}

if no_room "$@" --set run.dir=room --set train.steps=2000; then
	expect 6 "no room for metrics" \
		"room/metrics.jsonl: cannot write: File too large; no checkpoint had been saved before"
fi
if no_room "$@" --set run.dir=room2 --set train.steps=60 --set trace.steps=1-60; then
	expect 6 "no room for a trace" "room2/trace.json: cannot write: File too large"
fi

# --- weights that are finite, but of no use: not saved, so that what was good stays and goes on
useless="left weights of .* (root of the mean square; 0[.0-9]* at step [0-9]*) and the loss rose from [0-9].* to \
[0-9].*, so they are not saved"
for optimizer in sgd adamw; do
	rm -rf wild
	train "$@" --set run.dir=wild --set optimizer.name=$optimizer
	train "$@" --set run.dir=wild --set optimizer.name=$optimizer --resume \
		--set train.steps=40 --set optimizer.lr=1e6 \
		--set checkpoint.every=1
	expect 7 "$optimizer: useless weights" "step 7 $useless; the checkpoint of step 6 is"
	train "$@" --set run.dir=wild --set optimizer.name=$optimizer --resume --set train.steps=40 \
		--set checkpoint.every=1
	expect 0 "$optimizer: a smaller rate after useless weights"
done
# That they were the first to be evaluated makes them no better.
for steps in 1 3; do
	train "$@" --set run.dir=first$steps --set optimizer.name=adamw --set data.validation=0.1 \
		--set train.steps=$steps --set optimizer.lr=1e6
	expect 7 "useless weights after $steps steps, evaluated" \
		"step $steps $useless; no checkpoint had been saved before"
	[ "$(latest first$steps)" = none ] || fail "useless weights, evaluated: $(latest first$steps) was saved"
done

# A weight that has far to go is no such case, in many steps or in one, while the loss falls.
cat >far.cfg <<'END'
model = { name = "chain"; depth = 1; };
data = { name = "numbers"; x = [1.0]; y = [5000.0]; };
optimizer = { name = "sgd"; lr = 0.2; };
system = { name = "sequential"; };
train = { steps = 100; batch = 1; };
END
n=0
for far in "" checkpoint.every=1 "checkpoint.every=1 optimizer.lr=1.0" "train.steps=1 optimizer.lr=1.0" \
	"train.steps=2 optimizer.lr=1.0" \
	"system.name=pipedream machine.workers=1 checkpoint.every=1 optimizer.lr=1.0"; do
	n=$((n + 1))
	sets=$(for set in $far; do echo "--set $set"; done)
	train far.cfg $(sets_of f64) $sets --set run.dir=far$n
	expect 0 "a weight that goes far, $far"
done
[ "$(latest far4)" = step-00000001 ] || fail "the only step is not saved, but $(latest far4)"
# Its first save waits for the loss that shows what the weight is worth, and no longer.
train far.cfg $(sets_of f64) --set run.dir=waits --set train.steps=2 --set checkpoint.every=1 --set checkpoint.keep=9
[ "$(cd waits/checkpoints && echo step-*)" = step-00000002 ] ||
	fail "saved while nobody knew: $(cd waits/checkpoints && echo step-*)"
train far.cfg $(sets_of f64) --set run.dir=waits3 --set train.steps=3 --set checkpoint.every=1 --set checkpoint.keep=9
[ "$(cd waits3/checkpoints && echo step-*)" = "step-00000002 step-00000003" ] ||
	fail "saved after waiting: $(cd waits3/checkpoints && echo step-*)"

# --- without the metrics of before
cp -r r cut
rm cut/metrics.jsonl
train "$@" --set run.dir=cut --resume --set train.steps=8
expect 0 "resuming without metrics"
[ "$(grep -c '"loss"' cut/metrics.jsonl)" = 2 ] || fail \
	"resuming without metrics: not the two new steps in metrics.jsonl"

# --- going on from another checkpoint than the newest
valid="--set data.validation=0.1 --set train.eval_every=2"
train "$@" $valid --set run.dir=from --set checkpoint.every=2
train "$@" $valid --set run.dir=from --resume --from step-00000004 --set train.steps=8
expect 0 "from a name"
grep -q "^run .*, resumed at step 4$" out || fail "--from step-00000004 does not begin at step 4"
[ "$(latest from)" = step-00000008 ] || fail "--from step-00000004 ends at $(latest from)"
train "$@" $valid --set run.dir=whole --set train.steps=8
same "from a name" from whole
train "$@" $valid --set run.dir=from --resume --from best --set train.steps=8
expect 0 "from the best"
at=$(sed 's/step-0*//; s/\..*//' from/checkpoints/BEST)
grep -q "^run .*, resumed at step $at$" out || fail "--from best does not begin at step $at"
# A loss that rises again: the best stays marked.
train "$@" $valid --set run.dir=rises --set checkpoint.every=2 --set train.steps=8 --set optimizer.name=sgd \
	--set optimizer.lr=1.0
expect 0 "a loss that rises again"
at=$(sed -n 's/.*"step":\([0-9]*\),.*"val_loss":\([0-9.e+-]*\).*/\2 \1/p' rises/metrics.jsonl | sort -g |
	sed -n '1s/.* //p')
[ "$at" -lt 8 ] || fail "the loss was to rise again"
[ "$(cat rises/checkpoints/BEST)" = step-0000000$at ] || fail \
	"step $at was the best, and BEST says $(cat rises/checkpoints/BEST)"
train "$@" $valid --set run.dir=from --resume --from step-00000005
expect 5 "from a name that is not there" "step-00000005"
train "$@" $valid --set run.dir=from --resume --from ../x
expect 2 "from a path" "--from: expected best, or a name in from/checkpoints such as step-00000100"
train "$@" --set run.dir=from --from best
expect 2 "--from alone" "--from names the checkpoint that --resume continues from"

# --- a learning rate that goes on differently is told in one line
cosine="--set lr_schedule.name=cosine --set optimizer.lr=0.01"
train "$@" --set run.dir=rate $cosine
expect 0 "a run under cosine"
train "$@" --set run.dir=rate $cosine --resume
expect 0 "the same again"
if grep -q "learning rate" err; then
	fail "the learning rate is the same, but talked about"
fi
train "$@" --set run.dir=rate $cosine --resume --set train.steps=8
expect 0 "more steps under cosine" \
	"learning rate from here on: cosine 0.01 to 0.001 over 8 steps; until step 6 it was: cosine 0.01 to 0.001 over \
6 steps"
[ "$(grep -c "learning rate" err)" = 1 ] || fail "the learning rate is told more than once"
cp -R r other
train "$@" --set run.dir=other --resume --set train.steps=7 --set optimizer.lr=0.5 --set lr_schedule.warmup=3
expect 0 "another rate" "learning rate from here on: constant 0.5, warm-up 3; until step 6 it was: constant 0.01"

# --- damage: a byte of the newest checkpoint changes, and the one before it takes over
cp -R r damaged
tensor=damaged/checkpoints/step-00000006/model.safetensors
byte() {
	od -An -tu1 -j"$1" -N1 "$tensor" | tr -d ' '
}
at=$(($(wc -c <$tensor) - 20))
printf "\\$(printf %o $((255 - $(byte $at))))" | dd of=$tensor bs=1 seek=$at conv=notrunc 2>/dev/null
cmp -s $tensor r/checkpoints/step-00000006/model.safetensors && fail "the test did no damage"
train "$@" --set run.dir=damaged --resume
expect 0 "a damaged checkpoint" "warning.*step-00000006: model.safetensors: damaged between"
grep -q "^run .*, resumed at step 4$" out || fail "it did not take the checkpoint of step 4"
[ "$(grep -c 'cannot be used' err)" = 1 ] || fail "it warned $(grep -c 'cannot be used' err) times"
for f in model optimizer inflight; do
	cmp -s r/checkpoints/step-00000006/$f.safetensors "damaged/checkpoints/$(latest damaged)/$f.safetensors" ||
		fail "$f differs after the older checkpoint took over"
done
story r >story.a
story damaged >story.b
cmp -s story.a story.b || fail \
	"the metrics differ after the older checkpoint took over: $(diff story.a story.b | head -4)"
rm -rf damaged
cp -R r damaged
for f in damaged/checkpoints/step-*/MANIFEST.json; do
	: >"$f"
done
train "$@" --set run.dir=damaged --resume
expect 5 "nothing but damaged checkpoints" "no checkpoint can be used"

finish
