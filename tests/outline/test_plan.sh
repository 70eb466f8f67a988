# plan and profile: tables, other machines, pictures, refusals, and files of costs that do not fit.
# Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"

cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [16, 16]; };
data = { name = "synthetic"; features = 8; classes = 4; samples = 205; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 2; batch = 8; microbatches = 2; };
machine = { workers = 2; threads = 1; };
END

# The memory plan, the placement and the plan itself are those of the training.
expect 0 "predicted  step " plan mlp.cfg
sed '/^stage  on /,/^  all /s/ *\(kernels\|fused [0-9].*\|onednn [0-9].*\|reference [0-9].*\)$//' out >plan.txt
expect 0 "done: 2 of 2 steps" train mlp.cfg
sed -n '/^stage  on /,/^  all /p' out >rows
[ "$(wc -l <rows)" -eq 4 ] || complain "train printed no table of two stages"
while IFS= read -r row; do
	grep -qxF -- "$row" plan.txt || complain "plan has another row than train: $row"
done <rows
hash=$(sed -n 's/^system .*plan \([0-9a-f]*\),.*/\1/p' out)
[ -n "$hash" ] && grep -q "; plan $hash\$" plan.txt || complain "plan and train differ in the plan's hash \"$hash\""

# An OpenMP runtime that binds has put the program on one core before it begins.
usable() {
	sed -n 's/.* \([0-9]* of [0-9]* cores usable\).*/\1/p' "$1"
}
cores=$(usable plan.txt)
[ -n "$cores" ] || complain "plan does not say how many cores are usable"
for bind in OMP_PROC_BIND=true OMP_PLACES=cores; do
	export "$bind"
	expect 0 "predicted  step " plan mlp.cfg
	[ "$(usable out)" = "$cores" ] || complain "$bind: plan finds $(usable out), not $cores"
	unset "${bind%%=*}"
done

# Nothing is there before training that plan would have written.
expect 0 "costs      modelled by what this machine's cores and memory reach" plan mlp.cfg --set run.dir=unwritten
has "peak of a core, GFLOP/s   f32 "
[ ! -e unwritten ] || complain "plan made the folder of the run"

# Slow steps have a rate too, and long stretches a unit of their own.
expect 6 ", 0.142 samples/s; " plan mlp.cfg --set 'model.hidden=[]' --set model.depth=1 --set model.width=1000000000 \
	--set data.features=64 \
	--set data.classes=10 --set train.batch=64 --set train.microbatches=4 --set machine.workers=1 \
		--topology "core:2"
expect 0 "steps overlap: the first 102 take " plan mlp.cfg --set 'model.hidden=[]' --set model.depth=100 \
	--set model.width=32 \
	--set system.name=pipedream --set train.batch=512 --set train.microbatches=1 --set data.samples=6000 \
		--set machine.workers=50
grep -q "the first 102 take [0-9.]* ms$" out || complain "102 steps take no milliseconds"

# Up to which rate late stages are stable: where delays are known and a step is the rate times a sum of gradients.
rate_line() { # WANTED SETS...: the line of plan, or "" for none
	wanted=$1
	shift
	expect 0 "predicted  step " plan mlp.cfg --set optimizer.name=sgd "$@"
	got=$(sed -n 's/^rate     //p' out)
	[ "$got" = "$wanted" ] || complain "$*: plan says of rates \"$got\", not \"$wanted\""
}
head="stable while lr x curvature is below"
rate_line "$head 0.618 at stage 0 (2 commits late), 1 at stage 1 (1), 2 at stage 2 (0)" --set system.name=pipedream \
	--set train.microbatches=1 --set machine.workers=3
rate_line "$head 0.1 at stage 0 (1 commit late), 3.8 at stage 1 (0)" --set system.name=pipemare \
	--set train.microbatches=1 --set optimizer.name=momentum
