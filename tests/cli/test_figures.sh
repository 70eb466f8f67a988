#!/bin/sh
# One table of figures: `list figures`, the page of the formats and the manual say the same, files have these names and
# no others, and what a run leaves behind agrees in all of its files.   test_figures.sh SOURCE BUILD
. "$(dirname "$0")/cli_lib.sh"

# --- the pages
"$millrace" list figures >list || complain "list figures"
sed 's/   */|/g' list | tail -n +2 >rows
"$millrace" manual millrace >page
sed -n 's/^| `\(.*\)` | \(.*\) |$/\1 | \2/p' "$source/engine/store/FORMATS.md" | sed 's/ | /|/g' >written
while read -r row; do
	grep -qxF -- "$row" written || complain "FORMATS.md lacks: $row"
	grep -qxF -- ".B ${row%%|*}" page || complain "millrace(1) lacks ${row%%|*}"
done <rows
[ "$(wc -l <rows)" -gt 20 ] || complain "list figures has only: $(cat list)"
expect 2 "list figures takes no name" list figures loss
expect 2 'did you mean "figures"?' list figure

# --- the files
# The keys of the object in $1, without its arrays and objects, a line each.
keys() {
	tr -d ' \t\n' <"$1" | sed 's/"workers":.*//' | grep -o '"[a-z_0-9]*":' | tr -d '":' | sort -u
}
grep -v '\.json' rows | cut -d'|' -f1 | sort >names
cat >tiny.cfg <<'END'
model = { name = "mlp"; hidden = [16, 16]; };
data = { name = "synthetic"; };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { workers = 2; peak_gflops = 100.0; };
train = { steps = 60; batch = 32; microbatches = 2; eval_every = 20; norm_every = 10; };
END
expect 0 "done: 60 of 60 steps" train tiny.cfg --set run.dir=r
keys r/metrics.jsonl | grep -vxF -f names | grep -vx step >left && complain "metrics.jsonl has also: $(cat left)"
keys r/status.json >present
sed 's/^train_/val_/' present >plain
grep -vxF -f plain names >left && complain "status.json lacks: $(cat left)"
tr -d ' \t\n' <r/run.json | sed 's/.*"figures":{\([^}]*\)}.*/{\1}/' >figures
keys figures | sed 's/^train_/val_/' | grep -vxF -f names | grep -vx step >left &&
	complain "the figures of run.json are also: $(cat left)"

# What there are several of: each key of the files is a row of the list, and what the row says of its file is true.
expect 0 "done: 60 of 60 steps" train tiny.cfg --set run.dir=c --counters
grep '\.json' rows >named
for file in memory.json counters.json run.json; do
	grep "$file" named | cut -d'|' -f1 | tr . '\n' | cat - names >parts
	sed '/"counts": {/,/}/d' c/$file | sed -n 's/^	*"\([^"]*\)":.*/\1/p' | sort -u |
		grep -vx -e step -e stages -e rows -e missing -e about -e environment -e nodes -e caches -e workers \
			-e sessions -e staleness -e figures -e roofline -e levels -e points -e timeline -e records |
		grep -vxF -f parts >left && complain "$file has also: $(cat left)"
done
while IFS='|' read -r key unit in rest; do
	case "$key $in" in
	*"in this order"*) continue ;; # no keys, but the places in an array
	"limit of"* | shares* | processor* | note* | *" run.json: between") continue ;; # where there is such a thing
	esac
	file=$(echo "$in" | grep -o '[a-z]*\.json' | head -n 1)
	grep -q "\"${key##*.}\":" "c/$file" || complain "$file has no $key, $unit, $rest"
done <named
tr -d ' \t\n' <c/run.json | sed 's/.*"records":\[\[\([^]]*\)\].*/\1/' | tr , '\n' >first
echo >>first
[ "$(grep -c 'in this order' named)" -eq "$(grep -c . first)" ] || complain "an instruction has: $(cat first)"

# Of the same thing the same number, in each file.
# value NAME FILE
value() {
	tr -d ' \t\n' <"$2" | sed 's/"workers":\[.*//' | sed -n 's/.*"'"$1"'":\([^,}]*\).*/\1/p'
}
for name in loss seconds samples gflops busy bubble wait_upstream val_loss val_accuracy peak_bytes predicted_bytes; do
	a=$(value $name figures)
	b=$(value $name r/status.json)
	[ -n "$a" ] && [ "$a" = "$b" ] || complain "$name is \"$a\" in run.json, \"$b\" in status.json"
done
for name in loss val_loss val_accuracy val_top5; do
	a=$(sed -n 's/.*"'$name'":\([^,}]*\).*/\1/p' r/metrics.jsonl | tail -n 1)
	b=$(value $name r/status.json)
	[ "$a" = "${b#null}" ] || complain "$name is \"$a\" in metrics.jsonl, \"$b\" in status.json"
done

# The same bytes of each stage where the plan is compared and where the run is described.
tr -d ' \t\n' <c/memory.json | grep -o '"activation_bytes":{[^}]*' | sed 's/.*"predicted"://' >compared
tr -d ' \t\n' <c/run.json | grep -o '"bytes":{"weights"[^}]*' | sed 's/.*"activations":\([0-9]*\).*/\1/' >described
[ "$(grep -c . described)" -eq 2 ] && cmp -s compared described ||
	complain "activations of the stages are $(cat described) in run.json, $(cat compared) in memory.json"
exit $failed
