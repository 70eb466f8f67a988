# Several processes train as one does, byte for byte: each sort of plan, clipping, precisions, a resumed run. What only
# one process does is refused by name.
# Arguments: source tree, build tree.
. "$(dirname "$0")/ranks_lib.sh"

two='machine.workers=2'
same 2 mlp.cfg --set $two
same 2 mlp.cfg --set $two --set 'system.name="pipedream"'
# Where the configuration names links, its order and its buffers are made for them.
same 2 mlp.cfg --set $two --set 'system.name="pipedream"' --set system.noam=7 --set machine.hosts=2 \
	--set 'machine.links="0.02,1e8"' --set train.steps=20
# Norms are on the record of one process and of several: of stages that one rank has, of one whose last stage two have,
# and of ranges that cut blocks of squares.
grep -q stage_grad_norm one.txt || complain "no norm of the last stage"
same 3 mlp.cfg --set machine.workers=3 --set 'system.name="pipedream"' --set 'system.replicas=[1,2]' \
	--set train.microbatches=2
grep -q stage_grad_norm one.txt || complain "no norm of replicas of a stage"
# Corrections by the oldest version that any replica has read, each of which is on another rank.
for mitigation in gap_aware dc_asgd staleness_aware; do
	same 4 mlp.cfg --set machine.workers=4 --set 'system.name="pipedream"' --set 'system.replicas=[2,2]' \
		--set train.microbatches=2 --set "mitigation.name=\"$mitigation\"" --set train.steps=12
done
same 3 mlp.cfg --set machine.workers=3 --set 'system.name="data_parallel"' --set train.batch=12 \
	--set 'model.hidden=[300,400]' --set train.norm_every=1
[ "$(grep -c grad_norm one.txt)" -eq 6 ] || complain "no norm of each step"
same 2 mlp.cfg --set $two --set 'system.name="data_parallel"' --set 'precision="bf16"'
same 2 gpt.cfg --set $two --set train.clip=0.5
same 2 mlp.cfg --set $two --set train.gradients=merged --set train.microbatches=4
same 3 gpt.cfg --set machine.workers=4 --set 'system.name="data_parallel"' --set train.clip=0.5
same 3 gpt.cfg --set machine.workers=3 --set train.batch=12 --set 'system.name="data_parallel"' \
	--set 'precision="bf16"'
same 4 gpt.cfg --set machine.workers=4 --set 'system.name="pipedream_2bw"' --set 'precision="bf16"'
same 2 mlp.cfg --set machine.workers=4 --set 'machine.ranks="0 1 1 0"' --set 'system.name="zb_h1"'
same 2 mlp.cfg --set machine.workers=4 --set 'system.name="chimera"' --set 'precision="bf16_pure"'
# Steps that are taken back on some or all of the ranks, and forwards whose results are sent again.
trust='--set system.optimizer="validated" --set machine.workers=4'
# shellcheck disable=SC2086 # words
same 2 mlp.cfg --set 'system.name="zb_h2"' $trust --set train.clip=0.4 --set train.microbatches=8
# shellcheck disable=SC2086
same 4 gpt.cfg --set 'system.name="zb_h1"' $trust --set train.clip=0.4 --set train.microbatches=2 \
	--set 'precision="bf16"'
# An optimizer's state in 8 bits, whose blocks the ranges of ranks cut.
wide='--set model.hidden=[300,400,33] --set optimizer.state="int8"'
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $wide --set 'system.name="pipedream"'
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $wide --set 'system.name="data_parallel"'
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=3 $wide --set 'system.name="data_parallel"' --set train.batch=12
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=3 $wide --set 'system.name="pipedream"' --set 'system.replicas=[1,2]' \
	--set train.microbatches=2
same 2 gpt.cfg --set $two --set 'optimizer.state="int8"' --set model.tied=true
# A leader so slow that all workers stop at the limit before it is raised; of two on a rank one waits for the other.
export MR_SLOW=ranks.lead:20
same 2 mlp.cfg --set $two --set train.steps=60 --set checkpoint.every=30 --set train.eval_every=0
same 2 mlp.cfg --set machine.workers=4 --set 'system.name="pipedream"' --set train.steps=60 \
	--set checkpoint.every=30 --set train.eval_every=0
