#!/bin/sh
# systems.sh - every system trained for real: what a step takes, what its workers wait, what it needs, how fast it
# learns.
#
#	systems.sh MILLRACE [--rounds N] [--steps N] [--text FILE] [--rates "R..."] flush|async|memory [SYSTEM...]
#
# flush   the systems that give the weights of sequential, on a multi-layer perceptron of 16 layers of 512, 8
#         micro-batches of 32: median step, share of time that two workers of one thread waited, memory as planned and
#         as the kernel counted it. The systems take turns, N rounds (5) of N steps (100); the medians of the rounds are
#         printed.
# async   the others, on a character GPT (4 layers of 64, context 64, batch 16), N steps (600) at each rate:
#         milliseconds a step; the seconds until the mean loss of 20 steps is below 2.3, and the loss in the end, at the
#         rate where that is soonest.
# memory  all with a plan, on that perceptron, N steps (16): most weight versions live at each stage of the first pipe,
#         and the most of weights, activations and boundary buffers in use over all stages, counted; whether that is
#         what the plan predicts.
#
# Markdown on the standard output: the measured columns of schedules/README.md. Without --text the sources of this
# project are the text. Nothing else should run meanwhile.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
usage() {
	sed -n 's/^#\t\(systems.sh.*\)/usage: \1/p' "$root/perf/systems.sh" >&2
	exit 2
}
refuse() {
	echo "systems.sh: $*" >&2
	exit 2
}
# The value $2 of option $1, a whole number from $3 on.
whole() {
	case $2 in
	*[!0-9]* | '') refuse "$1: expected a whole number, got \"$2\"" ;;
	esac
	[ "$2" -ge "$3" ] || refuse "$1: expected a whole number from $3 on, got $2"
	echo "$2"
}
[ $# -ge 2 ] || usage
[ -f "$1" ] && [ -x "$1" ] || refuse "$1: no program that can be run"
millrace=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
rounds=5 steps='' text='' rates='1e-3 2e-3 4e-3 8e-3'
while [ $# -gt 0 ]; do
	case $1 in
	--rounds | --steps | --text | --rates)
		[ $# -ge 2 ] || usage
		case $1 in
		--rounds) rounds=$(whole "$1" "$2" 1) ;;
		--steps) steps=$(whole "$1" "$2" 1) ;;
		--text) text=$(cd "$(dirname "$2")" && pwd)/$(basename "$2") ;;
		--rates) rates=$2 ;;
		esac
		shift 2
		;;
	-*) usage ;;
	*) break ;;
	esac
done
[ $# -ge 1 ] || usage
mode=$1
shift
wanted=$*
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-systems.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
cd "$work"

# In async: system, micro-batches a commit, options. A system that has no line here takes one micro-batch and its
# defaults.
cases='sequential 1
1f1b 4
pipedream 1
pipedream 1 vertical_sync=true
pipedream 1 stashing=false
pipedream_2bw 4
cyclic 4
wpipe 4
ampnet 4
ampnet 4 order=racing
paci 4
spectrain 1
spectrain 1 variant=v2
xpipe 4
roundpipe 4 optimizer=async
local_sgd 2
avgpipe 4'

systems() {
	"$millrace" list systems | sed -n 's/^\([a-z0-9][a-z0-9_]*\) .*/\1/p'
}

# Does system $1 give the weights of sequential? Not without a flush, and not with replicas that are averaged.
flushes() {
	! "$millrace" schedule "$1" --workers 2 --microbatches 4 --format json | grep -qE '"flush": "none"|"average"'
}

# Is system $1 among those that the user named?
is_wanted() {
	[ -z "$wanted" ] && return 0
	case " $wanted " in
	*" $1 "*) return 0 ;;
	*) return 1 ;;
	esac
}

train() {
	rm -rf run
	"$millrace" train "$@" --set run.dir=run >out 2>err
}

# The middle one of the numbers in column $2 of file $1.
median() {
	cut -f "$2" "$1" | sort -g | awk '{ x[NR] = $1 } END { if (NR) print x[int((NR + 1) / 2)] }'
}

# step <tab> seconds <tab> loss of each step of the run.
story() {
	sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),.*"seconds":\([^,}]*\).*/\1	\3	\2/p' run/metrics.jsonl
}

memory() {
	sed -n 's/^peak memory  predicted \(.*[^ ]\)  measured \(.*[^ ]\)  (.*/\1, \2/p' out
}

# milliseconds <tab> percent waited <tab> memory, of the run that is over.
take() {
	story | awk -F '\t' 'NR > 20 { printf "%.6f\n", ($2 - last) * 1000 } { last = $2 }' >ms
	waited=$(awk '/^w[0-9]+ .*%/ { for (i = 2; i <= NF; i++) if ($i ~ /%$/) { sum += $i; n++; break } } END {
		print 100 - sum / n }' out)
	printf '%s\t%s\t%s\n' "$(median ms 1)" "$waited" "$(memory)"
}

# mlp.cfg, for $1 steps.
mlp() {
	cat >mlp.cfg <<-END
		model = { name = "mlp";
			hidden = [512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512]; };
		data = { name = "synthetic"; features = 512; classes = 10; samples = 8192; validation = 0.0; };
		optimizer = { name = "momentum"; lr = 0.001; };
		system = { name = "gpipe"; };
		train = { batch = 256; microbatches = 8; steps = $1; eval_every = 0; };
		machine = { workers = 2; threads = 1; };
	END
}