rate_line "$head 1 at stages 0 to 1 (1 commit late)" --set system.name=pipedream_2bw
rate_line ""
rate_line "" --set system.name=pipedream --set train.microbatches=1 --set optimizer.name=adamw
rate_line "" --set system.name=pipedream --set train.microbatches=1 --set optimizer.weight_decay=0.1
rate_line "" --set system.name=pipedream --set train.microbatches=1 --set mitigation.name=staleness_aware
# Of two micro-batches of a commit stage 1 reads one weight that is a commit old, and one that is not: no line for it.
rate_line "$head 1 at stage 0 (1 commit late), 2 at stage 2 (0)" --set system.name=ampnet --set machine.workers=3

# Another machine, bigger than this one.
expect 0 "synthetic: 4 nodes, 4 L3 domains, 64 of 64 cores" plan "$source/conf/mlp.cfg" \
	--topology "numa:4 core:16 pu:2" \
	--set machine.workers=4
has "0-30:2"
has "96-126:2     3"
expect 0 "staleness" plan mlp.cfg --topology "numa:2 core:4 pu:1" --set system.name=pipedream \
	--set train.microbatches=1 \
	--set machine.workers=3
has "    0         3          2      3"
has "    2         1          0      1"
expect 0 "128 of 128 cores" plan mlp.cfg --topology "numa:8 core:16 pu:1" --set 'model.hidden=[]' --set model.depth=70 \
	--set machine.workers=70
if grep -q '^w0 ' out; then
	complain "a picture of 70 rows as text"
fi
expect 0 "sequential, 1 worker" plan mlp.cfg --topology core:2 --set system.name=sequential
has "bubble 0.0%"

# What does not fit is refused, with figures.
expect 6 "of memory, and 1000 B is the limit" plan mlp.cfg --topology core:2 --set machine.memory_limit=1000
has "  all      4 "
expect 6 "and the node has 977 KiB" plan mlp.cfg --topology "numa:2(memory=1MB) core:4 pu:1" \
	--set 'model.hidden=[1024,1024]' \
	--format svg
expect 6 "is the limit" plan mlp.cfg --topology core:2 --set system.name=sequential --set machine.memory_limit=1000

# The refusal names single changes that fit, and they do.
set -- mlp.cfg --topology "numa:2(memory=900MB) core:4 pu:1" --set 'model.hidden=[2048,2048,2048,2048,8192,2048,2048]' \
	--set data.features=512 --set data.samples=6000 --set train.batch=8192 --set train.microbatches=16 \
	--set machine.threads=0 --set system.name=gpipe
expect 6 "would fit: " plan "$@"
sed -n 's/.*would fit: //p' out | sed 's/, or /\n/g; s/ = /=/g' >changes
[ "$(wc -l <changes)" -ge 2 ] || complain "only $(cat changes) would fit"
while IFS= read -r change; do
	expect 0 "predicted  step " plan "$@" --set "$change"
done <changes

expect 0 "<svg" plan mlp.cfg --topology core:2 --format svg
expect 0 "" plan mlp.cfg --topology core:2 --format svg -o picture.svg
expect 0 ">w1: stage 1; CPU 1; node 0<" plan mlp.cfg --format machine --topology "numa:2 core:2" \
	--set 'machine.cpus="0 1"'
[ "$(grep -c '>NUMA node' out)" = 2 ] || complain "not both nodes in the picture of the machine:"
grep -q "</svg>" picture.svg || complain "no picture in the file of -o"
expect 0 "" plan mlp.cfg --topology core:2 -o plan2.txt
grep -q "^predicted" plan2.txt || complain "no report in the file of -o"
expect 0 "</svg>" plan mlp.cfg --topology core:2 --format svg --set system.name=sequential
expect 1 "/nonexistent/x: cannot write" plan mlp.cfg --topology core:2 -o /nonexistent/x
expect 2 '--topology: topology "nonsense" is not of the form' plan mlp.cfg --topology nonsense
expect 3 "did you mean" plan mlp.cfg --set machine.worker=2

