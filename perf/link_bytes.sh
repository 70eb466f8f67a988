#!/bin/sh
# link_bytes.sh - the figure of bytes over the link: what a host sends in a step when it trains with 1, 3 or 7 others,
# by data_parallel, one pipeline, ZeRO-3, WeiPipe with its rings, or tensor-parallel shares.
#
#	link_bytes.sh MILLRACE [SVG [CSV]]
#
# One worker a host, f32, 8, 64 or 512 samples a host (gpt: of 256 tokens). Of data_parallel, ZeRO-3 (parameters =
# sharded, eight stages in two rooms), 1f1b and shares (one worker in g of them, by positions) it is what `millrace
# plan` counts, of WeiPipe a closed form, with W the bytes of all weights (of gradients as many), g hosts, n tokens of a
# step, d the width, L blocks, 4 bytes a number:
#
#	data_parallel  2 (g-1)/g W        sums to their owners, new weights back
#	pipeline       2 (g-1)/g 4 n d    activations forward, gradients backward, between blocks of a gpt
#	ZeRO-3         (3 S - R)/S (g-1)/g W  of S equal stages in R rooms: before F and before B, and sums
#	WeiPipe        3 W                a micro-batch: rings of weights forward, backward, and of gradients
#	shares         8 (g-1)/g 4 n d L  two sums of a block's outputs forward, two backward, each a
#	                                  reduce-scatter and an all-gather
#
# data_parallel, the pipeline and ZeRO-3 with eight rooms (as data_parallel) must equal what plan counts, and shares be
# at most 2 % below (what joins the first and the last block is left out), or the script ends. Nothing is measured.
set -eu
[ $# -ge 1 ] && [ $# -le 3 ] || {
	echo "usage: link_bytes.sh MILLRACE [SVG [CSV]]" >&2
	exit 2
}
root=$(cd "$(dirname "$0")/.." && pwd)
MILLRACE=$(realpath "$1") svg=$(realpath -m "${2:-$root/perf/link_bytes.svg}") csv=${3:-}
[ -z "$csv" ] || csv=$(realpath -m "$csv")
draw=$(dirname "$MILLRACE")/perf_scaling
[ -x "$draw" ] || {
	echo "link_bytes.sh: there is no $draw: cmake --build $(dirname "$MILLRACE") --target perf_scaling" >&2
	exit 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"

head -c 200000 /dev/zero >tokens.bin
# conf NAME MODEL DATA
conf() {
	printf 'model = { %s };\n%s\noptimizer = { name = "sgd"; lr = 0.001; };\n' "$2" "$3" >"$1.cfg"
	printf 'system = { name = "1f1b"; };\ntrain = { steps = 100; };\n' >>"$1.cfg"
}
conf vgg16 'name = "vgg16"; form = "imagenet";' \
	'data = { name = "synthetic"; image = [224, 224, 3]; classes = 1000; samples = 8192; };'
conf gpt_1.3B 'name = "gpt"; layers = 24; width = 2048; heads = 16; context = 256;' \
	'data = { name = "tokens"; path = "tokens.bin"; vocab = 50257; };'

# number KEY: of plan.json.
number() { sed -n "s/^	\"$1\": \([0-9]*\).*/\1/p" plan.json; }
# sent HOSTS SAMPLES MODEL SYSTEM ARGS...: what plan counts between ranks. Of a value that is set twice
# the second stands.
sent() {
	hosts=$1 batch=$2 name=$3 system=$4
	shift 4
	"$MILLRACE" plan "$name.cfg" --format json --set "system.name=\"$system\"" --set machine.workers="$hosts" \
		--set machine.threads=128 --set machine.hosts="$hosts" --set 'machine.links="3e-5,1.17e9"' \
		--set "machine.topology=\"emr8592*$hosts\"" --set train.microbatches="$hosts" \
		--set train.batch="$batch" "$@" >plan.json
	number bytes_between_ranks
}

for model in vgg16 gpt_1.3B; do
	for column in "few 8" "some 64" "many 512"; do
		for g in 2 4 8; do
			samples=$((${column#* } * g))
			line="$model,${column% *},$g $samples"
			for system in data_parallel weipipe 1f1b; do
				line="$line $(sent $g $samples $model $system)"
			done
			set -- --set 'system.parameters="sharded"' --set system.chunks=8
			for rooms in 2 8; do
				line="$line $(sent $g $samples $model data_parallel "$@" --set system.rooms=$rooms)"
			done
			parameters=$(number parameters)
			case $model in
			gpt*) set -- --set machine.workers=1 --set machine.shares=$g --set train.microbatches=4 \
				--set machine.sequence_parallel=true
				line="$line $parameters $(sent $g $samples $model sequential "$@")" ;;
			*) line="$line $parameters 0" ;;
			esac
			echo "$line"
		done
	done
done >counted.txt
echo model,machine,hosts,system,MB >all.csv
awk '
	function put(name, bytes) { printf "%s,%s,%.6g\n", $1, name, bytes / g / 1e6 }
	{
		split($1, at, ",")
		g = at[3]
		W = 4 * $8
		if ($3 != 2 * (g - 1) * W || $4 != $3 || $7 != $3) {
			print $1 ": data_parallel sends " $3 ", weipipe " $4 ", ZeRO-3 " $7 ", not " 2 * (g - 1) * W \
				>"/dev/stderr"
			exit 1
		}
		if (at[1] ~ /^gpt/ && $5 != 2 * (g - 1) * 4 * $2 * 256 * 2048) {
			print $1 ": 1f1b sends " $5 ", not " 2 * (g - 1) * 4 * $2 * 256 * 2048 >"/dev/stderr"
			exit 1
		}
		shares = 8 * (g - 1) * 4 * $2 * 256 * 2048 * 24
		if (at[1] ~ /^gpt/ && ($9 < shares || $9 > 1.02 * shares)) {
			print $1 ": shares send " $9 ", not " shares >"/dev/stderr"
			exit 1
		}
		put("data_parallel", $3)
		put("1f1b", $5)
		put("zero3", $6)
		put("weipipe", 3 * W * g)
		if (at[1] ~ /^gpt/)
			put("shares", $9)
	}' counted.txt >>all.csv
[ -z "$csv" ] || cp all.csv "$csv"
"$draw" --bytes "One worker a host, f32; a host sends as much as it receives." <all.csv >picture.svg
cp picture.svg "$svg"
