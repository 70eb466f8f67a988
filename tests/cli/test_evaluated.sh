# What an evaluation is of, and what it is called: validation where there are samples of its own, else the training
# samples. Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"

# Pure noise: targets that no input explains. 20 rows train 16 weights, which learn them; the other 60 rows show that
# nothing was learned.
awk 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()) }
	BEGIN { srand(7); for (i = 0; i < 80; i++) { printf "%.6f", normal(); for (j = 1; j <= 16;
		j++) printf " %d:%.6f", j, normal(); print "" } }' >noise
head -n 20 noise >first
tail -n 60 noise >rest
cat >noise.cfg <<'END'
model = { name = "quadratic"; blocks = 2; };
data = { name = "libsvm"; path = "noise"; };
optimizer = { name = "adam"; lr = 0.03; };
system = { name = "pipedream"; };
precision = "f64"; backend = "reference";
train = { steps = 600; batch = 20; eval_every = 300; };
machine = { workers = 2; threads = 1; };
END

# last KEY RUN: the last figure of that name in its metrics.
last() {
	sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" "runs/$2/metrics.jsonl" | tail -n 1
}

# generalises_not RUN: its validation loss is more than twice as high as that of the training, as of targets that are
# noise.
generalises_not() {
	loss=$(last loss "$1")
	valid=$(last val_loss "$1")
	awk -v l="${loss:-9}" -v v="${valid:-0}" 'BEGIN { exit !(l < 0.3 && v > 0.4 && v > 2 * l) }' ||
		complain "$1: training loss $loss and validation loss $valid of pure noise"
}

expect 0 "noise: 20 training and 60 validation rows of 16 numbers, in order" train noise.cfg --set data.validation=0.75
has ", validation loss "
generalises_not noise
expect 0 "first: 20 training and 60 validation rows" train noise.cfg --set data.path=first \
	--set data.validation_path=rest \
	--set run.dir=runs/apart
generalises_not apart
[ "$(last val_loss noise)" = "$(last val_loss apart)" ] || complain "the split and two files give other losses"
expect 3 "give validation_path or validation, not both" train noise.cfg --set data.validation_path=rest \
	--set data.validation=0.1 \
	--set run.dir=none
head -n 1 noise >single
expect 4 "single: validation = 0.9 leaves none of 1 sample for training" train noise.cfg --set data.path=single \
	--set data.validation=0.9 \
	--set run.dir=none

# Without a validation part nothing is called so, and the best checkpoint is the one of the lowest loss on all training
# rows.
expect 0 "noise: 80 rows of 16 numbers, in order" train noise.cfg --set run.dir=runs/all --set checkpoint.every=300
has ", loss on all training samples "
expect 0 "step 600: loss on all training samples $(last train_loss all), RMSE " eval noise.cfg --last \
	--set run.dir=runs/all
has ", 80 samples"
expect 0 ": loss on all training samples" eval noise.cfg --set run.dir=runs/all --checkpoint best
expect 0 "best_train_loss" inspect runs/all
! grep -rq "valid\|val_" runs/all/metrics.jsonl out || complain "training rows are called validation"
expect 0 " all $(awk -v l="$(last train_loss all)" 'BEGIN { printf "%.3f", l }') " top runs/all --once
"$millrace" train noise.cfg --set run.dir=runs/said >out 2>&1
! grep -q "valid" out || complain "training rows are called validation"
expect 0 "all training samples" curves runs/all
! grep -q "validation" out || complain "curves calls training rows validation"
expect 0 "loss on all training samples" train noise.cfg --set run.dir=runs/all --set train.steps=900 --resume
expect 0 "validation loss" train noise.cfg --set data.validation=0.5 --set system.name=sequential \
	--set machine.workers=1 --set run.dir=runs/alone