# What only the data can tell has its place and key too.
expect 3 'mlp.cfg:2: data.name: data "synthetic" has no token sequences' plan mlp.cfg --set model.name=gpt
expect 3 "--set: model.name: takes one number a sample as input" plan mlp.cfg --set model.name=chain
expect 3 "--set: data.name: data \"text\" gives sequences of tokens" plan mlp.cfg --set data.name=text \
	--set data.path=mlp.cfg
expect 3 "--set: machine.workers: 9 stages were asked for" plan mlp.cfg --set machine.workers=9

# Costs: measured, written, read back; then every way in which a file may not fit.
expect 0 "layers   micro-batches of 4 samples" profile mlp.cfg --seconds 0 -o costs.csv --roofline roof.svg
grep -q '^linear  *F  *x W  *3 ' out || complain "profile has no line of linear F: $(cat out)"
grep -q 'linear F (x W): [0-9]*% of its roof' roof.svg || complain "the roofline has no point of linear F"
has "fc.1   linear"
has "update ms"
[ "$(wc -l <costs.csv)" -eq 6 ] || complain "costs.csv has $(wc -l <costs.csv) lines, expected 6"
expect 0 "costs      measured, $(pwd -P)/costs.csv: machine=" plan mlp.cfg --costs costs.csv
head -n 1 costs.csv | grep -q '; saves=.*; shares=.*; averages=.*; hops=' ||
	complain "costs.csv does not say what commits of several workers cost"
has "GFLOP/s"
expect 0 "measured, $(pwd -P)/costs.csv" plan mlp.cfg --costs costs.csv --set 'partition=["fc.2"]'
expect 0 "measured, $(pwd -P)/costs.csv" plan mlp.cfg --costs costs.csv --set system.name=sequential
expect 0 "measured with threads = 1, this is 4" plan mlp.cfg --costs costs.csv --topology "core:8 pu:1" \
	--set machine.threads=4
expect 3 "it is of another model: layer fc.0 has 8 inputs, 16 outputs" plan mlp.cfg --costs costs.csv \
	--set 'model.hidden=[8,16]'
expect 3 "it is of another model: layer fc.2 (linear), where the configuration has loss" plan mlp.cfg \
	--costs costs.csv \
	--set 'model.hidden=[16]' --set data.classes=16
expect 3 "line 6: it is of another model: layer loss (softmax_xent), where the configuration has fc.3 (linear)" \
	plan mlp.cfg --costs costs.csv --set 'model.hidden=[16,16,4]'
expect 3 "it was measured with samples = 4, the configuration has 8" plan mlp.cfg --costs costs.csv \
	--set train.microbatches=1
expect 3 "optimizer = adamw, the configuration has sgd" plan mlp.cfg --costs costs.csv --set optimizer.name=sgd
head -c $(($(wc -c <costs.csv) - 3)) costs.csv >cut.csv
expect 3 "cut.csv: line 6: expected" plan mlp.cfg --costs cut.csv
head -n 5 costs.csv >short.csv
expect 3 "it ends after 3 of the model's 4 layers" plan mlp.cfg --costs short.csv
{ cat costs.csv && tail -n 1 costs.csv; } >long.csv
expect 3 "line 7: the model has only 4 layers" plan mlp.cfg --costs long.csv
sed '3s/,[^,]*,[^,]*,[^,]*$/,-1,0,0/' costs.csv >minus.csv
expect 3 "minus.csv: line 3: layer fc.0: times are seconds from 0" plan mlp.cfg --costs minus.csv
sed '3s/,[^,]*,[^,]*,[^,]*$/,nan,0,0/' costs.csv >nan.csv
expect 3 "nan.csv: line 3: layer fc.0: times are seconds from 0" plan mlp.cfg --costs nan.csv
sed '1s/; reads=[^;]*/; reads=x/' costs.csv >reads.csv
expect 3 'reads.csv: line 1: reads is seconds a byte, from 0, got "x"' plan mlp.cfg --costs reads.csv
sed '3s/,[^,]*$/,-1/' costs.csv >spread.csv
expect 3 "spread.csv: line 3: layer fc.0: a spread is a number from 0, got -1" plan mlp.cfg --costs spread.csv
sed '3s/,[^,]*,[^,]*$/,1,0/' costs.csv >gain.csv
expect 3 "gain.csv: line 3: layer fc.0: times are seconds from 0, and g_s is at most w_s" plan mlp.cfg --costs gain.csv
# Times of teams follow the layers; what no size was measured for is said.
{ cat costs.csv && for k in 1 2; do
	echo "# threads=$k"
	sed -n '3,$p' costs.csv | awk -F, -v OFS=, -v k=$k '{ print $1, $6 / k, $7 / k, $8 / k, $9 / k }'
done; } >teams.csv
expect 0 "measured, $(pwd -P)/teams.csv" plan mlp.cfg --costs teams.csv --topology "core:8 pu:1" --set machine.threads=2
! grep -q 'were not measured' out || complain "two threads were measured"
expect 0 "teams of 4 threads were not measured: those of 2" plan mlp.cfg --costs teams.csv --topology "core:8 pu:1" \
	--set machine.threads=4
