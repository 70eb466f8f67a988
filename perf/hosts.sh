#!/bin/sh
# hosts.sh - predicted and measured steps over two hosts: namespaces of this machine with a core each, joined by a link
# of a given rate, whose messages are held back for a given time.
#
#	hosts.sh SOURCE BUILD [RATE [DELAYS [SYSTEMS [ROUNDS]]]]     hosts.sh . build-test 1gbit "0 5" "gpipe 1f1b" 3
#
# BUILD has fault points (MR_LATE, engine/base/fault.h). Needs root, iproute2 and two cores. A round, for each system
# and each delay in milliseconds: `profile` measures the layers, `probe-links` the links, `plan --costs` predicts, and
# some seconds are trained, of whose steps the median counts. The table has the medians of ROUNDS, 3 by default.
source=$1 build=$2 rate=${3:-1gbit} delays=${4:-0 1 5 20} systems=${5:-gpipe 1f1b interleaved pipedream data_parallel}
rounds=${6:-3}
set -- "$(realpath "$source")" "$(realpath "$build")"
. "$1/tests/hosts/hosts_lib.sh"
for name in $a $b; do
	ip netns exec $name tc qdisc add dev link0 root tbf rate "$rate" burst 128kb latency 200ms || exit 1
done
# One core each: the agent gives it to the second host, this shell to the first.
taskset -cp 0 $$ >/dev/null || exit 1
sed -i "s/exec ip netns exec/exec taskset -c 1 ip netns exec/" agent
transport="$transport --bind-to none -x MR_LATE"
cat >model.cfg <<'END'
model = { name = "mlp"; hidden = [512, 512, 512, 512, 512, 512]; };
data = { name = "synthetic"; features = 512; classes = 8; samples = 2048; };
optimizer = { name = "momentum"; lr = 0.001; };
system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; };
train = { steps = 60; batch = 32; microbatches = 8; eval_every = 0; };
checkpoint = { every = 0; };
END
# Steps of a system without micro-batches are as long as eight of the others.
of() {
	case $1 in
	pipedream) echo "--set train.batch=4 --set train.microbatches=1" ;;
	esac
}
# The median of means of eight steps, without the first ones, in ms: what others disturbed is not what is predicted, and
# where messages take long, steps that do not wait for each other come in pairs.
median() {
	sed -n 's/.*"loss".*"seconds":\([0-9.e-]*\).*/\1/p' "$1/metrics.jsonl" |
		awk 'NR > 8 && NR % 8 == 0 { print 125 * ($1 - last) } NR % 8 == 0 { last = $1 }' | sort -g |
		awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'
}
echo "| system | delay, ms | latency measured, ms | predicted, ms | measured, ms | error |"
echo "|---|---|---|---|---|---|"
# steps SYSTEM DELAY: so many as take some seconds.
steps() {
	case $1,$2 in
	pipedream,[01]) echo 2000 ;;
	data_parallel,*) echo 48 ;;
	pipedream,* | *,[01]) echo 400 ;;
	*,20) echo 32 ;;
	*) echo 60 ;;
	esac
}
run_of() {
	echo model.cfg --set "system.name=\"$1\"" $(of "$1")
}
# round SYSTEM DELAY: a line "LATENCY PREDICTED MEASURED". What is predicted and what is measured lie seconds apart.
round() {
	unset MR_LATE
	taskset -c 0,1 "$build/millrace" profile $(run_of "$1") -o layers.csv >out 2>&1 || complain "profile" >&2
	MR_LATE=link:$((1000 * $2))
	export MR_LATE
	launch -- probe-links -o links.csv || complain "probe-links" >&2
	sed '/^# links=/,$d' layers.csv >both.csv
	cat links.csv >>both.csv
	env -u MR_LATE taskset -c 0,1 "$build/millrace" plan $(run_of "$1") --costs both.csv --format json \
		>plan.json 2>out || complain "plan" >&2
	rm -rf run
	launch -- train $(run_of "$1") --set train.steps=$(steps "$1" "$2") --set 'run.dir="run"' ||
		complain "train" >&2
	echo "$(awk -F, '/^0,1,/ { print 1000 * ($3 + $5) }' links.csv)" \
		"$(sed -n 's/.*"step_s": *\([0-9.e-]*\).*/\1/p' plan.json | head -n 1)" "$(median run)"
}
# The middle one of the lines by column COLUMN.
middle() {
	sort -g -k "$1,$1" rounds | awk -v k="$1" '{ at[NR] = $k } END { print at[int((NR + 1) / 2)] }'
}
for delay in $delays; do
	for system in $systems; do
		: >rounds
		for i in $(seq "$rounds"); do
			round "$system" "$delay" >>rounds
		done
		echo "$system $delay $(middle 1) $(middle 2) $(middle 3)" | awk '{ p = 1000 * $4
			printf "| %s | %s | %.2f | %.2f | %.2f | %+.0f %% |\n", $1, $2, $3, p, $5, 100 * (p / $5 - 1) }'
	done
done
exit $failed
