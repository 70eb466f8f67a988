#!/bin/sh
# The norm on the progress line and in status.json is that of the step which they name, or it is not there: that of an
# earlier step may be far from it.   test_progress_norm.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

# The norm that metrics.jsonl has of step $1, or nothing.
measured() {
	sed -n "s/^{\"step\":$1,\"loss\".*_norm\":\([^,}]*\).*/\1/p" r/metrics.jsonl
}

for system in sequential 1f1b pipedream; do
	key=grad_norm
	[ $system != pipedream ] || key=stage_grad_norm # it never has all stages' gradients at once
	for steps in 14 20; do
		rm -rf r
		train mlp.cfg $(sets_of f64) --set system.name=$system --set train.norm_every=7 \
			--set train.steps=$steps --set train.eval_every=0 --set run.dir=r
		expect 0 "$system, $steps steps"
		[ -n "$(measured 14)" ] && [ -z "$(measured 20)" ] || fail "$system: metrics.jsonl has other norms"
		# every line that was printed
		sed -n 's/^step \([0-9]*\)\/.* norm \([^ ]*\) .*/\1 \2/p' out >lines
		while read -r step norm; do
			[ "$(printf %.3g "$(measured "$step")")" = "$norm" ] ||
				fail "$system: norm $norm on the line of step $step is not of that step"
		done <lines
		told=$(tr -d ' \n' <r/status.json | sed -n 's/.*"'$key'":\([^,}]*\).*/\1/p')
		case $steps in
		14)
			grep -q "^step 14/14 .* norm " out || fail "$system: the line of step 14 has no norm"
			[ "$(printf %.6g "$told")" = "$(printf %.6g "$(measured 14)")" ] ||
				fail "$system: status.json tells $told, step 14 had $(measured 14)"
			;;
		20)
			! grep -q "^step 20/20 .* norm " out || fail "$system: the line of step 20 has a norm"
			[ -z "$told" ] || [ "$told" = null ] || fail "$system: status.json of step 20 tells $told"
			grep -q "gradient norm .* at step 14" out || fail "$system: the end does not name the step"
			;;
		esac
	done
done
finish
