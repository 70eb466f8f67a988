# predict: from a run or a checkpoint alone, on what training's files held; what is missing or wrong is named.
# Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=predict

how='optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };'

# train NAME: quietly.
train() {
	"$millrace" train "$1.cfg" >out 2>&1 || complain "train $1.cfg:"
}

# evaluated NAME: the line of eval.
evaluated() {
	"$millrace" eval "$1.cfg" >out 2>&1 || complain "eval $1.cfg:"
	cat out
}

# --- classes of a CSV file with numbers, categories and a column that is not read ---
awk 'BEGIN { srand(3); print "len,id,colour,width,kind"
	for (i = 0; i < 400; i++) { k = int(3 * rand())
		printf "%.4f,n%d,%s,%.3f,%s\n", k + rand() * 1.6, i, (rand() < 0.5 ? "red" : "blue"),
		       10 * k + 12 * rand(), (k == 0 ? "cat" : k == 1 ? "dog" : "a \"fox\", grey") } }' |
	sed 's/a "fox", grey/"a ""fox"", grey"/' >all.csv
{ head -n 301 all.csv; } >first.csv
{ head -n 1 all.csv; tail -n 100 all.csv; } >rest.csv
cat >kinds.cfg <<END
model = { name = "mlp"; hidden = [16]; };
data = { name = "csv"; path = "first.csv"; validation_path = "rest.csv"; targets = "classes"; ignore = "id,colour"; };
$how
train = { steps = 60; batch = 20; eval_every = 60; };
END
train kinds
accuracy=$(evaluated kinds | sed -n 's/.*\(accuracy [0-9.]*%\).*/\1/p')
cp -r runs/kinds/checkpoints/step-00000060 moved
mkdir gone && mv first.csv rest.csv all.csv gone
mv runs gone/runs

# The training's files are gone, and so is its folder: a checkpoint is enough, and gives what eval gives.
expect 0 "$accuracy, 100 samples" moved gone/rest.csv -o whole.csv
expect 0 "$accuracy, 100 samples" gone/runs/kinds gone/rest.csv -o same.csv --batch 7
cmp -s whole.csv same.csv || paste -d' ' whole.csv same.csv | awk -F'[, ]' 'NF && $1 != $1 { exit 1 }' ||
	complain "batches change predictions"
[ "$(head -n 1 whole.csv)" = 'prediction,probability cat,probability dog,"probability a ""fox"", grey"' ] ||
	[ "$(head -n 1 whole.csv)" = 'prediction,"probability a ""fox"", grey",probability cat,probability dog' ] ||
	complain "the head is $(head -n 1 whole.csv)"
[ "$(wc -l <whole.csv)" -eq 101 ] || complain "$(wc -l <whole.csv) lines"

# Where it errs: every row of the confusion matrix sums to its class's samples, and the figures are those of the file.
expect 0 "$accuracy" moved gone/rest.csv -o whole.csv --scores scores.json
sed 1d whole.csv | sed 's/^"a ""fox"", grey"/fox/; s/,.*//' >got
sed 1d gone/rest.csv | sed 's/"a ""fox"", grey"/fox/; s/.*,//' >want
for class in cat dog; do
	samples=$(grep -c "^$class$" want)
	right=$(paste -d' ' got want | grep -c "^$class $class$")
	awk -v r="$right" -v n="$samples" -v p="$(grep -c "^$class$" got)" -v class="$class" '
		$0 ~ "\"class\": \"" class { at = 1 }
		at && /"samples"/ { s = $2 + 0 } at && /"precision"/ { a = $2 + 0 } at && /"recall"/ { b = $2 + 0 }
		at && /"f1"/ { f = $2 + 0; at = 0 }
		function off(x, y) { return x - y > 1e-9 || y - x > 1e-9 }
		END { exit s != n || off(a, r / p) || off(b, r / n) || off(f, 2 * r / (n + p)) }' scores.json ||
		complain "$class: $right of $samples are right: $(cat scores.json)"
done
tr -d ' \n\t' <scores.json | grep -q '"confusion":\[\[[0-9,]*\],\[[0-9,]*\],\[[0-9,]*\]\],"calibration":\[{' ||
	complain "$(cat scores.json)"
loss=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' scores.json)
awk -v a="$loss" 'BEGIN { exit !(a > 0 && a < 2) }' || complain "loss $loss"
cut -d, -f1-4 gone/rest.csv >bare.csv
expect 4 "bare.csv has no targets to compare with" moved bare.csv --scores scores.json -o b.csv

# Columns in another order, others between, without the target, from a pipe: the same predictions.
cut -d, -f1,2,3,4 gone/rest.csv | awk -F, '{ print $4 ",more," $1 }' | sed '1s/more/extra/' >turned.csv
"$millrace" predict moved - <turned.csv >piped.csv 2>out || complain "a pipe:"
cmp -s whole.csv piped.csv || complain "other columns change predictions"
grep -q "100 samples" out || complain "samples are not counted"
grep -q accuracy out && complain "an accuracy without targets"

