# Mistakes that beginners make: the exit code, and what the message must say.   test_mistakes.sh SOURCE BUILD
# A line of a table is "CODE | TEXT | ARGUMENTS"; the message has each part of TEXT between two "...", in one line. All
# but the last few end before anything is trained.
. "$(dirname "$0")/cli_lib.sh"

tiny_configs
awk 'NR == 9 { $0 = "abc,0.1,1" } 1' rows.csv >word.csv
awk 'NR == 9 { $0 = ",0.1,1" } 1' rows.csv >hole.csv
awk 'NR == 9 { $0 = "1,0.1,1,7" } 1' rows.csv >ragged.csv
awk 'NR == 9 { $0 = "1,nan,1" } 1' rows.csv >nan.csv
awk 'NR == 9 { $0 = "1,1e39,1" } 1' rows.csv >large.csv
: >empty.csv
printf 'a,b\n\000\001,2\n' >binary.csv
mkdir folder
sed 's/lr = 0.01/lr = "0.01"/' ok.cfg >quoted.cfg
sed 's/steps = 3/steps = 3.5/' ok.cfg >part.cfg
sed 's/hidden = \[16, 16, 16\]/hidden = 16/' ok.cfg >scalar.cfg
sed 's/"mlp"/mlp/' ok.cfg >bare.cfg
sed '/^system/d; /^train/d' ok.cfg >groups.cfg
sed 's/name = "mlp"; //' ok.cfg >noname.cfg
printf 'model = { name = "mlp"; hidden = [16];\ndata = { name = "csv"; };\n' >brace.cfg
printf 'model:\n  name: mlp\n' >yaml.cfg
printf '{"model": {"name": "mlp"}}\n' >json.cfg
printf '[model]\nname = mlp\n' >ini.cfg
sed 's/lr = 0.01/lr = 1e6/; s/steps = 3/steps = 900/; s/adamw/sgd/' ok.cfg >huge.cfg
printf '@include "nowhere.cfg"\n' >include.cfg
sed 's/steps = 3;/steps = 3; steps = 4;/' ok.cfg >double.cfg

sed 's/lr = 0.01/lr = 0.01; workers = 2/' ok.cfg >wrong_group.cfg
sed 's/lr = 0.01/lr = 0.	01/' ok.cfg >tab.cfg

echo '{"model":{"type":"Unigram"}}' >unigram.json

n=0
# mistakes: each line of standard input.
mistakes() {
	while IFS='|' read -r code text arguments; do
		text=$(echo "$text" | sed 's/^ *//; s/ *$//')
		n=$((n + 1))
		# shellcheck disable=SC2086 # words
		"$millrace" $arguments >out 2>&1 </dev/null
		got=$?
		pattern=$(printf '%s\n' "$text" | sed 's/[][\\.*^$]/\\&/g; s/\\\.\\\.\\\./.*/g')
		if [ $got -ne "$code" ] || ! grep -q -- "$pattern" out; then
			complain "millrace$arguments: exit $got, expected $code with \"$text\":"
		fi
	done
}

# --- the command line
mistakes <<'END'
2 | usage: millrace train CONF | train
2 | no command is called "trian"; did you mean "train"? | trian ok.cfg
2 | train has no option --resum; did you mean --resume? | train ok.cfg --resum
2 | train has no option -v; see millrace train --help | train ok.cfg -v
2 | one argument too many: "text.cfg" | train ok.cfg text.cfg
2 | --set takes key=value without blanks around the "=" | train ok.cfg --set train.steps = 5
2 | --set needs a value | train ok.cfg --set
3 | --set: expected key=value such as train.steps=100, got "train.steps" | train ok.cfg --set train.steps
2 | --from names the checkpoint that --resume continues from | train ok.cfg --from best
2 | --format: expected one of text...got "yaml" | plan ok.cfg --format yaml
1 | no/such/x: cannot write: No such file or directory | plan ok.cfg -o no/such/x
2 | topology "numa" is not of the form "numa:4 core:16 pu:2" | plan ok.cfg --topology numa
2 | cannot list "system"; did you mean "systems"? | list system
2 | schedule needs --workers | schedule 1f1b
2 | no command is called "schedules"; did you mean "schedule"? | schedules
2 | there is no option --verison; did you mean --version? | --verison
2 | the command comes before its options, got "--set" | --set train.steps=5 train ok.cfg
2 | usage: millrace list systems | list
2 | no model is called "mpl" | list models mpl
2 | --workers: expected an integer from 0 to 4096, got "two" | schedule 1f1b --workers two
2 | schedule: one argument too many: "4" | schedule 1f1b 4 8
2 | one argument too many: "ok.cfg" | init rows.csv ok.cfg
2 | -o needs a value | init rows.csv -o
2 | rows.csv exists and is left as it is | init rows.csv -o rows.csv
4 | nope.csv: No such file or directory | init nope.csv
4 | folder: the folder has neither folders of PNG | init folder
1 | no/such: cannot write: No such file or directory | tune -o no/such
1 | no/such: cannot write: No such file or directory | plan ok.cfg --auto -o no/such
1 | /dev/full: cannot write: No space left on device | schedule 1f1b --workers 2 -o /dev/full
3 | ok.cfg: line 1: a plan begins with "plan NAME" | check ok.cfg
3 | rows.csv: line 1: expected "name,forward,backward,activation,weights" | partition rows.csv --workers 2
END

