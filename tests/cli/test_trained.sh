# eval, sample and inspect on what train wrote, and on what is missing, damaged or of another model.
# Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"

cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [16, 16]; };
data = { name = "synthetic"; features = 8; classes = 4; samples = 205; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 6; batch = 8; microbatches = 2; eval_every = 3; };
machine = { workers = 2; threads = 1; };
END
awk 'BEGIN { for (i = 0; i < 120; i++) print "mill " i % 7 " grinds, race runs." }' >text.txt
cat >gpt.cfg <<'END'
model = { name = "gpt"; layers = 2; width = 16; heads = 2; context = 16; };
data = { name = "text"; path = "text.txt"; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "pipedream"; };
train = { steps = 5; batch = 4; };
machine = { workers = 2; threads = 1; };
sample = { tokens = 20; prompt = "mill "; };
END

expect 5 "there is no checkpoint" eval mlp.cfg
expect 0 "done: 6 of 6 steps" train mlp.cfg
expect 0 "done: 5 of 5 steps" train gpt.cfg
grep -qF "warning: adamw with gradients up to 1 commit stale and no mitigation" out ||
	complain "no warning of stale gradients"
grep -qF "mitigation.name (staleness_aware, gap_aware, dc_asgd, weight_prediction, error_feedback)" out ||
	complain "the warning does not name the choices"
expect 0 "done: 5 of 5 steps" train gpt.cfg --set run.dir=softened --set mitigation.name=gap_aware
! grep -q "warning" out || complain "a warning in spite of the mitigation"
expect 0 "done: 5 of 5 steps" train gpt.cfg --set run.dir=racing --set system.name=ampnet --set system.order=racing
grep -qF "mitigation.name (staleness_aware, gap_aware, dc_asgd, weight_prediction, error_feedback) or" out ||
	complain "the warning of a race does not name the choices"
# A limit that clips nothing changes no bit, and has the gradient norm written down: of the last stage where there is no
# global one.
weights() {
	cat "$1"/checkpoints/step-*/model.safetensors
}
expect 0 "clipping to global norm 1e+09, which metrics.jsonl has" train mlp.cfg --set run.dir=normed \
	--set train.clip=1e9
weights runs/mlp >bits.a
weights normed >bits.b
cmp -s bits.a bits.b || complain "a limit that clips nothing changes bits"
[ "$(grep -c '"loss":.*"grad_norm":[0-9]' normed/metrics.jsonl)" = 6 ] || complain "no gradient norm of each step"
expect 0 "metrics.jsonl has that of the last stage" train gpt.cfg --set run.dir=stagenormed --set train.clip=1e9
weights runs/gpt >bits.a
weights stagenormed >bits.b
cmp -s bits.a bits.b || complain "a limit per stage that clips nothing changes bits"
[ "$(grep -c '"stage_grad_norm":[0-9]' stagenormed/metrics.jsonl)" = 5 ] ||
	complain "no gradient norm of the last stage"
! grep -q '"grad_norm"' stagenormed/metrics.jsonl || complain "a global norm that cannot be"
# Without a limit it is measured now and then, and is the same; simulated as well.
norms() {
	sed -n 's/.*"step":\([0-9]*\),.*\("[a-z_]*grad_norm":[^,}]*\).*/\1 \2/p' "$1/metrics.jsonl"
}
for conf in mlp gpt; do
	for how in train simulate; do
		expect 0 ", gradient norm " "$how" $conf.cfg --set run.dir=asked.$conf.$how --set train.norm_every=2
		weights asked.$conf.$how >bits.b
		weights runs/$conf >bits.a
		cmp -s bits.a bits.b || complain "$conf, $how: asking for norms changes bits"
		norms asked.$conf.$how >norms.b
		[ $conf = mlp ] && of=normed || of=stagenormed
		norms $of | grep '^[0-9]*[02468] ' >norms.a
		[ -s norms.a ] && cmp -s norms.a norms.b || complain \
			"$conf, $how: other norms: $(cat norms.a) against $(cat norms.b)"
	done
	expect 0 "done" train $conf.cfg --set run.dir=unasked.$conf --set train.norm_every=0
	! grep -q "grad_norm" unasked.$conf/metrics.jsonl || complain "$conf: a norm that nobody asked for"
	! grep -q "gradient norm" out || complain "$conf: a norm that nobody asked for"
