#!/bin/sh
# The measured columns of schedules/README.md can be made.   slow_bench_systems.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

[ "$backends" != f64 ] || skip "the configurations are for oneDNN"

# has MODE SYSTEM ROWS CELLS: MODE gives SYSTEM that many rows, and their cells after the name match.
has() {
	"$source/perf/systems.sh" "$millrace" --rounds 1 --steps 52 --rates '2e-3 4e-3' "$1" "$2" >rows 2>err ||
		fail "$1 $2: exit code $?"
	[ "$(grep -c "^| \`$2\`" rows)" = "$3" ] || fail "$1 $2: $(cat rows)"
	[ "$(grep -cE "^\| \`$2\`[^|]* \| $4, [0-9.]+ MiB \|\$" rows)" = "$3" ] || fail "$1 $2: $(cat rows)"
}
has flush 1f1b 1 '[0-9.]+ ms \| [0-9.]+ % \| [0-9.]+ MiB'
has async ampnet 2 '[0-9.]+ \| not reached, [0-9e.-]+ \| [0-9.]+ \| [0-9.]+ MiB'
has flush pipedream 0 '-'
"$source/perf/systems.sh" "$millrace" --steps 16 memory pipedream zb_h1 >rows 2>err || fail "memory: exit code $?"
bytes='[0-9.]+ MiB \| [0-9.]+ MiB \| [0-9.]+ MiB'
for row in '`pipedream` | 2, 1' '`pipedream`, vertical_sync=true | 2, 2' '`pipedream`, stashing=false | 1, 1' \
	'`zb_h1` | 1, 1'; do
	grep -F "| $row | " rows | grep -qE " \| $bytes \| as predicted \|\$" || fail "memory, $row: $(cat rows)"
done
# The picture of the README, of a few steps.
"$source/perf/shakespeare.sh" "$millrace" text.txt 8 picture.svg >rows 2>err || fail "shakespeare: exit code $?"
[ "$(grep -cE '^\| `(sequential|1f1b|pipedream)` \| [0-9.]+ \| - \| [0-9]\.[0-9]{3} \|$' rows)" = 3 ] ||
	fail "shakespeare: $(cat rows)"
grep -q '>1f1b (validation [0-9.]*; on sequential)<' picture.svg ||
	fail "no picture, or 1f1b does not lie on sequential"
# What a save costs: 5 saves, of which 4 have steps behind them.
x='x[0-9.]+, [0-9.]+'
"$source/perf/saves.sh" "$millrace" "$source/conf/mlp.cfg" --every 5 --saves 5 --set system.name=pipedream \
	--set train.microbatches=1 >rows 2>err || fail "saves: exit code $?"
row="^\| \`pipedream\` \| [0-9.]+ MiB \| [0-9.]+ ms \| $x \| $x \| $x \| x[0-9.]+ \|\$"
grep -qE "$row" rows || fail "saves: $(cat rows)"
code=0
"$source/perf/saves.sh" "$millrace" "$source/conf/mlp.cfg" --every 3 >out 2>err || code=$?
expect 2 'saves, --every 3' '^saves.sh: expected --every of at least 5'
code=0
"$source/perf/systems.sh" "$millrace" nonsense >out 2>err || code=$?
expect 2 nonsense '^usage: systems.sh MILLRACE'
refused() {
	what=$1
	shift
	code=0
	"$source/perf/systems.sh" "$@" >out 2>err || code=$?
	expect 2 "$*" "^systems.sh: $what"
}
refused 'nothing: no program' nothing flush
refused '--rounds: expected a whole number, got "x"' "$millrace" --rounds x flush
refused '--steps: expected a whole number from 21 on, got 20' "$millrace" --steps 20 flush 1f1b
refused 'no system is called "2f2b"' "$millrace" memory 2f2b
finish
