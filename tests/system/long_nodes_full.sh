#!/bin/sh
# Nodes without room, on emulated machines: full of files in memory (tmpfs), then the whole machine; full of cached
# files; and one node of cores beside one of memory alone. Nothing is killed, memory lies where there is room, and what
# has no room is refused with figures.   long_nodes_full.sh SOURCE BUILD
. "$(dirname "$0")/node_machine.sh"
net large.cfg 1800 2
same_bits() {
	echo "[ \"\$(bits $1)\" = $(host_bits $1) ] || fail \"$1: other bits than this machine has\""
}
wide=$(same_bits wide.cfg) large=$(same_bits large.cfg)

machine two 320 '
start wide.cfg
set -- $(placed | xargs)
[ "$1 $4" = "0 1" ] && [ $3 -eq 0 ] && [ $5 -gt 5000 ] && [ $6 -eq 0 ] ||
	fail "an empty machine: $(placed | xargs)"
ended

fill 1 32000 2
'"$wide"'
grep -q "^memory   of w1 on node 0.*, since its own has no room for all of it" out || fail "full: $(grep "^memory" out)"

fill 0 70000 0
train wide.cfg --set "model.hidden=[3072,3072]"
[ $code -eq 6 ] && grep "free now" err || fail "a full machine: exit code $code: $(tail -3 err)"
rm /full/*
'

# Cached files make room: half of them count as free, and the kernel drops them where a page has to lie on this node.
machine two 320 '
cache 700 2
[ $(free_kib 1) -lt 60000 ] || fail "node 1 is not full of cached files: $(free_kib 1) KiB are free"
start wide.cfg
workers "mr-w0 0 mr-w1 2" "0 1"
[ $(placed | sed -n "s/^1 \([0-9]*\) .*/\1/p") -gt 5000 ] || fail "a node of cached files: $(placed | xargs)"
ended
'"$wide"'
'

# The node of cores takes all while it has room, but for the copies of checkpoints, which are read once; then what does
# not fit lies on the other one.
machine expander 320 '
start large.cfg
workers "mr-w0 0 mr-w1 1" 0
ended
start large.cfg --set checkpoint.every=1
n=0
until placed | grep -q "^1 " || [ $n -eq 600 ]; do sleep 0.2; n=$((n + 1)); done
set -- $(placed | xargs)
[ "$1 $3 $4 $6" = "0 0 1 0" ] && [ $2 -gt 10000 ] && [ $5 -gt 5000 ] || fail "copies: $(placed | xargs)"
ended
fill 0 28000 0
start large.cfg
set -- $(placed | xargs)
[ "$1 $3 $4 $6" = "0 0 1 0" ] && [ $2 -gt 100 ] && [ $5 -gt 10000 ] || fail "overflow: $(placed | xargs)"
[ "$(affinity)" = "mr-w0 0 mr-w1 1" ] || fail "affinity: $(affinity)"
ended
'"$large"'
grep -q "^memory   of w1 on node 1, since its own has no room for all of it" out ||
	fail "overflow: $(grep "^memory" out)"
'
finish
