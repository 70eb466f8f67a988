# report: where a trained model errs, by its checkpoint and the data of its training: as eval and predict say it, with
# the rows that stand in the file; and pages of runs without one or the other.
# Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=report
how='optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };'

train() {
	"$millrace" train "$1.cfg" >out 2>&1 || complain "train $1.cfg:"
}

# json FILE: on one line, without blanks.
json() {
	tr -d ' \n\t' <"$1"
}

# --- classes of a CSV file whose last rows validate ---
awk 'BEGIN { srand(3); print "len,id,colour,width,kind"
	for (i = 0; i < 300; i++) { k = int(3 * rand())
		printf "%.4f,n%d,%s,%.3f,%s\n", k + rand() * 1.8, i, (rand() < 0.5 ? "red" : "blue"),
		       10 * k + 14 * rand(), (k == 0 ? "cat" : k == 1 ? "dog" : "fox") } }' >all.csv
head -n 201 all.csv >first.csv
{ head -n 1 all.csv; tail -n 100 all.csv; } >rest.csv
cat >kinds.cfg <<END
model = { name = "mlp"; hidden = [16]; };
data = { name = "csv"; path = "first.csv"; validation_path = "rest.csv"; targets = "classes"; ignore = "id,colour"; };
$how
train = { steps = 60; batch = 20; eval_every = 60; };
END
train kinds
expect 0 "is written" runs/kinds -o kinds.html
errors=runs/kinds/errors.json
command=predict
expect 0 "accuracy" runs/kinds rest.csv -o p.csv --scores scores.json
accuracy=$(sed -n 's/.*accuracy \([0-9.]*\)%.*/\1/p' out)
json $errors | sed 's/.*"confusion":\(\[\[[0-9,]*\],\[[0-9,]*\],\[[0-9,]*\]\]\).*/\1/' >mine
json scores.json | sed 's/.*"confusion":\(\[\[[0-9,]*\],\[[0-9,]*\],\[[0-9,]*\]\]\).*/\1/' >theirs
cmp -s mine theirs || complain "$(cat mine) is confused, and predict says $(cat theirs)"
awk -v a="$(sed -n 's/.*"accuracy": \([0-9.]*\).*/\1/p' $errors)" -v b="$accuracy" \
	'BEGIN { exit !(a > 0.5 && (100 * a - b) ^ 2 < 1e-6) }' || complain "accuracy $accuracy: $(cat $errors)"
grep -q '"samples": 100,' $errors && grep -q '"of_samples": 100,' $errors || complain "not of all samples"

# The worst examples are rows of the file, the one with the least probability first.
awk -F, 'NR == FNR { if (FNR > 1) p[FNR] = $2 " " $3 " " $4; else head = $0; next }
	FNR > 1 { split(p[FNR], x, " "); y = x[$5 == "cat" ? 1 : $5 == "dog" ? 2 : 3]
		if (!n++ || y < least) { least = y; at = FNR } } END { print at }' p.csv rest.csv >line
first=$(sed -n 's/.*"line": \([0-9]*\).*/\1/p' $errors | head -n 1)
[ "$first" = "$(cat line)" ] || complain "the worst row is at line $first, expected $(cat line):"
values=$(sed -n "${first}p" rest.csv | sed 's/[^,]*/"&"/g; s/,/, /g')
grep -qF "\"values\": [$values]" $errors || complain "the row $values is not among the worst: $(cat $errors)"
[ "$(grep -c '"line":' $errors)" -eq 12 ] || complain "$(grep -c '"line":' $errors) rows"
for part in "Where it errs" "all 100 validation samples" "The worst examples" "line $first of rest.csv" \
	"confusion matrix"; do
	grep -qF "$part" kinds.html || complain "kinds.html lacks \"$part\""
done

# Fewer examples are said to be fewer; with none an earlier report counts.
command=report
expect 0 "is written" runs/kinds -o few.html --examples 30
grep -qF "of 30 of the 100 validation samples" few.html || complain "30 samples: $(grep validation few.html)"
expect 0 "is written" runs/kinds -o none.html --examples 0
cmp -s few.html none.html || complain "--examples 0 forgets the earlier report"

# What is missing is named, and the page is there: the data, changed data, checkpoints.
mv rest.csv gone.csv
expect 0 "is written" runs/kinds -o page.html
grep -qF "This is of an earlier report, since now it cannot be found out: " page.html || complain "no reason"
grep -qF "rest.csv" page.html || complain "the missing file is not named"
sed '3s/^[0-9.]*/9.5/' gone.csv >rest.csv
rm $errors
expect 0 "is written" runs/kinds -o page.html
grep -qF "It cannot be found out: the data have changed since the training" page.html || complain "changed data"
[ -e $errors ] && complain "errors of other data"
mv gone.csv rest.csv
mv runs/kinds/checkpoints gone
expect 0 "is written" runs/kinds -o page.html
grep -qF "It cannot be found out: " page.html || complain "no checkpoints"
mv gone runs/kinds/checkpoints
expect 0 "is written" runs/kinds/metrics.jsonl -o page.html
grep -qF "all 100 validation samples" page.html || complain "by its metrics"

