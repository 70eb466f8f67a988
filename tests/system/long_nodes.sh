#!/bin/sh
# Workers on emulated machines of several kinds: the CPUs of their threads, where their memory lies, and weights that
# are this machine's to the bit.   long_nodes.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/node_machine.sh"
needs_machine

cat >net.cfg <<'CFG'
model = { name = "mlp"; hidden = [256, 256]; };
data = { name = "synthetic"; features = 16; classes = 4; samples = 400; };
optimizer = { name = "adamw"; };
system = { name = "1f1b"; };
train = { steps = 3; batch = 8; microbatches = 4; lr = 0.01; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
CFG
want=$(host_bits net.cfg)

# try NAME AFFINITY NODES: two workers with all threads they may have.
try() {
	cat >script <<END
[ "\$(bits net.cfg)" = "$want" ] || fail "other bits than this machine's"
start net.cfg --set machine.threads=0
[ "\$(affinity)" = "$2" ] || fail "affinity: \$(affinity)"
placed | awk '{ if (\$3) exit 1 }' || fail "pages elsewhere: \$(placed | xargs)"
[ "\$(placed | cut -d' ' -f1 | xargs)" = "$3" ] || fail "nodes: \$(placed | xargs)"
ended
END
	machine "$1" 320 script
}
try smt "mr-w0 0 mr-w0 2 mr-w1 4 mr-w1 6" "0 1"
try nocpu "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3" "0 1"
try uneven "mr-w0 0 mr-w1 1" "0"
try dies "mr-w0 0 mr-w0 1 mr-w0 2 mr-w0 3 mr-w1 4 mr-w1 5 mr-w1 6 mr-w1 7" "0 1"
try two "mr-w0 0 mr-w0 1 mr-w1 2 mr-w1 3" "0 1"
[ $n_failed -eq 0 ] || cat said
finish