unset MR_SLOW
# Messages that are cut into blocks, as those above 1 GiB are: of boundaries, of ranges, and of states for rank 0.
export MR_BLOCK=1000 MR_KILL_LIST="$PWD/points"
same 2 gpt.cfg --set $two --set 'checkpoint.parts="rank0"' --set train.batch=30 --set train.microbatches=3
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=3 --set 'system.name="data_parallel"' --set train.batch=12 $wide
for sort in link data; do
	grep -q "^mpi\.block\.$sort$" points || complain "no message was cut: $sort"
done
unset MR_BLOCK MR_KILL_LIST
# One parameter twice in a stage of several pipes, statistics of batch norm, states that are carried, averages.
same 2 gpt.cfg --set $two --set 'system.name="data_parallel"' --set model.tied=true
# Sums that are released stage by stage, with norms, stored states, and a rank of several workers.
released='--set system.name="data_parallel" --set system.gradients="released"'
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $released
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=4 $released --set train.microbatches=8 --set 'precision="bf16"'
# shellcheck disable=SC2086
same 3 gpt.cfg --set machine.workers=3 $released --set train.batch=12 --set train.norm_every=1
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=3 $released --set train.batch=12 --set system.chunks=3 $wide
# Weights in parts that passes fetch, and evaluations that do.
sharded='--set system.name="data_parallel" --set system.parameters="sharded"'
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $sharded --set system.chunks=3 --set system.rooms=2 --set train.eval_every=1
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=4 $sharded --set train.microbatches=8 --set 'precision="bf16"'
# shellcheck disable=SC2086
same 3 gpt.cfg --set machine.workers=3 $sharded --set train.batch=12 --set train.norm_every=1 --set system.rooms=4
# shellcheck disable=SC2086
same 2 mlp.cfg --set machine.workers=4 $sharded --set train.batch=12 --set system.chunks=3 $wide
# In groups: one a rank, of workers of both ranks, and of ranks.
groups='--set machine.workers=4 --set system.groups=2 --set system.chunks=4'
# shellcheck disable=SC2086
same 2 mlp.cfg $sharded $groups --set train.eval_every=1
# shellcheck disable=SC2086
same 2 gpt.cfg $sharded $groups --set "machine.ranks=\"0 1 0 1\"" --set 'precision="bf16"'
# shellcheck disable=SC2086
same 4 mlp.cfg $sharded $groups --set system.rooms=2 $wide
# A rank without micro-batches owns a range all the same.
for option in 'gradients="summed"' 'gradients="released"' 'parameters="sharded"'; do
	same 3 mlp.cfg --set machine.workers=3 --set 'system.name="data_parallel"' --set train.microbatches=2 \
		--set "system.$option" --set train.batch=12 --set system.chunks=3
done
# Workers that step whole models, each rank with a copy: one a rank, and several on ranks in any order.
asgd='--set system.name="asgd" --set train.microbatches=1 --set train.steps=12 --set checkpoint.every=4'
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $asgd --set train.eval_every=6 --set train.clip=0.5
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=4 $asgd --set train.eval_every=4 --set 'machine.ranks="1 0 2 1"' \
	--set 'precision="bf16_pure"'
# shellcheck disable=SC2086
same 2 mlp.cfg --set machine.workers=3 $asgd --set train.eval_every=7 --set 'system.times=[1,2,4]' \
	--set 'machine.ranks="1 0 1"' --set train.steps=21 --set checkpoint.every=7 --set 'system.data="own"' \
	--set system.rescaled=true
same 2 gpt.cfg --set machine.workers=4 --set 'system.name="cyclic"' --set 'machine.ranks="1 0 1 0"' --set train.clip=0.5
same 4 mlp.cfg --set machine.workers=4 --set 'system.name="cyclic"' --set 'system.rule="v2"' \
	--set train.microbatches=8 --set 'precision="bf16"'
# shellcheck disable=SC2086
same 2 gpt.cfg --set machine.workers=2 --set machine.shares=2 --set 'machine.ranks="0 1 1 0"' \
	--set 'system.name="cyclic"' --set train.norm_every=0
