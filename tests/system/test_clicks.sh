#!/bin/sh
# A model of clicks from numbers and categories: it learns what made-up clicks have, and far more with its tables than
# without; flushing systems end with the bits of sequential, PipeDream with those of its simulation and of a run that
# was stopped and resumed, with tables in both stages; clicks from a CSV file; what is wrong in one is said with its
# line.
#	test_clicks.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

auc() # DIR: the last area under the ROC curve of a run
{
	sed -n 's/.*"val_auc":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | tail -n 1
}

conf=$source/conf/dlrm.cfg
steps=900
! sanitized || steps=20
set -- --set train.steps=$steps --set train.eval_every=$steps --set data.samples=60000 --set data.values=50
train "$conf" "$@" --set run.dir=tables
expect 0 "conf/dlrm.cfg"
grep -q "best auc 0.9" out || fail "no best area"
train "$conf" "$@" --set partition=auto --set 'model.rows=[]' --set run.dir=numbers
expect 0 "without tables"
sanitized || awk -v a="$(auc tables)" -v b="$(auc numbers)" 'BEGIN { exit !(a > 0.84 && b > 0.5 && b < 0.75) }' ||
	fail "areas with and without tables: $(auc tables), $(auc numbers)"

cat >clicks.cfg <<'END'
model = { name = "dlrm"; rows = [7, 40, 900]; width = 6; bottom = [8]; top = [9, 5]; };
data = { name = "clicks"; numbers = 3; categories = 3; values = 60; samples = 200; };
optimizer = { name = "adam"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 6; batch = 16; microbatches = 4; eval_every = 3; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END
for backend in $backends; do
	train clicks.cfg $(sets_of "$backend") --set run.dir=sequential.$backend
	expect 0 "sequential $backend"
	for system in gpipe 1f1b data_parallel; do
		train clicks.cfg $(sets_of "$backend") --set system.name=$system --set run.dir=$system.$backend
		expect 0 "$system $backend"
		[ $system = data_parallel ] || forget='s/,"[a-z_]*staleness[a-z_]*":[^,}]*//g' \
			same "$system $backend" sequential.$backend $system.$backend
	done
	set -- clicks.cfg $(sets_of "$backend") --set system.name=pipedream --set train.microbatches=1 \
		--set partition=emb_l.1
	train "$@" --set run.dir=once.$backend
	expect 0 "pipedream $backend"
	"$millrace" simulate "$@" --set run.dir=simulated.$backend >out 2>err || fail "simulate $backend: exit code $?"
	same "pipedream simulated, $backend" once.$backend simulated.$backend
	train "$@" --set run.dir=twice.$backend --set train.steps=3
	train "$@" --set run.dir=twice.$backend --resume
	expect 0 "pipedream resumed, $backend"
	forget='/"resume/d' same "pipedream resumed, $backend" once.$backend twice.$backend
done
train clicks.cfg --set backend=reference --set precision=bf16 --set system.name=1f1b --set run.dir=bf16
expect 0 "bf16"

# A click, three numbers, three texts; some are missing.
awk 'BEGIN {
	for (i = 0; i < 60; i++)
		printf "%d\t%s\t%d\t%d\tv%d\t%s\t%x\n", i * i % 3 == 1, i % 5 ? i : "", -i % 7, i * i, i % 4,
			i % 6 ? "w" i % 9 : "", i
}' >s.tsv
data='name = "csv"; path = "s.tsv"; target = "1"; categories = "5-7"; scale = "log"; validation = 0.4;'
sed "s/data = .*/data = { $data };/" clicks.cfg >csv.cfg
train csv.cfg --set data.empty=zero --set run.dir=csv
expect 0 "csv"
grep -q "rows of 3 numbers and 3 categories, target column 1" out || fail "the data are not described: $(cat out)"
"$millrace" eval csv.cfg --set data.empty=zero --set run.dir=csv >out 2>err || fail "eval: exit code $?"
grep -q 'AUC' out || fail "eval has no AUC: $(cat out)"
# The keys of made-up clicks, of which categories has another type, do not go to the CSV file.
"$millrace" plan clicks.cfg --set data.name=csv --set data.path=s.tsv --set data.target=1 --set data.categories=5-7 \
	--set data.empty=zero --set system.name=gpipe >out 2>err || fail "plan of another source: exit code $?"
grep -q "data.numbers of clicks.cfg is left out: it is meant for clicks, and --set takes csv" err ||
	fail "no line about what is left out: $(cat err)"
"$millrace" check-data csv.cfg --set data.empty=zero >out 2>err || fail "check-data: exit code $?"
for line in "samples  36 for training, 24 for validation, all read" "numbers  180 from 0 to 8[.]15" \
	"tokens   180 from [0-9]* to [0-9]*; 10 empty places" "targets  60 from 0 to 1, mean 0[.]666667"; do
	grep -q "^$line" out || fail "check-data has no line \"$line\": $(cat out)"
done
train csv.cfg --set run.dir=none
expect 4 "an empty field" "s.tsv:1: column 2 is empty, expected a number; empty = \"mean\" or \"zero\""
sed '7s/v[0-9]/ /;9s/	/	x/' s.tsv >wrong.tsv
train csv.cfg --set data.empty=zero --set data.path=wrong.tsv --set run.dir=none
expect 4 "a text for a number" "wrong.tsv:9: column 2: \"x8\" is no finite number; categories takes texts"
code=0
"$millrace" check-data csv.cfg --set data.empty=zero --set data.path=wrong.tsv >out 2>err || code=$?
expect 4 "check-data of a text for a number" "wrong.tsv:9: column 2: \"x8\" is no finite number"
train csv.cfg --set data.empty=zero --set data.categories=6-7 --set data.ignore=5 --set run.dir=none
expect 3 "too few categories" "rows: 3 tables with bags of 1 look up 3 columns of categories, the data has 2"
train clicks.cfg --set data.name=synthetic --set run.dir=none
expect 3 "numbers alone" "takes samples of numbers and categories"
finish