done
expect 0 " of the last stage at step 4, validation loss " train gpt.cfg --set run.dir=late --set train.norm_every=4

# The configuration that a newcomer sees first gives no warning about itself.
expect 0 "done: 1 of 1 steps" train "$source/conf/quickstart.cfg" --set run.dir=quick --set train.steps=1 \
	--set lr_schedule.warmup=0 \
	--set model.width=8 --set model.layers=2 --set sample.tokens=1
! grep -q "warning" out || complain "the quickstart warns of itself"
expect 1 "none/file.json: cannot write" train gpt.cfg --set run.dir=unwritten --set system.name=ampnet \
	--set system.order=racing --record none/file.json
! grep -q "done" out || complain "trained although the record cannot be written"
expect 0 "mitigation dc_asgd changes nothing: 1f1b with 2 workers has no stale gradients" train mlp.cfg \
	--set run.dir=fresh \
	--set mitigation.name=dc_asgd
expect 3 "delayed_nesterov needs an optimizer that looks ahead" train mlp.cfg --set run.dir=none \
	--set mitigation.name=delayed_nesterov

expect 3 "mlp.cfg:5: train.eval_every: there is nothing to evaluate: synthetic has no validation part" train mlp.cfg \
	--set data.validation=0 --set run.dir=none
[ ! -e none ] || complain "what was refused left a folder"

# The loss is that of the training's last evaluation, to the last digit, for every executor.
for run in mlp gpt; do
	loss=$(sed -n 's/.*"val_loss":\([-0-9.e]*\).*/\1/p' runs/$run/metrics.jsonl | tail -n 1)
	[ -n "$loss" ] || complain "runs/$run/metrics.jsonl has no validation loss"
	expect 0 "validation loss $loss" eval $run.cfg
	expect 0 "validation loss $loss" eval $run.cfg --checkpoint runs/$run
	expect 0 "validation loss $loss" eval $run.cfg --checkpoint runs/$run/checkpoints --set run.dir=elsewhere
	expect 0 "validation loss $loss" eval $run.cfg --checkpoint "$(echo runs/$run/checkpoints/step-*)"
done
expect 0 "step $(sed 's/step-0*//' runs/gpt/checkpoints/BEST): validation loss" eval gpt.cfg --checkpoint best
grep -q "perplexity" out || complain "a model of text has no perplexity"
expect 0 "step 5: validation loss" eval gpt.cfg --checkpoint step-00000005
expect 5 "runs/gpt/checkpoints/step-00000004" eval gpt.cfg --checkpoint step-00000004
expect 5 "nowhere/checkpoints: no checkpoint was ever marked the best" eval gpt.cfg --checkpoint best \
	--set run.dir=nowhere
expect 0 "step 6: validation loss" eval mlp.cfg --set system.name=sequential --set train.microbatches=2

# Standard output is the text alone: the prompt, 20 characters, a line break; the same each time.
"$millrace" sample gpt.cfg >a 2>out || complain "sample fails"
"$millrace" sample gpt.cfg >b 2>>out || complain "sample fails"
cmp a b >>out || complain "two samples of one seed differ"
[ "$(head -c 5 a)" = "mill " ] || complain "the sample does not begin with its prompt"
[ "$(wc -c <a)" -eq 26 ] || complain "the sample has $(wc -c <a) characters, expected 26"
[ ! -s out ] || complain "sample has something to say"
"$millrace" sample gpt.cfg --set sample.tokens=3 --set sample.temperature=0 >a 2>out
[ "$(wc -c <a)" -eq 9 ] || complain "sample.tokens is not obeyed"
"$millrace" sample gpt.cfg --set sample.tokens=3 --set sample.top_p=1e-6 >b 2>out
cmp -s a b || complain "a small top_p does not leave the most likely token alone: $(cat a b out)"
if [ -w /dev/full ]; then
	code=0
	"$millrace" sample gpt.cfg >/dev/full 2>out || code=$?
	[ $code -eq 1 ] || complain "a sample that could not be written ends with $code"
	grep -qF "cannot write to standard output" out || complain "a sample that could not be written is not told"
fi
expect 3 "only a model of text can write a sample" sample mlp.cfg
expect 3 'sample.prompt: the vocabulary has no "Q"' sample gpt.cfg --set sample.prompt=Q

