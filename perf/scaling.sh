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
	printf 'model = { %s };\n%s\noptimizer = { name = "%s"; };\n' "$2" "$3" "$4" >"$1.cfg"
	printf 'system = { name = "sequential"; };\n' >>"$1.cfg"
	printf 'train = { steps = 100; batch = %s; microbatches = 1; lr = 0.001; };\n' "$5" >>"$1.cfg"
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

awk -F, -v models="$models" -v machines="$machines" -v systems="$systems" -v error="$error" '
function x_of(p, n) { return 70 + p * 330 + log(n) / log(2) * 270 / 7 }
function y_of(r, part) { return 110 + r * 270 + 200 - part * 200 / 1.1 }
function put_text(css, anchor, x, y, text) {
	printf "<text class=\"%s\"%s x=\"%.1f\" y=\"%.1f\">%s</text>\n", css,
		anchor == "" ? "" : " text-anchor=\"" anchor "\"", x, y, text
}
NR > 1 { ms[$1, $2, $3, $4] = $5; if (!($3 in seen)) { seen[$3] = 1; core[++n_cores] = $3 } }
END {
	n_models = split(models, model, " "); n_machines = split(machines, machine, " ")
	n_systems = split(systems, name, " ")
	split("#5b6470 #c2832b #4a86b8 #4c9457 #b85a4a #20262d", colour, " ")
	split("2x AMD EPYC 9654|2x Xeon 6980P|2x AWS Graviton 4", what, "|")
	for (i = 1; i <= n_cores; i++) for (k = i + 1; k <= n_cores; k++) if (core[k] + 0 < core[i] + 0) {
		t = core[i]; core[i] = core[k]; core[k] = t }
	height = 110 + n_models * 270 + 40
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1060\" height=\"%d\" ", height
	printf "viewBox=\"0 0 1060 %d\" font-family=\"sans-serif\">\n", height
	print "<style>.t{font-size:17px;font-weight:600;fill:#20262d}.s{font-size:12px;fill:#39424c}"
	print ".p{font-size:12.5px;font-weight:600;fill:#20262d}.k{font-size:10px;fill:#5b6470}"
	print ".g{stroke:#e6eaee;fill:none}.a{stroke:#8b95a1;fill:none}</style>"
	print "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
	put_text("t", "", 24, 28, "Predicted efficiency: speed-up over one core, divided by cores, of the best " \
		"choice of each system")
	put_text("s", "", 24, 48, "Predictions by published constants of machines that were not at hand; nothing " \
		"here was measured." (error == "" ? "" : " " error))
	x = 24
	for (k = 1; k <= n_systems; k++) {
		wide = name[k] == "planner"
		printf "<path d=\"M%d 70h22\" stroke=\"%s\" stroke-width=\"%s\"%s/>", x, colour[k],
			wide ? 6 : 1.8, wide ? " stroke-opacity=\".25\"" : ""
		put_text("s", "", x + 28, 74, wide ? "the planner\047s choice (systems that flush)" : name[k])
		x += 52 + 7.2 * length(name[k])
	}
	for (r = 0; r < n_models; r++) for (p = 0; p < n_machines; p++) {
		m = model[r + 1]; h = machine[p + 1]; left = 70 + p * 330
		title = m; gsub(/_/, " ", title)
		put_text("p", "", left, y_of(r, 1.1) - 8, title " on " what[p + 1])
		for (e = 0; e <= 5; e++) {
			printf "<path class=\"g\" d=\"M%.1f %.1fh270\"/>", left, y_of(r, e / 5)
			put_text("k", "end", left - 6, y_of(r, e / 5) + 4, 20 * e " %")
		}
		for (e = 0; e <= 7; e++) {
			printf "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>", x_of(p, 2 ^ e), y_of(r, 0), y_of(r, 1.1)
			put_text("k", "middle", x_of(p, 2 ^ e), y_of(r, 0) + 14, 2 ^ e)
		}
		printf "<path class=\"a\" d=\"M%.1f %.1fh270\"/>\n", left, y_of(r, 0)
		if (r == n_models - 1) put_text("s", "middle", left + 135, y_of(r, 0) + 32, "cores")
		one = ms[m, h, core[1], "sequential"] * core[1]
		for (k = n_systems; k >= 1; k--) {
			d = ""; dots = ""
			for (i = 1; i <= n_cores; i++) {
				v = ms[m, h, core[i], name[k]]
				if (v == "" || one == 0) continue
				at_x = x_of(p, core[i]); at_y = y_of(r, one / v / core[i])
				d = d (d == "" ? "M" : "L") sprintf("%.1f %.1f", at_x, at_y)
				dots = dots sprintf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"%s\"><title>" \
					"%s, %d cores: %.4g ms</title></circle>", at_x, at_y, colour[k], name[k],
					core[i], v)
			}
			if (d == "") continue
			printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" ", d, colour[k]
			if (name[k] == "planner") print "stroke-width=\"6\" stroke-opacity=\".25\"/>"
			else print "stroke-width=\"1.6\"/>" dots
		}
	}
	print "</svg>"
}' all.csv >"$svg"