sed 's/^# threads=2/# threads=1/' teams.csv >again.csv
expect 3 "again.csv: line 12: the times of 1 threads after those of 1: sizes of teams ascend" plan mlp.cfg \
	--costs again.csv
sed 's/^# threads=2/# threads=two/' teams.csv >two.csv
expect 3 'two.csv: line 12: expected "# threads=" and a number' plan mlp.cfg --costs two.csv
sed '$d' teams.csv >few.csv
expect 3 'few.csv: line 16: expected "layer,f_s,i_s,w_s,u_s" of layer loss, got ""' plan mlp.cfg --costs few.csv
# Words of the first line may be missing, columns may not.
sed '1s/; reads=.*//' costs.csv >bare.csv
expect 0 "measured, $(pwd -P)/bare.csv" plan mlp.cfg --costs bare.csv
sed '2,$s/,[^,]*$//' costs.csv >narrow.csv
expect 3 'narrow.csv: line 2 is not "layer,kind,' plan mlp.cfg --costs narrow.csv
sed '4s/,[^,]*$//' costs.csv >short.csv
expect 3 'short.csv: line 4: expected "layer,kind,' plan mlp.cfg --costs short.csv
# What disturbed the measurement is in the file, and is repeated when it is used; too much is refused, and nothing
# written.
head -n 1 costs.csv | grep -q '; spread=[0-9.]*$' || complain "no spread in the first line of costs.csv"
sed '1s/; spread=.*/; spread=0.5/' costs.csv >half.csv
expect 0 "half.csv was measured on a disturbed machine: its times are up to 50 % above their minima" plan mlp.cfg \
	--costs half.csv
# Every other call is late: medians are hundreds of times the minima, on slow machines too.
MR_DELAY=5000:2:1 "$millrace" profile mlp.cfg --seconds 0 -o hopeless.csv >out 2>&1 </dev/null
[ $? -eq 6 ] && grep -q "the machine is too busy to be measured: the times of .* are [0-9]* % above" out ||
	complain "a hopeless measurement is not refused with 6"
[ ! -e hopeless.csv ] || complain "a hopeless measurement was written"
# One call in thirty is late: medians stand, unless other programs make as many late.
for _ in $(seq 60); do
	MR_DELAY=30000:30:1 "$millrace" profile mlp.cfg --seconds 0.02 -o calm.csv >out 2>&1 </dev/null &&
		awk -F, 'NR > 2 && $6 + $7 + $8 > 5e-3 { exit 1 }' calm.csv && stands=yes && break
done
[ "${stands:-no}" = yes ] || complain "a few late calls spoil a measurement, or are in its times"
sed 2d costs.csv >headless.csv
expect 3 "headless.csv: line 2 is not" plan mlp.cfg --costs headless.csv
expect 3 "mlp.cfg: line 1 does not begin with" plan mlp.cfg --costs mlp.cfg
expect 3 "missing.csv" plan mlp.cfg --costs missing.csv
: >empty.csv
expect 3 "empty.csv" plan mlp.cfg --costs empty.csv