# The vocabulary comes from the checkpoint: without the text, and with a text whose as many characters are others.
mv text.txt kept.txt
"$millrace" sample gpt.cfg >c 2>out || complain "sample needs the text"
"$millrace" sample gpt.cfg --set sample.tokens=3 --set sample.temperature=0 >b 2>out
cmp a b >>out || complain "without the text the sample is another"
tr 'a-z' 'A-Z' <kept.txt >text.txt
"$millrace" sample gpt.cfg >b 2>out
cmp b c >>out || complain "with another text the sample is another"
expect 4 "text.txt: byte 0x4d at offset 0 is not in the vocabulary of the trained model" eval gpt.cfg
printf '\001\002' | cat kept.txt kept.txt - >text.txt
expect 4 "is not in the vocabulary of the trained model" eval gpt.cfg
grep -o '[a-g ]' kept.txt | tr -d '\n' >text.txt
expect 0 "step 5: validation loss" eval gpt.cfg
has "trained on other data"
mv kept.txt text.txt
expect 3 "only a model of text" sample mlp.cfg --checkpoint runs/gpt
head -c 2000 /dev/zero >tokens.bin
sed 's/"text"; path = "text.txt"/"tokens"; path = "tokens.bin"; vocab = 40/' gpt.cfg >tokens.cfg
expect 0 "done: 5 of 5 steps" train tokens.cfg
expect 5 "the model was not trained on text, and the data are text" sample gpt.cfg \
	--checkpoint runs/tokens
expect 5 "the model was trained on text, and the data are tokens" eval tokens.cfg \
	--checkpoint runs/gpt
# A checkpoint of a build that noted none: the manifest without that line, signed anew (CRC32C of what stands before the
# signature).
cp -r runs/gpt/checkpoints/step-00000005 older
perl -0777 -i -pe 's/\n[^\n]*"vocabulary"[^\n]*//; s/,\n\t"manifest_crc32c".*//s; $c = 0xffffffff;
	for $b (unpack("C*", $_)) { $c ^= $b; $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8; }
	$_ .= sprintf(",\n\t\"manifest_crc32c\": \"%08x\"\n}\n", $c ^ 0xffffffff)' older/MANIFEST.json
expect 0 "warning: the checkpoint does not hold its vocabulary" sample gpt.cfg --checkpoint older
expect 0 "warning: the checkpoint does not hold its vocabulary" eval gpt.cfg --checkpoint older

expect 0 "checksums     all right: 2 files" inspect runs/mlp

# A picture: to standard output or a file, which stays as it is when there is nothing to draw.
expect 0 "seconds, with evaluations and checkpoints" curves runs/mlp runs/gpt
expect 0 "seconds, with evaluations and checkpoints" curves runs/mlp -o -
[ ! -e - ] || complain "curves -o - has made a file of that name"
echo precious >picture
echo '{"step":1,"loss":null}' >wild.jsonl
expect 1 "no run has a finite loss" curves wild.jsonl -o picture
expect 4 "mlp.cfg: it holds no step of a run" curves runs/mlp mlp.cfg -o picture
expect 4 "nowhere: there is no such run" curves runs/mlp nowhere -o picture
[ "$(cat picture)" = precious ] || complain "curves emptied a file that it had nothing for"
expect 0 "run,step,loss,lr,samples" curves runs/mlp runs/gpt --format csv
[ "$(grep -c '^"mlp",' out)" = "$(wc -l <runs/mlp/metrics.jsonl)" ] || complain "curves --format csv has not each row:"
awk -F, 'NF != n && NR > 1 { exit 1 } { n = NF }' out || complain "rows of unequal length:"

# A report: what train wrote is all there, and what is missing is said.
expect 0 "report.html is written; open it with a browser" report runs/mlp runs/gpt
for text in '1f1b, 2 workers' 'The plan, with costs nominal' '<h3>Staleness' 'was predicted to need' \
	'w1: stage 1; CPU' 'hidden = ' 'millrace [0-9]'; do
	grep -q "$text" report.html || complain "report.html has no $text"
done
! grep -q 'The folder has no [rm][ue][nm]' report.html || complain "train has not written what a report shows"
expect 4 "nowhere: there is no such run" report runs/mlp nowhere -o picture
[ "$(cat picture)" = precious ] || complain "report emptied a file that it had nothing for"

