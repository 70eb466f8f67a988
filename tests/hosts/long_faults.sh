# Two hosts and many faults, at random times by seed: a rank is killed, stopped, or its link goes down. Each time all
# processes of the training are gone within seconds, a message names the host, what is called a checkpoint is whole, and
# the training goes on from the newest one; the weights at the end are those of an undisturbed run. A full disk of one
# host ends all with its message and code.
# Arguments: source tree, build tree. FAULTS_KILL, FAULTS_STOP, FAULTS_CUT: how many; FAULTS_SEED.
. "$(dirname "$0")/hosts_lib.sh"

kills=${FAULTS_KILL:-100}
stops=${FAULTS_STOP:-20}
cuts=${FAULTS_CUT:-20}
state=${FAULTS_SEED:-20261129}
two='machine.workers=2'
echo "seed $state: $kills kills, $stops stops, $cuts cuts"

# random N: `drawn` is from 0 to N - 1, the next of a fixed sequence.
random() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	drawn=$((state / 65536 % $1))
}

ms() {
	echo $(($(date +%s%N) / 1000000))
}

# rank_of NAMESPACE: the process of the rank there; children are the launcher's.
rank_of() {
	for p in $(ip netns pids "$1"); do
		if [ "$(cat "/proc/$p/comm" 2>/dev/null)" = millrace-mpi ]; then
			echo "$p"
			return
		fi
	done
}

# left: the processes in both namespaces.
left() {
	ip netns pids $a
	ip netns pids $b
}

# whole RUN: all that is called a checkpoint is one.
whole() {
	for checkpoint in "$1"/checkpoints/step-* "$1"/checkpoints/rank-*/step-*; do
		[ -e "$checkpoint" ] || continue
		"$build/millrace" inspect "$checkpoint" >inspected 2>&1 ||
			{ cat inspected >>out && complain "$what: $checkpoint is not whole"; }
	done
}

# running HOW: how many ranks are left that can end by themselves.
running() {
	n_left=0
	for p in $(rank_of $a) $(rank_of $b); do
		[ "$1$p" = "stop$victim" ] || n_left=$((n_left + 1))
	done
	echo $n_left
}

# named: the message says whose fault it is. A rank that is killed the launcher names, by its number and its host.
named() {
	name=mill-a address=$first
	[ $side = 0 ] || name=mill-b address=$second
	case $how in
	kill) grep -q "rank $side .*on node \($name\|$address\)\|rank $side (host $name) is gone" out ;;
	stop) grep -q "rank $side (host $name) is gone" out ;;
	cut) grep -q "rank [01] (host mill-[ab]) is gone" out ;;
	esac || complain "$what: the host is not named"
}

slowest=0
last=0

