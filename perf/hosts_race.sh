#!/bin/sh
# hosts_race.sh - a pipeline against data parallel training over two hosts: time to the same validation loss of VGG-16
# and AWD-LM at reduced size. The hosts are namespaces of this machine with a core each, joined by a link of a given
# rate.
#
#	hosts_race.sh SOURCE BUILD [RATE [NETWORKS [STEPS]]]     hosts_race.sh . build 1gbit "vgg16 awd_lm" 24
#
# Needs root, iproute2 and two cores. For each network: `profile` measures the layers, `probe-links` the link, and for
# each system `plan` predicts a step, and a training of STEPS steps, with eight evaluations, measures it. The loss is
# the lowest that all systems reach; the time to it is that of the first evaluation that has it.
source=$(realpath "$1") build=$(realpath "$2") rate=${3:-1gbit} networks=${4:-vgg16 awd_lm} steps=${5:-24}
systems="data_parallel 1f1b pipedream_2bw"
set -- "$source" "$build"
. "$1/tests/hosts/hosts_lib.sh"
for name in $a $b; do
	ip netns exec $name tc qdisc add dev link0 root tbf rate "$rate" burst 128kb latency 200ms || exit 1
done
sed -i "s/exec ip netns exec/exec taskset -c 1 ip netns exec/" agent
transport="$transport --bind-to none"
rest='system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; };
checkpoint = { every = 0; };'
cat >vgg16.cfg <<END
model = { name = "vgg16"; form = "cifar"; dropout = 0.0; };
data = { name = "synthetic"; image = [32, 32, 3]; classes = 10; samples = 640; };
optimizer = { name = "adamw"; lr = 0.0001; };
train = { batch = 32; microbatches = 4; };
$rest
END
cat "$source"/*.md "$source"/*/*.md | head -c 200000 >text.txt
cat >awd_lm.cfg <<END
model = { name = "awd_lm"; layers = 3; embed = 200; width = 500; context = 16; tied = false; };
data = { name = "text"; path = "text.txt"; };
optimizer = { name = "adamw"; lr = 0.002; };
train = { batch = 32; microbatches = 4; };
$rest
END

# number KEY: that of each line of JSON.
number() {
	sed -n "s/.*\"$1\":\\([0-9.e+-]*\\).*/\\1/p"
}
# evaluations RUN: "seconds loss" of each.
evaluations() {
	grep '"val_loss"' "$1/metrics.jsonl" | while read -r line; do
		echo "$(echo "$line" | number seconds) $(echo "$line" | number val_loss)"
	done
}
# step_of RUN: the median in ms, without those behind an evaluation.
step_of() {
	awk '/"val_loss"/ { after = 1; next } { print after + 0, $0; after = 0 }' "$1/metrics.jsonl" >lines
	paste -d' ' lines /dev/null | while read -r after line; do
		echo "$after $(echo "$line" | number seconds)"
	done | awk 'NF == 2 { if (n++ > 1 && !$1) print 1000 * ($2 - last); last = $2 }' | sort -g |
		awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'
}
echo "| network | system | sends a step | step predicted, ms | measured, ms | to a validation loss of | s |" \
	"of data_parallel |"
echo "|---|---|---|---|---|---|---|---|"
for network in $networks; do
	every=$((steps / 8))
	set -- $network.cfg --set train.steps=$steps --set train.eval_every=$every
	taskset -c 0,1 "$build/millrace" profile "$@" -o costs.csv >out 2>&1 || complain "profile"
	launch -- probe-links -o links.csv || complain "probe-links"
	sed '/^# links=/,$d' costs.csv >both.csv
	cat links.csv >>both.csv
	: >rows
	for system in $systems; do
		"$build/millrace" plan "$@" --set "system.name=\"$system\"" --costs both.csv --format json >plan.json \
			2>out || complain "plan of $system"
		predicted=$(sed -n 's/.*"step_s": *\([0-9.e-]*\).*/\1/p' plan.json | head -n 1)
		rm -rf "$system"
		launch -- train "$@" --set "system.name=\"$system\"" --set "run.dir=\"$system\"" || complain "$system"
		sent=$(sed -n 's/.*were sent, \(.*\) a step;.*/\1/p' out)
		echo "$system|$sent|$predicted|$(step_of "$system")|$(evaluations "$system" | cut -d' ' -f2 | sort -g |
			head -n 1)" >>rows
	done
	target=$(cut -d'|' -f5 rows | sort -g | tail -n 1)
	while IFS='|' read -r system sent predicted measured best; do
		seconds=$(evaluations "$system" | awk -v t="$target" '$2 <= t { print $1; exit }')
		[ "$system" != data_parallel ] || rival=$seconds
		echo "$network|$system|$sent|$predicted|$measured|$target|$seconds|$rival" | awk -F'|' '{
			printf "| %s | %s | %s | %.1f | %.1f | %.4g | %.2f | %.2f |\n",
				$1, $2, $3, 1000 * $4, $5, $6, $7, $7 / $8 }'
	done <rows
done
exit $failed