# A merged W has a time of its own, which is w a micro-batch where nothing is gained. Worker 0: F 0-1 1-2, I 3-4 5-6, W
# of both.
merged="--set system.name=1f1b --set system.merge_w=2"
expect 0 "layers   micro-batches of 4 samples" profile mlp.cfg --seconds 0 $merged -o merged.csv
grep -q '^layer,.*,w_s,u_s,g_s,spread$' merged.csv || complain "no times of a merged W in merged.csv"
for g in 0 1e-3; do
	awk -F, -v OFS=, -v g=$g 'NR == 1 { sub(/; reads=.*/, "") } NR < 3 { print; next } {
		$6 = $7 = $8 = $9 = $10 = 0 }
		NR == 3 || NR == 5 { $6 = $7 = "1e-3"; $8 = "2e-3"; $10 = g } { print }' merged.csv >gained.csv
	expect 0 "measured, $(pwd -P)/gained.csv" plan mlp.cfg $merged --set 'partition=["fc.2"]' --costs gained.csv
	sed -n 's/^predicted  step \([0-9.]*\) ms.*/\1/p' out
done >steps
printf '10\n9\n' | cmp -s - steps || complain \
	"steps with a merged W of 4 ms and of 3 ms took $(tr '\n' ' ' <steps), expected 10 and 9"

# Costs that the configuration or --costs names order the plan, and predict. Paths start at the file's folder.
awk -F, -v OFS=, 'NR == 1 { sub(/; reads=.*/, "") } NR < 3 { print; next } { $6 = $7 = $8 = "1e-4";
	$9 = "1e-6" } NR == 3 { $6 = "4e-4"; $8 = "3e-4" } { print }' \
	costs.csv >uneven.csv
sed '3s/4e-4/2e-4/' uneven.csv >other.csv
mkdir sub
{ sed 's/"1f1b"/"zb_auto"/; s/batch = 8; microbatches = 2/batch = 32; microbatches = 8/' mlp.cfg &&
	echo 'costs = "../uneven.csv";'; } >sub/zb.cfg
hash_of() {
	sed -n 's/^system .*plan \([0-9a-f]*\).*/\1/p' out
}
expect 0 "costs      nominal" plan sub/zb.cfg --topology core:2 --set costs=
even=$(hash_of)
expect 0 "uneven.csv: machine=" plan sub/zb.cfg
uneven=$(hash_of)
expect 0 "costs      measured, " plan sub/zb.cfg --set costs= --costs uneven.csv
[ "$(hash_of)" = "$uneven" ] || complain "--costs makes another plan than the key costs"
expect 0 "simulated: costs measured, " simulate sub/zb.cfg --set costs= --costs uneven.csv --set run.dir=by-option
[ "$(hash_of)" = "$uneven" ] || complain "simulate --costs makes another plan than plan --costs"
[ -n "$uneven" ] && [ "$uneven" != "$even" ] || complain \
	"costs in the configuration did not change the order: $even, $uneven"
expect 0 "predicted  step 7.2" plan sub/zb.cfg
expect 0 "done: 2 of 2 steps" train sub/zb.cfg --set run.dir=ordered
[ "$(hash_of)" = "$uneven" ] || complain "train has another plan than plan: $(hash_of), not $uneven"
grep -q '"costs": "[0-9a-f]\{16\}"' ordered/checkpoints/step-00000002/MANIFEST.json ||
	complain "no word of the costs in the manifest"
