# The best checkpoint is kept and used, --last is the other one; a training with patience ends behind evaluations that
# are not better, also when it is resumed, and has saved the best one.
# Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"

# Labels without any sense: what is learned of them makes the loss of others grow.
awk 'BEGIN { srand(11); for (i = 0; i < 90; i++) 
	printf "%.3f,%.3f,%.3f,%d\n", rand(), rand(), rand(), 2 * rand() }' >all.csv
head -n 30 all.csv >few.csv
tail -n 60 all.csv >others.csv
cat >noise.cfg <<END
model = { name = "mlp"; hidden = [64, 64]; };
data = { name = "csv"; path = "few.csv"; validation_path = "others.csv"; targets = "classes"; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { workers = 2; threads = 1; peak_gflops = 1.0; };
train = { steps = 400; batch = 12; eval_every = 5; patience = 4; };
END
command=train
expect 0 "so the training ends (train.patience)" noise.cfg
has "ended early:"
step=$(sed -n 's/^.*step \([0-9]*\): no evaluation since that of step \([0-9]*\) has.*/\1/p' out)
best=$(sed -n 's/^.*step \([0-9]*\): no evaluation since that of step \([0-9]*\) has.*/\2/p' out)
[ "$step" -eq $((best + 20)) ] || complain "it ended at $step, $((step - best)) steps behind the best"
# metrics.jsonl has the same: the lowest loss at that step, and 4 evaluations behind it
sed -n 's/.*"step":\([0-9]*\),.*"val_loss":\([0-9.e+-]*\).*/\1 \2/p' runs/noise/metrics.jsonl >losses
[ "$(sort -k2 -g losses | head -n 1 | cut -d' ' -f1)" = "$best" ] || complain "$(cat losses)"
lowest=$(sort -k2 -g losses | head -n 1 | cut -d' ' -f2)

# eval, predict take the best; --last the newest.
command=eval
expect 0 "step $best: validation loss ${lowest%?????}" noise.cfg
expect 0 "step $step: " noise.cfg --last
expect 0 "step $step: " noise.cfg --checkpoint runs/noise --last
expect 0 "step $best: " noise.cfg --checkpoint best
expect 2 "name two checkpoints" noise.cfg --checkpoint best --last
command=predict
expect 0 "60 samples" runs/noise others.csv -o best.csv
expect 0 "60 samples" runs/noise others.csv --checkpoint best -o same.csv
expect 0 "60 samples" runs/noise others.csv --last -o last.csv
cmp -s best.csv same.csv || complain "predict does not take the best checkpoint"
cmp -s best.csv last.csv && complain "the last checkpoint is the best"
expect 2 "name two checkpoints" runs/noise others.csv --checkpoint best --last

# Cut in two anywhere, it ends at the same step.
command=train
expect 0 "" noise.cfg --set train.steps=$((best + 7)) --set run.dir=cut
"$millrace" train noise.cfg --set run.dir=cut --resume >out 2>&1 || complain "resumed:"
has "step $step: no evaluation since that of step $best has"

# Without patience all steps are made; it counts evaluations.
expect 0 "done: 60 of 60 steps" noise.cfg --set train.steps=60 --set train.patience=0 --set run.dir=whole
expect 3 "train.patience: counts evaluations, so it needs train.eval_every" noise.cfg --set train.eval_every=0
exit $failed
