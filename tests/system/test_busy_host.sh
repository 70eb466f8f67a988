#!/bin/sh
# test_busy_host.sh SOURCE BUILD - beside programs that want the same cores: what they take is no busy time but a cause
# of its own, the times at the end of a training add up, and rates are measured against kept figures.
. "$(dirname "$0")/train_lib.sh"

taskset -c 0,1 true 2>/dev/null || skip "CPUs 0 and 1 are not both usable"

# Figures of the machine are kept here, by a plan that finds it quiet.
XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
code=0
"$millrace" plan "$source/conf/mlp.cfg" >out 2>err || code=$?
expect 0 "plan"
kept=$(find cache -name kept-machine.csv 2>/dev/null || :)

# Two busy loops on each core, for as long as the trainings last.
hogs=
for cpu in 0 1 0 1; do
	timeout 900 taskset -c $cpu sh -c 'while :; do :; done' 2>/dev/null &
	hogs="$hogs $!"
done
trap 'kill $hogs 2>/dev/null || :; cleanup' EXIT

# The column NAME of the first worker's row in out.
column()
{
	awk -v name="$1" '/^worker +stages/ { for (i = 1; i <= NF; i++) if ($i == name) at = NF - i } /^w0 / {
		v = $(NF - at); sub("%", "", v); print v; exit }' out
}

# What is wrong with the times of the training that wrote out; nothing, if they are right. Where the whole machine
# stands for seconds, as a virtual one may, they are not.
wrong()
{
	lost=$(column descheduled)
	busy=$(column busy)
	awk -v l="$lost" -v b="$busy" 'BEGIN { exit !(l > 10 && b < 60) }' ||
		echo "$lost % descheduled and $busy % busy beside two busy loops on each core"
	# "in A s (training B s, evaluations C s, checkpoints D s)": A is the clock of metrics.jsonl, and no less than
	# the others together.
	n='([0-9.]+) s'
	sed -nE "s/^done: .* in $n \(training $n, evaluations $n, checkpoints $n\).*/\1 \2 \3 \4/p" \
		out >times
	[ -s times ] || return 0 # ten seconds and more are written as minutes
	seconds=$(sed -n 's/.*"step":30,"seconds":\([0-9.]*\),"val_loss".*/\1/p' r/metrics.jsonl)
	awk -v m="$seconds" '{ sum = $2 + $3 + $4; exit !(sum <= $1 + 0.03 && sum >= 0.8 * $1 && m <= $1 + 0.01 &&
		m >= $2 + $3 - 0.03) }' times || echo "$(cat times), and $seconds s in metrics.jsonl"
}

for how in "sequential --set machine.workers=1" "1f1b --set machine.workers=2"; do
	for _ in 1 2 3 4 5; do
		rm -rf r
		code=0
		# shellcheck disable=SC2086
		taskset -c 0,1 "$millrace" train "$source/conf/mlp.cfg" --set machine.peak_gflops=100 \
			--set run.dir=r --set train.steps=30 --set train.eval_every=15 --set system.name=$how \
			>out 2>err || code=$?
		expect 0 "$how"
		grep -q "^done: .* in .* (training .*, evaluations .*, checkpoints .*)" out ||
			fail "$how: the times have no names: $(grep ^done: out)"
		[ -e /proc/self/schedstat ] || break
		text=$(wrong)
		[ -n "$text" ] || break
	done
	if [ ! -e /proc/self/schedstat ]; then
		grep -q "^descheduled: unknown" out || fail "$how: not a word about a kernel without schedstat"
	elif [ -n "$text" ]; then
		fail "$how: $text"
	fi
done

# What train and plan say of the machine follows one rule. If the plan above did not find it quiet, nothing is kept.
says="nothing is kept from a quieter time"
[ -z "$kept" ] || says="these are the figures of 20"
rm -rf r
for how in "train --counters --set run.dir=r --set train.steps=5" "plan --set train.steps=5"; do
	code=0
	# shellcheck disable=SC2086
	taskset -c 0,1 "$millrace" ${how%% *} "$source/conf/mlp.cfg" ${how#* } >out 2>err || code=$?
	expect 0 "$how"
	grep -q "the machine was busy while it was measured: other programs took .*; $says" out ||
		fail "$how: not a word about a busy machine: $(grep busy out)"
done
grep -q '"note": *"the machine was busy while it was measured: .*'"$says" r/run.json || fail "run.json has no such note"
finish
