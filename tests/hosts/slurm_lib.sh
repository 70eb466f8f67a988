# slurm_lib.sh - a cluster of Slurm on the two hosts of hosts_lib.sh: a key and daemons of its own, which end with the
# test. Sourced after hosts_lib.sh.
PATH=$PATH:/usr/sbin
for command in munged slurmctld slurmd srun sbatch; do
	command -v $command >/dev/null ||
		{ echo "$suite: skipped: there is no Slurm here ($command; Debian: slurm-wlm)" && exit 77; }
done
daemons=
leave_slurm() {
	kill $daemons 2>/dev/null
	for p in $(ip netns pids $a) $(ip netns pids $b); do
		kill -9 "$p" 2>/dev/null
	done
	wait 2>/dev/null
	leave
}
trap leave_slurm EXIT

# host NAMESPACE NAME COMMAND...: there, with its own network interfaces in /sys, and the cgroups that slurmd wants.
cat >host <<END
#!/bin/sh
net=\$1 name=\$2
shift 2
exec nsenter --net=/run/netns/\$net unshare -u -m sh -c 'hostname \$0; mount --rbind /sys/fs/cgroup $dir/cgroup;
	mount -t sysfs sysfs /sys; mount --rbind $dir/cgroup /sys/fs/cgroup; exec "\$@"' \$name "\$@"
END
chmod +x host
mkdir cgroup state spool-mill-a spool-mill-b tmp-mill-a tmp-mill-b
dd if=/dev/urandom of=munge.key bs=128 count=1 2>/dev/null
chmod 600 munge.key
cat >slurm.conf <<END
ClusterName=mill
SlurmctldHost=mill-a($first)
SlurmctldPort=$((20000 + $$ % 20000))
SlurmdPort=$((40000 + $$ % 20000))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
TmpFS=$dir/tmp-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
ReturnToService=2
KillWait=5
AccountingStorageType=accounting_storage/none
NodeName=mill-a NodeAddr=$first CPUs=2 State=UNKNOWN
NodeName=mill-b NodeAddr=$second CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >cgroup.conf
[ ! -e /sys/fs/cgroup/cgroup.controllers ] || echo 'CgroupPlugin=cgroup/v2' >cgroup.conf
export SLURM_CONF=$dir/slurm.conf

# on_a COMMAND...: of Slurm, on the first host; its output in `out`.
on_a() {
	timeout 150 "$dir/host" $a mill-a "$@" >out 2>&1 </dev/null
}

munged --force --foreground --key-file="$dir/munge.key" --socket="$dir/munge.socket" --log-file="$dir/munge.log" \
	--pid-file="$dir/munge.pid" --seed-file="$dir/munge.seed" >munge.out 2>&1 &
daemons=$!
for _ in $(seq 100); do
	[ -S munge.socket ] && break
	sleep 0.1
done
for daemon in "$a mill-a slurmctld -D" "$a mill-a slurmd -D -N mill-a" "$b mill-b slurmd -D -N mill-b"; do
	# shellcheck disable=SC2086 # words
	./host $daemon >daemon.out 2>&1 &
	daemons="$daemons $!"
done
for _ in $(seq 300); do
	on_a sinfo -h -o '%D %t' && grep -q '^2 idle' out && break
	sleep 0.2
done
if ! grep -q '^2 idle' out; then
	echo "$suite: skipped: Slurm's daemons do not run here: $(cat out) $(grep -h error slurmd-*.log | tail -n 1)"
	exit 77
fi
# The library's own way to Slurm, and the transport over the link.
mpi=--mpi=pmi2
export UCX_TLS=tcp,self
if [ -n "${many:-}" ]; then
	mpi=--mpi=pmix
	export OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1
fi