flush() {
	mlp "${steps:-100}"
	round=0
	while [ "$round" -lt "$rounds" ]; do
		for s in $(systems); do
			if [ "$s" = sequential ] || ! is_wanted "$s" || ! flushes "$s"; then
				continue
			fi
			if train mlp.cfg --set "system.name=$s"; then
				take >>"of.$s"
			else
				printf '%s: %s\n' "$s" "$(head -1 err)" >&2
			fi
		done
		round=$((round + 1))
	done
	echo '| system | step | idle | memory planned, measured |'
	echo '|---|---|---|---|'
	for s in $(systems); do
		# shellcheck disable=SC2016 # Markdown's quotes
		[ ! -e "of.$s" ] || printf '| `%s` | %.1f ms | %.1f %% | %s |\n' "$s" "$(median "of.$s" 1)" \
			"$(median "of.$s" 2)" \
			"$(tail -1 "of.$s" | cut -f 3)"
	done
}

# "ms hit loss" of the run that is over; hit is inf where the loss stayed above.
learnt() {
	story | awk -F '\t' '
	{ loss[NR] = $3; at[NR] = $2; sum += $3 - (NR > 20 ? loss[NR - 20] : 0) }
	NR >= 20 && sum / 20 < 2.3 && !hit { hit = $2 }
	END { printf "%.2f %s %.2f", (at[NR] - at[20]) / (NR - 20) * 1000, hit ? hit : "inf", sum / 20 }'
}

# Rows, one for each case of system $1.
learn() {
	{
		printf '%s\n' "$cases" | grep "^$1 " || echo "$1 1"
	} | while read -r name micro option; do
		best='- inf -'
		rate=
		need=
		for r in $rates; do
			if ! train gpt.cfg --set "system.name=$name" --set "train.microbatches=$micro" \
				--set "optimizer.lr=$r" \
				${option:+--set "system.$option"}; then
				printf '%s %s: %s\n' "$name" "$option" "$(head -1 err)" >&2
				continue
			fi
			this=$(learnt)
			if [ -z "$rate" ] || echo "$this $best" | awk '{ exit !($2 != "inf" && ($5 == "inf" ||
				$2 + 0 < $5 + 0) ||
					$2 == "inf" && $5 == "inf" && $3 < $6) }'; then
				best=$this rate=$r need=$(memory)
			fi
		done
		[ -z "$rate" ] || echo "$best" | awk -v name="$name" -v option="$option" -v rate="$rate" \
			-v need="$need" '{
			printf "| `%s`%s | %s | %s, %s | %s | %s |\n", name, option ? ", " option : "", $1,
				$2 == "inf" ? "not reached" : sprintf("%.1f s", $2), rate, $3, need
		}'
	done
}

async() {
	cat >gpt.cfg <<-END
		model = { name = "gpt"; layers = 4; width = 64; heads = 2; context = 64; dropout = 0.0;
			init_std = 0.06; };
		data = { name = "text"; path = "$text"; validation = 0.1; };
		optimizer = { name = "adamw"; lr = 2e-3; beta2 = 0.95; weight_decay = 0.1; };
		system = { name = "pipedream"; };
		train = { steps = ${steps:-600}; batch = 16; eval_every = 0; };
		lr_schedule = { name = "constant"; warmup = 50; };
		machine = { workers = 2; };
	END
	echo '| system | ms a step | to 2.3, at rate | loss in the end | memory planned, measured |'
	echo '|---|---|---|---|---|'
	for s in $(systems); do
		is_wanted "$s" || continue
		case $s in
		sequential | 1f1b | roundpipe) ;;
		*) ! flushes "$s" || continue ;;
		esac
		learn "$s"
	done
}

# The row of run/memory.json behind the name.
in_use() {
	awk -F '[":, \t]+' '
	$2 == "stage" { stage = $3 }
	$2 == "pipe" { pipe = $3 }
	$3 == "{" { what = $2 }
	$2 == "measured" { got[what] += $3; if (what == "versions" &&
		pipe == 0) live = live (live == "" ? "" : ", ") $3 }
	$2 == "predicted" { want[what] += $3 }
	function mib(x) { return sprintf("%.2f MiB", x / 1048576) }
	END {
		same = "as predicted"
		for (what in got)
			if (got[what] != want[what])
				same = what " predicted: " want[what] " in all"
		printf "%s | %s | %s | %s | %s |\n", live, mib(got["weight_bytes"]), mib(got["activation_bytes"]),
			mib(got["boundary_bytes"]), same
	}' run/memory.json
}

memory_of_all() {
	mlp "${steps:-16}"
	echo '| system | weight versions live, by stage | weights | activations | boundaries | |'
	echo '|---|---|---|---|---|---|'
	for s in $(systems); do
		if [ "$s" = sequential ] || ! is_wanted "$s"; then
			continue
		fi
		if flushes "$s"; then
			printf '%s 8\n' "$s"
		else
			printf '%s\n' "$cases" | grep "^$s " || printf '%s 1\n' "$s"
		fi
	done | while read -r name micro option; do
		if train mlp.cfg --set "system.name=$name" \
			--set "train.microbatches=$micro" ${option:+--set "system.$option"}; then
			# shellcheck disable=SC2016 # Markdown's quotes
			printf '| `%s`%s | %s\n' "$name" "${option:+, $option}" "$(in_use)"
		else
			printf '%s %s: %s\n' "$name" "$option" "$(head -1 err)" >&2
		fi
	done
}

if [ -z "$text" ]; then
	text=$work/text
	cat "$root"/engine/*/*.[ch] >"$text"
fi
case $mode in
flush | async) whole --steps "${steps:-100}" 21 >/dev/null ;; # the first 20 are not timed
esac
for s in $wanted; do
	systems | grep -qx "$s" || refuse "no system is called \"$s\"; millrace list systems names them"
done
case $mode in
flush) flush ;;
async) async ;;
memory) memory_of_all ;;
*) usage ;;
esac
