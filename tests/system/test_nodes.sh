#!/bin/sh
# What a machine of several NUMA nodes makes a training do, on two fake nodes (host/numa.h): where memory lies, that the
# bits stay, and what is said where the kernel refuses.
#   test_nodes.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
has_faults || skip "this build has no fault points, and so no fake nodes"

MR_FAKE_NODES=nonsense "$millrace" plan mlp.cfg >out 2>err && fail "a malformed MR_FAKE_NODES is taken"
faults=MR_FAKE_NODES=2
train chain.cfg --set run.dir=first --set train.steps=1 --set system.name=1f1b
grep -q '^machine  2 nodes' out || skip "this machine has one core, or several nodes of its own"

# Each worker's memory lies on its node.
grep -q '^ *0  w0 .* 0  *100%$' out || fail "worker 0's memory is not on node 0: $(grep w0 out)"
grep -q '^ *1  w1 .* 1  *100%$' out || fail "worker 1's memory is not on node 1: $(grep w1 out)"

# sequential: threads on both nodes, memory in turns. Bits do not depend on nodes.
set -- --set machine.threads=0 --set train.steps=4 --set train.eval_every=4
train mlp.cfg "$@" --set run.dir=two
grep -q '0-1  *0-1  *100%$' out || fail "sequential is not spread over both nodes: $(grep w0 out)"
faults=
train mlp.cfg "$@" --set run.dir=one
grep -q 'pages there' out && fail "one node: there is nothing to look up"
same "sequential on two nodes" one two

cat >wide.cfg <<'END'
model = { name = "mlp"; hidden = [1024, 1024]; };
data = { name = "synthetic"; features = 6; classes = 3; samples = 60; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 1; batch = 4; microbatches = 2; gradients = "each"; }; # else one more run is laid out
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
backend = "reference";
precision = "f64";
END

# The kernel refuses: mbind, and each thread of the team touches its part, which lies as planned (without OpenMP one
# thread touches all); move_pages, and nobody can tell.
faults="MR_FAKE_NODES=2 MR_FAIL_AT=numa.bind:2:1" # behind the run that was only laid out
train wide.cfg --set system.name=sequential --set machine.threads=0 --set run.dir=unbound
grep -q '^memory   of w0 as the system gives it; spreading over nodes: ' out || fail "no word about mbind"
elsewhere='^memory   warning: of the pages of w0, planned for node 0-1, [45][0-9]% lie elsewhere, .* node [01]: '
if grep -q '^MILLRACE_OPENMP:BOOL=ON$' "$(dirname "$millrace")/CMakeCache.txt"; then
	grep "$elsewhere" out && fail "a team's pages lie on one node"
else
	grep -q "$elsewhere" out || fail "no warning that all pages lie on one node: $(grep '^memory' out)"
fi
faults="MR_FAKE_NODES=2 MR_FAIL_AT=numa.where:3:1"
train mlp.cfg "$@" --set run.dir=unknown
grep -q '^memory   where the pages of w0 lie is not known, since move_pages fails: ' out ||
	fail "no word about move_pages"

# A run that is larger than a node. With a sanitizer the program is, too, and its workers are not.
needs=$("$millrace" plan wide.cfg | sed -n 's/^ *at most at once *\([0-9]*\).* MiB$/\1/p')
if [ "$needs" -lt 62 ]; then
	faults=MR_FAKE_NODES=2:32
	train wide.cfg --set run.dir=large
	expect 0 "a run larger than a node"
	grep -q '^memory   of w1 on node 0-1, since its own has no room for all of it' out ||
		fail "no word about the node that is too small: $(grep '^memory\|w1' out)"
	grep -q '^ *1  w1 .* 0-1  *100%$' out || fail "worker 1's memory is not on both nodes: $(grep w1 out)"
fi
faults=MR_FAKE_NODES=2:15
train wide.cfg --set run.dir=none
expect 6 "a run larger than both nodes" "30 MiB is the limit"
# Weights that workers of both nodes read have a copy on each, in evaluations and after a resume, too; the plan of
# memory counts it, and the bits stay.
weights() { # of the first stage at w1 in the pipe p1, or in the only one, in the table of out
	awk '$2 == "p1" && $3 == "w1" || $2 == "w1" {
		for (i = 4; i <= NF; i++)
			if ($i ~ /^[KM]*i*B$/) { print $(i - 1), $i; exit }
	}' out
}
for system in data_parallel chimera; do
	for joint in summed joint; do
		set -- mlp.cfg --set system.name=$system --set train.eval_every=4 --set train.microbatches=2
		[ $system = chimera ] && [ $joint = joint ] && continue
		[ $system = chimera ] || set -- "$@" --set system.gradients=$joint
		faults=
		train "$@" --set train.steps=8 --set run.dir=$system.$joint.one
		expect 0 "$system on one node"
		[ "$(weights)" = "0 B" ] || fail "$system on one node: w1 has weights of its own, $(weights)"
		faults=MR_FAKE_NODES=2
		train "$@" --set train.steps=4 --set run.dir=$system.$joint.two
		expect 0 "$system on two nodes"
		case $(weights) in
		[1-9]*) ;;
		*) fail "$system on two nodes: the table does not count w1's copy: $(grep p1 out)" ;;
		esac
		train "$@" --set train.steps=8 --set run.dir=$system.$joint.two --resume
		same "$system, $joint" $system.$joint.one $system.$joint.two
	done
done
# Tables, of which a step changes few rows, have no copies, and what lies beside them has.
cat >tables.cfg <<'END'
model = { name = "dlrm"; rows = [40, 900]; width = 6; bottom = [8]; top = [9, 5]; };
data = { name = "clicks"; numbers = 3; categories = 2; values = 40; samples = 400; };
optimizer = { name = "adam"; lr = 0.01; };
system = { name = "data_parallel"; };
train = { steps = 6; batch = 8; microbatches = 2; eval_every = 3; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END
for joint in summed joint; do
	set -- tables.cfg --set system.gradients=$joint
	faults=
	train "$@" --set run.dir=tables.$joint.one
	expect 0 "tables on one node, $joint"
	faults=MR_FAKE_NODES=2
	train "$@" --set train.steps=3 --set run.dir=tables.$joint.two
	expect 0 "tables on two nodes, $joint"
	case $(weights) in
	[1-9].*KiB) ;;
	*) fail "w1 has no copy, or one with tables: $(grep p1 out)" ;;
	esac
	train "$@" --set run.dir=tables.$joint.two --resume
	same "tables, $joint" tables.$joint.one tables.$joint.two
done

# Parameters that the first stage stores and the last one uses: the last worker's node has a copy of them, a two-way
# system reads the copy of each node.
for system in 1f1b chimera; do
	set -- gpt.cfg --set system.name=$system --set model.tied=true --set train.steps=6 \
		--set train.eval_every=3 --set train.microbatches=2
	faults=
	train "$@" --set run.dir=tied.$system.one
	expect 0 "$system with tied parameters on one node"
	one=$(weights)
	faults=MR_FAKE_NODES=2
	train "$@" --set train.steps=3 --set run.dir=tied.$system.two
	expect 0 "$system with tied parameters on two nodes"
	[ $system = chimera ] || [ "$(weights)" != "$one" ] ||
		fail "the table does not count w1's copy of the tied parameters: $(grep w1 out)"
	train "$@" --set run.dir=tied.$system.two --resume
	same "tied parameters, $system" tied.$system.one tied.$system.two
done
finish