over 2 train gpt.cfg --set machine.workers=2 --set machine.shares=2 --set 'machine.ranks="0 1 1 0"' \
	--set 'system.name="cyclic"' --set 'run.dir="norms"'
got=$?
refused 3 "set train.clip = 0 and train.norm_every = 0"
# Shares of workers: one a rank, of both workers on each of two ranks, norms that are added up by rank 0, by positions,
# and two of four on a rank.
shares='--set machine.workers=2 --set machine.shares=2'
apart='machine.ranks="0 1 0 1"'
# shellcheck disable=SC2086
same 4 gpt.cfg $shares --set train.clip=0.5
# shellcheck disable=SC2086
same 2 gpt.cfg $shares --set "$apart" --set machine.sequence_parallel=true --set 'system.name="pipedream"'
# shellcheck disable=SC2086
same 4 gpt.cfg $shares --set 'system.name="data_parallel"' --set train.norm_every=1
# shellcheck disable=SC2086
same 2 gpt.cfg $shares --set "$apart" --set 'system.name="data_parallel"' --set train.clip=0.5 \
	--set 'precision="bf16"'
same 3 gpt.cfg --set machine.workers=2 --set machine.shares=4 --set model.heads=4 --set 'precision="bf16_pure"' \
	--set 'machine.ranks="0 1 2 1 2 0 1 0"' --set machine.sequence_parallel=true --set 'system.name="zb_h1"'
same 2 gpt.cfg --set model.name=llama --set model.heads=4 --set model.kv_heads=2 --set machine.workers=2 \
	--set machine.shares=4 --set 'machine.ranks="0 1 1 0 0 1 1 0"' --set train.clip=0.5
# shellcheck disable=SC2086
same 2 gpt.cfg $shares --set "$apart" --set data.vocab=byte --set model.tied=true --set train.clip=0.5
# The last stage reads what the first one stores.
same 2 gpt.cfg --set $two --set model.tied=true
same 2 lm.cfg --set machine.workers=4 --set 'system.name="chimera"'
same 2 mlp.cfg --set $two --set 'system.name="data_parallel"' --set 'model.norm="batch"'
same 2 lm.cfg --set $two --set 'system.name="data_parallel"'
average='--set system.every=2 --set system.placement="rotated" --set train.eval_every=2'
# shellcheck disable=SC2086 # words
same 2 mlp.cfg --set $two --set 'system.name="local_sgd"' $average --set 'model.norm="batch"'
# shellcheck disable=SC2086
same 3 mlp.cfg --set machine.workers=3 --set train.batch=15 --set 'system.name="local_sgd"' $average \
	--set 'system.state="averaged"' --set 'system.outer="nesterov"' --set train.clip=0.05

# An optimizer that averages the weights from some evaluation on: one owner a stage, ranges, a tied parameter.
averages='--set optimizer.name="nt_asgd" --set optimizer.wait=1 --set optimizer.lr=0.3 --set train.eval_every=1'
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $averages --set train.steps=8
# shellcheck disable=SC2086
same 2 mlp.cfg --set $two $averages --set train.steps=9 --set 'system.name="data_parallel"'
# shellcheck disable=SC2086
same 2 gpt.cfg --set $two $averages --set train.steps=14 --set model.tied=true
# shellcheck disable=SC2086
over 2 train mlp.cfg --set $two $averages --set train.steps=8 --set 'run.dir="averaged"' || complain "averages: exit $?"
grep -q "from step 3 on the weights are averaged" out || complain "they are never averaged:"
for steps in 5 8; do # shellcheck disable=SC2086
	over 2 train mlp.cfg --set $two $averages --set train.steps=$steps --set 'run.dir="halves"' \
		$([ $steps = 5 ] || echo --resume) || complain "averages to step $steps: exit $?"
done
for file in averaged/checkpoints/step-00000008/*.safetensors; do
	cmp "$file" "halves/checkpoints/step-00000008/${file##*/}" >out 2>&1 ||
		complain "averages, resumed: $file differs"
done

