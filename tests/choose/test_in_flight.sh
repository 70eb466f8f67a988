# How many micro-batches under way `plan` advises, against the steps that it predicts for each number by itself.
# Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"

cat >net.cfg <<'END'
model = { name = "mlp"; hidden = [16, 16, 16]; };
data = { name = "synthetic"; features = 16; classes = 16; samples = 200; };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "pipedream"; };
train = { steps = 4; batch = 8; microbatches = 1; };
machine = { workers = 4; threads = 1; };
partition = ["fc.1", "fc.2", "fc.3"];
END

# measured HOP SECONDS...: costs.csv, in which a pass of each layer takes SECONDS and a hand-over HOP.
measured() {
	echo "# millrace costs 1; machine=made up; kernels=made up; backend=auto; precision=f32; threads=1;" \
		"samples=8; optimizer=sgd; hops=$1; spread=0" >costs.csv
	shift
	echo "layer,kind,inputs,outputs,params,f_s,i_s,w_s,u_s,g_s,spread" >>costs.csv
	layer=0
	for t in "$@"; do
		echo "fc.$layer,linear,16,16,272,$t,$t,$t,0,0,0" >>costs.csv
		layer=$((layer + 1))
	done
	echo "loss,softmax_xent,16,0,0,0,0,0,0,0,0" >>costs.csv
}

# The predicted milliseconds of a step, of plan with the arguments.
step_of() {
	# a greedy order does not settle with every number
	"$millrace" plan net.cfg --costs costs.csv --topology "numa:1 core:4" "$@" >out 2>err
	sed -n 's/^predicted  step \([^ ]*\) ms.*/\1/p' out
}

# advised OPTION MOST WANTED ARGUMENTS...: the line of plan is WANTED, and names the fewest of 1 to MOST whose step is
# within a hundredth of the shortest.
advised() {
	option=$1 most=$2 line=$3
	shift 3
	step_of "$@" >own
	got=$(sed -n 's/^in flight  //p' out)
	[ "$got" = "$line" ] || complain "$*: plan says of micro-batches in flight \"$got\", not \"$line\""
	fewest=$(sed -n "s/^in flight .*system.$option = \([0-9]*\) .*/\1/p
		s/^in flight  \([0-9]*\) .*: the fewest.*/\1/p" out)
	k=1
	while [ "$k" -le "$most" ]; do
		echo "$k $(step_of "$@" --set "system.$option=$k")"
		k=$((k + 1))
	done >steps
	brute=$(awk 'NF == 2 { step[$1] = $2; if (!least || $2 < least) least = $2 }
		END { for (k = 1; k <= NR; k++) if (k in step && step[k] <= least * 1.01) { print k; exit } }' steps)
	[ "$fewest" = "$brute" ] ||
		complain "$*: plan advises \"$fewest\" in flight, and $brute are the fewest: $(cat steps)"
}

measured 0 1e-3 1e-3 1e-3 1e-3
advised noam 8 "4 micro-batches at stage 0: the fewest at this speed (with 3 a step takes 100 % longer)"
# A long first stage sets the pace: what is behind it is through before its next two passes are.
measured 0 4e-3 1e-3 1e-3 1e-3
advised noam 8 "4 micro-batches at stage 0: system.noam = 2 is as fast, with less delay and memory"
advised noam 4 "2 micro-batches at stage 0: the fewest at this speed (with 1 a step takes 75 % longer)" \
	--set system.noam=2
# Messages take time, which more under way hide if each stage takes what is ready.
measured 1e-3 1e-3 1e-3 1e-3 1e-3
advised noam 8 "8 micro-batches at stage 0: system.noam = 7 is as fast, with less delay and memory" \
	--set system.order=greedy --set system.noam=8
measured 0 2e-3 1e-3 1e-3 1e-3
wanted="2 micro-batches at stage 0: system.in_flight = 3 makes a step 33.3 % shorter, with more delay and memory"
advised in_flight 4 "$wanted" --set system.name=ampnet --set system.in_flight=2

# Nor does it matter who chose the number of micro-batches.
measured 0 4e-3 1e-3 1e-3 1e-3
sed -i 's/ microbatches = 1;//' net.cfg
advised noam 8 "4 micro-batches at stage 0: system.noam = 2 is as fast, with less delay and memory"

# No line where the number cannot be chosen.
step_of --set system.name=1f1b >own
! grep -q '^in flight' out || complain "1f1b: plan speaks of micro-batches in flight"
exit $failed
