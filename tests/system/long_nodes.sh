#!/bin/sh
# Workers on emulated machines of several kinds: the CPUs of their threads, where their memory lies, and weights that
# are this machine's to the bit.   long_nodes.sh SOURCE BUILD
. "$(dirname "$0")/node_machine.sh"
want=$(host_bits net.cfg)
equal='[ "$(bits net.cfg)" = '$want' ] || fail "other bits than this machine has"'

# try NAME AFFINITY NODES [ARGS]: workers with all threads they may have.
try() {
	machine "$1" 320 "$equal
		start net.cfg --set machine.threads=0 ${4:-}
		workers '$2' '$3'
		ended"
}
try smt "mr-w0 0 mr-w0 2 mr-w1 4 mr-w1 6" "0 1"
try nocpu "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3" "0 1"
try uneven "mr-w0 0 mr-w1 1" "0"
# Bits depend on the teams: this machine's are those of as many threads, on cores that it need not have.
teams=$(host_bits net.cfg --set machine.topology="core:4 pu:1" --set machine.cpus="0-2 3" --set machine.teams=uneven)
machine uneven 320 '[ "$(bits net.cfg --set machine.threads=0 --set machine.teams=uneven)" = '$teams' ] ||
		fail "uneven teams: other bits than this machine has"
	start net.cfg --set machine.threads=0 --set machine.teams=uneven
	workers "mr-w0 0 mr-w0 1 mr-w0 2 mr-w1 3" "0 1"
	ended'
try dies "mr-w0 0 mr-w0 1 mr-w0 2 mr-w0 3 mr-w1 4 mr-w1 5 mr-w1 6 mr-w1 7" "0 1"
try two "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3" "0 1"
try four "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3 mr-w2 4 mr-w2 5 mr-w3 6 mr-w3 7" "0 1 2 3" \
	"--set machine.workers=4 --set 'model.hidden=[64,64,64]'"
# The worker on cores without memory uses that of another node.
try nomem "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3 mr-w2 4 mr-w2 5" "0 1" "--set machine.workers=3"
# A policy of numactl: strict, it limits the nodes; preferred, it is overridden. Both are said.
machine two 320 'under 2 2
	'"$equal"'
	grep -q "memory of node 1 alone (numactl --membind)" out ||
		fail "no word about --membind: $(grep -A1 ^machine out)"
	start net.cfg --set machine.threads=0
	workers "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3" 1
	[ "$(awk "{ for (i = 2; i <= NF; i++) if (\$i ~ /^N0=/ && /anon=/) n += substr(\$i, 4) } END { print n + 0 }" \
		/proc/$pid/numa_maps)" -lt 10 ] || fail "--membind: pages on node 0: $(grep N0= /proc/$pid/numa_maps)"
	ended
	under 1 2
	start net.cfg --set machine.threads=0
	workers "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3" "0 1"
	grep -q "the policy of numactl (nodes 1) is overridden for the workers" out ||
		fail "no word about --preferred: $(grep -A1 ^machine out)"
	ended'
# A CPU that is offline from the start, and one that goes offline meanwhile.
machine two 320 'echo 0 >/sys/devices/system/cpu/cpu1/online
	'"$equal"'
	start net.cfg --set machine.threads=0 --set machine.teams=uneven
	workers "mr-w0 0 mr-w1 2 mr-w1 3" "0 1"
	ended
	train net.cfg --set "machine.cpus=\"0,1 2\""
	[ $code -eq 3 ] && grep -q "CPU list of worker 0: CPU 1 is offline; usable are 0,2-3" err ||
		fail "an offline CPU in machine.cpus: exit code $code: $(cat err)"
	start net.cfg --set machine.threads=0
	[ ! -s err ] || fail "a warning before the CPU goes offline: $(cat err)"
	echo 0 >/sys/devices/system/cpu/cpu2/online
	n=0
	until grep -q "warning: offline: CPU 2 of w1; " err || [ $n -eq 600 ]; do sleep 0.2; n=$((n + 1)); done
	[ $n -lt 600 ] || fail "no word about a CPU that goes offline: $(tail -2 out) $(cat err)"
	ended'
finish
