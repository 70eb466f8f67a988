# partition: stages with replicas, nodes, a capacity and what would fit, and pipelines of equal blocks.
# Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"
command=partition

# Three of the recorded problems (tests/golden/partition), through the command.
cat >vgg.csv <<'END'
# layers that compute, then layers that have the weights
name,forward,backward,activation,weights
conv1,2,6,6,0.1
conv2,3,5,4,0.2
conv3,1,3,2,0.5
conv4,1,3,1,1
fc1,0.5,0.5,0.2,20
fc2,0.5,0.5,0.1,30
END
expect 0 "a micro-batch every 6.66667; 2 under way" vgg.csv --workers 4 --bandwidth 4
has "one worker a stage: every 8"
expect 0 '"bottleneck": 6.666666666666667' vgg.csv --workers 4 --bandwidth 4 --sync 2019 --format json
has '"replicas": 3'

cat >nodes.csv <<'END'
name,forward,backward,activation,weights
a,0,10,1,2
b,0,10,8,2
c,0,2,3,9
d,0,2,1,9
END
expect 0 "a micro-batch every 6.66667" nodes.csv --workers 4 --numa 2,16,2
expect 0 "a micro-batch every 6;" nodes.csv --workers 4

cat >memory.csv <<'END'
name,forward,backward,activation,weights,saved
a,1,3,1,6,2
b,1,3,1,3,2
c,1,3,1,3,2
d,1,3,1,2,2
END
expect 0 "a micro-batch every 6;" memory.csv --workers 4 --bandwidth 10 --capacity 34 --state 1
expect 0 "a micro-batch every 4;" memory.csv --workers 4 --bandwidth 10 --capacity 34 --state 1 --versions two

# Two levels, by hand: layer a on one host, whose two workers share it (5), all others on the other host (14 / 2); the
# gradients of all layers between the hosts would take 2 * 22 / 2, of which each of two parts has half.
expect 0 "a micro-batch every 7; all workers on all layers: every 11" \
	nodes.csv --workers 4 --levels 2@16,2@2 --sync 2019
expect 0 '"bottleneck": 7' nodes.csv --workers 4 --levels 2@16,2@2 --sync 2019 --format json
expect 2 "--levels has 4 workers in all, and --workers says 8" nodes.csv --workers 8 --levels 2@16,2@2
expect 2 "--levels: expected parts and bandwidth" nodes.csv --workers 4 --levels 2x16
sed '1i # levels 2@16,2@2' nodes.csv >levels.csv
expect 0 '"bottleneck": 7' levels.csv --workers 4 --levels file --sync 2019 --format json
expect 2 "--levels file: there is no line" nodes.csv --workers 4 --levels file
expect 2 "--numa has no meaning with --levels" nodes.csv --workers 4 --levels 4@2 --numa 2,16,2

# What does not fit is refused with what would, and that does fit.
cat >large.csv <<'END'
name,forward,backward,activation,weights,saved
a,2,2,1,9,1
b,2,2,1,9,1
END
expect 6 "no cut of 2 layers for 2 workers fits into 20 bytes a worker; would fit: 38 bytes a worker" \
	large.csv --workers 2 --bandwidth 10 --capacity 20 --state 1
expect 0 "a micro-batch every 4" large.csv --workers 2 --bandwidth 10 --capacity 38 --state 1
expect 6 "would fit: one version of the weights (--versions one), or recomputing (--recompute), or 28 bytes a worker" \
	memory.csv --workers 4 --bandwidth 10 --capacity 27 --state 1
expect 0 "" memory.csv --workers 4 --bandwidth 10 --capacity 27 --state 1 --versions one
expect 0 "" memory.csv --workers 4 --bandwidth 10 --capacity 27 --state 1 --recompute
expect 0 "" memory.csv --workers 4 --bandwidth 10 --capacity 28 --state 1

# Equal blocks.
{
	echo name,forward,backward,activation,weights,saved
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		echo "h$i,0.25,0.75,1,10,6"
	done
} >blocks.csv
expect 0 "best          2       4            2  no                    294   96.6          0.662526  yes" \
	blocks.csv --workers 8 --bandwidth 50 --batch 64 --micro 1,2,4 --capacity 400
expect 6 "nothing fits into 60 bytes a worker; would fit: 172 bytes a worker" \
	blocks.csv --workers 8 --bandwidth 50 --batch 64 --micro 1,2,4 --capacity 60
expect 3 "--batch is for a model of equal blocks, and layer b differs from a" \
	memory.csv --workers 4 --bandwidth 10 --batch 8
expect 3 "cannot be shared out" blocks.csv --workers 5 --bandwidth 10 --batch 8

# The layers of a configuration: each is in the table, with its weights, and the loss stands with the layer before it.
cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [100, 50]; };
data = { name = "synthetic"; features = 20; classes = 10; };
optimizer = { name = "sgd"; lr = 0.1; };
system = { name = "sequential"; };
train = { steps = 10; batch = 8; };
machine = { workers = 1; threads = 1; };
END
command=plan
expect 0 "" mlp.cfg --format layers -o layers.csv
cut -d, -f1,4,5 layers.csv | grep -v '^#' >out
for line in name,activation,weights fc.0,3200,8400 fc.1,1600,20200 fc.2,0,2040; do
	has $line
done
[ "$(wc -l <out)" -eq 4 ] || complain "four lines expected:"
expect 2 "--format layers is of one plan" mlp.cfg --format layers --compare
command=partition
expect 0 "one worker a stage" layers.csv --workers 3

# Mistakes.
expect 2 "workers" vgg.csv
expect 2 "--micro goes with --batch" vgg.csv --workers 4 --micro 1,2
expect 2 "--micro: expected at most" blocks.csv --workers 8 --bandwidth 50 --batch 64 --micro 1,x
expect 2 "--batch needs a --bandwidth above 0" blocks.csv --workers 8 --batch 64
expect 2 "--numa has no meaning with --batch" blocks.csv --workers 8 --bandwidth 50 --batch 64 --numa 2,3,4
expect 2 "--numa: expected workers of a node" vgg.csv --workers 4 --numa 2,16
expect 3 "missing.csv" missing.csv --workers 4
echo "name,forward" >bad.csv
expect 3 "bad.csv: line 1: expected \"name,forward,backward,activation,weights\"" bad.csv --workers 4

# What would take hours is refused at once.
awk 'BEGIN {
	print "name,forward,backward,activation,weights"
	for (i = 0; i < 100000; i++)
		print "l" i ",1,2,1,1"
}' >many.csv
expect 3 "100000 layers on 4 workers take 1.6e+11 steps" many.csv --workers 4
has "and at most 4e+09 are allowed: at most 15811 layers"
exit $failed
