# train.class_weights: balanced weights are those of a list that says the same, whatever the system; they count in
# training alone; what does not fit is named. Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=train

# 270 rows of "no", 30 of "yes": balanced 300 / (2 * 270) and 300 / (2 * 30).
awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 300; i++) { k = i % 10 == 0
	printf "%.4f,%.4f,%s\n", k + 2 * rand(), rand(), (k ? "yes" : "no") } }' >rare.csv
cat >rare.cfg <<END
model = { name = "mlp"; hidden = [8, 8]; };
data = { name = "csv"; path = "rare.csv"; targets = "classes"; validation = 0; };
optimizer = { name = "sgd"; lr = 0.1; };
system = { name = "1f1b"; };
train = { steps = 20; batch = 30; microbatches = 3; eval_every = 10; class_weights = "balanced"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
checkpoint = { every = 10; };
END
# weights RUN: of its last checkpoint.
weights() {
	cat runs/"$1"/checkpoints/step-00000020/*.safetensors | cksum
}
expect 0 "done: 20 of 20" rare.cfg
expect 0 "done: 20 of 20" rare.cfg --set run.dir=runs/list --set "train.class_weights=[0.55555555555555558, 5]"
[ "$(weights rare)" = "$(weights list)" ] || complain "balanced weights are not those of the list"
expect 0 "done: 20 of 20" rare.cfg --set run.dir=runs/plain --set train.class_weights=
[ "$(weights rare)" != "$(weights plain)" ] || complain "class weights change nothing"
expect 0 "done: 20 of 20" rare.cfg --set run.dir=runs/ones --set "train.class_weights=1,1" --set backend=reference
expect 0 "done: 20 of 20" rare.cfg --set run.dir=runs/none --set train.class_weights= --set backend=reference

# Weights of 1 give the losses of none, but for rounding.
grep -h '"loss"' runs/ones/metrics.jsonl | sed 's/.*"loss":\([^,]*\).*/\1/' >ones
grep -h '"loss"' runs/none/metrics.jsonl | sed 's/.*"loss":\([^,]*\).*/\1/' | paste -d' ' ones - >both
awk '{ d = $1 - $2; n++; if (d > 1e-5 || d < -1e-5) exit 1 } END { exit n != 20 }' both || complain "$(cat both)"

# A system that flushes, other cuts, and the simulated run: the same weights.
for other in "system.name=gpipe" "system.name=zb_h1" "system.name=sequential"; do
	expect 0 "done: 20 of 20" rare.cfg --set run.dir=runs/other --set "$other"
	if [ "$other" != system.name=zb_h1 ] && [ "$(weights rare)" != "$(weights other)" ]; then
		complain "$other has other weights"
	fi
	rm -r runs/other
done
command=simulate
expect 0 "" rare.cfg --set run.dir=runs/virtual
[ "$(weights rare)" = "$(weights virtual)" ] || complain "a simulated run has other weights"
command=train

# A rare class is found more often, which is what weights are for; the evaluation itself is not weighted.
expect 0 "" rare.cfg --set run.dir=runs/rare_long --set train.steps=400 --set train.eval_every=400
expect 0 "" rare.cfg --set run.dir=runs/plain_long --set train.steps=400 --set train.eval_every=400 \
	--set train.class_weights=
for run in rare plain; do
	"$millrace" predict runs/${run}_long rare.csv --scores $run.json >predictions 2>out || complain "predict $run:"
	# recall of yes
	tr -d '\n\t ' <$run.json | sed 's/.*"class":"yes"[^}]*"recall":\([0-9.]*\).*/\1/' >$run.recall
done
awk -v a="$(cat rare.recall)" -v b="$(cat plain.recall)" 'BEGIN { exit !(a > b) }' ||
	complain "recall of the rare class: $(cat rare.recall) with weights, $(cat plain.recall) without"
loss=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' rare.json | cut -c1-6)
grep -q "\"train_loss\":$loss" runs/rare_long/metrics.jsonl ||
	complain "the evaluation says $(grep train_loss runs/rare_long/metrics.jsonl), predictions $loss"

# Resumed: the same weights as in one go; with others it is another run.
expect 0 "" rare.cfg --set run.dir=runs/half --set train.steps=10
expect 0 "done: 20 of 20" rare.cfg --set run.dir=runs/half --resume
[ "$(weights rare)" = "$(weights half)" ] || complain "a resumed run has other weights"
expect 5 "" rare.cfg --set run.dir=runs/half --set train.class_weights=1,2 --set train.steps=30 --resume

# What does not fit.
expect 3 "train.class_weights: 3 weights for 2 classes" rare.cfg --set train.class_weights=1,2,3 --set run.dir=no
expect 3 'expected "balanced" or a list of weights of at least 0, got "much"' rare.cfg \
	--set train.class_weights=much --set run.dir=no
expect 3 "the weights of all classes are 0" rare.cfg --set train.class_weights=0,0 --set run.dir=no
expect 3 "the loss mse has no classes to weigh" rare.cfg --set data.targets=numbers --set data.target=1 \
	--set data.ignore=3 --set run.dir=no
sed 's/class_weights = "balanced"/class_weights = [1, 2.5]/' rare.cfg >list.cfg
expect 0 "done: 20 of 20" list.cfg --set run.dir=runs/listed
sed 's/class_weights = "balanced"/class_weights = [1, "x"]/' rare.cfg >wrong.cfg
expect 3 "expected \"balanced\" or a list of numbers" wrong.cfg --set run.dir=no
exit $failed
