#!/bin/sh
# Random pairs of system x network x precision x backend x threads x frozen layers: two trainings of one file end in
# the same bits, and so does its simulation.   slow_random_pairs.sh SOURCE BUILD
#
# MR_PAIRS_SEED (a number; else 1) and MR_PAIRS_COUNT (else 50) say which pairs, MR_PAIRS_FIRST (else 1) from which on.
# The seed is printed, and of a pair that fails the whole configuration: save it beside a text.txt and run it. What the
# program refuses is left out; any other end than that of a refusal, or of a loss that is not finite, is a failure.
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/simulate_lib.sh"

seed=${MR_PAIRS_SEED:-1}
first=${MR_PAIRS_FIRST:-1}
last=$((first + ${MR_PAIRS_COUNT:-50} - 1))
library=1
[ "$backends" != f64 ] || library=0
echo "$suite: pairs $first to $last of seed $seed (MR_PAIRS_SEED, MR_PAIRS_FIRST, MR_PAIRS_COUNT)"

# A table with everything that init reads: gaps, known values as numbers and in a table, money, dates.
awk 'BEGIN {
	print "paid,town,colour,day,kind"
	for (i = 0; i < 300; i++)
		printf "\"$%d,%03d\",t%d,%s,2024-%02d-%02d,%d\n", i % 7, i % 1000, i * i % 41, \
		       i % 9 ? "c" i % 5 : "NA", 1 + i % 12, 1 + i % 28, (i * i % 41 + i % 5) % 3
}' >table.csv

# make NUMBER [LAYERS]: the configuration pair.cfg.
make() {
	awk -v seed="$seed" -v number="$1" -v library=$library -v layers="${2:-}" \
		-f "$source/tests/system/random_pair.awk" >pair.cfg
}

# wrong WHAT: a failure, with all that it takes to see it again.
wrong() {
	fail "pair $number of seed $seed: $1"
	sed 's/^/	| /' pair.cfg >&2
}

# limited COMMAND...: a hang is a failure, too.
limited() {
	code=0
	timeout -k 5 300 "$millrace" "$@" >out 2>err || code=$?
}

trained=0
number=$((first - 1))
while [ $number -lt $last ]; do
	number=$((number + 1))
	before=$n_failed
	rm -rf a b virtual
	make $number
	limited plan pair.cfg --format layers --set partition=auto --set machine.topology=core:8
	[ $code -ne 0 ] || make $number "$(awk -F, '!/^#|^name,|^loss,/ { print $1 ":" $5 }' out | tr '\n' ' ')"
	limited train pair.cfg --set run.dir=a
	case $code in
	0) ;;
	3 | 6 | 7) # refused by name, too little memory, or diverged
		! grep -q deadlock err || wrong "train refuses the plan: $(cat err)"
		continue
		;;
	*)
		wrong "train ends with $code"
		continue
		;;
	esac
	trained=$((trained + 1))
	limited train pair.cfg --set run.dir=b
	[ $code -eq 0 ] || wrong "again: train ends with $code"
	same "pair $number of seed $seed, again" a b
	limited simulate pair.cfg --set run.dir=virtual
	case $code in
	0) same "pair $number of seed $seed, simulated" a virtual ;;
	3) ;;
	*) wrong "simulate ends with $code" ;;
	esac
	[ $n_failed -eq $before ] || sed 's/^/	| /' pair.cfg >&2
done
echo "$suite: $trained of $((last - first + 1)) were trained"
[ $((3 * trained)) -ge $((last - first + 1)) ] || fail "only $trained pairs could be trained"
finish