# As JSON lines, and as an array of NumPy.
expect 0 "" moved gone/rest.csv --output lines.jsonl
head -n 1 lines.jsonl | grep -q '^{"prediction":"[^}]*"probabilities":{.*"dog":[0-9.e-]*.*}}$' ||
	complain "$(head -n 1 lines.jsonl)"
[ "$(wc -l <lines.jsonl)" -eq 100 ] || complain "$(wc -l <lines.jsonl) lines of JSON"
expect 0 "" moved gone/rest.csv --output p.npy
[ "$(wc -c <p.npy)" -eq $((128 + 100 * 3 * 8)) ] || complain "p.npy has $(wc -c <p.npy) bytes"
grep -aq "'shape': (100, 3)" p.npy || complain "the head of p.npy"
expect 2 "--format npy needs a file" moved gone/rest.csv --format npy

# What is wrong is named, all of it.
sed '1s/width/widht/' gone/rest.csv >renamed.csv
expect 4 'renamed.csv:1: there is no column "width" (did "widht" have this name?), which the model needs' \
	moved renamed.csv
cut -d, -f1,5 gone/rest.csv >fewer.csv
expect 4 'fewer.csv:1: there is no column "width", which the model needs' moved fewer.csv
{ head -n 2 gone/rest.csv; echo "x,1,red,2,cat"; echo "1,1,red,,cat"; echo "1,2"; } >wrong.csv
expect 4 "3 samples cannot be read, the first: wrong.csv:3: len: \"x\" is no finite number" \
	moved wrong.csv -o kept.csv
has "wrong.csv:4: width is empty, expected a number"
has "wrong.csv:5: 2 fields, where the first line has 5"
[ -e kept.csv ] && complain "predictions of a wrong file were kept"
awk 'BEGIN { print "len,width\n1,1"; for (i = 0; i < 50; i++) print "x,1" }' >many.csv
expect 4 "50 samples cannot be read" moved many.csv
[ "$(grep -c 'is no finite number$' out)" -eq 21 ] ||
	complain "$(grep -c finite out) lines of mistakes, expected 20 and the last:"
# A column of another kind is named, and not each of its cells.
awk 'BEGIN { print "len,width"; for (i = 0; i < 50; i++) print "long," i }' >texts.csv
expect 4 'texts.csv: column len has texts, such as "long", where the model learned numbers' moved texts.csv -o kept.csv
{ echo "len,width"; echo "long,1"; echo "NA,1"; echo "1,1"; } >few.csv
expect 4 "2 samples cannot be read, the first: few.csv:2: len: \"long\" is no finite number" moved few.csv
: >nothing
expect 4 "nothing: " moved nothing
awk '/,cat$/ && !done { sub(/cat$/, "wolf"); done = 1 } { print }' gone/rest.csv >wolf.csv
expect 0 "1 samples are of classes that the model does not know" moved wolf.csv -o w.csv
expect 5 "there is no checkpoint" nowhere gone/rest.csv
expect 2 "predict" moved

# Without names, columns have their places, and the target may be missing.
grep -v '"' gone/all.csv | tail -n +2 | cut -d, -f1,4,5 | head -n 200 >plain.csv
cat >plain.cfg <<END
model = { name = "mlp"; hidden = [16]; };
data = { name = "csv"; path = "plain.csv"; targets = "classes"; };
$how
train = { steps = 30; batch = 20; };
END
train plain
expect 0 "accuracy" runs/plain plain.csv -o with.csv
cut -d, -f1,2 plain.csv >two.csv
expect 0 "200 samples" runs/plain two.csv -o without.csv
cmp -s with.csv without.csv || complain "a target changes predictions"
cut -d, -f1 plain.csv >one.csv
expect 4 "one.csv:1: 1 column without names, where the model's data have 3" runs/plain one.csv

# --- categories ---
awk 'BEGIN { srand(4); print "a,colour,t"; for (i = 0; i < 100; i++) { k = rand() < 0.5
	print k + rand() "," (k ? "red" : "blue") "," k } }' >colours.csv
cat >mixed.cfg <<END
model = { name = "dlrm"; rows = [64]; width = 4; bottom = [8]; top = [8]; };
data = { name = "csv"; path = "colours.csv"; categories = "colour"; };
$how
train = { steps = 40; batch = 20; eval_every = 40; };
END
train mixed
expect 0 "accuracy" runs/mixed colours.csv -o mixed.csv
[ "$(head -n 1 mixed.csv)" = "prediction,probability 0,probability 1" ] || complain "$(head -n 1 mixed.csv)"
cut -d, -f3 colours.csv >bare.csv
expect 4 'there is no column "a", no "colour", which the model needs' runs/mixed bare.csv

