# hosts_lib.sh - two hosts on this machine: network namespaces with names and addresses of their own, joined by a pair
# of virtual Ethernet ends, and an agent that starts commands there in place of ssh. Sourced with the test's own
# arguments. Needs root.
# Arguments: source tree, build tree.
[ "$(id -u)" = 0 ] || { echo "${0##*/}: skipped: namespaces need root" && exit 77; }
. "$1/tests/mpi/ranks_lib.sh"
command -v ip >/dev/null || missing_package "$suite" ip iproute2
a=mra$$
b=mrb$$
first=10.93.$((1 + $$ % 250)).1
second=10.93.$((1 + $$ % 250)).2

leave() {
	ip netns del $a 2>/dev/null
	ip netns del $b 2>/dev/null
	rm -rf "$dir"
}
trap leave EXIT

if ! { ip netns add $a && ip netns add $b &&
	ip link add link0 netns $a type veth peer name link0 netns $b; } 2>out; then
	echo "${0##*/}: skipped: no namespaces can be made here: $(cat out)"
	exit 77
fi
ip -n $a addr add $first/24 dev link0
ip -n $b addr add $second/24 dev link0
for name in $a $b; do
	ip -n $name link set lo up
done
# join: the link is up, and the kernel, which may take a second for it, says so: MPICH looks at that.
join() {
	ip -n $a link set link0 up
	ip -n $b link set link0 up
	for name in $a $b; do
		for _ in $(seq 1200); do
			ip -n $name link show link0 | grep -q "state UP" && break
			sleep 0.05
		done
	done
}
join

# agent HOST COMMAND...: what mpirun calls in place of ssh.
cat >agent <<END
#!/bin/sh
case \$1 in
$first) host=$a name=mill-a ;;
$second) host=$b name=mill-b ;;
*) exit 1 ;;
esac
shift
exec ip netns exec \$host unshare -u sh -c "hostname \$name; \$*"
END
chmod +x agent
# Over TCP alone, as between hosts.
if [ -n "${many:-}" ]; then
	transport="--mca btl tcp,self --mca pml ob1 --mca oob_tcp_if_include link0 --mca btl_tcp_if_include link0"
else
	transport="-iface link0 -genv UCX_TLS tcp,self"
fi

# launch ARGS...: millrace launch on both hosts; its output in `out`.
launch() {
	timeout 300 ip netns exec $a unshare -u sh -c 'hostname mill-a; exec "$@"' sh "$build/millrace" launch \
		--hosts $first,$second --agent "$dir/agent" --mpirun $mpirun --mpirun-options "$transport" "$@" \
		>out 2>&1 </dev/null
}

# plain ARGS...: mpirun itself on both hosts; its output in `out`.
plain() {
	printf '%s\n%s\n' $first $second >hosts
	where="-hosts $first:1,$second:1 -launcher rsh -launcher-exec $dir/agent"
	[ -z "${many:-}" ] || where="--hostfile hosts --mca plm_rsh_agent $dir/agent --map-by node"
	# shellcheck disable=SC2086
	timeout 300 ip netns exec $a unshare -u sh -c 'hostname mill-a; exec "$@"' sh $mpirun $where $transport -n 2 \
		"$build/millrace-mpi" "$@" >out 2>&1 </dev/null
}

# rank_in NAMESPACE: the process of the rank on this host.
rank_in() {
	ip netns pids $1 | while read -r p; do
		[ "$(cat "/proc/$p/comm")" != millrace-mpi ] || echo "$p"
	done | head -n 1
}

# ranks: the processes of the training that are left.
ranks() {
	pgrep -f "$build/millrace-mpi train $1" | while read -r p; do
		case $(cat /proc/$p/comm 2>/dev/null) in millrace-mpi) echo $p ;; esac
	done
}