# --- the configuration
mistakes <<'END'
3 | nope.cfg: no such file (millrace init DATA writes a configuration for your data) | train nope.cfg
3 | folder: is a directory, expected a file | train folder
3 | rows.csv:1: syntax error: a,b,kind (this is no configuration; millrace init FILE | train rows.csv
3 | json.cfg:1: syntax error: ...the format is libconfig's: groups such as train = { | train json.cfg
3 | ini.cfg:1: syntax error: [model] (the format is libconfig's | train ini.cfg
3 | yaml.cfg:2: syntax error: ...text stands in quotes: "mlp" | train yaml.cfg
3 | bare.cfg:1: syntax error: ...text stands in quotes: "mlp" | train bare.cfg
3 | brace.cfg:1: model: the group is not closed: a } is missing | train brace.cfg
3 | include.cfg:1: @include: nowhere.cfg: no such file | train include.cfg
3 | groups.cfg:1: system: the group is missing, such as system = { name = "..."; }; | train groups.cfg
3 | groups.cfg:1: train.steps: is missing (integer: commits to train for) | train groups.cfg
3 | noname.cfg:1: model.name: is missing | train noname.cfg
3 | double.cfg:5: duplicate setting name | train double.cfg
3 | quoted.cfg:3: optimizer.lr: expected a number from 0 to 1000000, got "0.01" | train quoted.cfg
3 | part.cfg:5: train.steps: expected an integer from 1 to ...got 3.5 | train part.cfg
3 | scalar.cfg:1: model.hidden: expected a list of numbers from 1 to ...got 16 | train scalar.cfg
3 | train.workers: unknown key "workers", did you mean machine.workers? | train ok.cfg --set train.workers=1
3 | model.lr: unknown key "lr", did you mean optimizer.lr? | train ok.cfg --set model.lr=0.1
3 | lr: unknown key "lr", did you mean optimizer.lr? | train ok.cfg --set lr=0.1
3 | unknown key "backend", did you mean backend outside of the groups? | train ok.cfg --set machine.backend=auto
3 | wrong_group.cfg:3: optimizer.workers: unknown key "workers", did you mean machine.workers? | train wrong_group.cfg
3 | optimizer: is a group; name a key in it, such as optimizer.name | train ok.cfg --set optimizer=sgd
3 | train.steps: expected an integer from 1 to ...got "=5" | train ok.cfg --set train.steps==5
3 | train.steps: expected an integer from 1 to ...got "1,000" | train ok.cfg --set train.steps=1,000
3 | train.steps: expected an integer from 1 to ...got "5epochs" | train ok.cfg --set train.steps=5epochs
3 | train.steps: expected an integer from 1 to ...got 0 | train ok.cfg --set train.steps=0
3 | optimizer.lr: expected a number from 0 to 1000000, got "10%" | train ok.cfg --set optimizer.lr=10%
3 | optimizer.lr: expected a number from 0 to 1000000, got "nan" | train ok.cfg --set optimizer.lr=nan
3 | tab.cfg:3: syntax error | train tab.cfg
3 | warm-up of 500 steps is longer than the run of 3 | train ok.cfg --set lr_schedule.warmup=500
3 | data.validation: expected a number from 0 to 0.99, got 10.0 | train ok.cfg --set data.validation=10
3 | model.hidden: expected a list of numbers from 1 to ...got "64,32" | train ok.cfg --set model.hidden=64,32
3 | got "Relu"; did you mean "relu"? | train ok.cfg --set model.activation=Relu
3 | got "fp16"; did you mean "bf16"? | train ok.cfg --set precision=fp16
3 | CPU lists for 2 workers | train ok.cfg --set machine.cpus=0
3 | train.step: unknown key "step", did you mean "steps"? | train ok.cfg --set train.step=5
3 | trian: unknown group, did you mean "train"? | train ok.cfg --set trian.steps=5
3 | train.steps: expected an integer from 1 to ...got "many" | train ok.cfg --set train.steps=many
3 | train.steps: expected an integer from 1 to ...got "" | train ok.cfg --set train.steps=
3 | train.batch: expected an integer from 1 to ...got -4 | train ok.cfg --set train.batch=-4
3 | optimizer.lr: expected a number from 0 to 1000000, got "0,01" | train ok.cfg --set optimizer.lr=0,01
3 | got "1GB": only k, M or G may stand behind a number | train ok.cfg --set machine.memory_limit=1GB
3 | got "cosin"; did you mean "cosine"? | train ok.cfg --set lr_schedule.name=cosin
3 | 1 mistake: ...system is called "1f1bb"; did you mean "1f1b"?...rpd) | train ok.cfg --set system.name=1f1bb
3 | no model is called "transformer" (known: mlp, gpt, | train ok.cfg --set model.name=transformer
3 | no optimizer is called "adm"; did you mean "adam"? | train ok.cfg --set optimizer.name=adm
3 | no data source is called "cvs"; did you mean "csv"? | train ok.cfg --set data.name=cvs
3 | precision: expected one of f32...got "float32" | train ok.cfg --set precision=float32
3 | dtype: is called precision now | train ok.cfg --set dtype=f64
3 | got "torch" | train ok.cfg --set backend=torch
3 | ok.cfg:5: train.batch: 8 samples cannot be cut into 3 equal micro-batches | train ok.cfg --set train.microbatches=3
3 | 8 samples cannot be cut into 16 equal micro-batches | train ok.cfg --set train.microbatches=16
3 | 9 stages were asked for, but this model of 5 layers can be cut into at most 4 | train ok.cfg --set machine.workers=9
3 | machine.cpus: CPU list of worker 0: ...usable are | train ok.cfg --set machine.cpus=4000-4001
3 | stage start "fc7": the model has no such layer or block; did you mean "fc"? | train ok.cfg --set partition=fc7
3 | expected a range of steps from 1 on, such as "100-120", got "a-b" | train ok.cfg --set trace.steps=a-b
3 | costs: ...nope.json: no such file | train ok.cfg --set costs=nope.json
3 | model.heads: 3 heads cannot share a width of 16 evenly | train text.cfg --set model.heads=3
3 | on an even number of workers, not on 3 | train ok.cfg --set system.name=chimera --set machine.workers=3
END

# --- the data
mistakes <<'END'
4 | /dev/zero: is not a regular file | train ok.cfg --set data.path=/dev/zero
4 | nope.csv: No such file or directory | train ok.cfg --set data.path=nope.csv
4 | empty.csv: the file is empty | train ok.cfg --set data.path=empty.csv
4 | folder: is a folder, not a file | train ok.cfg --set data.path=folder
4 | binary.csv: byte 4 is a NUL: not a CSV file | train ok.cfg --set data.path=binary.csv
4 | word.csv:9: a: "abc" is no finite number; ...ignore leaves a column out | train ok.cfg --set data.path=word.csv
4 | hole.csv:9: a is empty, expected a number; empty = "mean" | train ok.cfg --set data.path=hole.csv
4 | ragged.csv:9: 4 fields, where the first line has 3 | train ok.cfg --set data.path=ragged.csv
4 | nan.csv:9: b is "nan", expected a number | train ok.cfg --set data.path=nan.csv
4 | large.csv:9: b: "1e39" is too large for f32 | train ok.cfg --set data.path=large.csv --set data.scale=none
4 | large.csv:9: b: "1e39" is too large for f32 | check-data ok.cfg --set data.path=large.csv --set data.scale=none
3 | target = "knid" is no column of ...rows.csv, did you mean "kind"? | train ok.cfg --set data.target=knid
4 | rows.csv:1: expected a number as label | train ok.cfg --set data.name=libsvm --set data.path=rows.csv
4 | absent.json: No such file | train text.cfg --set data.tokenizer=absent.json
4 | prose.txt:1:...expected | train text.cfg --set data.tokenizer=prose.txt
4 | json.cfg: model.vocab: expected tokens and their numbers, got nothing | train text.cfg --set data.tokenizer=json.cfg
4 | unigram.json: model.type: expected "BPE", got "Unigram" | train text.cfg --set data.tokenizer=unigram.json
4 | unigram.json: model.type: expected "BPE" | tokenize unigram.json prose.txt -o prose.bin
2 | tokenize needs the file to write | tokenize unigram.json prose.txt
3 | vocab: has no effect with tokenizer | train text.cfg --set data.tokenizer=unigram.json --set data.vocab=byte
3 | vocab_size: has no effect without a tokenizer | train text.cfg --set data.vocab_size=50304
4 | not an IDX file of images | train ok.cfg --set data.name=mnist --set data.images=rows.csv --set data.labels=x
3 | data.labels: is missing (string: IDX file of their labels | train ok.cfg --set data.name=mnist --set data.images=x
4 | holds no folder of pictures: each class needs one | train ok.cfg --set data.name=images --set data.path=folder
3 | data "csv" has no token sequences | train text.cfg --set data.name=csv --set data.path=rows.csv
3 | data "text" gives sequences of tokens | train ok.cfg --set data.name=text --set data.path=prose.txt
4 | training tokens, but a window of context 100000 needs 100001 | train text.cfg --set model.context=100000
END

# --- the machine
mistakes <<'END'
6 | asks for 4000 threads, there are | train ok.cfg --set machine.threads=4000
6 | needs ...of memory | train ok.cfg --set model.hidden=[1000000,1000000]
6 | of memory...1000 KiB is the limit | train ok.cfg --set machine.memory_limit=1024000
1 | ok.cfg cannot be used as a run folder: ...Not a directory | train ok.cfg --set run.dir=ok.cfg
1 | cannot make the folder ok.cfg/x: Not a directory | train ok.cfg --set run.dir=ok.cfg/x
END

# --- runs and checkpoints: after a first run
expect 0 "written to runs/ok" train ok.cfg
mkdir zero
: >zero/metrics.jsonl
mistakes <<'END'
2 | runs/ok already holds a run: continue it with train --resume, or choose another folder | train ok.cfg
0 | nothing to do: the run is at step 3, and train.steps asks for 3 | train ok.cfg --resume
5 | made with model parameters ...cannot be resumed with | train ok.cfg --resume --set model.hidden=[8,8]
5 | made with other data and cannot be resumed | train ok.cfg --resume --set data.path=hole.csv --set data.empty=zero
5 | made with optimizer adamw and cannot be resumed with sgd | train ok.cfg --resume --set optimizer.name=sgd
5 | made with train.batch 8 and cannot be resumed with 16 | train ok.cfg --resume --set train.batch=16
5 | made with system 1f1b and cannot be resumed with data_para | train ok.cfg --resume --set system.name=data_parallel
3 | runs/ok: is the folder of a run, expected a configuration, such as runs/ok/resolved.cfg | train runs/ok
2 | runs/ok already holds a run | simulate ok.cfg
5 | made with model mlp and cannot be resumed with gpt | train text.cfg --set run.dir=runs/ok --resume
5 | the model was not trained on text, and the data are text | sample text.cfg --set run.dir=runs/ok
5 | runs/ok: is a folder without model.safetensors | train ok.cfg --init runs/ok --set run.dir=begun
5 | ok.cfg: there is no checkpoint: Not a directory | inspect ok.cfg
4 | zero/metrics.jsonl: it holds no step of a run | curves zero
4 | zero/metrics.jsonl: it holds no step of a run | report zero
4 | zero: this folder has no status.json | top zero
5 | nothing to resume: there is no folder nowhere | train ok.cfg --resume --set run.dir=nowhere
5 | step-00000999: cannot open: No such file or directory | train ok.cfg --resume --from step-00000999
5 | step-00000003: ...tensor "fc.0.weight" is F32 [2, 16], expected | eval ok.cfg --set model.hidden=[8,8]
5 | nowhere: there is no checkpoint: No such file or directory | eval ok.cfg --set run.dir=nowhere
3 | only a model of text can write a sample: the data are csv | sample ok.cfg
5 | nowhere: there is no checkpoint | inspect nowhere
4 | nowhere: there is no such run: No such file or directory | curves nowhere
4 | nowhere: there is no such run: No such file or directory | report nowhere
4 | runs: this folder has no metrics.jsonl: it is no run, or one without a step | report runs
4 | not the status of a run: ok.cfg:1 | top ok.cfg
4 | ok.cfg: it holds no step of a run | curves ok.cfg
7 | is not a number...begin again with a smaller optimizer.lr | train huge.cfg
0 | train.batch is 800 samples, and there are 54 to train on | train ok.cfg --set train.batch=800 --set run.dir=b
END

# A session without a step leaves the run's step in its status.
"$millrace" train ok.cfg --resume >/dev/null 2>&1
expect 0 "step 3 of 3" top runs/ok --once
! grep -q "loss" out || complain "a loss of no step:"

# The choice of --auto trains as it stands, also where its configuration has been trained.
"$millrace" plan ok.cfg --auto -o "my best.cfg" >out 2>&1
has "written to my best.cfg: millrace train 'my best.cfg'"
expect 0 "written to runs/my best" train "my best.cfg"

# Data that change by a digit.
cp ok.cfg digit.cfg
"$millrace" train digit.cfg --set data.path=hole.csv --set data.empty=zero >/dev/null 2>&1
sed '4s/[0-8]$/9/' hole.csv >t && mv t hole.csv
expect 5 "made with other data" train digit.cfg --resume --set data.path=hole.csv --set data.empty=zero

# Names of files.
for name in "two words" "it's" '"quoted"' 'back\slash' '$HOME' '%s%n' -dash "$(printf 'two\nlines')" \
	"$(printf 'h\303\266he')" "$(printf 'bad\377')"; do
	cp rows.csv "./$name.csv"
	"$millrace" init "./$name.csv" >out 2>&1 || complain "init of a file called $name:"
	expect 0 "54 training and 6 validation rows" check-data "./$name.cfg"
	expect 0 "is written" init "./$name.csv" -o "again $name.cfg"
done
rm -f ./-dash.cfg
expect 0 "train it with: millrace train ./-dash.cfg" init ./-dash.csv
expect 2 "train has no option -dash.cfg" train -dash.cfg
rm -f "it's.cfg"
expect 0 "train it with: millrace train 'it'\\''s.cfg'" init "it's.csv"

# Surroundings: no home, no environment, a locale with commas, a narrow screen, a reader that leaves, a full disk.
env -i "$millrace" plan ok.cfg >out 2>&1 || complain "without an environment:"
HOME=/nonexistent LC_ALL=de_DE.UTF-8 COLUMNS=20 TERM=dumb NO_COLOR=1 "$millrace" top runs/ok --once >out 2>&1 ||
	complain "top on a dumb terminal:"
! grep -q "$(printf '\033')" out || complain "escapes without a terminal:"
for words in "list models" "inspect runs/ok" "report runs/ok -o -"; do
	# shellcheck disable=SC2086 # words
	{ "$millrace" $words 2>err; echo $? >code; } | head -n 1 >/dev/null
	[ "$(cat code)" = 0 ] && [ ! -s err ] || complain "$words | head -n 1: $(cat code err)"
done
if [ -c /dev/full ]; then
	"$millrace" list models 2>out >/dev/full
	[ $? -eq 1 ] && has "cannot write to standard output: No space left on device" || complain "a full disk:"
	for words in "report runs/ok" "curves runs/ok" "schedule 1f1b --workers 2 --format svg"; do
		# shellcheck disable=SC2086 # words
		expect 1 "/dev/full: cannot write: No space left on device" $words -o /dev/full
	done
fi

# Two of them in one folder at the same time, and a disk that is full.
"$millrace" train ok.cfg --set run.dir=shared --set train.steps=1000000000 >first 2>&1 &
first=$!
tries=0
until grep -q '^step' first || [ $tries -ge 2400 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
expect 6 "process $first is running there" train ok.cfg --set run.dir=shared
expect 0 "way.html is written" report shared -o way.html
kill -TERM $first
wait $first
[ $? -eq 143 ] || complain "a training that was ended by SIGTERM"
(
	ulimit -f 1
	exec "$millrace" train ok.cfg --set run.dir=full 2>&1 | cat >out
)
grep -q 'full/.*: cannot write: File too large' out || complain "no room for a checkpoint:"
# What may not be read: root may read everything.
if [ "$(id -u)" -ne 0 ]; then
	chmod 000 word.csv
	expect 4 "word.csv: Permission denied" train ok.cfg --set data.path=word.csv
fi
[ $n -ge 130 ] || complain "only $n mistakes were tried"
exit $failed
