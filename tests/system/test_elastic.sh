# A run of a system that flushes goes on with another number of workers, another cut and another such system, and ends
# with the weights of an undisturbed one; where the order of sums is another it is refused.
# Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"
cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [24, 24, 24, 24, 24]; };
data = { name = "synthetic"; samples = 256; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
train = { steps = 12; batch = 16; microbatches = 4; };
END
awk 'BEGIN { for (i = 0; i < 400; i++) printf "line %d goes %d steps beyond the river\n", i, i * 7 % 13 }' >prose.txt
sed 's/^model.*/model = { name = "gpt"; layers = 4; width = 16; heads = 2; context = 8; };/
	s/^data.*/data = { name = "text"; path = "prose.txt"; };/' mlp.cfg >gpt.cfg

# Its weight gradients merge (train.gradients).
sed 's/24, 24, 24, 24, 24/272, 272, 272, 272, 272/' mlp.cfg >wide.cfg

# part CONF STEPS SYSTEM WORKERS ARGS...: goes on in runs/parts.
part() {
	conf=$1
	steps=$2
	system=$3
	workers=$4
	shift 4
	"$millrace" train "$conf" --set 'run.dir="parts"' --set "train.steps=$steps" --set "system.name=\"$system\"" \
		--set "machine.workers=$workers" "$@" >out 2>&1 </dev/null
}

for case in "mlp.cfg" "wide.cfg" "gpt.cfg --set train.clip=0.5" "gpt.cfg --set precision=\"bf16\"" \
	"mlp.cfg --set optimizer.state=\"int8\"" "gpt.cfg --set optimizer.state=\"bf16\" --set train.clip=0.5" \
	"mlp.cfg --set optimizer.name=\"muon\""; do
	rm -rf whole parts
	# shellcheck disable=SC2086 # a file and options without blanks
	set -- $case
	conf=$1
	shift
	"$millrace" train "$conf" --set 'run.dir="whole"' "$@" >out 2>&1 || complain "$case, whole: exit $?"
	part "$conf" 3 1f1b 2 "$@" || complain "$case, 1f1b: exit $?"
	part "$conf" 6 zb_h1 4 --resume "$@" || complain "$case, zb_h1: exit $?"
	part "$conf" 9 sequential 0 --resume "$@" || complain "$case, sequential: exit $?"
	part "$conf" 12 dapple 3 --resume "$@" || complain "$case, dapple: exit $?"
	end=checkpoints/step-00000012
	for file in model optimizer; do
		cmp whole/$end/$file.safetensors parts/$end/$file.safetensors >out 2>&1 ||
			complain "$case: $file differs"
	done
done
part mlp.cfg 16 data_parallel 2 --resume --set 'optimizer.name="muon"' && complain "another order of sums goes on:"
grep -q "it was made with system dapple and cannot be resumed with data_parallel" out || complain "data_parallel:"
part mlp.cfg 16 pipedream 2 --resume --set train.microbatches=1 --set 'optimizer.name="muon"' &&
	complain "pipedream goes on:"
# A state goes on in the form in which it was saved.
rm -rf parts
part mlp.cfg 4 1f1b 2 --set 'optimizer.state="int8"' || complain "int8: exit $?"
part mlp.cfg 8 1f1b 2 --resume && complain "another form of the state goes on:"
grep -q "it was made with optimizer.state int8 and cannot be resumed with f32" out || complain "another form:"
# What each stage clips by its own norm depends on the cut.
rm -rf parts
part mlp.cfg 16 1f1b 2 --set 'optimizer.name="sgd"' || complain "sgd: exit $?"
part mlp.cfg 20 1f1b 3 --resume --set 'optimizer.name="sgd"' --set train.seed=2 && complain "another seed goes on:"
grep -q "it was made with train.seed" out || complain "another seed:"
exit $failed
