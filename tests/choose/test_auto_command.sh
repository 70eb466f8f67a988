# plan --auto: choices for this machine and for others, the bound, a memory, staleness, a configuration that trains.
# Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"
command=plan

cat >deep.cfg <<'END'
model = { name = "mlp"; hidden = [64, 64, 64, 64, 64, 64, 64]; };
data = { name = "synthetic"; features = 64; classes = 8; samples = 600; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 4; batch = 16; };
machine = { workers = 2; };
END

# step FILE: the predicted step of the best row, of the table in it.
step() {
	awk '$1 == "best" { print $(NF - 7) }' "$1"
}

# The choice on two cores is no slower than any system of --compare that flushes, and sequential is one of them.
expect 0 "best" deep.cfg --auto --topology core:2 -o best.cfg
cp out auto.txt
has "candidates tried; bound"
[ -n "$(step auto.txt)" ] || complain "no step of the best"
[ "$(awk '/candidates tried/ { print ($1 < 1) }' auto.txt)" = 0 ] || complain "nothing was tried"
expect 0 "sequential" deep.cfg --compare --topology core:2
# system, micro-batches, step, bubble, two of memory with their units, weights, stale, runs
fastest=$(awk '/^system/ { unit = / step us / ? 1e-3 : / step ms / ? 1 : 1e3 }
	NF == 11 && $NF == "yes" && $(NF - 1) == 0 { print $3 * unit }' out | sort -g | head -n 1)
[ -n "$fastest" ] || complain "--compare shows no step"
awk -v a="$(step auto.txt)" -v b="$fastest" 'BEGIN { exit !(a <= b * 1.001) }' ||
	complain "the choice takes $(step auto.txt), and --compare has $fastest"

# What was written is a configuration of this machine, and trains.
grep -q 'topology = ""' best.cfg || complain "the topology was kept"
command=train
expect 0 "done: 4 of 4 steps" best.cfg --set run.dir=best
command=plan

# More cores are chosen for more work, and the same question has the same answer.
expect 0 "best" deep.cfg --auto --topology "numa:2 core:4" --set train.batch=64
cp out first.txt
expect 0 "best" deep.cfg --auto --topology "numa:2 core:4" --set train.batch=64
cmp -s out first.txt || complain "two searches differ"
expect 0 "published constants of genoa9654" deep.cfg --auto --topology genoa9654 --set 'model.hidden=[64,64]'

# Systems that do not flush compete only where they may be stale.
awk '$1 == "best" { print $NF }' first.txt | grep -qx 0 || complain "a stale choice was not asked for"
expect 0 "best" deep.cfg --auto --topology core:2 --allow-stale 2
awk -v a="$(step out)" -v b="$(step auto.txt)" 'BEGIN { exit !(a <= b) }' ||
	complain "more choices are slower: $(step out), $(step auto.txt)"

# With little memory single stages recompute, cuts follow the model's widest layer, and teams its costs.
expect 0 "recomputing [" deep.cfg --auto --topology "numa:2 core:4" --set train.batch=4096 --set data.samples=9000 \
	--set 'model.hidden=[256,256,256,256,1024,256,256]' --systems 1f1b --memory 26500000 -o small.cfg
grep -q 'recompute_stages = ' small.cfg && grep -q 'partition = \[ *"' small.cfg || complain "no cut was written"
expect 0 "1f1b, " small.cfg --topology "numa:2 core:4"

# The first cores of a machine, some systems alone, and the picture: machine, memory, schedule.
expect 0 "96 of 192 cores usable" deep.cfg --auto --topology genoa9654:96 --systems 1f1b,zb_h1 --picture choice.svg
awk '/^best/ && $2 !~ /^(1f1b|zb_h1),?$/ { exit 1 }' out || complain "another system than the two"
has "node 1   [--------][--------]"
has "memory of the workers: w weights"
[ "$(grep -c '<svg ' choice.svg)" = 2 ] && [ "$(grep -c '</svg>' choice.svg)" = 2 ] &&
	[ "$(grep -c 'class="frame node"' choice.svg)" = 2 ] && grep -q '<title>w0, stage 0' choice.svg ||
	complain "the picture lacks the machine or the schedule"
for names in fast gpipe,fast "gpipe, fast"; do
	expect 2 '--systems: no system is called "fast"' deep.cfg --auto --topology core:2 --systems "$names"
done
expect 0 "best  " deep.cfg --auto --topology core:2 --systems "zb_h1, gpipe,"
expect 3 "those that do not flush need --allow-stale" deep.cfg --auto --topology core:2 --systems pipedream
expect 3 "on one core only sequential runs" deep.cfg --auto --topology core:1 --systems gpipe
expect 2 "-o needs the name of a file" deep.cfg --auto --topology core:2 -o -
expect 2 "genoa9654 has 1 to 192 cores, not 500" deep.cfg --auto --topology genoa9654:500
expect 2 "--picture goes with --auto" deep.cfg --picture x.svg

# Twice the nodes are never slower.
last=
for nodes in 1 2 4; do
	expect 0 "best" deep.cfg --auto --topology "numa:$nodes core:4" --set train.batch=64
	awk -v a="$(step out)" -v b="${last:-1e9}" 'BEGIN { exit !(a <= b * 1.0005) }' ||
		complain "$nodes nodes take $(step out), half of them $last"
	last=$(step out)
done

# A memory that nothing fits is refused with what would.
expect 6 "no candidate fits; the least memory is " deep.cfg --auto --topology core:2 --memory 1000
least=$(sed -n 's/.*would fit: --memory //p' out)
expect 6 "--memory $least" deep.cfg --auto --topology core:2 --memory $((least - 1))
expect 0 "best" deep.cfg --auto --topology core:2 --memory "$least"
expect 6 ": the workers on node 0 need " deep.cfg --auto --topology "numa:2(memory=1000) core:2"
expect 6 "(machine.memory_limit)" deep.cfg --auto --topology core:2 --set machine.memory_limit=1000000
expect 2 "--memory goes with --auto" deep.cfg --memory 1000
expect 2 "--compare has no meaning with --auto" deep.cfg --auto --compare
expect 3 "machine.topology describes another machine" deep.cfg --auto --topology core:2 --verify 1

# Layers that are measured first.
expect 2 "--measure goes with --auto" deep.cfg --measure
expect 0 "layers by what was measured of them" deep.cfg --auto --measure
sed -n 's/.*and for \([0-9]*\) of \([0-9]*\) layers .*/\1 \2/p' out | awk '{ exit !(NR == 1 && $1 == $2) }' ||
	complain "not all layers were measured"
expect 3 "machine.topology describes another machine" deep.cfg --auto --measure --topology spr8480

# The best in practice.
expect 0 "measured" deep.cfg --auto --verify 2 --set machine.threads=1
has "layers by what was measured of them"
awk '$1 == "best" { exit !($(NF - 4) > 0) }' out || complain "nothing was measured"

# A candidate that diverges is dropped, here by a correction of stale gradients that is far too strong (within 8 steps,
# whichever of fc.1 to fc.3 begins the second stage); the others go on. Where all diverge the command does.
cat >steep.cfg <<'END'
model = { name = "mlp"; hidden = [64, 64, 64]; };
data = { name = "synthetic"; features = 32; classes = 10; samples = 512; };
optimizer = { name = "sgd"; lr = 1.0; };
mitigation = { name = "dc_asgd"; lambda = 1000.0; };
system = { name = "sequential"; };
train = { steps = 4; batch = 32; };
END
expect 0 "measured" steep.cfg --auto --verify 2 --allow-stale 3 --systems sequential,pipedream
awk '$1 == "best" { exit !($(NF - 4) > 0) }' out || complain "the best was not measured"
if grep -q pipedream out; then # there are two cores
	has "diverged"
	grep -q '^dropped: pipedream, .*, diverged: the loss of micro-batch [0-9]* is ' out || complain "no line on it"
fi
expect 7 "candidates that were trained diverged; sequential: the loss of micro-batch" steep.cfg --auto --verify 2 \
	--systems sequential --set optimizer.lr=1e6

# Stale choices too: the plans of all end no sooner than the runs, and what staleness costs is measured or not needed.
expect 0 "measured" deep.cfg --auto --verify 1 --allow-stale 3 --systems sequential,rpd,pipedream
grep -Eq '^penalty: (times as many steps as|no stale choice was faster)' out || complain "no word on staleness"
expect 0 "staleness takes is unknown; --verify measures it" deep.cfg --auto --topology core:2 --allow-stale 3

exit $failed
