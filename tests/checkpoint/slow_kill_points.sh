#!/bin/sh
# Killed at every point that the checkpoint writer passes, a run resumes to the same bits.
#
#	slow_kill_points.sh SOURCE BUILD [SYSTEM...]
#
# Without systems, one that has everything to save, and only the points before a call: the point after a call and the
# one before the next find the same on the disk. With systems, every point.
#
# The writer names its points; a run lists those that it passes, and the n-th pass of each is then where one run is
# killed. What LATEST named before, or something newer, must be what the resumption finds.
. "$(dirname "$0")/../system/train_lib.sh"
shift 2
only=.
if [ $# = 0 ]; then
	set -- pipedream
	only="[.]before "
fi
has_faults || skip "this build has no fault points"
systems=$*

# "name n" for the points in the file $1, the n-th pass of each, as far as they are wanted.
enumerate() {
	awk '{ print $1, ++n[$1] }' "$1" | grep "$only"
}

one() {
	point=$1 nth=$2
	shift 2
	rm -rf b
	faults=MR_KILL_AT=$point:$nth
	train "$@" --set run.dir=b
	faults=
	expect 137 "$1 killed at $point $nth"
	before=$(latest b)
	if [ "$before" = none ] && [ -z "$(ls b/checkpoints 2>/dev/null | grep '^step-')" ]; then
		rm -rf b
		train "$@" --set run.dir=b
	else
		train "$@" --set run.dir=b --resume
	fi
	expect 0 "after a kill at $point $nth"
	at=$(sed -n 's/^run .*, resumed at step //p' out)
	case $before in
	step-*)
		stood=$(echo "$before" | sed -e 's/^step-0*//' -e 's/\..*//')
		[ "${at:-0}" -ge "$stood" ] || fail \
			"killed at $point $nth: LATEST named $before, and the run resumed at ${at:-0}"
		;;
	esac
	for f in model optimizer inflight; do
		[ ! -e "a/checkpoints/$(latest a)/$f.safetensors" ] ||
			cmp -s "a/checkpoints/$(latest a)/$f.safetensors" "b/checkpoints/$(latest b)/$f.safetensors" ||
			fail "killed at $point $nth: $f differs"
	done
	story b >story.b
	cmp -s story.a story.b || fail "killed at $point $nth: the metrics differ"
	[ -z "$(find b/checkpoints -name '.tmp-*')" ] || fail "killed at $point $nth: temporary files remain"
}

for system in $systems; do
	set -- mlp.cfg $(sets_of f64) --set system.name="$system" --set train.steps=4 --set checkpoint.every=2 \
		--set checkpoint.keep=1 \
		--set train.eval_every=2
	rm -rf a points
	faults=MR_KILL_LIST=points
	train "$@" --set run.dir=a
	faults=
	expect 0 "$system"
	story a >story.a
	enumerate points >passes
	n=$(wc -l <passes)
	[ "$n" -gt 40 ] || fail "only $n points were listed"
	while read -r point nth; do
		one "$point" "$nth" "$@" </dev/null
	done <passes
	echo "$suite: $system: $n kills"
done
finish