# counted CONF ARGS...: bytes between two ranks are what the plan says.
counted() {
	rm -rf bytes
	over ${n_counted:-2} train "$@" --set machine.workers=${n_counted:-2} --set 'run.dir="bytes"' \
		--set train.eval_every=0 || complain "$*: exit $?"
	said=$(sed -n 's/^between ranks: .* sent, \(.*\) a step; by the plan \(.*\) a step$/\1=\2/p' out)
	[ -n "$said" ] && [ "${said%=*}" = "${said#*=}" ] || complain "$*: $said"
	# So is the storage that was used at once, of all ranks.
	tr -d ' \t\n' <bytes/memory.json | grep -o '"measured":[0-9]*,"predicted":[0-9]*' >out
	awk -F '[:,]' '$2 != $4 { exit 1 } END { exit NR < 8 }' out || complain "$*: other storage than planned"
}
counted gpt.cfg --set train.clip=0.5
counted mlp.cfg --set 'system.name="data_parallel"' --set train.clip=0.5
# shellcheck disable=SC2086
counted mlp.cfg $released --set train.microbatches=4
# shellcheck disable=SC2086
counted mlp.cfg $sharded --set train.microbatches=4 --set system.chunks=3 --set system.rooms=2
n_counted=4
# shellcheck disable=SC2086
counted mlp.cfg $sharded $groups
n_counted=
# shellcheck disable=SC2086
counted gpt.cfg $shares --set "$apart" --set train.clip=0.5
# shellcheck disable=SC2086
counted gpt.cfg $shares --set "$apart" --set machine.sequence_parallel=true --set train.microbatches=4 \
	--set 'train.gradients="merged"' --set train.norm_every=0
counted mlp.cfg --set 'system.name="zb_h1"'
counted mlp.cfg --set 'system.name="zb_h1"' --set 'system.optimizer="validated"' --set train.clip=1e6
counted mlp.cfg --set 'system.name="chimera"'
# shellcheck disable=SC2086
counted mlp.cfg $asgd
counted mlp.cfg --set 'system.name="cyclic"' --set train.microbatches=4
counted gpt.cfg --set 'system.name="data_parallel"' --set model.tied=true
counted mlp.cfg --set 'system.name="data_parallel"' --set 'model.norm="batch"'
counted mlp.cfg --set 'system.name="local_sgd"' --set system.every=2 --set 'system.placement="rotated"'

# Each chunk's sum of gradients leaves when it is complete, before the backward passes of earlier chunks begin: there
# are four of them without a word.
rm -rf buckets
over 2 train mlp.cfg --set $two --set 'system.name="data_parallel"' --set trace.steps=3 \
	--set train.steps=4 --set train.eval_every=0 --set 'run.dir="buckets"' || complain "buckets: exit $?"
sed 's/,*{"ph"/\n&/g' buckets/trace.json | awk -F '"ts":' '
	/w0 to w1: sum/ && /"ph":"b"/ && /"stage":3/ { left = $2 + 0 }
	/"name":"B m/ && /"tid":0,/ && /"stage":0,/ { first = $2 + 0 }
	END { exit !(left > 0 && left < first) }' || complain "a sum of gradients left behind the last backward"

# What links need is planned: sums of the others, and no copy of what is sent. With two of each on the way, and copies
# of them, the peak was more than twice the plan. With released sums of eight stages a rank has a quarter of its own and
# of those that come.
if ! grep -q '^MILLRACE_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
	for option in 'gradients="summed"' 'gradients="released"' 'parameters="sharded"'; do
		rm -rf wide
		over 4 train mlp.cfg --set machine.workers=4 --set 'system.name="data_parallel"' \
			--set checkpoint.every=0 --set "system.$option" \
			--set 'model.hidden=[2560,2560,2560,2560,2560,2560,2560]' --set optimizer.name=adamw \
			--set system.chunks=8 --set train.steps=3 --set train.eval_every=0 \
			--set 'run.dir="wide"' || complain "wide, $option: exit $?"
		planned=$(sed -n 's/^peak memory  predicted \([0-9]*\) MiB .*/\1/p' out)
		measured=$(sed -n 's/^peak memory .* measured \([0-9]*\) MiB .*/\1/p' out)
		echo "$option: $measured MiB at once, $planned MiB planned"
		[ "${planned:-0}" -gt 150 ] && [ "${measured:-999}" -lt $((planned * 8 / 7)) ] ||
			complain "wide, $option: $measured MiB at once, ${planned:-none} MiB planned"
		case $option in
		*summed*) summed=$measured ;;
		*released*) released=$measured ;;
		esac
	done
	# Weights of 165 MiB and sums of as many; a quarter of two states; with whole states it was 850 MiB.
	[ "${summed:-999}" -lt 720 ] || complain "wide: $summed MiB with states of all ranks"
	[ "${released:-999}" -lt $((summed * 3 / 4)) ] || complain "wide: $summed MiB, released $released MiB"
	# Of the weights a quarter, and rooms for three stages of eight.
	[ "${measured:-999}" -lt $((released - 25)) ] || complain "wide: released $released MiB, sharded $measured MiB"
