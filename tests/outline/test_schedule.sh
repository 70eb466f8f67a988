# schedule: costs of stages from a file, what bends a simulation, and the figures beside the picture.
# Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"
command=schedule

# By hand: F 0-1, F 1-2 | 1-2, 2-3; B 3-5, 5-7 | 5-7, 7-9.
two="gpipe --workers 2 --microbatches 2"
expect 0 "makespan 9, period 9, bubble 33.3% of the makespan, 33.3% of the period" $two
has "weights 1 copy, gradients 1 copy, staleness at most 0"
has "w0         6  33.3%                    2        2"
expect 0 "makespan 27, period 9" $two --iterations 3
has "3 iterations"
expect 0 "makespan 15, period 15" $two --straggler 1:2
has "worker 1 takes 2 times as long"
expect 0 "makespan 10" $two --straggler 1:2:5-7
has "worker 1 takes 2 times as long from 5 to 7"
expect 0 "makespan 12" $two --straggler 1:2:1-3,1:2:3-7
expect 0 "makespan 7" gpipe --workers 2 --microbatches 1 --nodes 2 --far 0.5
expect 2 "--far: all workers are on one node, and no hand-over goes to another" gpipe --workers 2 --microbatches 1 \
	--nodes 1 --far 0.5
expect 0 "makespan 6" gpipe --workers 2 --microbatches 1 --nodes 1
expect 2 "--nodes: without --far" gpipe --workers 2 --microbatches 1 --nodes 2
# The buffers are enough for slow hand-overs.
expect 0 "makespan 21" gpipe --workers 2 --microbatches 4 --costs 1,1,1,3
expect 0 "makespan 21" gpipe --workers 2 --microbatches 4 --nodes 2 --far 3
expect 2 "--seed goes with --jitter" search --workers 2 --seed 3

# What search proves: equal passes in a stage a worker take 3 T + D - 1.
four="search --workers 4 --microbatches 8 --chunks 1 --set tries=1"
expect 0 "passes 27, lower bound of their placement 27: optimal (proved), " $four
expect 0 "# passes 27, lower bound of their placement 27: optimal (proved), " $four --format text
expect 0 "passes 27, lower bound of their placement 27: optimal (proved), " $four --format svg
expect 0 '"optimal": true' $four --format json
expect 0 ": gap " search --workers 8 --microbatches 16 --chunks 2 --set tries=1 --set cap=2 --costs 2,3,1 --set proof=1
"$millrace" schedule $four --set objective=period >out
! grep -q "lower bound" out || complain "a bound of a makespan is printed beside a search for a period"

# Jitter: none is none; one seed, one outcome; another seed another.
"$millrace" schedule 1f1b --workers 3 --format json >plain.json
"$millrace" schedule 1f1b --workers 3 --format json --jitter uniform:0 >none.json
if [ "$(grep makespan plain.json)" != "$(grep makespan none.json)" ]; then
	complain "jitter of 0 changes the makespan"
fi
for kind in uniform:0.5 lognormal:0.2; do
	"$millrace" schedule 1f1b --workers 3 --format json --jitter $kind --seed 5 >a.json
	"$millrace" schedule 1f1b --workers 3 --format json --jitter $kind --seed 5 >b.json
	"$millrace" schedule 1f1b --workers 3 --format json --jitter $kind --seed 6 >c.json
	cmp -s a.json b.json || complain "$kind: one seed, two outcomes"
	if [ "$(grep makespan a.json)" = "$(grep makespan c.json)" ]; then
		complain "$kind: two seeds, one outcome"
	fi
done
grep -q '"jitter": "lognormal:0.2"' a.json || complain "the JSON does not tell its jitter"
grep -q '"weight_copies": 1' a.json || complain "the JSON does not count weights"
expect 0 "jitter uniform:0.5 (seed 9)" 1f1b --workers 3 --jitter uniform:0.5 --seed 9
expect 0 "jitter uniform:0.5" 1f1b --workers 3 --jitter uniform:0.5 --format svg
expect 2 "--jitter: expected lognormal:A or uniform:A" 1f1b --workers 3 --jitter gauss:1
expect 2 "--jitter: uniform: takes a number from 0 to 1, got \"2\"" 1f1b --workers 3 --jitter uniform:2
expect 2 "--jitter: lognormal: takes a number" 1f1b --workers 3 --jitter lognormal:x
for bad in 1 1:0 1:2: 1:2:5 1:2:5-4 1:2, :2 -1:2 1:nan; do
	expect 2 "--straggler: expected WORKER:FACTOR" 1f1b --workers 3 "--straggler=$bad"
done
expect 2 "worker 3 cannot be slow: the plan has workers 0 to 2" 1f1b --workers 3 --straggler 3:2
expect 2 "--iterations: pipedream never flushes" pipedream --workers 2 --iterations 2
expect 2 "--nodes: 3 nodes for 2 workers" 1f1b --workers 2 --nodes 3

# Costs a stage. Stage 1 is the slow one; its update and its hand-over cost too.
cat >costs.csv <<'END'
# by hand
stage,f,i,w,u,c
0,1,1,1,0.5,0.25
1,2,2,2,1,0.25
END
# F 0-1 | 1.25-3.25; B 3.25-7.25 | 7.5-9.5; U 7.25-8.25 | 9.5-10
expect 0 "makespan 10" gpipe --workers 2 --microbatches 1 --costs costs.csv
expect 3 "costs.csv: costs of 2 stages, and the plan has 3" gpipe --workers 3 --costs costs.csv
# One that orders by them sees it first.
for system in hanayo zb_v; do
	expect 3 "the cost table has 2 stages, the plan" $system --workers 3 --costs costs.csv \
		--set "$([ $system = zb_v ] && echo order=greedy || echo waves=1)"
done
# Two pipes of one stage: F 0-1, B 1-3, then each adds up half of what the two have and steps that half.
printf 'stage,f,i,w,u,c,r\n0,1,1,1,0.5,0,1\n' >reduce.csv
expect 0 "makespan 3.75" data_parallel --workers 2 --microbatches 2 --costs reduce.csv
expect 3 "missing.csv" gpipe --workers 2 --costs missing.csv
sed 4d costs.csv >gap.csv
echo 2,1,1,1,1,1 >>gap.csv
expect 3 "gap.csv: line 4: expected the row of stage 1, got 2" gpipe --workers 2 --costs gap.csv
printf 'stage,f,i,w\n0,1e-6,1e-6,1e-6\n1,1e-6,1e-6,1e-6\n' >small.csv
expect 0 "makespan 9e-06" $two --costs small.csv
has "w0 F0F1"
expect 2 "--costs: expected f,i,w" $two --costs 5
exit $failed
