#!/bin/sh
# Tied embeddings: a system that cannot share a parameter between stages is refused by name, or with train.untie trains
# the model with weights of its own for each use, with a warning, and so do those that work on the run later; a system
# that can share it keeps it.
#	test_untied.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

n=0
n_untied=0
for system in $("$millrace" list systems | awk '{ print $1 }') "roundpipe --set system.optimizer=async"; do
	micro="--set train.microbatches=4"
	case $system in
	pipedream | spectrain | pipeoptim | rpd | asgd) micro= ;;
	cyclic) continue ;; # it takes no model that carries values
	esac
	more=
	[ "$system" != search ] || more="--set system.tries=20"
	# A split word is an argument on purpose.
	set -- lstm.cfg $(sets_of f64) --set system.name=$system $more $micro --set train.batch=8 --set train.steps=12 \
		--set train.eval_every=0 --set model.layers=4 --set model.tied=true
	rm -rf tied untied
	train "$@" --set run.dir=tied
	tied=$code
	[ $tied -ne 3 ] || grep -q "tied" err || tied=other
	[ $tied != other ] || continue
	[ $tied -eq 0 ] || grep -q "train.untie = true" err || fail "$system: the key was not named"
	train "$@" --set train.untie=true --set run.dir=untied
	expect 0 "$system with train.untie"
	n=$((n + 1))
	if [ $tied -eq 0 ]; then
		same "$system, which can share, with and without train.untie" tied untied
		continue
	fi
	n_untied=$((n_untied + 1))
	grep -q "warning: train.untie: .* weights of their own" err || fail "$system: no warning"
	grep -q "this is another model" err || fail "$system: it was not said that it is another model"
done
[ $n -ge 20 ] || fail "only $n systems were compared"
[ $n_untied -ge 8 ] || fail "only $n_untied systems were untied"

# Resumed, evaluated and simulated it is the same untied model.
set -- lstm.cfg $(sets_of f64) --set system.name=pipedream --set train.steps=20 --set train.eval_every=0 \
	--set model.tied=true --set train.untie=true
train "$@" --set run.dir=whole
expect 0 "pipedream"
train "$@" --set train.steps=8 --set run.dir=part
train part/resolved.cfg --set train.steps=20 --resume
expect 0 "pipedream, resumed"
forget='/"step":8,"val_loss"/d' same "pipedream, resumed" whole part
"$millrace" simulate "$@" --set run.dir=virtual >out 2>err || fail "simulate"
same "pipedream, simulated" whole virtual
"$millrace" eval part/resolved.cfg >out 2>err || fail "eval of an untied run"
finish