fi

# A run goes on over ranks from what one process saved, and the other way.
for system in 1f1b pipedream data_parallel shares hsdp asgd cyclic; do
	rm -rf whole parts
	# shellcheck disable=SC2086
	set -- mlp.cfg --set $two --set "system.name=\"$system\"" $([ $system != data_parallel ] || echo "$wide")
	# shellcheck disable=SC2086
	[ $system != hsdp ] || set -- mlp.cfg $sharded $groups
	# shellcheck disable=SC2086 # the state comes to both from where the first worker is not
	[ $system != asgd ] ||
		set -- "$@" --set train.microbatches=1 --set train.eval_every=2 --set 'machine.ranks="1 0"'
	# shellcheck disable=SC2086
	[ $system != shares ] || set -- gpt.cfg $shares --set "$apart" --set 'system.name="pipedream"'
	"$build/millrace" train "$@" --set 'run.dir="whole"' >out 2>&1 || complain "$system, whole: exit $?"
	"$build/millrace" train "$@" --set 'run.dir="parts"' --set train.steps=2 --set train.eval_every=0 >out 2>&1 ||
		complain "$system, first part: exit $?"
	over 2 train "$@" --set 'run.dir="parts"' --set train.steps=4 --resume --set train.eval_every=0 ||
		complain "$system, resumed over ranks: exit $?"
	"$build/millrace" train "$@" --set 'run.dir="parts"' --resume >out 2>&1 ||
		complain "$system, last part: exit $?"
	for file in whole/checkpoints/step-00000006/*.safetensors; do
		cmp "$file" "parts/checkpoints/step-00000006/${file##*/}" >out 2>&1 || complain "$system: $file differs"
	done
done

# Three ranks, of which one is killed behind a checkpoint, then two with another cut, then three again: the weights and
# the optimizer's state of one process.
for state in "$wide" ""; do
	rm -rf whole parts
	# shellcheck disable=SC2086
	set -- mlp.cfg --set train.microbatches=4 --set train.eval_every=0 $state
	"$build/millrace" train "$@" --set $two --set 'run.dir="whole"' >out 2>&1 || complain "elastic, whole: exit $?"
	export MR_KILL_AT=checkpoint.mkdir.before:3
	over 3 train "$@" --set machine.workers=3 --set 'run.dir="parts"' && complain "elastic: nobody was killed"
	unset MR_KILL_AT
	[ -d parts/checkpoints/step-00000002 ] && [ ! -d parts/checkpoints/step-00000006 ] ||
		complain "elastic, what a killed rank left: $(ls parts/checkpoints)"
	over 2 train "$@" --set $two --set 'run.dir="parts"' --set train.steps=4 --resume ||
		complain "elastic, 2 ranks: exit $?"
	over 3 train "$@" --set machine.workers=$([ -n "$state" ] && echo 3 || echo 6) --set 'run.dir="parts"' \
		--set 'system.name="zb_h1"' --resume || complain "elastic, 3 ranks again: exit $?"
	for file in model optimizer; do
		cmp whole/checkpoints/step-00000006/$file.safetensors \
			parts/checkpoints/step-00000006/$file.safetensors >out 2>&1 ||
			complain "elastic${state:+ with $state}: $file differs"
	done
done