# fault HOW RUN PARTS: train, disturb, look.
fault() {
	how=$1
	run=$2
	random 2
	side=$drawn
	random 2500
	after=$drawn
	what="$how $n of rank $side after $after ms"
	launch -- train mlp.cfg --set $two --set model.hidden=[200,200,200,200] --set "run.dir=\"$run\"" \
		--set train.steps=100000000 --set train.eval_every=0 --set checkpoint.every=40 --set checkpoint.keep=3 \
		--set "checkpoint.parts=\"$3\"" --continue &
	job=$!
	for _ in $(seq 2400); do
		[ -n "$(rank_of $a)" ] && [ -n "$(rank_of $b)" ] && break
		sleep 0.05
	done
	sleep "$((after / 1000)).$(printf %03d $((after % 1000)))"
	victim=$(rank_of $([ $side = 0 ] && echo $a || echo $b))
	[ -n "$victim" ] || complain "$what: it had ended before"
	begun=$(ms)
	case $how in
	kill) kill -9 "$victim" ;;
	stop) kill -STOP "$victim" ;;
	cut) ip -n $b link set link0 down ;;
	esac
	# One that is stopped cannot end by itself: the launcher kills it.
	until [ "$(running $how)" = 0 ] || [ $(($(ms) - begun)) -gt 90000 ]; do
		sleep 0.05
	done
	took=$(($(ms) - begun))
	wait $job
	got=$?
	ended=$(($(ms) - begun))
	join # what the launcher left behind the cut hears of the end
	while [ -n "$(left)" ] && [ $(($(ms) - begun)) -lt 150000 ]; do
		sleep 0.05
	done
	all=$(($(ms) - begun))
	echo "$what: ranks gone after $took ms, the launcher after $ended, all after $all; exit $got"
	most=60000 # 5 s, where others leave them a core
	met=1
	grep -q "^ranks " out || { met=0 && [ "$how" = kill ] || most=70000; } # MPI itself begins: a limit of a minute
	[ $took -le $most ] || complain "$what: ranks were there for $took ms"
	[ $got -ne 0 ] || complain "$what: exit 0"
	[ -z "$(left)" ] || { complain "$what: processes are left: $(left | tr '\n' ' ')" && kill -9 $(left); }
	if [ $most = 60000 ]; then
		[ $took -le $slowest ] || slowest=$took
		[ $((ended - took)) -le $last ] || last=$((ended - took))
	fi
	[ $met = 0 ] || named
	whole "$run"
}

for n in $(seq "$kills"); do
	[ $((n % 3)) = 0 ] && fault kill local local || fault kill shared auto
done
for n in $(seq "$stops"); do
	fault stop shared auto
done
for n in $(seq "$cuts"); do
	fault cut shared auto
done
echo "ranks were gone after at most $slowest ms; the launcher took up to $last ms more"

# The weights of the newest checkpoints are those of an undisturbed run.
[ ! -e local ] || "$build/millrace" gather local >out 2>&1 || complain "gather: exit $?"
for run in shared local; do
	[ -e $run ] || continue
	newest=$(cat $run/checkpoints/LATEST)
	steps=$(echo "${newest#step-}" | sed 's/[.].*//; s/^0*//')
	echo "$run: step $steps"
	rm -rf one
	"$build/millrace" train mlp.cfg --set $two --set model.hidden=[200,200,200,200] --set 'run.dir="one"' \
		--set "train.steps=$steps" --set train.eval_every=0 --set checkpoint.every=0 >out 2>&1 ||
		complain "one process: exit $?"
	for file in one/checkpoints/step-*/*.safetensors; do
		cmp "$file" "$run/checkpoints/$newest/${file##*/}" >out 2>&1 || complain "$run: $file differs"
	done
done

# The run's folder on the second host is a small disk of its own, which somebody fills.
mkdir full
sed -i "s|^exec ip|[ \$name = mill-a ] \|\| before='mount -t tmpfs -o size=24m none $dir/full;'\nexec ip|
	s|\"hostname|\"\$before hostname|" agent
launch -- train mlp.cfg --set $two --set model.hidden=[200,200,200,200] --set 'run.dir="full/run"' \
	--set train.steps=100000000 --set train.eval_every=0 --set checkpoint.every=40 &
job=$!
for _ in $(seq 2400); do
	[ -e full/run/checkpoints/rank-0/LATEST ] && break
	sleep 0.05
done
nsenter -t "$(rank_of $b)" -m sh -c "cat /dev/zero >$dir/full/run/fill" 2>/dev/null
begun=$(ms)
wait $job
got=$?
took=$(($(ms) - begun))
echo "full disk: the launcher ended after $took ms; exit $got"
[ $took -le 60000 ] || complain "full disk: it took $took ms"
refused 6 "rank 1 (host mill-b): full/run/checkpoints/rank-1: a checkpoint needs"
grep -q "is intact, and --resume goes on from there" out || complain "full disk: the one before is not named"
for _ in $(seq 1200); do
	[ -n "$(left)" ] || break
	sleep 0.05
done
[ -z "$(left)" ] || complain "full disk: processes are left"
exit $failed
