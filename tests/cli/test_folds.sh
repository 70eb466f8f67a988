# train --folds and --seeds: a folder each, mean and deviation of their best evaluations, the same weights as trainings
# by hand; an interrupted one goes on. data.split, data.split_seed. Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=train

# 61 rows, sorted by class.
awk 'BEGIN { srand(5); print "a,b,kind"; for (i = 0; i < 61; i++) { k = i < 40 ? 0 : i < 53 ? 1 : 2
	printf "%.4f,%.4f,%s\n", k + 1.5 * rand(), 10 * rand(), substr("cat dog fox", 4 * k + 1, 3) } }' >pets.csv
cat >pets.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "csv"; path = "pets.csv"; targets = "classes"; };
optimizer = { name = "adamw"; lr = 0.02; };
system = { name = "1f1b"; };
train = { steps = 30; batch = 12; eval_every = 10; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
weights() {
	cat "$1"/checkpoints/step-00000030/*.safetensors | cksum
}
# figure RUN NAME: of the best evaluation.
figure() {
	grep val_loss "$1"/metrics.jsonl | sed "s/.*\"val_loss\":\([^,}]*\).*/\1 &/" | sort -g | head -n 1 |
		sed "s/.*\"$2\":\([^,}]*\).*/\1/"
}

expect 0 "deviation" pets.cfg --folds 3
has "fold-0: 1 of 3"
has "fold-2: 3 of 3"
cp out table
for f in 0 1 2; do
	"$millrace" train pets.cfg --set run.dir=one --set data.folds=3 --set data.fold=$f >out 2>&1 ||
		complain "fold $f:"
	[ "$(weights one)" = "$(weights runs/pets/fold-$f)" ] || complain "fold $f has other weights by hand"
	[ "$(figure one val_loss)" = "$(figure runs/pets/fold-$f val_loss)" ] || complain "fold $f has another loss"
	rm -r one
	figure runs/pets/fold-$f val_accuracy
done >accuracies
awk '{ s += $1; n++; x[n] = $1 } END { m = s / n; for (i in x) v += (x[i] - m) ^ 2
	printf "%.2f %.2f\n", 100 * m, 100 * sqrt(v / n) }' accuracies >want
awk '$1 == "mean" { m = $4 } $1 == "deviation" { print m, $4 }' table | tr -d % >got
cmp -s want got || complain "mean and deviation are $(cat got), expected $(cat want): $(cat table)"
tr -d '\n\t ' <runs/pets/folds.json | grep -q '^{"folds":3,"runs":\[{"step":.*\],"mean":{.*},"deviation":{' ||
	complain "$(cat runs/pets/folds.json)"
# Each fold scales by its own training rows alone.
for f in 0 1 2; do
	"$millrace" inspect runs/pets/fold-$f --format json | tr -d '\\' | grep -o '"deviation":[0-9.]*' | head -n 1
done | sort -u >scales
[ "$(wc -l <scales)" -eq 3 ] || complain "folds are scaled alike: $(cat scales)"

# What is in the way.
expect 2 "has folds of an earlier training: --continue goes on with them" pets.cfg --folds 3
expect 4 "is of other trainings" pets.cfg --folds 4 --continue
expect 0 "deviation" pets.cfg --folds 3 --continue
grep -q "1 of 3" out && complain "a fold that is over is trained again"
expect 2 "without --resume" pets.cfg --folds 3 --resume
expect 2 "without each other" pets.cfg --folds 3 --seeds 3
expect 2 "which are set already" pets.cfg --folds 3 --set data.folds=4
expect 3 "validation_path says which rows validate" pets.cfg --folds 3 --set run.dir=no \
	--set data.validation_path=pets.csv
expect 4 "61 samples make no 62 folds" pets.cfg --folds 62 --set run.dir=no
cat >made.cfg <<END
model = { name = "mlp"; hidden = [4]; };
data = { name = "synthetic"; samples = 100; };
optimizer = { name = "sgd"; lr = 0.02; };
system = { name = "1f1b"; };
train = { steps = 4; batch = 4; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
expect 2 'data "synthetic" cannot be dealt out to folds: ' made.cfg --folds 3
has csv

# Seeds in a row, of any data; each is the training with that seed.
expect 0 "deviation" made.cfg --seeds 2 --set train.seed=7
[ -e runs/made/seed-7/run.json ] && [ -e runs/made/seed-8/run.json ] || complain "$(ls runs/made)"
[ -e runs/made/seeds.json ] || complain "no seeds.json"
"$millrace" train made.cfg --set train.seed=8 --set run.dir=eight >out 2>&1 || complain "seed 8:"
[ "$(cat eight/checkpoints/step-00000004/*.safetensors | cksum)" = \
	"$(cat runs/made/seed-8/checkpoints/step-00000004/*.safetensors | cksum)" ] || complain "seed 8 by hand differs"

# Interrupted in the middle: what is over stays, and the rest goes on to the same results.
"$millrace" train pets.cfg --folds 3 --set run.dir=cut --set train.steps=3000 --set checkpoint.every=500 \
	--set train.eval_every=100 >out 2>&1 &
pid=$!
for _ in $(seq 240); do
	[ -e cut/folds.json ] && break
	sleep 0.5
done
kill -INT $pid
wait $pid
code=$?
[ $code -eq 130 ] || [ $code -eq 0 ] || complain "an interrupted training ends with $code"
expect 0 "deviation" pets.cfg --folds 3 --set run.dir=cut --set train.steps=3000 --set checkpoint.every=500 \
	--set train.eval_every=100 --continue
[ $code -eq 0 ] || ! grep -q "1 of 3" out || complain "the first fold is trained again"
cp cut/folds.json continued.json
expect 0 "deviation" pets.cfg --folds 3 --set run.dir=whole --set train.steps=3000 --set checkpoint.every=500 \
	--set train.eval_every=100
cmp -s continued.json whole/folds.json || complain "results differ: $(diff continued.json whole/folds.json)"

# A stratified split has each class's part; another split_seed draws others, train.seed does not.
classes() { # of the validation rows: recall samples of each class, by predict's scores of eval
	"$millrace" eval pets.cfg "$@" --scores s.json >out 2>&1 || complain "eval $*:"
	tr -d '\n\t ' <s.json | grep -o '"samples":[0-9]*,"precision"' | tr -dc '0-9\n' | tr '\n' ' '
}
expect 0 "" pets.cfg --set run.dir=str --set data.split=stratified --set data.validation=0.3
got=$(classes --set run.dir=str --set data.split=stratified --set data.validation=0.3)
[ "$got" = "13 4 2 " ] || [ "$got" = "12 4 3 " ] || [ "$got" = "12 4 2 " ] || [ "$got" = "13 3 3 " ] ||
	[ "$got" = "12 3 3 " ] || [ "$got" = "13 4 3 " ] || complain "a stratified split has $got"
fingerprint() {
	"$millrace" inspect "$1" | sed -n 's/^data  *//p'
}
expect 0 "" pets.cfg --set run.dir=str2 --set data.split=stratified --set data.validation=0.3 --set train.seed=9
expect 0 "" pets.cfg --set run.dir=str3 --set data.split=stratified --set data.validation=0.3 --set data.split_seed=9
[ "$(fingerprint str)" = "$(fingerprint str2)" ] || complain "train.seed changes the split"
[ "$(fingerprint str)" != "$(fingerprint str3)" ] || complain "split_seed does not change the split"
expect 3 "split: \"stratified\" is by classes" pets.cfg --set data.split=stratified --set data.targets=numbers \
	--set data.target=1 --set data.ignore=3 --set run.dir=no
exit $failed
