# Every system that trains over ranks, on two networks, against one process; then random products of settings by seed.
# Arguments: source tree, build tree.
. "$(dirname "$0")/ranks_lib.sh"

# random N: `drawn` is from 0 to N - 1, the next of a fixed sequence.
state=20261128
random() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	drawn=$((state / 65536 % $1))
}

# one_of WORDS...: `it` is one of them.
one_of() {
	random $#
	shift $drawn
	it=$1
}

# bit NUMBER N: false where N divides it, else true.
bit() {
	[ $(($1 % $2)) -eq 0 ] && echo false || echo true
}

for system in $all; do
	same 2 mlp.cfg --set "system.name=\"$system\""
done
want=$(echo "$all" | wc -w)
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	want=$((want + 1))
	one_of f32 bf16 bf16_pure
	precision=$it
	one_of sgd adamw muon $([ "$precision" = bf16_pure ] || echo soap rotated_adam) \
		$([ "$precision" != f32 ] || echo nt_asgd)
	optimizer=$it
	one_of 1f1b gpipe pipedream data_parallel chimera zb_h1 interleaved pipedream_2bw dapple weipipe local_sgd
	system=$it
	[ "$system $precision" != "local_sgd bf16_pure" ] || precision=bf16 # averages need exact weights
	one_of 2 3 4
	ranks=$it
	one_of mlp gpt lm
	conf=$it.cfg
	one_of 0 0 0.3
	clip=$it
	trust=
	if [ "$system" = zb_h1 ]; then # steps taken on trust need a limit
		clip=0.3
		trust='--set system.optimizer="validated"'
	fi
	one_of 1 2 3
	refresh=
	[ "$optimizer" != rotated_adam ] || refresh="--set optimizer.frequency=2 --set optimizer.refresh=$(
		[ "$(bit "$i" 2)" = true ] && echo uniform || echo delay)"
	# The steps between two averages divide those between saves and evaluations.
	[ "$system" != local_sgd ] || set -- --set system.every=1 --set 'system.placement="rotated"'
	[ "$system" = local_sgd ] || set --
	[ "$system $optimizer" != "local_sgd nt_asgd" ] || optimizer=sgd # it averages one copy of the weights
	[ "$system $clip" != "data_parallel 0" ] || [ "$(bit "$i" 2)" = false ] || [ "$conf" = lm.cfg ] ||
		set -- --set 'system.gradients="released"'
	[ "$optimizer" != nt_asgd ] ||
		set -- --set optimizer.wait=1 --set optimizer.lr=0.3 --set train.eval_every=1 --set train.steps=8
	case $system in # they refuse its tied weights
	pipedream* | local_sgd | zb_h1) [ $conf != lm.cfg ] || conf=gpt.cfg ;;
	esac
	# Links that the configuration names: other buffers, orders and cuts, in one process as well.
	one_of 0 0 1e-5 1e-3 0.05
	[ $it = 0 ] || set -- "$@" --set machine.hosts=$ranks --set "machine.links=\"$it,1e8\""
	[ "$system" != pipedream ] || set -- "$@" --set system.noam=$((4 + i % 5))
	one_of 1 2 3
	# shellcheck disable=SC2086 # words, or none
	same "$ranks" "$conf" $trust $refresh --set machine.workers=4 --set "system.name=\"$system\"" \
		--set "precision=\"$precision\"" --set "train.clip=$clip" --set "train.norm_every=$it" \
		--set "optimizer.name=\"$optimizer\"" --set "train.seed=$i" --set "checkpoint.every=$it" \
		--set "checkpoint.at_end=$(bit $i 2)" --set "train.eval_at_end=$(bit $i 3)" "$@"