# Values that a checkpoint keeps, as numbers and as tables; missing cells, numbers in the file's own style.
awk 'BEGIN { srand(5); split("red green blue", c); print "town;paid;colour;when;kind"; for (i = 0; i < 400; i++) {
	t = int(30 * rand()); k = c[1 + int(3 * rand())]; p = 1000 + 999 * rand(); m = 1 + int(12 * rand())
	printf "t%d;%s;%s;%d.%d.2020;%s\n", t, (rand() < 0.1 ? "" : sprintf("1.%03d,5", p - 1000)),
	       (rand() < 0.1 ? "NA" : k), 1 + int(28 * rand()), m, (t % 2 ? "odd" : "even") } }' >towns.csv
cat >towns.cfg <<END
model = { name = "mlp"; hidden = [16]; categories = 1; embedding = 4; };
data = { name = "csv"; path = "towns.csv"; targets = "classes"; categories = "town, colour"; category = "known";
         one_hot = 10; empty = "mean"; validation = 0; };
$how
train = { steps = 300; batch = 20; eval_every = 300; };
END
train towns
accuracy=$(evaluated towns | sed -n 's/.*\(accuracy [0-9.]*%\).*/\1/p')
expect 0 "$accuracy, 400 samples" runs/towns towns.csv -o towns.out
[ "${accuracy#accuracy 9}" != "$accuracy" ] || [ "$accuracy" = "accuracy 100.0000%" ] || complain "towns: $accuracy"
grep -q unknown out && complain "unknown values in the training's own file"
sed '2s/^t[0-9]*;/atlantis;/; 3s/^t[0-9]*;/atlantis;/; 4s/;\(red\|green\|blue\|NA\);/;mauve;/' towns.csv >new.csv
awk -F';' -v OFS=';' 'NR > 1 { $3 = NR } { print }' towns.csv >numbered.csv
expect 4 'column colour has numbers, such as "6", where the model learned texts, such as "blue"' \
	runs/towns numbered.csv
head -n 4 numbered.csv >one.csv
expect 0 '3 unknown values of colour, such as "2"; colour has numbers alone, where the model learned texts: taken as' \
	runs/towns one.csv -o o.csv
expect 0 '2 unknown values of town, such as "atlantis"; 1 unknown value of colour, such as "mauve": taken as unknown' \
	runs/towns new.csv -o new.out
sed '5s/;[^;]*;/;much;/' towns.csv >other.csv
expect 4 'other.csv:5: paid: "much" is no number such as 1.234,5' runs/towns other.csv

# --- numbers: the target's unit, with and without a scale of its own ---
awk 'BEGIN { srand(5); print "x,y,price"
	for (i = 0; i < 500; i++) { x = 10 * rand(); y = rand() - 3
		print x "," y "," 20000 + 3000 * x - 1500 * y } }' >prices.csv
head -n 401 prices.csv >known.csv
{ head -n 1 prices.csv; tail -n 100 prices.csv; } >new.csv
cat >prices.cfg <<END
model = { name = "mlp"; hidden = [16]; };
data = { name = "csv"; path = "known.csv"; validation_path = "new.csv"; target_scale = "standard"; };
$how
train = { steps = 200; batch = 20; eval_every = 100; };
END
train prices
evaluated prices >line
grep -q ", RMSE [0-9.e+]*, MAE [0-9.e+]*, R2 0.9" line || complain "eval says $(cat line)"
# value NAME: its number in the line of eval.
value() {
	sed -n "s/.*$1 \([-0-9.e+]*\).*/\1/p" "$2" | tail -n 1
}
expect 0 "RMSE" runs/prices new.csv -o prices.out
cp out prices.said
expect 2 "predicts numbers" runs/prices new.csv -o prices.none --scores s.json
cp prices.said out
for figure in RMSE MAE R2; do
	awk -v a="$(value $figure line)" -v b="$(value $figure out)" \
		'BEGIN { d = a - b; exit !(d < 1e-4 * (a > 0 ? a : -a) && d > -1e-4 * (a > 0 ? a : -a)) }' ||
		complain "$figure: eval $(value $figure line), predict $(value $figure out)"
done
# The same from the file that was written, by other arithmetic.
paste -d, new.csv prices.out | awk -F, -v want="$(value RMSE line)" 'NR > 1 { s += ($3 - $4) ^ 2; n++ }
	END { got = sqrt(s / n); exit !(got < want * 1.001 && got > want * 0.999) }' ||
	complain "the file's own error is not $(value RMSE line)"
