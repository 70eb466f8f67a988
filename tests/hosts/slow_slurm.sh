# Two hosts under Slurm: daemons of a cluster of their own, in two network namespaces, whose srun starts millrace-mpi.
# The weights are those of one process; without --mpi, and with millrace in place of millrace-mpi, one sentence says
# what is missing; a time limit's signal saves; a batch job that is requeued goes on from its newest checkpoint.
# Arguments: source tree, build tree.
. "$(dirname "$0")/hosts_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"

# run ARGS...: srun, in the folder that both hosts share.
run() {
	on_a srun "$@"
}

two='machine.workers=2'
"$build/millrace" train mlp.cfg --set $two --set 'run.dir="one"' >out 2>&1 || complain "one process: exit $?"

# equal A B STEP: the weights and the optimizer's state of two runs.
equal() {
	for file in model optimizer; do
		cmp "$1/checkpoints/step-$3/$file.safetensors" "$2/checkpoints/step-$3/$file.safetensors" >out 2>&1 ||
			complain "$2: $file differs from $1"
	done
}

run $mpi -N 2 -n 2 "$build/millrace-mpi" train mlp.cfg --set $two --set 'run.dir="two"' || complain "srun: exit $?"
grep -q '^ranks    0 on mill-a: w0;' out && grep -q '^         1 on mill-b: w1;' out || complain "srun: no two hosts:"
equal one two 00000006
run $mpi -N 2 -n 4 "$build/millrace-mpi" train mlp.cfg --set machine.workers=4 --set 'run.dir="four"' ||
	complain "srun, four ranks: exit $?"
"$build/millrace" train mlp.cfg --set machine.workers=4 --set 'run.dir="one-four"' >out 2>&1 || complain "four: exit $?"
equal one-four four 00000006

# What is missing is said in one sentence, and nothing is begun.
run --mpi=none -N 2 -n 2 "$build/millrace-mpi" train mlp.cfg --set $two --set 'run.dir="none"'
got=$?
refused 2 "MPI knows of no other: srun needs --mpi=pmix for Open MPI and --mpi=pmi2 for MPICH"
run --mpi=none -N 2 -n 2 "$build/millrace" train mlp.cfg --set $two --set 'run.dir="none"'
got=$?
refused 2 "the program for several is millrace-mpi"
[ ! -e none ] || complain "a run was begun:"

# A job's folder is shared here. Its batch file goes on where it was: what scancel sends to the steps is what
# --signal=TERM@60 sends before the time limit.
cat >batch <<END
#!/bin/sh
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 --requeue --open-mode=append --output=job.out
"$build/millrace" train mlp.cfg --set $two --set 'run.dir="alone"' >alone.out 2>&1
echo "in a batch file, without srun: \$?"
srun $mpi --cpus-per-task=2 "$build/millrace-mpi" train mlp.cfg --set $two --set 'run.dir="job"' \
	--set train.steps=\$(cat steps) --set train.eval_every=0 --set checkpoint.every=0 --continue
code=\$?
echo "srun: \$code"
[ \$code -ne 143 ] || scontrol requeue \$SLURM_JOB_ID
exit \$code
END
echo 100000000 >steps
on_a sbatch --parsable batch || complain "sbatch: exit $?"
job=$(cat out)
for _ in $(seq 1200); do
	[ -s job/metrics.jsonl ] && break
	sleep 0.1
done
on_a scancel --signal=TERM "$job" || complain "scancel: exit $?"
for _ in $(seq 1200); do
	grep -sq '^srun: [0-9]*$' job.out && break
	sleep 0.1
done
cp job.out out
grep -q "in a batch file, without srun: 0" job.out || complain "millrace in a batch file:"
grep -q "^srun: 143" job.out || complain "a signal before the time limit:"
reached=$(sed -n 's/^stopped at \([0-9]*\) of .*/\1/p' job.out)
[ "${reached:-0}" -gt 0 ] || complain "nothing is said of the step:"
steps=$((${reached:-0} + 20))
echo $steps >steps
# Slurm lets a job that is requeued wait for two minutes, and begins to count when the last node has ended it: the word
# that it may start now is repeated until it has started.
for try in $(seq 1200); do
	[ "$(grep -sc '^srun: [0-9]*$' job.out)" = 2 ] && break
	[ $((try % 10)) -ne 1 ] || on_a scontrol update "jobid=$job" starttime=now
	sleep 0.1
done
cp job.out out
[ "$(grep -c '^srun: 0$' job.out)" = 1 ] || complain "the requeued job:"
"$build/millrace" train mlp.cfg --set $two --set 'run.dir="whole"' --set train.steps=$steps \
	--set train.eval_every=0 --set checkpoint.every=0 >out 2>&1 || complain "whole: exit $?"
equal whole job "$(printf %08d $steps)"

exit $failed