done
# Weights in parts: precision, optimizer, ranks, rooms, chunks, micro-batches, evaluations and saves between steps.
for i in $(seq 30); do
	want=$((want + 1))
	one_of f32 bf16 bf16_pure
	precision=$it
	one_of sgd adamw muon lion $([ "$precision" = bf16_pure ] || echo soap)
	optimizer=$it
	one_of 2 3 4
	ranks=$it
	one_of mlp gpt
	conf=$it.cfg
	one_of 2 3 5
	rooms=$it
	one_of 3 4
	chunks=$it
	one_of 4 6 12 # of three workers four a step leave one with less, of four six
	set -- --set train.microbatches=$it --set train.batch=12
	[ "$optimizer$((i % 2))" != adamw0 ] || set -- "$@" --set 'optimizer.state="int8"'
	one_of 3 4
	same $((ranks < it ? ranks : it)) "$conf" --set machine.workers=$it --set 'system.name="data_parallel"' \
		--set 'system.parameters="sharded"' --set system.rooms=$rooms --set system.chunks=$chunks "$@" \
		--set "precision=\"$precision\"" --set "optimizer.name=\"$optimizer\"" --set "train.seed=$i" \
		--set train.eval_every=$((1 + i % 3)) --set checkpoint.every=$((1 + i % 2))
