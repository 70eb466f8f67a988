#!/bin/sh
# shakespeare.sh - the picture of the README: three systems on tiny Shakespeare, to the end.
#
#	shakespeare.sh MILLRACE TEXT [STEPS [SVG]]
#
# TEXT is data/tinyshakespeare/input.txt of github.com/karpathy/char-rnn, 1,115,394 bytes. Trains conf/shakespeare.cfg
# with sequential, 1f1b and pipedream for STEPS (4000) steps each, one after the other, and draws SVG
# (perf/shakespeare.svg). Prints the measured columns of the table in perf/README.md as Markdown: median step, seconds
# until the validation loss is below 1.75, best validation loss. Nothing else should run meanwhile.
set -eu
[ $# -ge 2 ] && [ $# -le 4 ] || {
	echo "usage: shakespeare.sh MILLRACE TEXT [STEPS [SVG]]" >&2
	exit 2
}
root=$(cd "$(dirname "$0")/.." && pwd)
millrace=$1 text=$2 steps=${3:-4000} svg=${4:-$root/perf/shakespeare.svg}
bytes=$(wc -c <"$text")
[ "$bytes" -eq 1115394 ] || [ $# -gt 2 ] || {
	echo "shakespeare.sh: $text: $bytes bytes, expected the 1115394 of tiny Shakespeare" >&2
	exit 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

# Median of the numbers on standard input.
median() {
	sort -g | awk '{ x[NR] = $1 } END { if (NR) printf "%.1f", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

echo "| system | ms a step | below 1.75 after | best in $steps steps |"
echo "|---|---|---|---|"
for system in sequential 1f1b pipedream; do
	warmup=100
	[ "$steps" -ge 100 ] || warmup=0
	"$millrace" train "$root/conf/shakespeare.cfg" --set "data.path=$text" --set "system.name=$system" \
		--set "run.dir=$dir/$system" --set "train.steps=$steps" --set lr_schedule.warmup=$warmup \
			--set sample.tokens=1 >"$dir/log" 2>&1 || {
		cat "$dir/log" >&2
		exit 1
	}
	metrics=$dir/$system/metrics.jsonl
	# A step's rate is tokens a second: 16 samples of 128 tokens.
	ms=$(sed -n 's/.*"rate":\([0-9.e+]*\).*/\1/p' "$metrics" | awk '{ print 16 * 128 * 1000 / $1 }' | median)
	below=$(sed -n 's/.*"seconds":\([0-9.e+-]*\),"val_loss":\([0-9.e+-]*\).*/\2 \1/p' "$metrics" |
		awk '$1 < 1.75 { printf "%.0f s", $2; exit }')
	best=$(sed -n 's/.*"val_loss":\([0-9.e+-]*\).*/\1/p' "$metrics" | sort -g | head -n 1)
	printf '| `%s` | %s | %s | %.3f |\n' "$system" "$ms" "${below:--}" "$best"
done
"$millrace" curves "$dir/sequential" "$dir/1f1b" "$dir/pipedream" -o "$svg" \
	--title "conf/shakespeare.cfg on tiny Shakespeare, two cores"