# Labels as classes, with the part of them that is predicted right; three clouds that a small mlp tells apart.
awk 'BEGIN { srand(3); for (i = 0; i < 120; i++) { c = i % 3; printf "%d", c == 0 ? -1 : c == 1 ? 1 : 5
	for (j = 1; j <= 4; j++) printf " %d:%.4f", j, (j == c + 1 ? 2 : 0) + 0.4 * (rand() - 0.5);
		print "" } }' >clouds
cat >clouds.cfg <<'END'
model = { name = "mlp"; hidden = [8]; };
data = { name = "libsvm"; path = "clouds"; labels = "classes"; validation = 0.25; };
optimizer = { name = "adamw"; lr = 0.05; };
system = { name = "1f1b"; };
train = { steps = 60; batch = 16; microbatches = 2; eval_every = 20; };
machine = { workers = 2; threads = 1; };
END
expect 0 "clouds: 90 training and 30 validation rows of 4 numbers, in order, 3 classes" train clouds.cfg
has ", accuracy 100.00%"
has " acc 100.0%"
[ "$(last val_accuracy clouds)" = 1.0 ] || complain "metrics.jsonl has accuracy \"$(last val_accuracy clouds)\""
expect 0 ", accuracy 100.0000%, 30 samples" eval clouds.cfg
expect 0 ", accuracy 100.0000%, 30 samples" eval clouds.cfg --set system.name=sequential --set machine.workers=1
expect 0 ", accuracy 100.00%" simulate clouds.cfg --set run.dir=runs/virtual
sed 's/^5/1/' clouds >fewer
sed 's/ validation = 0.25;//' clouds.cfg >apart.cfg
expect 4 "clouds:3: label 5 is none of the training file's" train apart.cfg --set data.path=fewer \
	--set data.validation_path=clouds --set run.dir=none
sed 's/^5/0.5/' clouds >fractions
expect 4 'fractions:3: labels = "classes" needs whole numbers as labels, got 0.5' train clouds.cfg \
	--set data.path=fractions --set run.dir=none
sed 's/^[-0-9]*/2/' clouds >one
expect 4 'one: labels = "classes" needs at least two different labels' train clouds.cfg --set data.path=one \
	--set run.dir=none

# Two classes have an area under the ROC curve, more than five a top-5 accuracy, tokens a perplexity; the same with and
# without a pipeline.
awk 'BEGIN { srand(5); print "a,b,kind"; for (i = 0; i < 150; i++) { c = i % 2
	printf "%.4f,%.4f,%s\n", c + 2 * rand(), rand(), c ? "yes" : "no" } }' >two.csv
sed 's/^data = .*/data = { name = "csv"; path = "two.csv"; targets = "classes"; validation = 0.4; };/' \
	clouds.cfg >two.cfg
expect 0 "90 training and 60 validation rows of 2 numbers, target kind, 2 classes: no, yes" train two.cfg
has ", AUC 0."
has " auc 0."
auc=$(last val_auc two)
awk -v a="$auc" 'BEGIN { exit !(a > 0.6 && a < 1) }' || complain "AUC $auc of classes that overlap"
expect 0 ", AUC $(printf '%.6f' "$auc")" eval two.cfg
expect 0 ", AUC $(printf '%.6f' "$auc")" eval two.cfg --set system.name=sequential --set machine.workers=1
sed 's/^data = .*/data = { name = "synthetic"; features = 4; classes = 9; samples = 200; };/' clouds.cfg >nine.cfg
expect 0 ", top-5 accuracy " train nine.cfg
has " top5 "
top=$(last val_top5 nine)
awk -v t="$top" -v a="$(last val_accuracy nine)" 'BEGIN { exit !(t > a && t <= 1) }' || complain "top-5 accuracy $top"
expect 0 ", top-5 accuracy $(awk -v p="$top" 'BEGIN { printf "%.4f", 100 * p }')%" eval nine.cfg
expect 0 "\"val_top5\": $top" top runs/nine --json

exit $failed