done
# The same in groups, on any ranks.
for i in $(seq 20); do
	want=$((want + 1))
	one_of f32 bf16 bf16_pure
	precision=$it
	one_of sgd adamw muon lion $([ "$precision" = bf16_pure ] || echo soap)
	optimizer=$it
	one_of mlp gpt
	conf=$it.cfg
	one_of "4 2" "6 2" "6 3" "8 2" "8 4"
	workers=${it% *} groups=${it#* }
	one_of 2 3 4 6
	ranks=$((it < workers ? it : workers))
	one_of 2 3 5
	rooms=$it
	one_of 3 4
	chunks=$it
	one_of 4 12
	set -- --set train.microbatches=$it --set train.batch=24
	[ "$optimizer$((i % 2))" != adamw0 ] || set -- "$@" --set 'optimizer.state="int8"'
	map=
	for worker in $(seq $workers); do # each rank has one
		random $ranks
		map="$map $([ $worker -le $ranks ] && echo $((worker - 1)) || echo $drawn)"
	done
	same $ranks "$conf" --set machine.workers=$workers --set 'system.name="data_parallel"' \
		--set "machine.ranks=\"${map# }\"" --set system.groups=$groups \
		--set 'system.parameters="sharded"' --set system.rooms=$rooms --set system.chunks=$chunks "$@" \
		--set "precision=\"$precision\"" --set "optimizer.name=\"$optimizer\"" --set "train.seed=$i" \
		--set train.eval_every=$((1 + i % 3)) --set checkpoint.every=$((1 + i % 2))
done
# Workers that step whole models, on any ranks: steps come in cycles, between which a run stops.
for i in $(seq 30); do
	want=$((want + 1))
	one_of f32 bf16 bf16_pure
	precision=$it
	one_of sgd adamw muon lion $([ "$precision" = bf16_pure ] || echo soap) \
		$([ "$precision" != f32 ] || echo nt_asgd)
	optimizer=$it
	one_of mlp gpt
	conf=$it.cfg
	one_of 0 0 0.3
	clip=$it
	one_of 1 2 3
	norms=$it
	if [ $((i % 2)) = 0 ]; then # workers, times, gradients of a cycle
		one_of "2 [] 2" "3 [] 3" "4 [] 4" "2 [1,3] 4" "3 [1,2,4] 7" "4 [2,1,2,4] 9" "5 [] 5"
		workers=${it%% *} cycle=${it##* } times=${it#* }
		set -- --set 'system.name="asgd"' --set train.microbatches=1 --set "system.times=${times% *}"
		one_of true false
		set -- "$@" --set "system.rescaled=$it"
		one_of shared own
		set -- "$@" --set "system.data=\"$it\""
	else
		one_of "2 2" "2 4" "3 3" "4 4" "4 8" "5 5"
		workers=${it% *} cycle=1
		set -- --set 'system.name="cyclic"' --set train.microbatches=${it#* } \
			--set train.batch=$((2 * ${it#* }))
		one_of v1 v2
		set -- "$@" --set "system.rule=\"$it\""
	fi
	[ "$optimizer" != nt_asgd ] || set -- "$@" --set optimizer.wait=1 --set optimizer.lr=0.3
	[ "$optimizer$((i % 4))" != adamw0 ] || set -- "$@" --set 'optimizer.state="int8"'
	one_of 2 3 4
	ranks=$((it < workers ? it : workers))
	map=
	for worker in $(seq $workers); do # each rank has one
		random $ranks
		map="$map $([ $worker -le $ranks ] && echo $((worker - 1)) || echo $drawn)"
	done
	one_of 1 2 3
	same $ranks "$conf" --set machine.workers=$workers --set "machine.ranks=\"${map# }\"" "$@" \
		--set "precision=\"$precision\"" --set "optimizer.name=\"$optimizer\"" --set "train.seed=$i" \
		--set "train.clip=$clip" --set "train.norm_every=$norms" --set train.steps=$((6 * cycle)) \
		--set train.eval_every=$((it * cycle)) --set checkpoint.every=$(((1 + i % 3) * cycle))
done
# Shares of workers, on any ranks.
for i in $(seq 30); do
	want=$((want + 1))
	one_of f32 bf16 bf16_pure
	precision=$it
	one_of sgd adamw lion $([ "$precision" != f32 ] || echo nt_asgd)
	optimizer=$it
	one_of 1f1b gpipe pipedream data_parallel chimera zb_h1 interleaved pipedream_2bw weipipe naive
	system=$it
	one_of 2 4
	shares=$it
	one_of 1 2 3
	workers=$it
	case $system in
	chimera) workers=2 ;;
	naive) ;;
	*) [ $workers -ne 1 ] || system=sequential ;;
	esac
	one_of 2 3 4
	ranks=$((it < workers * shares ? it : workers * shares))
	random $ranks
	together=$((1 + drawn)) # groups of workers that are on one rank
	used=
	while [ "$(echo "$used" | tr ' ' '\n' | sort -u | grep -c .)" != $ranks ]; do
		first=
		for share in $(seq $shares); do
			random $ranks
			first="$first $drawn"
		done
		used=
		for worker in $(seq $workers); do
			for share in $first; do
				used="$used $(((worker % together + share) % ranks))"
			done
		done
		[ $together -lt $ranks ] && together=$((together + 1)) || together=1
	done
	map=$used
	one_of 0 0.3
	clip=$it
	set --
	[ "$system" = pipedream ] || set -- --set train.microbatches=$((workers == 2 ? 4 : 6))
	[ "$optimizer" != nt_asgd ] ||
		set -- "$@" --set optimizer.wait=1 --set optimizer.lr=0.3 --set train.eval_every=1
	[ "$(bit "$i" 2)" = false ] || [ "$system" = pipedream ] || set -- "$@" --set 'train.gradients="merged"'
	one_of gpt "gpt --set data.vocab=byte --set model.tied=true" "llama --set model.kv_heads=1" \
		"llama --set model.kv_heads=2 --set data.vocab=byte --set model.tied=true"
	network="--set model.name=$it"
	case $system in
	# whose first and last stage differ in age, and whose last may be the loss alone
	pipedream* | interleaved) network=${network% --set model.tied=true} ;;
	esac
	one_of 1 2 3
	# shellcheck disable=SC2086 # words
	same $ranks gpt.cfg $network --set train.batch=12 --set machine.workers=$workers --set machine.shares=$shares \
		--set model.heads=4 --set "machine.ranks=\"${map# }\"" --set "system.name=\"$system\"" \
		--set "machine.sequence_parallel=$(bit "$i" 3)" --set "precision=\"$precision\"" \
		--set "train.clip=$clip" --set "train.norm_every=$it" --set "train.seed=$i" \
		--set "optimizer.name=\"$optimizer\"" --set "checkpoint.every=$it" "$@"
done
[ $n_same -eq $want ] || failed=1
exit $failed
