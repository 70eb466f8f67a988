# Links between two hosts: probe-links measures the rate of the link and the time for which messages are held back, plan
# takes what it has written, and no step is shorter than the messages on its path.
# Arguments: source tree, build tree.
. "$(dirname "$0")/hosts_lib.sh"
for name in $a $b; do
	ip netns exec $name tc qdisc add dev link0 root tbf rate 1gbit burst 128kb latency 200ms 2>out ||
		{ echo "${0##*/}: skipped: the rate of a link cannot be limited: $(cat out)" && exit 77; }
done
transport="$transport -x MR_LATE"
[ -n "${many:-}" ] || transport="-iface link0 -genv UCX_TLS tcp,self -genvlist MR_LATE"
MR_LATE=link:5000
export MR_LATE

launch -- probe-links -o links.csv || complain "probe-links: exit $?"
grep -q "^mill-a and mill-b: latency" out || complain "probe-links: no table"
grep -q "^# links=2; ranks=0 1; hosts=mill-a mill-b; " links.csv || complain "probe-links: the file"
# 1 Gbit/s is 125 MB/s, without the headers of packets; a busy machine is slower, by far.
awk -F, '/^0,1,/ { exit !($3 >= 0.00499 && $3 < 1 && $4 > 1e6 && $4 < 5e8 && $5 < 1) }' links.csv ||
	{ cp links.csv out && complain "probe-links: 5 ms, 1 Gbit/s"; }

set -- mlp.cfg --set machine.workers=2 --set 'system.name="gpipe"' --set train.microbatches=4 --set train.eval_every=0
"$build/millrace" plan "$@" --costs links.csv --format json >plan.json 2>out || complain "plan: exit $?"
awk '/"step_s":/ { gsub(/[",]/, ""); exit !($2 > 0.01 && $2 < 5) }' plan.json ||
	{ cp plan.json out && complain "plan: two latencies"; }
launch -- train "$@" --set 'run.dir="late"' --set train.steps=20 || complain "train: exit $?"
sed -n 's/.*"loss".*"seconds":\([0-9.e-]*\).*/\1/p' late/metrics.jsonl |
	awk 'NR == 1 { from = $1 } END { exit !(NR == 20 && ($1 - from) / 19 > 0.0098) }' ||
	{ cp late/metrics.jsonl out && complain "train: a step of less than two latencies"; }
exit $failed
