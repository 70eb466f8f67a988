#!/bin/sh
# Training in virtual time gives the bits of training, with times that follow from the costs.   test_simulate.sh SOURCE
# BUILD
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/simulate_lib.sh"

for type in $backends; do
	equal mlp $(sets_of $type) --set system.name=1f1b --set train.microbatches=4 --set machine.workers=3
done
equal mlp $(sets_of f64) --set system.name=pipedream --set machine.workers=3
equal gpt $(sets_of $type) --set system.name=gpipe --set train.microbatches=4

equal mlp $(sets_of f64) --set system.name=rpd --set train.steps=1100 --set machine.workers=3 # into the second window

# Mitigations that look at old weights, beside parts that step and on predictions.
for m in gap_aware weight_prediction; do
	equal mlp $(sets_of f64) --set system.name=pipedream --set 'system.replicas=[2,1]' --set machine.workers=3 \
		--set train.microbatches=2 \
		--set mitigation.name=$m
	[ "$want" -eq 0 ] || fail "replicated stages with $m: exit $want"
done

# Steps on trust, right ones and wrong ones that are taken back: their forwards are repeated in virtual time too.
set -- mlp $(sets_of f64) --set system.name=zb_h2 --set system.optimizer=validated --set train.microbatches=4
equal "$@" --set train.clip=1e6
cp virtual/metrics.jsonl trusted.jsonl
equal "$@" --set train.clip=1e-3
seconds_of() {
	sed -n 's/^{"step":40,.*"seconds":\([^,}]*\).*/\1/p' "$1" | tail -1
}
awk "BEGIN { exit !($(seconds_of virtual/metrics.jsonl) > 1.1 * $(seconds_of trusted.jsonl)) }" ||
	fail "repeated forwards take no time: $(seconds_of virtual/metrics.jsonl) s, without" \
		"$(seconds_of trusted.jsonl) s"
# A pause makes the steps before it certain, so a run that saves at every step has nothing to repeat.
shift
simulate mlp.cfg "$@" --set train.clip=1e-3 --set run.dir=often --set checkpoint.every=1 --set checkpoint.keep=40
expect 0 "validated, saved often"
awk "BEGIN { exit !($(seconds_of often/metrics.jsonl) < $(seconds_of virtual/metrics.jsonl)) }" ||
	fail "forwards are repeated behind a pause: $(seconds_of often/metrics.jsonl) s"
same "validated, saved often" virtual often

# A racing order comes from the virtual times: the same order each time, with jitter another one.
set -- mlp.cfg $(sets_of f64) --set system.name=ampnet --set 'system.order="racing"' --set train.microbatches=4 \
	--set machine.workers=3
for run in race again; do
	simulate "$@" --set run.dir=$run
	expect 0 "racing, $run"
done
same "racing twice" race again
simulate "$@" --set run.dir=jittered --jitter lognormal:0.8
expect 0 "racing with jitter"
cmp -s race/metrics.jsonl jittered/metrics.jsonl && fail "jitter changes nothing about a race"

# The clock ends with the last instruction of any worker: one step is as long as plan says, no row is above 100 %.
for system in 1f1b gpipe zb_v zb_h2; do
	set -- mlp.cfg $(sets_of f64) --set system.name=$system --set train.microbatches=4 --set machine.workers=3 \
		--set machine.topology=core:4 \
		--set 'model.hidden=[24,24,24,24,24,24]'
	"$millrace" plan "$@" >out 2>err || fail "no plan of $system"
	alone=$(sed -n 's/^ *steps overlap: the first by itself takes \(.*\)/\1/p' out)
	[ -n "$alone" ] || alone=$(sed -n 's/^predicted  step \([^,]*\),.*/\1/p' out)
	simulate "$@" --set train.steps=1 --set train.eval_every=0 --set run.dir=one-$system
	expect 0 "one step of $system"
	seconds=$(sed -n 's/^done: 1 of 1 steps in \([^ ]*\) s of simulated.*/\1/p' out)
	awk -v plan="$alone" -v s="$seconds" 'BEGIN { split(plan, p, " ");
		unit = p[2] == "us" ? 1e-6 : p[2] == "ms" ? 1e-3 : 1
		d = s / (p[1] * unit) - 1; exit !(d < 0.006 && d > -0.006) }' ||
		fail "$system: one step takes $seconds s, plan says $alone"
	simulate "$@" --set train.steps=20 --set train.eval_every=0 --set run.dir=rows-$system
	expect 0 "20 steps of $system"
	awk '/^w[0-9]/ { sum = 0; for (i = 1; i <= NF; i++) if ($i ~ /%$/) sum += $i
			rows++; if (sum < 99.5 || sum > 100.5) { print; wrong = 1 } }
		END { exit wrong || rows != 3 }' out || fail "$system: a row does not add up to 100 %: $(grep '^w' out)"
done

