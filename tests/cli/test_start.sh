#!/bin/sh
# The second start that OpenMP's variables and shared cores make the program take: what was read from a pipe is not
# lost, and nothing but the log speaks of it.   test_start.sh SOURCE BUILD
. "$(dirname "$0")/cli_lib.sh"
unset OMP_WAIT_POLICY OMP_NUM_THREADS GOMP_SPINCOUNT KMP_BLOCKTIME

cat >net.cfg <<'CFG'
model = { name = "mlp"; hidden = [8]; };
data = { name = "synthetic"; features = 4; classes = 2; samples = 40; };
optimizer = { name = "sgd"; lr = 0.1; };
system = { name = "1f1b"; };
train = { steps = 2; batch = 4; microbatches = 2; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
CFG
"$millrace" schedule --config net.cfg --format text -o net.plan || complain "no plan"
mkfifo fifo

# quiet WHAT: the command before, with what it printed in the file err, has succeeded without a word on standard error.
quiet() {
	[ $? -eq 0 ] && [ ! -s err ] || complain "$1: $(cat err)"
}
for variable in OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 NONE=1; do
	# From /dev/stdin, from a pipe with a name, and from two pipes at once.
	env $variable "$millrace" check-data /dev/stdin <net.cfg >out 2>err
	quiet "$variable: a file as standard input"
	cat net.cfg | env $variable "$millrace" check-data /dev/stdin >out 2>err
	quiet "$variable: a pipe as standard input"
	cat net.cfg >fifo &
	env $variable "$millrace" check-data fifo >out 2>err
	quiet "$variable: a pipe with a name"
	wait
	for plan in - /dev/stdin; do
		rm -rf run
		cat net.cfg >fifo &
		cat net.plan | env $variable "$millrace" train fifo --plan $plan --set run.dir=run >out 2>err
		quiet "$variable: configuration and plan $plan from pipes"
		wait
		grep -q 'done: 2 of 2 steps' out || complain "$variable: no training"
	done
done
cat net.cfg | "$millrace" plan /dev/stdin --auto --systems 1f1b --topology "core:2 pu:1" -o chosen.cfg >out 2>err ||
	complain "--auto: $(cat err)"
OMP_NUM_THREADS=3 MR_LOG=info "$millrace" check-data net.cfg >out 2>err
grep -q 'cleared OMP_NUM_THREADS=3' err || complain "the log does not say what was cleared: $(cat err)"

# Teams of several threads on shared cores spin shortly, whichever key makes them share; others do not.
spins() {
	rm -rf run
	cat net.cfg | MR_LOG=info "$millrace" train /dev/stdin --set run.dir=run --set "$1" >out 2>err ||
		complain "$1: $(cat err)"
	grep -c 'set [A-Z_]*=' err
}
first=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
if [ "$(nproc)" = 2 ] && taskset -c "$first,$((first + 1))" true 2>/dev/null; then
	both=$first,$((first + 1))
	[ "$(spins "machine.cpus=\"$both $both\"")" = 1 ] || complain "no short spin for two teams on the same cores"
	[ "$(spins machine.threads=2)" = 1 ] || complain "no short spin for teams that are too large for the machine"
	[ "$(spins "machine.cpus=\"$first $((first + 1))\"")" = 0 ] ||
		complain "a short spin for threads of one core each"
fi
exit $failed