# For TensorBoard, and in silence.
expect 0 "" train mlp.cfg --quiet --set run.dir=board --set run.tensorboard=true
[ ! -s out ] || complain "train --quiet speaks:"
grep -qa 'train/loss' board/tensorboard/events.out.tfevents.* || complain "no loss in the events"
grep -qa 'validation/loss' board/tensorboard/events.out.tfevents.* || complain "no validation loss in the events"
grep -qa 'run/configuration' board/tensorboard/events.out.tfevents.* || complain "no configuration in the events"
expect 0 "" train mlp.cfg --quiet --set run.dir=board --set run.tensorboard=true --set train.steps=8 --resume
[ "$(ls board/tensorboard | wc -l)" = 2 ] || complain "a resumed run has not begun a file of its own"

# A reader that leaves at once (| true) is no failure, and nothing to report.
rm -rf runs/left
{ "$millrace" inspect runs/mlp 2>err; echo $? >code; } | true
{ "$millrace" train mlp.cfg --set run.dir=runs/left 2>>err; echo $? >>code; } | true
cat err code >out
[ "$(tr '\n' ' ' <out)" = "0 0 " ] || complain "a reader that left is taken for an error"

expect 0 "fc.1.weight  F32   16 x 16       256  1.0 KiB" inspect runs/mlp/checkpoints
expect 0 "optimizer.safetensors" inspect runs/mlp/checkpoints/step-00000006
expect 0 "optimizer     adamw" inspect runs/mlp
expect 0 "inflight.safetensors" inspect runs/gpt
expect 0 "elements     256" inspect runs/mlp --tensor fc.1.weight
expect 0 "non-finite   0" inspect runs/mlp --tensor fc.1.weight.exp_avg_sq
grep -q "^min          [0-9]" out || complain "a second moment has no minimum from 0"
expect 0 '"shape": [16, 16]' inspect runs/mlp --format json
python3 -c 'import json, sys; sum(len(f["tensors"]) for f in json.load(sys.stdin)["files"])' <out || complain "no JSON:"
expect 2 "give one of them" inspect runs/mlp --format json --tensor fc.1.weight
expect 2 'holds no tensor "fc.1.wieght"; did you mean fc.1.weight?' inspect runs/mlp --tensor fc.1.wieght

# Python reads a checkpoint as engine/store/FORMATS.md shows it: with the package safetensors and without.
awk '/^```python$/ { inside = 1; file = "page." ++n ".py"; next } /^```/ { inside = 0 } inside { print >file }' \
	"$source/engine/store/FORMATS.md"
mkdir -p runs/shakespeare/checkpoints
cp -r runs/gpt/checkpoints/step-00000005 runs/shakespeare/checkpoints/step-00001000
expect 0 "elements     " inspect runs/gpt --tensor wte.weight
awk '$1 == "elements" || $1 == "min" || $1 == "max" { print $1, $2 }' out >of.inspect
cat >>page.1.py <<'END'
flat = weights["wte.weight"].flatten().tolist()
tensor = {"shape": list(weights["wte.weight"].shape)}
END
echo 'flat = list(values)' >>page.2.py
for page in page.1.py page.2.py; do
	cat >>$page <<'END'
assert tensor["shape"][0] * tensor["shape"][1] == len(flat) and tensor["shape"][1] == 16, tensor
told = dict(line.split() for line in open("of.inspect"))
assert int(told["elements"]) == len(flat), told
for of in (min, max):
    assert abs(of(flat) - float(told[of.__name__])) < 1e-5 * abs(of(flat)) != 0, (of(flat), told)
print("read")
END
	python=
	for p in "${MILLRACE_PYTHON:-}" python3 /usr/bin/python3; do
		if [ -n "$p" ] && "$p" -c "$(grep import $page)" 2>/dev/null; then
			python=$p
			break
		fi
	done
	if [ -z "$python" ]; then
		echo "a block of engine/store/FORMATS.md was not run: no Python here does \"$(grep -h import $page)\""
	else
		"$python" $page >out 2>&1 && grep -qx read out || complain "$page of engine/store/FORMATS.md:"
	fi
done
rm -r runs/shakespeare

