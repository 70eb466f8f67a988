#!/bin/sh
# scaling.sh - the README's figure of predicted scaling: steps on 1 to 128 cores of three servers that were not at hand.
#
#	scaling.sh MILLRACE [SVG [CSV]]
#
# For each model, machine and number of cores: the shortest step that `millrace plan --auto` predicts for each system
# alone, over workers, threads and micro-batches, and for all that flush (the planner's choice), by the published
# constants of `millrace list machines`. Nothing is measured. Writes SVG (perf/scaling.svg) and, if named, the numbers
# as CSV: model, machine, cores, system, ms a step, choice. Some minutes on two cores; SCALING_CORES="1 16 128" and
# SCALING_ERROR="text" (how well the model predicts this machine; perf/README.md) replace the defaults, and
# SCALING_FROM=CSV draws the numbers of an earlier run. SCALING_SYSTEMS="sequential planner" asks for these alone.
set -eu
[ $# -ge 1 ] && [ $# -le 3 ] || {
	echo "usage: scaling.sh MILLRACE [SVG [CSV]]" >&2
	exit 2
}
root=$(cd "$(dirname "$0")/.." && pwd)
millrace=$(realpath "$1") svg=$(realpath -m "${2:-$root/perf/scaling.svg}") csv=${3:-}
[ -z "$csv" ] || csv=$(realpath -m "$csv")
cores=${SCALING_CORES:-1 2 4 8 16 32 64 128}
error=${SCALING_ERROR:-}
draw=$(dirname "$millrace")/perf_scaling
[ -x "$draw" ] || {
	echo "scaling.sh: there is no $draw: cmake --build $(dirname "$millrace") --target perf_scaling" >&2
	exit 1
}
from=$(realpath -m "${SCALING_FROM:-/}")
machines="genoa9654 gnr6980 graviton4"
systems="sequential data_parallel 1f1b zb_v pipedream planner"
asked=${SCALING_SYSTEMS:-$systems}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"

# Token 0, which is all that a prediction asks of the data.
head -c 200000 /dev/zero >tokens.bin
rows='data = { name = "synthetic"; features = 1024; classes = 10; samples = 8192; };'
images='data = { name = "synthetic"; image = [224, 224, 3]; classes = 1000; samples = 512; };'
tokens='data = { name = "tokens"; path = "tokens.bin"; vocab = 50257; };'
hidden=$(printf '2048, %.0s' 1 2 3 4 5 6 7 8 9 10 11)2048
# conf NAME MODEL DATA OPTIMIZER BATCH
conf() {
	printf 'model = { %s };\n%s\noptimizer = { name = "%s"; lr = 0.001; };\n' "$2" "$3" "$4" >"$1.cfg"
	printf 'system = { name = "sequential"; };\n' >>"$1.cfg"
	printf 'train = { steps = 100; batch = %s; microbatches = 1; };\n' "$5" >>"$1.cfg"
}
conf mlp "name = \"mlp\"; hidden = [$hidden];" "$rows" adamw 2048
conf gpt_124M 'name = "gpt"; layers = 12; width = 768; heads = 12; context = 256;' "$tokens" adamw 64
conf gpt_1.3B 'name = "gpt"; layers = 24; width = 2048; heads = 16; context = 256;' "$tokens" adamw 64
conf resnet50 'name = "resnet50"; form = "imagenet";' "$images" momentum 128
models="mlp gpt_124M gpt_1.3B resnet50"

# one MODEL MACHINE CORES SYSTEM: a line of the CSV.
cat >one.sh <<'END_OF_ONE'
set -- $1
only="--systems $4"
[ "$4" != planner ] || only=
[ "$4" != pipedream ] || only="$only --allow-stale 1000"
if "$MILLRACE" plan "$1.cfg" --auto --topology "$2:$3" $only >"$1.$2.$3.$4" 2>"$1.$2.$3.$4.why"; then
	awk -v OFS=, -v at="$1,$2,$3,$4" '$1 == "best" {
		label = $0; sub(/^best +/, "", label); sub(/  .*/, "", label)
		print at, $(NF - 7), label " " $(NF - 10) " x " $(NF - 9) " " $(NF - 8); exit }' "$1.$2.$3.$4"
fi
END_OF_ONE
export MILLRACE="$millrace"
if [ -n "${SCALING_FROM:-}" ]; then
	cp "$from" all.csv
else
	for model in $models; do
		for machine in $machines; do
			for n in $cores; do
				for system in $asked; do
					echo "$model $machine $n $system"
				done
			done
		done
	done | tr '\n' '\0' | xargs -0 -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh one.sh >unsorted.csv
	{
		echo model,machine,cores,system,ms,choice
		sort -t, -k1,1 -k2,2 -k3,3n -k4,4 unsorted.csv
	} >all.csv
	[ -z "$csv" ] || cp all.csv "$csv"
fi

"$draw" "$error" <all.csv >picture.svg
cp picture.svg "$svg"