# An order for other costs, of the same sums, makes the same weights.
cp -r ordered other
expect 0 "resumed at step 2" train sub/zb.cfg --set run.dir=other --resume --set train.steps=3 --set costs=
cp ordered/resolved.cfg again.cfg
expect 0 "done: 3 of 3 steps" train again.cfg --resume --set train.steps=3
expect 0 "simulated: costs measured, " simulate sub/zb.cfg --set run.dir=simulated
[ "$(hash_of)" = "$uneven" ] || complain "simulate has another plan than train"
expect 0 "costs    measured, " plan sub/zb.cfg --compare
expect 3 "--set: costs: " plan sub/zb.cfg --set costs=missing.csv
has "missing.csv"
expect 3 "it is of another model" plan sub/zb.cfg --set 'model.hidden=[8,16]'
expect 0 "layers   micro-batches of 4 samples" profile sub/zb.cfg --seconds 0 --set costs=missing.csv

# What search proves is of the passes alone: its bound is not above them, although a model has steps of the optimizer.
proved="plan mlp.cfg --set system.name=search --set system.objective=makespan"
expect 0 "order      passes " $proved
expect 0 '"optimal": ' $proved --format json
awk '/"proof"/ { on = 1 } on && /"makespan"/ { passes = $2 + 0 } on && /"bound"/ { bound = $2 + 0; on = 0 }
	END { exit !(bound > 0 && bound <= passes * (1 + 1e-9)) }' out ||
	complain "the bound of search is above its order"

# A search by the clock leaves a number that repeats it: in the run, in a resumed one, and in any other.
search="--set system.name=search --set system.chunks=1 --set system.seconds=0.02 --set run.dir=searched"
expect 0 "done: 2 of 2 steps" train mlp.cfg $search
tries=$(sed -n 's/^search   tries = \([0-9]*\) is what seconds = 0.02 came to.*/\1/p' out)
[ -n "$tries" ] && [ "$tries" -gt 0 ] || complain "train does not say how many tries there were"
searched=$(hash_of)
grep -q "^	tries = $tries;" searched/resolved.cfg && grep -q '^	seconds = 0.0;' searched/resolved.cfg ||
	complain "resolved.cfg has not $tries tries"
grep -q "tries=$tries seconds=0.0" searched/checkpoints/step-00000002/MANIFEST.json ||
	complain "no word of $tries tries in the manifest"
expect 0 "done: 3 of 3 steps" train mlp.cfg $search --resume --set train.steps=3
[ "$(hash_of)" = "$searched" ] || complain "the resumed run has another plan than $searched"
expect 0 "; plan $searched" plan searched/resolved.cfg --topology core:2
expect 0 ", that of tries = " plan mlp.cfg $search --topology core:2

expect 0 "more than" profile mlp.cfg --seconds 0 --method alone --teams -o sizes.csv
grep -q '^# threads=1$' sizes.csv || complain "no time of one thread in sizes.csv"
expect 0 "sizes.csv" plan mlp.cfg --costs sizes.csv
expect 0 "layers   micro-batches of 8 samples" profile mlp.cfg --seconds 0 --set system.name=sequential \
	--set train.microbatches=1
expect 3 "only this one is measured" profile mlp.cfg --set "machine.topology=core:4 pu:1"
expect 6 "and 1000 B is the limit" profile mlp.cfg --set machine.memory_limit=1000
expect 1 "/nonexistent/x" profile mlp.cfg --seconds 0 -o /nonexistent/x
! grep -q "^layers" out || complain "profile found out after measuring that it cannot write"
expect 2 "so the times need a file" profile mlp.cfg --seconds 0 -o -
expect 0 "predicted  step " plan mlp.cfg -o - --topology core:2
[ ! -e ./- ] || complain "-o - made a file of that name"
# A system that could not have what was asked for says what it does instead.
expect 0 "system   interleaved+group3, 2 workers, 3 micro-batches" plan mlp.cfg --set system.name=interleaved \
	--set "model.hidden=[]" --set model.depth=4 \
	--set train.batch=12 --set train.microbatches=3 --topology core:2