expect 5 "nowhere: there is no checkpoint" eval mlp.cfg --checkpoint nowhere
expect 5 "nowhere: there is no checkpoint" sample gpt.cfg --checkpoint nowhere
expect 5 "nowhere: there is no checkpoint" inspect nowhere
expect 5 "the model was not trained on text" sample gpt.cfg --checkpoint runs/mlp
expect 5 'has no tensor "fc.0.weight"' eval mlp.cfg --checkpoint runs/gpt
grep -q "trained on other data" out || complain "no warning about other data"
expect 5 'tensor "fc.0.weight" is F32 [8, 16], expected F32 [8, 32]' eval mlp.cfg --set 'model.hidden=[32]'
expect 5 "expected F64" eval mlp.cfg --set backend=reference --set precision=f64
expect 4 "has no validation part" eval mlp.cfg --set data.validation=0
head -c 100 text.txt >short.txt
expect 4 "text has no validation part, or none as long as a window of 16 tokens" eval gpt.cfg --set data.path=short.txt

# One flipped byte in the middle of the weights; a file cut short; a manifest changed by hand.
cp -r runs/mlp hurt
hurt=hurt/checkpoints/step-00000006
byte=$(dd if=$hurt/model.safetensors bs=1 skip=4500 count=1 2>/dev/null | od -An -tu1)
printf "\\$(printf %o $((byte ^ 1)))" | dd of=$hurt/model.safetensors bs=1 seek=4500 conv=notrunc 2>/dev/null
expect 5 "model.safetensors: damaged between bytes" inspect $hurt
expect 5 "model.safetensors: damaged between bytes" eval mlp.cfg --checkpoint $hurt
expect 5 "no checkpoint can be used" inspect hurt
expect 5 "no checkpoint can be used" eval mlp.cfg --set run.dir=hurt --last
expect 5 "model.safetensors: damaged between" eval mlp.cfg --set run.dir=hurt
cp runs/mlp/checkpoints/step-00000006/model.safetensors $hurt/
expect 0 "checksums     all right" inspect $hurt
head -c 5000 runs/mlp/checkpoints/step-00000006/optimizer.safetensors >$hurt/optimizer.safetensors
expect 5 "optimizer.safetensors" inspect $hurt
cp runs/mlp/checkpoints/step-00000006/optimizer.safetensors $hurt/
sed 's/adamw/adamx/' runs/mlp/checkpoints/step-00000006/MANIFEST.json >$hurt/MANIFEST.json
expect 5 "MANIFEST.json: damaged or cut" inspect $hurt

# bf16: what stages read is saved in bf16, and beside the optimizer's state what the master weights are beyond it. In
# bf16_pure there is nothing beyond, and the state is in bf16.
for precision in bf16 bf16_pure; do
	bf16="--set backend=reference --set precision=$precision"
	for conf in mlp gpt; do
		expect 0 "done" train $conf.cfg $bf16 --set run.dir=bf16
		has "reference, $precision"
		expect 0 "BF16" inspect bf16
		if [ $precision = bf16 ]; then
			has "I16"
		else
			! grep -q "I16\|F32" out || complain "$conf in bf16_pure has numbers of another type"
		fi
		expect 0 "validation" eval $conf.cfg $bf16 --set run.dir=bf16
		expect 0 "done" train $conf.cfg $bf16 --set run.dir=parts --set train.steps=2
		expect 0 "done" train $conf.cfg $bf16 --set run.dir=parts --resume
		for part in model optimizer; do
			cmp -s bf16/checkpoints/step-0000000[56]/$part.safetensors \
				parts/checkpoints/step-0000000[56]/$part.safetensors ||
				complain "$conf in $precision: a resumed run differs"
		done
		expect 5 "precision" train $conf.cfg --set backend=reference --set run.dir=bf16 --resume \
			--set train.steps=9
		rm -rf bf16 parts
	done
	# The rows of a tied table that occur are stepped apart, with what their masters are beyond them.
	for system in sequential gpipe; do
		expect 0 "done" train gpt.cfg $bf16 --set system.name=$system --set train.microbatches=1 \
			--set model.tied=true --set data.vocab=byte --set run.dir=tied.$system.$precision
	done
	for part in model optimizer; do
		cmp -s tied.sequential.$precision/checkpoints/step-00000005/$part.safetensors \
			tied.gpipe.$precision/checkpoints/step-00000005/$part.safetensors ||
			complain "rows of a tied table in $precision differ"
	done
