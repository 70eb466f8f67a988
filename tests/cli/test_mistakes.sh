# Mistakes that beginners make: the exit code, and what the message must say.   test_mistakes.sh SOURCE BUILD
# A line of a table is "CODE | TEXT | ARGUMENTS"; the message has each part of TEXT between two "...", in one line. All
# but the last few end before anything is trained.
. "$(dirname "$0")/cli_lib.sh"

cat >ok.cfg <<'END'
model = { name = "mlp"; hidden = [16, 16, 16]; };
data = { name = "csv"; path = "rows.csv"; targets = "classes"; };
optimizer = { name = "adamw"; };
system = { name = "1f1b"; };
train = { steps = 3; batch = 8; microbatches = 4; lr = 0.01; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
cat >text.cfg <<'END'
model = { name = "gpt"; layers = 2; width = 16; heads = 2; context = 16; };
data = { name = "text"; path = "prose.txt"; };
optimizer = { name = "adamw"; };
system = { name = "1f1b"; };
train = { steps = 3; batch = 4; lr = 0.01; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
END
awk 'BEGIN { srand(1); print "a,b,kind"; for (i = 0; i < 60; i++) print rand() "," rand() "," i % 2 }' >rows.csv
awk 'BEGIN { for (i = 0; i < 150; i++) print "a text, about this and that" }' >prose.txt
awk 'NR == 9 { $0 = "abc,0.1,1" } 1' rows.csv >word.csv
awk 'NR == 9 { $0 = ",0.1,1" } 1' rows.csv >hole.csv
awk 'NR == 9 { $0 = "1,0.1,1,7" } 1' rows.csv >ragged.csv
awk 'NR == 9 { $0 = "1,nan,1" } 1' rows.csv >nan.csv
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
3 | quoted.cfg:5: train.lr: expected a number from 0 to 1000000, got "0.01" | train quoted.cfg
3 | part.cfg:5: train.steps: expected an integer from 1 to ...got 3.5 | train part.cfg
3 | scalar.cfg:1: model.hidden: expected a list of numbers from 1 to ...got 16 | train scalar.cfg
3 | train.step: unknown key "step", did you mean "steps"? | train ok.cfg --set train.step=5
3 | trian: unknown group, did you mean "train"? | train ok.cfg --set trian.steps=5
3 | train.steps: expected an integer from 1 to ...got "many" | train ok.cfg --set train.steps=many
3 | train.steps: expected an integer from 1 to ...got "" | train ok.cfg --set train.steps=
3 | train.batch: expected an integer from 1 to ...got -4 | train ok.cfg --set train.batch=-4
3 | train.lr: expected a number from 0 to 1000000, got "0,01" | train ok.cfg --set train.lr=0,01
3 | got "1GB": only k, M or G may stand behind a number | train ok.cfg --set machine.memory_limit=1GB
3 | got "cosin"; did you mean "cosine"? | train ok.cfg --set train.schedule=cosin
3 | no system is called "1f1bb"; did you mean "1f1b"? | train ok.cfg --set system.name=1f1bb
3 | no model is called "transformer" (known: mlp, gpt, | train ok.cfg --set model.name=transformer
3 | no optimizer is called "adm"; did you mean "adam"? | train ok.cfg --set optimizer.name=adm
3 | no data source is called "cvs"; did you mean "csv"? | train ok.cfg --set data.name=cvs
3 | dtype: expected one of f32...got "float32" | train ok.cfg --set dtype=float32
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
4 | nope.csv: No such file or directory | train ok.cfg --set data.path=nope.csv
4 | empty.csv: the file is empty | train ok.cfg --set data.path=empty.csv
4 | folder: is a folder, not a file | train ok.cfg --set data.path=folder
4 | binary.csv: byte 4 is a NUL: not a CSV file | train ok.cfg --set data.path=binary.csv
4 | word.csv:9: a: "abc" is no finite number; ...ignore leaves a column out | train ok.cfg --set data.path=word.csv
4 | hole.csv:9: a is empty, expected a number; empty = "zero" takes empty fields | train ok.cfg --set data.path=hole.csv
4 | ragged.csv:9: 4 fields, where the first line has 3 | train ok.cfg --set data.path=ragged.csv
4 | nan.csv:9: b: "nan" is no finite number | train ok.cfg --set data.path=nan.csv
3 | target = "knid" is no column of ...rows.csv, did you mean "kind"? | train ok.cfg --set data.target=knid
4 | rows.csv:1: expected a number as label | train ok.cfg --set data.name=libsvm --set data.path=rows.csv
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
mistakes <<'END'
2 | runs/ok already holds a run: continue it with train --resume, or choose another folder | train ok.cfg
0 | nothing to do: the run is at step 3, and train.steps asks for 3 | train ok.cfg --resume
5 | made with model parameters ...cannot be resumed with | train ok.cfg --resume --set model.hidden=[8,8]
5 | made with other data and cannot be resumed | train ok.cfg --resume --set data.path=hole.csv --set data.empty=zero
5 | made with optimizer adamw and cannot be resumed with sgd | train ok.cfg --resume --set optimizer.name=sgd
5 | made with train.batch 8 and cannot be resumed with 16 | train ok.cfg --resume --set train.batch=16
5 | made with machine.workers 2 and cannot be resumed with 3 | train ok.cfg --resume --set machine.workers=3
5 | nothing to resume: there is no folder nowhere | train ok.cfg --resume --set run.dir=nowhere
5 | step-00000999: cannot open: No such file or directory | train ok.cfg --resume --from step-00000999
5 | step-00000003: ...tensor "fc.0.weight" is F32 [2, 16], expected | eval ok.cfg --set model.hidden=[8,8]
5 | nowhere: there is no checkpoint: No such file or directory | eval ok.cfg --set run.dir=nowhere
3 | only a model of text can write a sample: the data are csv | sample ok.cfg
5 | nowhere: there is no checkpoint | inspect nowhere
4 | nowhere: cannot open: No such file or directory | curves nowhere
4 | ok.cfg: it holds no step of a run | curves ok.cfg
7 | is not a number...begin again with a smaller train.lr | train huge.cfg
0 | train.batch is 800 samples, and there are 54 to train on | train ok.cfg --set train.batch=800 --set run.dir=b
END

# Two of them in one folder at the same time, and a disk that is full.
"$millrace" train ok.cfg --set run.dir=shared --set train.steps=1000000000 >first 2>&1 &
first=$!
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	! grep -q '^step' first || break
	sleep 0.2
done
expect 6 "process $first is running there" train ok.cfg --set run.dir=shared
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
[ $n -ge 80 ] || complain "only $n mistakes were tried"
exit $failed