grep -q '"val_rmse":' runs/prices/metrics.jsonl || complain "metrics.jsonl has no val_rmse"
command=train
expect 3 'target_scale' prices.cfg --set data.targets=classes --set run.dir=no
awk 'BEGIN { print "x,y"; for (i = 0; i < 40; i++) print i ",7" }' >same.csv
expect 4 'do not differ, as they must for target_scale' prices.cfg --set data.path=same.csv \
	--set data.validation_path=same.csv --set run.dir=no
command=predict

# --- LIBSVM ---
awk 'BEGIN { srand(9); for (i = 0; i < 120; i++) { k = i % 3; printf "%d", 5 * k; for (j = 1; j <= 4; j++)
	printf " %d:%.4f", j, (j == k + 1) + 0.8 * rand(); print "" } }' >rows.svm
cat >svm.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "libsvm"; path = "rows.svm"; labels = "classes"; };
$how
train = { steps = 60; batch = 20; };
END
train svm
accuracy=$(evaluated svm | sed -n 's/.*\(accuracy [0-9.]*%\).*/\1/p')
expect 0 "$accuracy, 120 samples" runs/svm rows.svm -o svm.csv
[ "$(head -n 1 svm.csv)" = "prediction,probability 0,probability 5,probability 10" ] || complain "$(head -n 1 svm.csv)"
cut -d' ' -f2- rows.svm >bare.svm
expect 0 "120 samples" runs/svm bare.svm -o bare.csv
cmp -s svm.csv bare.csv || complain "labels change predictions of LIBSVM"
echo "1:2 5:1" >beyond.svm
expect 4 "beyond.svm:1: index 5 is beyond the 4 of the training" runs/svm beyond.svm

# Indices from 0 make the same samples.
awk '{ for (i = 2; i <= NF; i++) { split($i, p, ":"); $i = p[1] - 1 ":" p[2] } print }' rows.svm >zero.svm
sed 's/rows[.]svm/zero.svm/' svm.cfg >svm0.cfg
train svm0
expect 0 "$accuracy, 120 samples" runs/svm0 zero.svm -o zero.csv
cmp -s svm.csv zero.csv || complain "indices from 0 change predictions of LIBSVM"

# --- pictures ---
picture() { # FILE GREY: 8 x 8 pixels
	{ printf 'P6 8 8 255\n'; awk -v g="$2" 'BEGIN { for (i = 0; i < 192; i++) printf "%c", g + i % 3 }'; } >"$1"
}
mkdir -p pics/dark pics/light
for i in 1 2 3 4 5 6 7 8 9; do
	picture pics/dark/$i.ppm $((i + 1))
	picture pics/light/$i.ppm $((100 + i))
done
cat >pics.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "images"; path = "pics"; size = 8; crop = "exact"; flip = false; validation = 0.3; };
$how
train = { steps = 40; batch = 4; eval_every = 40; };
END
train pics
grep -q "accuracy 100" out || "$millrace" eval pics.cfg >out 2>&1
expect 0 "accuracy 100.0000%, 18 samples" runs/pics pics -o pics.csv
grep -q '^dark/3.ppm,dark,' pics.csv || complain "$(cat pics.csv)"
mkdir flat && cp pics/light/2.ppm pics/light/3.ppm flat
expect 0 "2 samples" runs/pics flat -o flat.csv
grep -q '^3.ppm,light,' flat.csv || complain "$(cat flat.csv)"
expect 0 "1 samples" runs/pics flat/3.ppm -o one.csv
head -c 40 flat/3.ppm >flat/broken.ppm
expect 4 "flat/broken.ppm" runs/pics flat -o flat.csv

# Grey pictures have one channel, in training and here; a form of one channel takes coloured ones too.
mkdir -p greys/dark greys/light
for i in 1 2 3 4 5 6 7 8 9; do
	for class in dark light; do
		sed '1s/P6/P5/' pics/$class/$i.ppm | head -c 75 >greys/$class/$i.pgm
	done
done
sed 's/"pics"/"greys"/' pics.cfg >greys.cfg
train greys
expect 0 "accuracy 100.0000%, 18 samples" runs/greys greys -o greys.csv
expect 0 "accuracy 100.0000%, 18 samples" runs/greys pics -o pics.csv
"$millrace" check-data greys.cfg | grep -q "images as 8x8x1" || complain "grey pictures have three channels"

# --- what cannot be used ---
# A checkpoint of a build that noted no configuration, signed anew (CRC32C of what stands before the signature).
cp -r moved older
perl -0777 -i -pe 's/\n[^\n]*"configuration"[^\n]*//; s/,\n\t"manifest_crc32c".*//s; $c = 0xffffffff;
	for $b (unpack("C*", $_)) { $c ^= $b; $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8; }
	$_ .= sprintf(",\n\t\"manifest_crc32c\": \"%08x\"\n}\n", $c ^ 0xffffffff)' older/MANIFEST.json
expect 5 "older: it does not hold the configuration and the form of its data, as those of older builds: train" \
	older gone/rest.csv
exit $failed
