# Two hosts: each system on three sorts of networks, with one rank a host and with two, against one process, byte for
# byte.
# Arguments: source tree, build tree. BITS_NETWORKS: which of mlp, gpt, cnn.
. "$(dirname "$0")/hosts_lib.sh"

over() {
	each=$(($1 / 2))
	shift
	launch --ranks $each -- "$@"
}
cat >cnn.cfg <<'END'
model = { name = "resnet18"; form = "cifar"; width = 4; blocks = [1, 1]; };
data = { name = "synthetic"; image = [8, 8, 3]; classes = 4; samples = 128; };
optimizer = { name = "momentum"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { threads = 1; peak_gflops = 1.0; };
train = { steps = 4; batch = 16; eval_every = 2; norm_every = 2; };
checkpoint = { every = 2; keep = 9; };
END
want=0
for network in ${BITS_NETWORKS:-mlp gpt cnn}; do
	case $network in
	mlp) more='--set model.hidden=[24,24,24,24,24,24,24,24,24,24,24,24]' ;;
	gpt) more='--set model.layers=8' ;;
	cnn) more= ;;
	esac
	for system in $all local_sgd avgpipe asgd cyclic; do
		for ranks in 2 4; do
			want=$((want + 1))
			own=
			case $system in
			local_sgd) own='--set system.every=2 --set train.eval_every=2' ;;
			asgd)
				own='--set train.microbatches=1 --set train.steps=12'
				own="$own --set train.eval_every=4 --set checkpoint.every=4"
				;;
			cyclic) own="--set train.microbatches=$((2 * ranks))" ;;
			esac
			# Whole models that step beside each other keep no running means.
			case $network$system in
			cnnasgd | cnncyclic) own="$own --set model.name=\"lenet\" --set data.image=[16,16,3]" ;;
			esac
			# shellcheck disable=SC2086 # words, or none
			same $ranks $network.cfg --set machine.workers=$ranks $more $own --set "system.name=\"$system\""
		done
	done
done
echo "$n_same of $want trainings over two hosts compared"
[ $n_same -eq $want ] || failed=1
exit $failed
