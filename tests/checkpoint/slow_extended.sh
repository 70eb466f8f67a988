#!/bin/sh
# A run that has ended and is resumed with more steps equals one uninterrupted run of that many, to the bit: every
# system on every kind of state (weights alone, tokens, states that are carried from window to window, tables by rows).
#	slow_extended.sh SOURCE BUILD
. "$(dirname "$0")/../system/train_lib.sh"

cat >dlrm.cfg <<'END'
model = { name = "dlrm"; rows = [7, 40, 90]; width = 6; bottom = [8]; top = [9, 5]; };
data = { name = "clicks"; numbers = 3; categories = 3; values = 60; samples = 200; };
optimizer = { name = "adam"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 12; batch = 16; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END
sed -i 's/hidden = \[12, 12, 12\]/hidden = [6, 6, 6, 6, 6]/' mlp.cfg
sed -i 's/layers = 3; width = 8/layers = 4; width = 8/' gpt.cfg

# The steps at which a run of @1 may stop are multiples of 4 or of 12.
each() {
	system=$1
	shift
	for conf in mlp gpt lstm dlrm; do
		micro="--set train.microbatches=4"
		case $system in
		pipedream | spectrain | pipeoptim | rpd | asgd) micro= ;;
		esac
		set -- --set system.name=$system $micro $more
		[ $conf != lstm ] && [ $conf != gpt ] || [ -z "$micro" ] || set -- "$@" --set train.batch=8
		rm -rf whole part
		train $conf.cfg $(sets_of f64) "$@" --set train.eval_every=0 --set train.steps=24 --set run.dir=whole
		if [ $code -eq 3 ]; then
			n_refused=$((n_refused + 1))
			echo "$conf $system $more: $(head -n 1 err)" >>refusals
			continue
		fi
		expect 0 "$conf $system $more"
		train $conf.cfg $(sets_of f64) "$@" --set train.eval_every=0 --set train.steps=12 --set run.dir=part
		expect 0 "$conf $system $more, the first steps"
		train $conf.cfg $(sets_of f64) "$@" --set train.eval_every=0 --set train.steps=24 --set run.dir=part \
			--resume
		expect 0 "$conf $system $more, resumed with more steps"
		forget='/"step":12,"val_loss"/d' \
			same "$conf $system $more, resumed with more steps" whole part
		n=$((n + 1))
	done
}

n=0
n_refused=0
: >refusals
for system in $("$millrace" list systems | awk '{ print $1 }'); do
	more=
	[ $system != search ] || more="--set system.tries=20"
	each $system
done
# What decides its steps by how long it lasts, or keeps more versions than it has steps.
for more in "--set system.stage=timeline --set system.batch=timeline --set system.delays=exact" \
	"--set system.stage=timeline" "--set system.delays=exact --set system.ringmaster=3" "--set system.delta=40" \
	"--set system.delta=40 --set system.delays=max"; do
	each rpd
done
more="--set system.vertical_sync=true"
each pipedream
# Stages that carry nothing, beside others that do.
more="--set system.optimizer=async"
each roundpipe
more="--set machine.workers=4"
each pipedream
each pipemare
[ $n -ge 100 ] || fail "only $n cases could be trained; $n_refused were refused: $(cat refusals)"
finish
