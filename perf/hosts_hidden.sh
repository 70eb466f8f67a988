#!/bin/sh
# hosts_hidden.sh - the delay of messages between two hosts that `pipedream` hides with more micro-batches in flight.
#
#	hosts_hidden.sh SOURCE BUILD [ROWS]             hosts_hidden.sh . build-test "2 0,2 5,4 0,4 15,8 0,8 50"
#
# A row is a number in flight and a delay in milliseconds. Hosts are namespaces of this machine with a core each, joined
# by 1 Gbit/s. BUILD has fault points (MR_LATE, MR_DELAY, engine/base/fault.h). Stages sleep, the same in each run, so
# that steps do not depend on how fast the cores are at the time. Needs root, iproute2 and two cores.
source=$1 build=$2 rows=${3:-2 0,2 5,4 0,4 5,4 10,4 15,4 20,8 0,8 20,8 40,8 50}
set -- "$(realpath "$source")" "$(realpath "$build")"
. "$1/tests/hosts/hosts_lib.sh"
for name in $a $b; do
	ip netns exec $name tc qdisc add dev link0 root tbf rate 1gbit burst 128kb latency 200ms || exit 1
done
# One core each: the agent gives it to the second host, this shell to the first.
taskset -cp 0 $$ >/dev/null || exit 1
sed -i "s/exec ip netns exec/exec taskset -c 1 ip netns exec/" agent
transport="$transport --bind-to none -x MR_LATE -x MR_DELAY"
export MR_DELAY=16000:1:7
cat >model.cfg <<'END'
model = { name = "mlp"; hidden = [128, 128, 128, 128, 128, 128]; };
data = { name = "synthetic"; features = 128; classes = 8; samples = 2048; };
optimizer = { name = "momentum"; lr = 0.001; };
system = { name = "pipedream"; };
machine = { workers = 2; threads = 1; hosts = 2; };
train = { steps = 96; batch = 96; microbatches = 1; eval_every = 0; };
checkpoint = { every = 0; };
END
# The median of means of eight steps, without the first ones, in ms.
median() {
	sed -n 's/.*"loss".*"seconds":\([0-9.e-]*\).*/\1/p' "$1/metrics.jsonl" |
		awk 'NR > 8 && NR % 8 == 0 { print 125 * ($1 - last) } NR % 8 == 0 { last = $1 }' | sort -g |
		awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'
}
for turn in 1 2 3; do
	echo "$rows" | tr , '\n' | while read -r n delay; do
		export MR_LATE=link:$((delay * 1000))
		rm -rf p
		launch -- train model.cfg --set "system.noam=$n" --set "machine.links=\"$(awk -v d="$delay" \
			'BEGIN { print d / 1000 + 1e-4 }'),1.17e8\"" --set 'run.dir="p"' || { cat out && continue; }
		echo "turn $turn, in flight $n, delay $delay ms: $(median p) ms a step"
	done
done
