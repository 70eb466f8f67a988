#!/bin/sh
# Teams of different sizes: their cores, the cut that follows them, and weights that are those of the simulation.
#   test_teams.sh SOURCE BUILD
. "$(dirname "$0")/cli_lib.sh"
export OMP_WAIT_POLICY=passive

cat >net.cfg <<'CFG'
model = { name = "mlp"; hidden = [32, 32, 32, 32, 32, 32, 32, 32]; };
data = { name = "synthetic"; features = 32; classes = 4; samples = 80; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 4; batch = 8; microbatches = 4; };
machine = { workers = 2; topology = "core:4 pu:1"; cpus = "0-2 3"; peak_gflops = 50.0; };
CFG
# cut ARGS...: layers and cores of each stage.
cut() {
	"$millrace" plan net.cfg "$@" >out 2>&1 || complain "plan $*:"
	sed -n 's/^ *[0-9]  *\(w[0-9]\)  *\([0-9]*\): .* \([0-9][0-9,-]*\)  *0  [a-z].*/\1 \2 \3/p' out | xargs
}
# check WHAT EXPECTED IS
check() {
	[ "$2" = "$3" ] || complain "$1: expected $2, got $3:"
}
check "teams by hand, a cut of equal halves" "w0 4 0-2 w1 6 3" "$(cut)"
check "teams by hand, a cut that follows them" "w0 6 0-2 w1 4 3" "$(cut --set machine.teams=uneven)"
grep -q 'workers have 1 to 3 threads' out || complain "no note about uneven teams:"
set -- --set 'machine.cpus=""' --set 'machine.topology="core:5 pu:1"'
check "equal teams" "w0 4 0-1 w1 6 2-3" "$(cut "$@")"
check "uneven teams" "w0 5 0-2 w1 5 3-4" "$(cut "$@" --set machine.teams=uneven)"
check "uneven teams with a limit" "w0 4 0-1 w1 6 3-4" "$(cut "$@" --set machine.teams=uneven --set machine.threads=2)"
check "uneven teams, a cut by hand" "w0 2 0-2 w1 8 3-4" \
	"$(cut "$@" --set machine.teams=uneven --set 'partition=["fc.2"]')"

weights() {
	cat "$1"/checkpoints/step-*/model.safetensors
}
for how in train simulate; do
	expect 0 "done: 4 of 4 steps" $how net.cfg --set machine.teams=uneven --set run.dir=$how
	weights $how >$how.bits
done
cmp -s train.bits simulate.bits || complain "uneven teams: other bits than simulated"
expect 3 "worker 1 has 1 threads and worker 0 has 3" train net.cfg --set machine.teams=uneven --set run.dir=steals \
	--set system.name=zb_h1 --set system.steal=true
expect 3 "machine.teams" plan net.cfg --set machine.teams=odd
exit $failed