# --- numbers in their own unit; without a validation part all rows ---
awk 'BEGIN { srand(5); print "a,b,price"
	for (i = 0; i < 120; i++) { a = rand(); b = rand()
		print a "," b "," 20000 + 3000 * a - 1000 * b + 50 * rand() } }' >prices.csv
cat >prices.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "csv"; path = "prices.csv"; target_scale = "standard"; validation = 0.0; };
$how
train = { steps = 80; batch = 20; eval_every = 80; };
END
train prices
expect 0 "is written" runs/prices -o prices.html
rmse=$("$millrace" predict runs/prices prices.csv -o q.csv 2>&1 | sed -n 's/.*RMSE \([0-9.]*\),.*/\1/p')
awk -v a="$(sed -n 's/.*"rmse": \([0-9.]*\).*/\1/p' runs/prices/errors.json)" -v b="$rmse" \
	'BEGIN { exit !(b > 0 && (a - b) ^ 2 < 1e-6 * b * b) }' || complain "RMSE $rmse: $(cat runs/prices/errors.json)"
for part in "all 120 training samples" "No rows were held out" ">predicted over true<" ">residuals<"; do
	grep -qF "$part" prices.html || complain "prices.html lacks \"$part\""
done

# --- pictures ---
for class in dark light; do
	mkdir -p pictures/$class
	for i in 0 1 2 3 4 5 6 7 8 9; do
		awk -v i=$i -v light=$([ $class = light ] && echo 120 || echo 0) 'BEGIN { srand(i); print "P3 8 8 255"
			for (k = 0; k < 192; k++) print int(light + 130 * rand()) }' >pictures/$class/$i.txt
		awk 'NR == 1 { printf "P6\n8 8\n255\n"; next } { printf "%c", $1 % 127 + 1 }' pictures/$class/$i.txt \
			>pictures/$class/$i.ppm
		rm pictures/$class/$i.txt
	done
done
cat >pictures.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "images"; path = "pictures"; size = 8; crop = "exact"; validation = 0.3; };
$how
train = { steps = 5; batch = 8; eval_every = 5; };
END
train pictures
expect 0 "is written" runs/pictures -o pictures.html
[ "$(grep -c '<img alt=".*/[789].ppm" src="data:image/png;base64,iVBORw0KGgo' pictures.html)" -eq 6 ] ||
	complain "$(grep -c '<img' pictures.html) pictures, expected 6"

# --- text: what it writes, by each checkpoint, up to 400 tokens ---
awk 'BEGIN { for (i = 0; i < 150; i++) print "a text, about this and that" }' >prose.txt
cat >text.cfg <<END
model = { name = "gpt"; layers = 1; width = 16; heads = 2; context = 16; };
data = { name = "text"; path = "prose.txt"; };
$how
train = { steps = 20; batch = 4; eval_every = 20; };
checkpoint = { every = 10; keep = 4; };
sample = { prompt = "a text"; tokens = 700; };
END
train text
expect 0 "is written" runs/text -o text.html --examples 160
for part in "of 160 of the" "The worst excerpts" "What it writes, and how that changed" "The model of step 10:" \
	"The model of step 20:" '<pre class="text">a text'; do
	grep -qF "$part" text.html || complain "text.html lacks \"$part\""
done
"$millrace" sample text.cfg --checkpoint step-00000010 --set sample.tokens=400 >out 2>&1 || complain "sample:"
[ "$(json out)" = "$(sed -n 's/.*"text": "\(.*\)"/\1/p' runs/text/errors.json | head -n 1 | sed 's/\\n//g; s/\\"/"/g' |
	tr -d ' ')" ] || complain "another text than sample writes: $(grep '"text"' runs/text/errors.json)"
expect 0 "is written" runs/text -o all.html
loss=$(sed -n 's/.*"loss": \([0-9.]*\).*/\1/p' runs/text/errors.json | head -n 1)
"$millrace" eval text.cfg >out 2>&1 || complain "eval:"
awk -v a="$loss" -v b="$(sed -n 's/.*loss \([0-9.]*\).*/\1/p' out)" 'BEGIN { exit !(b > 0 && (a - b) ^ 2 < 1e-8) }' ||
	complain "loss $loss, and eval:"
exit $failed