done
expect 3 "precision: avgpipe averages replicas of the weights, which bf16_pure has no exact weights for" \
	plan mlp.cfg $bf16 --set system.name=avgpipe --set train.microbatches=4
expect 3 "precision: gap_aware keeps a running mean of squares, which bf16_pure" \
	plan mlp.cfg $bf16 --set system.name=pipedream --set train.microbatches=1 --set mitigation.name=gap_aware
expect 3 "precision: error_feedback keeps the last step, which bf16_pure" \
	plan mlp.cfg $bf16 --set system.name=pipedream --set train.microbatches=1 --set mitigation.name=error_feedback
expect 3 "precision: soap turns weights into a basis that must be orthogonal, which bf16_pure" \
	plan mlp.cfg $bf16 --set optimizer.name=soap
expect 3 "state: the means that rotated_adam keeps are in a basis of their own in each replica" \
	plan mlp.cfg --set system.name=local_sgd --set system.state=averaged --set train.microbatches=4 \
	--set optimizer.name=rotated_adam
# Matrices beside the states are saved, in f32 beside masters too: on from the middle, to the same bits.
for optimizer in soap rotated_adam; do
	for precision in f32 bf16; do
		set -- mlp.cfg --set system.name=pipedream --set train.microbatches=1 --set machine.workers=2 \
			--set backend=reference --set precision=$precision --set optimizer.name=$optimizer \
			--set optimizer.frequency=2 --set mitigation.name=error_feedback --set optimizer.lr=0.01
		expect 0 "done" train "$@" --set run.dir=at_once --set train.steps=9
		expect 0 "done" train "$@" --set run.dir=turned --set train.steps=4
		expect 0 "done" train "$@" --set run.dir=turned --resume --set train.steps=9
		for part in model optimizer; do
			cmp -s at_once/checkpoints/step-00000009/$part.safetensors \
				turned/checkpoints/step-00000009/$part.safetensors ||
				complain "$optimizer in $precision: a resumed run differs"
		done
		rm -rf at_once turned
	done
done

# The constants of the theory for a linear objective: before, after, and in the checkpoint, whose G a resumed run goes
# on with.
cat >quad.cfg <<'END'
model = { name = "quadratic"; blocks = 4; };
data = { name = "formula"; features = 13; };
optimizer = { name = "sgd"; lr = 0.25; };
system = { name = "pipedream"; };
precision = "f64"; backend = "reference";
train = { steps = 40; batch = 4; microbatches = 1; };
machine = { workers = 4; threads = 1; };
END
line="f(w)     f(0) 0.5004882812, minimum f\* .*, smoothness L 1.126280344, gradient of a block at w = 0 at most \
1.07316$"
expect 0 "predicted" plan quad.cfg
grep -q "^$line" out || complain "plan does not say L and f*"
for precision in bf16 bf16_pure; do
	expect 0 "done: 40 of 40 steps" train quad.cfg --set precision=$precision \
		--set run.dir=quad.bf16
	grep -q "^f(w)     f - f\* 0\.0" out || complain "quadratic in $precision does not come near its minimum"
	rm -rf quad.bf16
done
expect 0 "done: 40 of 40 steps" train quad.cfg
grep -q "^$line" out || complain "train does not say L and f*"
ending=$(sed -n 's/^f(w)     \(f - f\*.*\)/\1/p' out)
[ -n "$ending" ] || complain "train does not say G"
expect 0 "smoothness    1.12628034405" inspect runs/quad
has " at most, of one block (G)"
has " (f*)"
expect 0 "done: 25 of 25 steps" train quad.cfg --set run.dir=runs/again --set train.steps=25
expect 0 "$ending" train quad.cfg --set run.dir=runs/again --resume
expect 0 "largest gradient of a block on the way G 0." train quad.cfg --set run.dir=runs/one \
	--set system.name=sequential \
	--set machine.workers=1
expect 0 "predicted  step " plan quad.cfg --set system.name=rpd
! grep -q "step 0 us\|steps overlap" out || complain "a list that ends is forecast by its body"
expect 0 "done: 4 of 4 steps" train mlp.cfg --set run.dir=runs/other --set train.steps=4
! grep -q "^f(w)" out || complain "an mlp is no objective of the theory"

exit $failed
