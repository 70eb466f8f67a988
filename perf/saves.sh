#!/bin/sh
# saves.sh - what a save costs the training: the steps behind it, beside the median of the other steps.
#
#	saves.sh MILLRACE CONFIG [--every N] [--saves N] [OPTION...]
#
# Trains CONFIG with the OPTIONs of `millrace train` (--set KEY=VALUE) and a checkpoint every N steps (40), until N (12)
# were saved, into a temporary folder. Prints one row of Markdown: the system, bytes of a checkpoint, median of the
# steps that do not follow a save within three steps, the median and the largest of the first, second and third steps
# behind a save divided by that median, and the mean of all steps divided by it. The steps up to the first save count
# nowhere. Nothing else should run meanwhile.
set -eu
usage() {
	sed -n 's/^#\t\(saves.sh.*\)/usage: \1/p' "$0" >&2
	exit 2
}
[ $# -ge 2 ] || usage
millrace=$1 config=$2
shift 2
every=40 saves=12
while [ $# -ge 2 ]; do
	case $1 in
	--every | --saves)
		case $2 in
		*[!0-9]* | '' | 0*)
			echo "saves.sh: $1: expected a whole number from 1 on, got \"$2\"" >&2
			exit 2
			;;
		esac
		[ "$1" = --saves ] && saves=$2 || every=$2
		shift 2
		;;
	*) break ;;
	esac
done
[ "$every" -gt 4 ] && [ "$saves" -gt 1 ] || {
	echo "saves.sh: expected --every of at least 5 and --saves of at least 2" >&2
	exit 2
}
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/saves.XXXXXX") # not into memory: a save writes to the disk
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
"$millrace" train "$config" "$@" --set "run.dir=$dir/run" --set "checkpoint.every=$every" --set checkpoint.keep=2 \
	--set train.eval_every=0 --set "train.steps=$((every * saves + 4))" >"$dir/log" 2>&1 || {
	cat "$dir/log" >&2
	exit 1
}
system=$(sed -n '/^system = {/,/^};/s/^[[:space:]]*name = "\([^"]*\)".*/\1/p' "$dir/run/resolved.cfg")
newest=$(find "$dir/run/checkpoints" -name 'step-*' -type d | sort | tail -n 1)
bytes=$(cat "$newest"/*.safetensors | wc -c)
sed -n 's/^{"step":\([0-9]*\),"loss".*"seconds":\([0-9.e+-]*\).*/\1 \2/p' "$dir/run/metrics.jsonl" |
	awk -v every="$every" -v bytes="$bytes" -v name="$system" '
	function sort(x, n,   i, j, t) {
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && x[j - 1] > x[j]; j--) {
				t = x[j]; x[j] = x[j - 1]; x[j - 1] = t
			}
	}
	function median(x, n) {
		sort(x, n)
		return (x[int((n + 1) / 2)] + x[int(n / 2) + 1]) / 2
	}
	{
		step = $1
		if (step == last + 1 && step > every) {
			took = $2 - before
			sum += took
			n++
			behind = (step - 1) % every + 1
			if (behind == 1)
				first[++n1] = took
			else if (behind == 2)
				second[++n2] = took
			else if (behind == 3)
				third[++n3] = took
			else
				other[++n0] = took
		}
		last = step
		before = $2
	}
	END {
		m = median(other, n0)
		printf "| `%s` | %.1f MiB | %.1f ms | x%.2f, %.2f | x%.2f, %.2f | x%.2f, %.2f | x%.3f |\n", name,
			bytes / 1048576, m * 1e3, median(first, n1) / m, first[n1] / m, median(second, n2) / m,
			second[n2] / m, median(third, n3) / m, third[n3] / m, sum / n / m
	}'