# Over hosts with slow links the clock is that of plan too, with messages that wait for each other: steps are as far
# apart as plan says, and longer by far than without messages.
for system in 1f1b gpipe zb_h1 data_parallel pipedream; do
	set -- mlp.cfg $(sets_of f64) --set system.name=$system --set train.microbatches=4 --set machine.workers=4 \
		--set machine.topology=core:8 --set 'model.hidden=[24,24,24,24,24,24]' --set train.eval_every=0
	[ $system != pipedream ] || set -- "$@" --set train.microbatches=1
	# where all send to all at once, steps differ by who comes first, and plan has the second one
	within=0.02
	[ $system != data_parallel ] || within=0.1
	for links in "0,1e15" "2e-5,1e7"; do
		"$millrace" plan "$@" --set machine.hosts=4 --set "machine.links=\"$links\"" --format json >out 2>err ||
			fail "no plan of $system over hosts"
		planned=$(sed -n 's/.*"step_s": *\([0-9.e+-]*\).*/\1/p' out | head -n 1)
		simulate "$@" --set machine.hosts=4 --set "machine.links=\"$links\"" --set train.steps=40 \
			--set "run.dir=hosts-$system-$links"
		expect 0 "$system over hosts"
		# seconds at the end of steps 20 and 40
		each=$(grep '^{"step":[24]0,"loss"' "hosts-$system-$links/metrics.jsonl" |
			sed 's/.*"seconds":\([^,}]*\).*/\1/' | awk '{ s = $1 - s } END { print s / 20 }')
		awk -v a="$planned" -v b="$each" -v w=$within \
			'BEGIN { exit !(a > 0 && b < (1 + w) * a && b > (1 - w) * a) }' ||
			fail "$system over hosts, links $links: steps take $each s, plan says $planned s"
		[ $links = "0,1e15" ] && quick=$each
	done
	awk -v a="$each" -v b="$quick" 'BEGIN { exit !(a > 1.5 * b) }' ||
		fail "$system: messages take nothing: $each s a step, $quick s with quick links"
done

# Bent times change no weight; saving and tracing change no time.
set -- mlp.cfg $(sets_of f64) --set system.name=1f1b --set train.microbatches=4
train "$@" --set run.dir=t
simulate "$@" --set run.dir=plain
expect 0 "plain"
grep -q '^time     simulated: costs nominal' out || fail "no word of the costs"
simulate "$@" --set run.dir=saved --set checkpoint.every=1 --set trace.steps=3-9 --set checkpoint.keep=40
expect 0 "saved"
cmp -s plain/metrics.jsonl saved/metrics.jsonl || fail "saving and tracing change the simulated times"
simulate "$@" --set run.dir=bent --jitter lognormal:0.5 --straggler 1:3
expect 0 "bent"
same "bent" t bent
seconds() {
	sed -n 's/^{"step":40,.*"seconds":\([^,}]*\).*/\1/p' "$1/metrics.jsonl" | tail -1
}
awk "BEGIN { exit !($(seconds bent) > 1.5 * $(seconds plain)) }" ||
	fail "with a straggler $(seconds bent) s, without $(seconds plain) s"
# The trace's times are the simulated ones: the last traced step ends where its row of the metrics says.
row=$(sed -n 's/^{"step":9,.*"seconds":\([^,}]*\).*/\1/p' saved/metrics.jsonl)
grep -q '"name":"F m35"' saved/trace.json || fail "no F of the last micro-batch in the trace"
sed -n 's/.*"cat":"[BU]","ts":\([0-9.]*\),"dur":\([0-9.]*\),.*/\1 \2/p' saved/trace.json |
	awk -v row="$row" '{ if ($1 + $2 > last) last = $1 + $2 }
		END { if (last < row * 1e6 - 0.01) { print "the trace ends at " last " us, step 9 at " row " s";
			exit 1 } }' ||
	fail "the trace has other times"

# Twenty workers on two cores, on a machine that there is not.
equal chain $(sets_of f64) --set system.name=1f1b --set train.microbatches=4 --set machine.workers=4 \
	--set 'machine.topology="numa:4 core:16 pu:1"'

# What a simulation has saved goes on as a training.
simulate "$@" --set run.dir=half --set train.steps=20
train "$@" --set run.dir=half --resume
expect 0 "resumed"
same "a simulation, then training" t half

simulate mlp.cfg --set run.dir=s
expect 0 "sequential"
train mlp.cfg --set run.dir=s-trained
expect 0 "sequential, trained"
same "sequential, simulated" s s-trained
simulate "$@" --set run.dir=x --straggler 2:2
expect 2 "no such worker" "worker 2 cannot be slow"
simulate "$@" --set run.dir=x --jitter much
expect 2 "no such jitter" "expected lognormal:A or uniform:A"
simulate "$@" --set run.dir=x --far 0.001 --set machine.topology="core:4 pu:1"
expect 2 "one node" "--far: all workers are on one node, and no hand-over goes to another"
simulate "$@" --set run.dir=nodes --far 0.001 --set machine.topology="numa:2 core:1 pu:1"
expect 0 "two nodes"
simulate "$@" --set run.dir=x --costs missing.csv
expect 3 "no costs" "missing.csv"
simulate "$@" --set run.dir=t
expect 2 "a taken folder"
measure "$@" --seconds 0 -o costs.csv
simulate "$@" --set run.dir=measured --costs costs.csv
expect 0 "measured costs"
grep -q 'simulated: costs measured, .*/costs.csv: machine=' out || fail "no word of the measured costs"
same "measured costs" t measured
finish
