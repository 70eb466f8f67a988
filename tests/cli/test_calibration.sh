# eval --scores, --curves and --calibrate; predict --curves and --calibrated. Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=eval

# Classes that overlap, few rows and many steps: the model is too sure of itself.
awk 'BEGIN { srand(11); print "a,b,kind"; for (i = 0; i < 240; i++) { k = i % 3
	printf "%.4f,%.4f,%s\n", k + 3 * rand(), 2 * rand(), substr("cat dog fox", 4 * k + 1, 3) } }' >pets.csv
{ head -n 121 pets.csv; } >known.csv
{ head -n 1 pets.csv; tail -n 120 pets.csv; } >new.csv
cat >pets.cfg <<END
model = { name = "mlp"; hidden = [32, 32]; };
data = { name = "csv"; path = "known.csv"; validation_path = "new.csv"; targets = "classes"; };
optimizer = { name = "adamw"; lr = 0.02; };
system = { name = "1f1b"; };
train = { steps = 300; batch = 24; eval_every = 300; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
"$millrace" train pets.cfg >out 2>&1 || complain "train:"

# The scores are those of predict for the same rows, and the curves too.
expect 0 "accuracy" pets.cfg --scores e.json --curves e.csv
"$millrace" predict runs/pets new.csv --scores p.json --curves p.csv -o rows.csv >out 2>&1 || complain "predict:"
cmp -s e.json p.json || complain "eval and predict have other scores: $(diff e.json p.json)"
cmp -s e.csv p.csv || complain "eval and predict have other curves: $(diff e.csv p.csv | head -n 4)"
[ "$(head -n 1 e.csv)" = "class,threshold,true_positive_rate,false_positive_rate,precision" ] ||
	complain "$(head -n 1 e.csv)"

# The area of cat from the points, and by comparing all pairs of the predictions.
awk -F, '$1 == "cat" { if (seen++) a += ($4 - x) * ($3 + y) / 2; x = $4; y = $3 }
	END { printf "%.6f\n", a }' e.csv >area
paste -d, rows.csv new.csv | sed 1d | awk -F, '{ p[NR] = $2; own[NR] = $NF == "cat" }
	END { for (i = 1; i <= NR; i++) for (j = 1; j <= NR; j++) if (own[i] && !own[j]) {
		n++; w += p[i] > p[j] ? 1 : p[i] == p[j] ? 0.5 : 0 } printf "%.6f\n", w / n }' >pairs
cmp -s area pairs || complain "the area of cat is $(cat area), by pairs $(cat pairs)"
tr -d '\n\t ' <e.json | sed 's/.*"class":"cat"[^}]*"roc_auc":\([0-9.]*\).*/\1/' | awk '{ printf "%.6f\n", $1 }' >said
cmp -s said pairs || complain "the scores say $(cat said), by pairs $(cat pairs)"

# Calibrated: the loss falls, the classes stay, and predict uses what eval has kept.
command=predict
expect 5 "its probabilities are not calibrated: millrace eval CONF --calibrate" runs/pets new.csv --calibrated
command=eval
expect 0 "temperature" pets.cfg --calibrate
cp out said
temperature=$(sed -n 's/^temperature \([0-9.]*\):.*/\1/p' said)
awk -v t="$temperature" 'BEGIN { exit !(t > 1.05) }' || complain "a model that is too sure has temperature $temperature"
grep -q "\"temperature\": $(echo "$temperature" | cut -c1-5)" runs/pets/checkpoints/*/calibration.json ||
	complain "$(cat runs/pets/checkpoints/*/calibration.json)"
"$millrace" predict runs/pets new.csv --calibrated --scores c.json -o cool.csv >out 2>&1 || complain "predict:"
cut -d, -f1 rows.csv >a
cut -d, -f1 cool.csv | cmp -s - a || complain "calibration changes classes"
loss() {
	sed -n 's/^\t"loss": \([0-9.]*\),$/\1/p' "$1"
}
awk -v was="$(loss p.json)" -v is="$(loss c.json)" -v said="$(sed -n 's/.* calibrated \([0-9.]*\); .*/\1/p' said)" \
	'BEGIN { exit !(is < was && is - said < 1e-5 && said - is < 1e-5) }' ||
	complain "loss $(loss p.json), calibrated $(loss c.json); eval says $(cat said)"
awk -v was="$(sed -n 's/.*"calibration_error": \([0-9.e-]*\).*/\1/p' p.json)" \
	-v is="$(sed -n 's/.*"calibration_error": \([0-9.e-]*\).*/\1/p' c.json)" 'BEGIN { exit !(is < was) }' ||
	complain "the calibration error does not fall"
# As T divides the scores, p^(1/T), normalised, is the probability.
paste -d, rows.csv cool.csv | sed 1d | awk -F, -v t="$temperature" '{
	for (i = 2; i < 5; i++) { q[i] = $i ^ (1 / t); s += q[i] }
	for (i = 2; i < 5; i++) { d = q[i] / s - $(i + 4); if (d > 1e-4 || d < -1e-4) bad = 1 }
	s = 0 } END { exit bad }' ||
	complain "calibrated probabilities are not those of T = $temperature"

# The checkpoint's files are as they were, and it can be trained on.
"$millrace" train pets.cfg --resume --set train.steps=310 >out 2>&1 ||
	complain "a calibrated checkpoint cannot be resumed:"
echo '{"temperature": -1}' >damaged
cp damaged "$(ls -d runs/pets/checkpoints/step-00000300)/calibration.json"
command=predict
expect 5 "calibration.json: is damaged" runs/pets new.csv --checkpoint step-00000300 --calibrated

# Two classes by one score: a model whose loss is logistic has the same.
command=eval
cat >clicks.cfg <<END
model = { name = "dlrm"; rows = [64]; width = 4; bottom = [8]; top = [8]; };
data = { name = "csv"; path = "colours.csv"; categories = "colour"; validation = 0.4; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 40; batch = 20; eval_every = 40; class_weights = "balanced"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
awk 'BEGIN { srand(4); print "a,colour,t"; for (i = 0; i < 200; i++) { k = rand() < 0.3
	print k + 2 * rand() "," (rand() < 0.5 ? "red" : "blue") "," k } }' >colours.csv
"$millrace" train clicks.cfg >out 2>&1 || complain "train clicks.cfg:"
expect 0 "temperature" clicks.cfg --calibrate --scores two.json
auc=$(sed -n 's/.* AUC \([0-9.]*\).*/\1/p' out)
awk -v a="$auc" -v b="$(sed -n 's/^\t"roc_auc": \([0-9.]*\),$/\1/p' two.json)" 'BEGIN { d = a - b
	exit !(d < 1e-4 && d > -1e-4) }' || complain "AUC $auc, scores $(grep roc_auc two.json)"

# What it is not for.
cat >numbers.cfg <<END
model = { name = "mlp"; hidden = [4]; };
data = { name = "csv"; path = "known.csv"; target = "a"; ignore = "kind"; };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 4; batch = 4; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
"$millrace" train numbers.cfg >out 2>&1 || complain "train numbers.cfg:"
expect 2 "and this model predicts numbers" numbers.cfg --calibrate
command=predict
expect 2 "and this model predicts numbers" runs/numbers new.csv --calibrated
expect 2 "--curves is of classes" runs/numbers new.csv --curves c.csv -o n.csv
exit $failed
