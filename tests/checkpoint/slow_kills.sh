#!/bin/sh
# Killed at random instants, again and again, a run loses nothing that was announced and ends in the same bits.
#
#	slow_kills.sh SOURCE BUILD [KILLS [SEED]]
#
# The runs save after every one to three steps, so that most kills fall into a save.
. "$(dirname "$0")/../system/train_lib.sh"
n_kills=${3:-10}
seed=${4:-$(date +%s)}
echo "$suite: $n_kills kills, seed $seed"

number() {
	echo "$1" | sed -n -e 's/\..*//' -e 's/^step-0*\([1-9]\)/\1/p'
}

# Random instants of 30 to 330 ms, one a line: more than there are kills, since on a busy machine many come too late.
most=$((8 * n_kills))
awk -v seed="$seed" -v n="$most" \
	'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f\n", 0.03 + 0.3 * rand() }' >instants

kills=0
landed=0
# One run of $* from its first step to its last, killed on the way as long as kills are left for it.
course() {
	budget=$1
	shift
	rm -rf b
	resume=
	done=
	while [ "$budget" -gt 0 ]; do
		budget=$((budget - 1))
		kills=$((kills + 1))
		env $delay "$millrace" train "$@" --set run.dir=b $resume >out 2>err &
		pid=$!
		sleep "$(sed -n ${kills}p instants)"
		before=$(latest b)
		kill -9 "$pid" 2>/dev/null || :
		ended
		if [ $code = 0 ]; then
			done=yes
			break
		fi
		expect 137 "$name, kill $kills"
		landed=$((landed + 1))
		if ls b/checkpoints 2>/dev/null | grep -q '^step-'; then
			resume=--resume
			# What a run of no further steps stands at is what a resumption finds.
			cp -R b c
			train "$@" --set run.dir=c --resume --set train.steps=1
			expect 0 "$name, kill $kills: loading"
			at=$(sed -n 's/^run .*, resumed at step //p' out)
			announced=$(number "$before")
			[ "${at:-0}" -ge "${announced:-0}" ] ||
				fail "$name, kill $kills: LATEST was $before, and step ${at:-0} was loaded"
			rm -rf c
		else
			[ "$before" = none ] || fail "$name, kill $kills: $before is gone"
			rm -rf b
			resume=
		fi
	done
	if [ -z "$done" ]; then
		train "$@" --set run.dir=b $resume
		expect 0 "$name, to its end"
	fi
}

each() {
	name="$1 $2 $3, a checkpoint every $4"
	share=$5
	delay=MR_DELAY=2000:1:$4
	[ "$3" != sequential ] || delay=
	set -- "$1.cfg" $(sets_of "$2") --set system.name="$3" --set checkpoint.every="$4" --set train.steps=120
	rm -rf a
	train "$@" --set run.dir=a
	expect 0 "$name"
	course "$share" "$@"
	for f in model optimizer inflight; do
		[ ! -e "a/checkpoints/$(latest a)/$f.safetensors" ] ||
			cmp -s "a/checkpoints/$(latest a)/$f.safetensors" "b/checkpoints/$(latest b)/$f.safetensors" ||
			fail "$name, seed $seed: $f differs"
	done
	story a >story.a
	story b >story.b
	cmp -s story.a story.b || fail "$name, seed $seed: the metrics differ: $(diff story.a story.b | head -4)"
}

last=f64
for type in $backends; do last=$type; done
while [ $kills -lt "$n_kills" ] || { [ $((2 * landed)) -lt "$n_kills" ] && [ $((kills + 4)) -le $most ]; }; do
	left=$((n_kills - kills))
	[ $left -ge 4 ] || left=4
	each mlp f64 pipedream 1 $(((left + 3) / 4))
	each gpt "$last" 1f1b 2 $(((left + 2) / 4))
	each norm "$last" pipedream_2bw 3 $(((left + 1) / 4))
	each gpt f64 sequential 1 $((left / 4))
done
echo "$suite: $landed of $kills kills found the run alive"
[ $((2 * landed)) -ge "$n_kills" ] || fail "too few of the kills found the run alive"
finish