# So do other systems that flush. The workers of data_parallel decide the order of its sums: they stay as many, over
# fewer ranks and over more.
for system in gpipe interleaved data_parallel; do
	fewer=2 more=3
	[ $system != data_parallel ] || fewer=6 more=6
	rm -rf whole others
	set -- mlp.cfg --set "system.name=\"$system\"" --set train.batch=24 --set train.microbatches=12 \
		--set 'model.hidden=[24,24,24,24,24,24,24,24]' --set train.eval_every=0
	"$build/millrace" train "$@" --set machine.workers=$fewer --set 'run.dir="whole"' >out 2>&1 ||
		complain "elastic $system, whole: exit $?"
	over 3 train "$@" --set machine.workers=$more --set 'run.dir="others"' --set train.steps=2 ||
		complain "elastic $system, 3 ranks: exit $?"
	over 2 train "$@" --set machine.workers=$fewer --set 'run.dir="others"' --set train.steps=4 --resume ||
		complain "elastic $system, 2 ranks: exit $?"
	over 3 train "$@" --set machine.workers=$more --set 'run.dir="others"' --resume ||
		complain "elastic $system, 3 ranks again: exit $?"
	for file in model optimizer; do
		cmp whole/checkpoints/step-00000006/$file.safetensors \
			others/checkpoints/step-00000006/$file.safetensors >out 2>&1 ||
			complain "elastic $system: $file differs"
	done
done
# Fewer replicas add up in another order, which is refused by name.
over 2 train "$@" --set machine.workers=4 --set 'run.dir="others"' --set train.steps=8 --resume
got=$?
refused 5 "it was made with machine.workers 6 and cannot be resumed with 4"

# What was saved over ranks is a run as any other.
"$build/millrace" eval mlp.cfg --set $two --set 'run.dir="parts"' >out 2>&1 ||
	complain "eval: exit $?"

