# ranks_lib.sh - trainings over several processes of this machine, beside the same in one: sourced with the test's own
# arguments. Arguments: source tree, build tree. Afterwards the test stands in an empty folder of its own; it ends with
# `exit $failed`.
source=$1
build=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
n_same=0
. "$source/tests/missing.sh"
suite=$(basename "$0" .sh)
suite=mpi.${suite#*_}
[ -x "$build/millrace-mpi" ] || missing_package "$suite" "MPI to build with" libopenmpi-dev
# That of the library: a machine may have two.
mpirun=mpirun
if ldd "$build/millrace-mpi" | grep -q libmpich; then
	command -v mpirun.mpich >/dev/null && mpirun=mpirun.mpich
else
	command -v mpirun.openmpi >/dev/null && mpirun=mpirun.openmpi
	many=--oversubscribe
fi
command -v $mpirun >/dev/null || missing_package "$suite" mpirun openmpi-bin
# In a sandbox all is root's; the library's own leaks are not ours.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
# Neither plug-ins of hwloc nor fabrics that are not here are looked for: half of the clock's time of a small training.
export HWLOC_COMPONENTS=linux,stop HWLOC_PLUGINS_PATH=/nonexistent OMPI_MCA_pml=ob1

cat >mlp.cfg <<'END'
model = { name = "mlp"; hidden = [24, 24, 24, 24, 24]; };
data = { name = "synthetic"; samples = 256; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { threads = 1; peak_gflops = 1.0; };
train = { steps = 6; batch = 16; eval_every = 3; norm_every = 2; };
checkpoint = { every = 2; keep = 9; };
END
cat >gpt.cfg <<'END'
model = { name = "gpt"; layers = 4; width = 16; heads = 2; context = 8; };
data = { name = "text"; path = "prose.txt"; };
optimizer = { name = "adamw"; lr = 0.001; };
system = { name = "1f1b"; };
machine = { threads = 1; peak_gflops = 1.0; };
train = { steps = 6; batch = 16; eval_every = 3; norm_every = 2; };
checkpoint = { every = 2; keep = 9; };
END
cat >lm.cfg <<'END'
model = { name = "awd_lm"; layers = 6; width = 16; context = 8; };
data = { name = "text"; path = "prose.txt"; };
optimizer = { name = "sgd"; lr = 0.1; };
system = { name = "1f1b"; };
machine = { threads = 1; peak_gflops = 1.0; };
train = { steps = 6; batch = 8; eval_every = 3; norm_every = 2; };
checkpoint = { every = 2; keep = 9; };
END
awk 'BEGIN { for (i = 0; i < 400; i++) printf "line %d goes %d steps beyond the river\n", i, i * 7 % 13 }' >prose.txt

# Systems that train over ranks; local_sgd, avgpipe, asgd and cyclic want settings of their own.
all='naive data_parallel weipipe helixpipe gpipe 1f1b dapple gems chimera bitpipe dualpipe dualpipe_v
interleaved looped_bfs hanayo zb_h1 zb_h2 interleaved_zb zb_auto zb_v 1f1b_v v_half v_min roundpipe search pipedream
pipedream_2bw ampnet paci wpipe pipemare spectrain pipeoptim xpipe'

# over RANKS ARGS...: millrace-mpi with them, its output in `out`; returns its exit code.
over() {
	n=$1
	shift
	timeout 300 $mpirun ${many:-} -n "$n" "$build/millrace-mpi" "$@" >out 2>&1 </dev/null
}

# complain TEXT: with the output.
complain() {
	echo "$1"
	sed 's/^/	/' out | tail -n 30
	failed=1
}

# losses RUN: what its metrics say of steps and evaluations, without times.
losses() {
	times='seconds\|samples\|tokens\|rate\|gflops\|bubble\|busy\|wait_[a-z]*\|link_[a-z]*'
	sed "s/,\"\($times\)\":[^,}]*//g" "$1/metrics.jsonl"
}

# same RANKS CONF ARGS...: trains both ways; every file of every checkpoint and all losses must be equal. With a
# sanitizer only over ranks: others train there in one process, and numbers are those of the build without.
same() {
	n=$1
	conf=$2
	shift 2
	rm -rf one several
	if grep -q '^MILLRACE_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
		over "$n" train "$conf" --set 'run.dir="several"' "$@" || complain "$conf $*, $n ranks: exit $?"
		ln -s several one
		losses one >one.txt
		n_same=$((n_same + 1))
		return
	fi
	"$build/millrace" train "$conf" --set 'run.dir="one"' "$@" >out 2>&1 </dev/null ||
		{ complain "$conf $*, one process: exit $?" && return; }
	over "$n" train "$conf" --set 'run.dir="several"' "$@" || { complain "$conf $*, $n ranks: exit $?" && return; }
	(cd one/checkpoints && find . -name '*.safetensors' | sort) >files
	(cd several/checkpoints && find . -name '*.safetensors' | sort) | cmp -s - files ||
		complain "$conf $*, $n ranks: other files"
	[ -s files ] || complain "$conf $*: no checkpoints"
	while read -r file; do
		cmp "one/checkpoints/$file" "several/checkpoints/$file" >out 2>&1 ||
			complain "$conf $*, $n ranks: $file differs"
	done <files
	losses one >one.txt
	losses several | diff one.txt - >out 2>&1 || complain "$conf $*, $n ranks: losses differ"
	n_same=$((n_same + 1))
}

# refused CODE TEXT: the last training ended so, in one sentence, and left no orphan.
refused() {
	if [ "$got" != "$1" ] || ! grep -qF -- "$2" out; then
		complain "exit $got, expected $1 with \"$2\":"
	fi
}
