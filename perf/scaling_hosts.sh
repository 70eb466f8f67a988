#!/bin/sh
# scaling_hosts.sh - the figure of predicted scaling over hosts: pipelines against data parallel training on 128 to
# 4,096 cores of 1 to 32 hosts that were not at hand.
#
#	scaling_hosts.sh MILLRACE [SVG [CSV]]
#
# A host is emr8592 of `millrace list machines` (2 x 64 cores), a worker one of its sockets; the batch grows with the
# hosts. For each model, link and number of hosts the shortest step that `millrace plan` predicts for data_parallel, for
# one pipeline of all workers (1f1b), and for pipelines whose stages are on several workers each (dapple, 2 to 16
# stages), each over numbers of micro-batches. Nothing is measured. SCALING_FROM=CSV draws the numbers of an earlier
# run. Links, latency and bandwidth each way:
#
#	1gbit   5e-5 s, 1.17e8 B/s   what `probe-links` and TCP reach (1,448 of 1,538 bytes of a frame are payload,
#	10gbit  3e-5 s, 1.17e9 B/s   IEEE 802.3 with RFC 7323 time stamps); latencies assumed
#	hdr     2e-6 s, 2.4e10 B/s   InfiniBand HDR, 200 Gbit/s less headers (IBTA roadmap); latency assumed from 1 us
#	                             between two programs of MPI, as vendors publish it, and a wake-up
set -eu
[ $# -ge 1 ] && [ $# -le 3 ] || {
	echo "usage: scaling_hosts.sh MILLRACE [SVG [CSV]]" >&2
	exit 2
}
root=$(cd "$(dirname "$0")/.." && pwd)
MILLRACE=$(realpath "$1") svg=$(realpath -m "${2:-$root/perf/scaling_hosts.svg}") csv=${3:-}
export MILLRACE
[ -z "$csv" ] || csv=$(realpath -m "$csv")
draw=$(dirname "$MILLRACE")/perf_scaling
[ -x "$draw" ] || {
	echo "scaling_hosts.sh: there is no $draw: cmake --build $(dirname "$MILLRACE") --target perf_scaling" >&2
	exit 1
}
from=$(realpath -m "${SCALING_FROM:-/}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir"

head -c 200000 /dev/zero >tokens.bin
# conf NAME MODEL DATA OPTIMIZER
conf() {
	printf 'model = { %s };\n%s\noptimizer = { name = "%s"; lr = 0.001; };\n' "$2" "$3" "$4" >"$1.cfg"
	printf 'system = { name = "1f1b"; };\ntrain = { steps = 100; batch = 64; microbatches = 1; };\n' >>"$1.cfg"
}
images='data = { name = "synthetic"; image = [224, 224, 3]; classes = 1000; samples = 8192; };'
conf vgg16 'name = "vgg16"; form = "imagenet";' "$images" momentum
conf resnet50 'name = "resnet50"; form = "imagenet";' "$images" momentum
conf gpt_1.3B 'name = "gpt"; layers = 24; width = 2048; heads = 16; context = 256;' \
	'data = { name = "tokens"; path = "tokens.bin"; vocab = 50257; };' adamw

# one MODEL LINK SECONDS,BYTES HOSTS SYSTEM STAGES MICRO BATCH: a line "model,link,cores,system,ms,choice".
cat >one.sh <<'END_OF_ONE'
set -- $1
workers=$((2 * $4))
set -- "$@" --set machine.workers=$workers --set machine.threads=64 --set "system.name=\"$5\"" \
	--set train.microbatches=$7 --set train.batch=$8
if [ "$4" -gt 1 ]; then
	set -- "$@" --set machine.hosts=$4 --set "machine.links=\"$3\"" --set "machine.topology=\"emr8592*$4\""
else
	set -- "$@" --set 'machine.topology="emr8592"'
fi
if [ "$5" = dapple ]; then
	each=$((workers / $6))
	all=$each i=1
	while [ $i -lt $6 ]; do all=$all,$each i=$((i + 1)); done
	set -- "$@" --set "system.replicas=[$all]"
fi
at=$1,$2,$((128 * $4)),$5 choice="$6 stages x $7" model=$1
shift 8
step=$("$MILLRACE" plan "$model.cfg" "$@" --format json 2>/dev/null | sed -n 's/.*"step_s": *\([0-9.e+-]*\).*/\1/p' |
	head -n 1)
[ -z "$step" ] || echo "$at,$step,$choice"
END_OF_ONE

# all_of MODEL LINK SECONDS,BYTES SAMPLES-A-HOST: what is tried.
all_of() {
	for hosts in 1 2 4 8 16 32; do
		workers=$((2 * hosts)) batch=$(($4 * hosts))
		echo "$1 $2 $3 $hosts data_parallel 1 $workers $batch"
		for times in 2 4; do
			micro=$((workers * times))
			echo "$1 $2 $3 $hosts 1f1b $workers $micro $batch"
			for stages in 2 4 8 16; do
				[ $stages -ge $workers ] || echo "$1 $2 $3 $hosts dapple $stages $micro $batch"
			done
		done
	done
}
if [ -n "${SCALING_FROM:-}" ]; then
	cp "$from" all.csv
else
	for model in "vgg16 64" "resnet50 128" "gpt_1.3B 64"; do
		for link in "1gbit 5e-5,1.17e8" "10gbit 3e-5,1.17e9" "hdr 2e-6,2.4e10"; do
			# shellcheck disable=SC2086 # words
			all_of ${model% *} $link ${model#* }
		done
	done | tr '\n' '\0' | xargs -0 -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh one.sh >unsorted.csv
	{
		echo model,machine,cores,system,ms,choice
		sort -t, -k1,1 -k2,2 -k3,3n -k4,4 -k5,5g unsorted.csv |
			awk -F, -v OFS=, '!seen[$1, $2, $3, $4]++ { $5 *= 1000; print }'
	} >all.csv
	[ -z "$csv" ] || cp all.csv "$csv"
fi
"$draw" --hosts "A host has 2 x 64 cores (Xeon 8592+), a worker 64; samples are those of a host." <all.csv >picture.svg
cp picture.svg "$svg"