# A machine by name spares the probe of this one, two seconds.
# One system has one hash, whichever command lowered its plan, and however.
hash_in() {
	sed -n 's/.*plan \([0-9a-f]\{16\}\).*/\1/p' "$1" | head -n 1
}
for system in gpipe 1f1b; do
	expect 0 "; plan " plan mlp.cfg --topology core:2 --set system.name=$system \
		--set train.clip=0
	want=$(hash_in out)
	"$millrace" schedule $system --workers 2 --microbatches 2 --format text >plan.txt
	expect 0 "ok  plan $want " check plan.txt
	"$millrace" schedule $system --workers 2 --microbatches 2 --format json >plan.json
	expect 0 "ok  plan $want " check plan.json
	expect 0 "; plan $want, " train mlp.cfg --set system.name=$system --set train.clip=0 --set run.dir=hash-$system
	expect 0 "plan          $want" inspect hash-$system
	expect 0 "; plan " plan mlp.cfg --topology core:2 --set system.name=$system \
		--set train.clip=1
	[ "$(hash_in out)" != "$want" ] || complain "$system has one hash with and without clipping"
done
# Orders that follow from costs are made for those of --costs, as for those that the configuration names.
sed 's/batch = 8; microbatches = 2/batch = 32; microbatches = 8/; s/\[16, 16\]/[16, 16, 16, 16]/' mlp.cfg >order.cfg
expect 0 "micro-batches of 4 samples" profile order.cfg --seconds 0 -o equal.csv
awk -F, -v OFS=, 'NR > 2 { $6 = 1e-3 * (NR - 1); $7 = 2e-3; $8 = 5e-3 / (NR - 1); $9 = 1e-4; $10 = 0 } { print }' \
	equal.csv >tilted.csv
plan_of() {
	"$millrace" plan order.cfg "$@" 2>/dev/null | sed -n 's/^system .*plan \([0-9a-f]*\).*/\1/p'
}
for system in "search" "zb_v --set system.order=greedy"; do
	with=$(plan_of --set system.name=$system --costs tilted.csv)
	[ -n "$with" ] && [ "$with" = "$(plan_of --set system.name=$system --set costs=tilted.csv)" ] ||
		complain "$system: --costs makes another plan than costs in the configuration"
	[ "$with" != "$(plan_of --topology core:2 --set system.name=$system)" ] ||
		complain "$system: --costs does not change the order"
done

# What goes between hosts, to the byte: sums to three owners and new weights back, 4 bytes of each of 484 parameters.
expect 0 '"bytes_between_ranks": 7744,' plan mlp.cfg --format json --set system.name=data_parallel \
	--set machine.workers=3 --set machine.hosts=3 --set 'machine.links="3e-5,1.17e9"' --topology 'emr8592*3'
# Each rank is a process, with memory and a limit of its own.
expect 0 "memory of each rank" plan mlp.cfg --set system.name=data_parallel --set machine.workers=2 \
	--set machine.hosts=2 --set 'machine.links="3e-5,1.17e9"'
! grep -q "memory of the process" out || complain "one process, and each rank"
[ "$(sed -n '/^memory of each rank/,/^$/p' out | grep -c '^ *[01]  *[01]  *1  ')" = 2 ] ||
	complain "no row of each rank"
# As JSON the same figures, in bytes; the text rounds them.
expect 0 '"most": ' plan mlp.cfg --format json --set system.name=data_parallel --set machine.workers=2 \
	--set machine.hosts=2 --set 'machine.links="3e-5,1.17e9"'
[ "$(grep -c '"most": ' out)" = 2 ] || complain "not two ranks in JSON"
expect 0 "memory of each rank" simulate mlp.cfg --set system.name=data_parallel --set machine.workers=2 \
	--set machine.hosts=2 --set 'machine.links="3e-5,1.17e9"' --set train.steps=1 --set 'run.dir="apart"'
expect 6 "rank 0 needs" plan mlp.cfg --set system.name=data_parallel --set machine.workers=2 --set machine.hosts=2 \
	--set 'machine.links="3e-5,1.17e9"' --set machine.memory_limit=2000000
expect 0 '"step_s"' plan mlp.cfg --format json
! grep -q "bytes_between_ranks\|\"ranks\"" out || complain "bytes between ranks of one process"

exit $failed
