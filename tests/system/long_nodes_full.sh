#!/bin/sh
# A node that is full of files in memory (tmpfs), and then a machine, both emulated: nothing is killed, memory lies
# where there is room, and what has no room is refused with figures.   long_nodes_full.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/node_machine.sh"
needs_machine

cat >wide.cfg <<'CFG'
model = { name = "mlp"; hidden = [1280, 1280]; };
data = { name = "synthetic"; features = 6; classes = 3; samples = 60; };
optimizer = { name = "adamw"; };
system = { name = "1f1b"; };
train = { steps = 2; batch = 4; microbatches = 2; lr = 0.01; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
CFG
cat >script <<'END'
start wide.cfg
set -- $(placed | xargs)
[ "$1 $4" = "0 1" ] && [ $3 -eq 0 ] && [ $5 -gt 5000 ] && [ $6 -eq 0 ] ||
	fail "an empty machine: $(placed | xargs)"
ended

fill 1 32000 2
train wide.cfg
[ $code -eq 0 ] || fail "a full node: exit code $code: $(tail -3 err)"
grep -q '^memory   of w1 on node 0.*, since its own has no room for all of it' out || fail "full: $(grep '^memory' out)"
grep '^memory' out

fill 0 70000 0
train wide.cfg --set 'model.hidden=[3072,3072]'
[ $code -eq 6 ] && grep 'free now' err || fail "a full machine: exit code $code: $(tail -3 err)"
rm /full/*
END
machine two 320 script
cat said
finish