# --- links: measured, and what plan then says of messages is what a run sends ---
over 3 probe-links -o links.csv || complain "probe-links: exit $?"
grep -q "latency .* us, .*/s, .* us a message" out || complain "probe-links: no table"
grep -q "^# links=1; ranks=0 0 0; " links.csv || complain "probe-links: the file"
over 2 probe-links -o links.csv || complain "probe-links again: exit $?"
[ "$(grep -c "^# links=" links.csv)" = 1 ] || complain "probe-links: the file was not replaced"
"$build/millrace" probe-links >out 2>&1
got=$?
refused 2 "links are between processes"
for system in 1f1b gpipe zb_h1 interleaved data_parallel chimera cyclic; do
	set -- mlp.cfg --set $two --set train.microbatches=4 --set "system.name=\"$system\""
	"$build/millrace" plan "$@" --costs links.csv >out 2>&1 || complain "plan of $system over links: exit $?"
	planned=$(sed -n 's/.*a step sends \(.*\) KiB between ranks;.*/\1/p' out)
	over 2 train "$@" --set 'run.dir="links"' || complain "$system over links: exit $?"
	sent=$(sed -n 's/.* by the plan \(.*\) KiB a step/\1/p' out)
	# ranges of a run begin and end in cache lines, which plan leaves out: much for tensors as small as these
	awk -v a="$planned" -v b="$sent" 'BEGIN { exit !(a > 0 && a <= b && a >= 0.9 * b) }' ||
		complain "$system: plan says $planned, the run $sent KiB"
	rm -rf links
done

# All ranks sleep for longer than a rank may be silent, as on a laptop whose lid was closed, or where others have all
# cores: nobody is lost.
rm -rf asleep
timeout 300 $mpirun ${many:-} -n 2 "$build/millrace-mpi" train mlp.cfg --set $two --set 'run.dir="asleep"' \
	--set train.steps=100000000 --set checkpoint.every=0 --set train.eval_every=0 >out 2>&1 </dev/null &
job=$!
for _ in $(seq 600); do
	[ -s asleep/metrics.jsonl ] && break
	sleep 0.1
done
ranks=$(pgrep -f "^$build/millrace-mpi train mlp.cfg .*asleep")
kill -STOP $ranks
sleep 5
kill -CONT $ranks
sleep 3
[ "$(pgrep -f "^$build/millrace-mpi train mlp.cfg .*asleep")" = "$ranks" ] || complain "ranks that slept are gone:"
kill -INT ${ranks%%[!0-9]*} 2>/dev/null
wait $job
! grep -q "is gone, or has not been heard of" out || complain "ranks that slept:"

# A library that does not end, as MPICH's over UCX has not: the ranks end by themselves, with all saved. Open MPI calls
# that an improper exit.
if ! grep -q '^MILLRACE_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
	printf '#include <unistd.h>\nint MPI_Finalize(void) { for (;;) pause(); }\n' >endless.c
	cc -shared -fPIC -o endless.so endless.c || complain "no library that does not end"
	timeout 300 $mpirun ${many:-} -n 2 env LD_PRELOAD="$PWD/endless.so" "$build/millrace-mpi" train mlp.cfg \
		--set $two --set 'run.dir="endless"' >out 2>&1 </dev/null
	got=$?
	[ $got -eq 0 ] || { [ $got -ne 124 ] && grep -q improperly out; } || complain "endless: exit $got"
	[ -s endless/checkpoints/step-00000006/model.safetensors ] || complain "endless: nothing is saved"
fi

# A connection that breaks, which MPICH over UCX calls "Endpoint timeout": the library's error is not the end of the
# program, which names the rank that is gone.
if ! grep -q '^MILLRACE_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
	cat >broken.c <<'END'
#include <mpi.h>
int MPI_Start(MPI_Request *request)
{
	static int n;

	if (n++ < 300)
		return PMPI_Start(request);
	MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
	return MPI_ERR_OTHER;
}
END
	package=mpich
	[ -z "${many:-}" ] || package=ompi-c
	# shellcheck disable=SC2046
	cc -shared -fPIC -o broken.so broken.c $(pkg-config --cflags --libs $package) ||
		complain "no library that breaks"
	timeout 300 $mpirun ${many:-} -n 2 env LD_PRELOAD="$PWD/broken.so" "$build/millrace-mpi" train mlp.cfg \
		--set $two --set 'run.dir="broken"' --set train.steps=5000 --set checkpoint.every=0 >out 2>&1 </dev/null
	got=$?
	# mpirun of MPICH 4.2.1 may end with 0 when all ranks have ended with 8.
	grep -q 'rank [01] (host .*) is gone' out || complain "broken: exit $got:"
	[ $got -ne 0 ] || [ -z "${many:-}" ] || complain "broken: exit 0:"
	! grep -qi 'MPI_ERRORS_ARE_FATAL\|Fatal error in' out || complain "broken: the library ended the ranks:"
fi

# --- Open MPI sends large messages over TCP at once, and a user's own word stays ---
export OMPI_MCA_mpi_show_mca_params=all
limits() {
	over 2 train mlp.cfg --set $two --set train.steps=2 --set "run.dir=\"limits-$1\"" || complain "limits: exit $?"
	[ -z "${many:-}" ] || [ "$(grep -c "btl_tcp_\(rndv_\)*eager_limit=$1 " out)" = 2 ] ||
		complain "limits of messages over TCP: not $1"
}
limits 8388608
export OMPI_MCA_btl_tcp_eager_limit=70000 OMPI_MCA_btl_tcp_rndv_eager_limit=70000
limits 70000
unset OMPI_MCA_mpi_show_mca_params OMPI_MCA_btl_tcp_eager_limit OMPI_MCA_btl_tcp_rndv_eager_limit

# --- what is refused ---
over 2 train mlp.cfg --set machine.workers=3 --set train.microbatches=4 --set 'machine.ranks="0 1"'
got=$?
refused 3 "machine.ranks: it names the ranks of 2 workers, and there are 3"
over 2 train mlp.cfg --set machine.workers=3 --set train.microbatches=4 --set 'machine.ranks="0 0 0"'
got=$?
refused 3 "rank 1 has no worker"
over 2 train mlp.cfg --set $two --set 'system.name="data_parallel"' --set 'system.gradients="joint"'
got=$?
refused 3 "this needs workers that share memory"
# shellcheck disable=SC2086
over 2 train gpt.cfg $shares --set 'machine.ranks="0 1 1 1"'
got=$?
refused 3 "machine.ranks: workers 0 and 1 are on two ranks for share 0, and on one for share 1"
# shellcheck disable=SC2086
over 2 train gpt.cfg $shares --set 'checkpoint.parts="shared"'
got=$?
refused 3 "checkpoint.parts: shares of a weight are joined by rank 0"
over 2 train mlp.cfg --set 'system.name="zb_h1"' --set system.steal=true --set $two
got=$?
refused 3 "a worker that steals a weight gradient reads in place the activations of the stage's worker"
over 2 train mlp.cfg --set 'system.name="rpd"' --set $two
got=$?
refused 3 "rpd makes its plan as it goes"
over 3 train mlp.cfg --set $two
got=$?
refused 3 "there are 3 ranks and 2 workers"
timeout 300 $mpirun ${many:-} -n 2 "$build/millrace" train mlp.cfg --set $two >out 2>&1
got=$?
refused 2 "the program for several is millrace-mpi"
[ ! -e runs/mlp ] || complain "a run was begun:"

# --- launch: hosts that are no names, and full ones, which reach the agent as they are ---
for hosts in "" a,,b ,a "a b" a:2; do
	"$build/millrace" launch --hosts "$hosts" -- train mlp.cfg >out 2>&1
	got=$?
	refused 2 "--hosts: expected names or addresses with a comma between two"
done
printf '#!/bin/sh\necho "$1" >>asked\nexit 1\n' >agent
chmod +x agent
# (MPICH's launcher waits without end for agents that have failed.)
timeout 60 "$build/millrace" launch --hosts one.example.org,two.example.org --agent "$PWD/agent" --mpirun $mpirun -- \
	train mlp.cfg >out 2>&1 </dev/null
[ -s asked ] && ! grep -qvx '\(one\|two\)\.example\.org' asked || complain "full names: $(cat asked):"

# A worker that stands on another rank is named, with its instruction and its host.
cat >stuck <<END
[ "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}" = 0 ] || export MR_DELAY=1000000000:1:1
exec "$build/millrace-mpi" train mlp.cfg --set $two --set machine.watchdog=5 --set 'run.dir="stands"'
END
timeout 300 $mpirun ${many:-} -n 2 sh stuck >out 2>&1 </dev/null
got=$?
refused 8 " m0 s1 computes; w1 stands"
grep -q "w0 of rank 0 (host $(hostname)) .*; w1 of rank 1 (host $(hostname)) [FB] m0" out || complain "stuck: no hosts:"

# What is not the same on both ranks is named with both values.
# differs TEXT COMMAND... -- ARGS...: rank 1 is started by COMMAND, with ARGS.
differs() {
	text=$1 command=
	shift
	while [ "$1" != -- ]; do
		command="$command $1"
		shift
	done
	shift
	# By its number in the environment: the launcher of Open MPI 5.0.7 crashes on several commands with a colon.
	cat >by_rank <<END
[ "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}" != 0 ] || exec "$build/millrace-mpi" train gpt.cfg --set $two
exec $command "$build/millrace-mpi" train gpt.cfg --set $two $*
END
	# shellcheck disable=SC2086 # words
	timeout 300 $mpirun ${many:-} -n 2 sh by_rank >out 2>&1 </dev/null
	got=$?
	refused 3 "$text"
	[ -z "$(find . -name '*.safetensors' -path './runs/*')" ] || complain "it trained:"
}
rm -rf runs
differs "millrace: the launch (hash of MILLRACE_LAUNCH_TOKEN) differs: none on rank 0" \
	env MILLRACE_LAUNCH_TOKEN=another --
differs "the configuration (its hash) differs: " -- --set optimizer.lr=0.02
! grep -qw avx512f /proc/cpuinfo || differs "the library of kernels differs: " env ONEDNN_MAX_CPU_ISA=AVX2 --
# Another file under the same path, which takes a mount of its own.
sed 's/river/ocean/' prose.txt >other.txt
printf 'mount --bind other.txt prose.txt && exec "$@"\n' >elsewhere
! unshare -m sh elsewhere true 2>/dev/null ||
	differs "the data (their fingerprint) differs: " unshare -m sh elsewhere --
rm -rf runs

[ $n_same -eq 64 ] || failed=1
exit $failed
