# Checkpoints whose parts each rank writes: into one shared folder, into a folder of its own, or through rank 0. In
# every byte, the manifest's too, they are those of one process, once gathered.
# Arguments: source tree, build tree.
. "$(dirname "$0")/ranks_lib.sh"

# Tensors of many pages, so that all ranks have some.
wide='--set model.hidden=[200,200,200,200,200] --set train.microbatches=4'
large='--set model.width=80 --set model.context=24'
two='machine.workers=2'

# equal A B WHAT: the checkpoints of two runs.
equal() {
	(cd "$1/checkpoints" && find step-* -type f | sort) >files
	(cd "$2/checkpoints" && find step-* -type f | sort) | cmp -s - files || complain "$3: other files"
	[ -s files ] || complain "$3: no checkpoints"
	while read -r file; do
		cmp "$1/checkpoints/$file" "$2/checkpoints/$file" >out 2>&1 || complain "$3: $file differs"
	done <files
	cmp "$1/checkpoints/LATEST" "$2/checkpoints/LATEST" >out 2>&1 || complain "$3: LATEST differs"
}

# shared RANKS CONF ARGS...: all write into one folder.
shared() {
	same "$@"
	equal one several "$*"
	[ ! -e several/checkpoints/rank-0 ] || complain "$*: parts in a shared folder"
}
# shellcheck disable=SC2086 # words
{
	shared 2 mlp.cfg --set $two $wide
	shared 3 mlp.cfg --set machine.workers=3 $wide --set 'system.name="data_parallel"' --set system.chunks=1 \
		--set train.batch=15 --set train.microbatches=3
	shared 4 mlp.cfg --set machine.workers=4 --set model.hidden=[200,200,200,200,200] \
		--set 'system.name="pipedream"' --set 'precision="bf16"'
	shared 2 gpt.cfg --set $two $large --set 'system.name="data_parallel"' --set model.tied=true
	shared 2 lm.cfg --set machine.workers=4 $large --set 'system.name="chimera"' --set checkpoint.keep=1
	shared 2 mlp.cfg --set $two $wide --set 'system.name="local_sgd"' --set system.every=2 \
		--set 'system.placement="rotated"' --set train.eval_every=2
}
# shellcheck disable=SC2086
"$build/millrace" eval mlp.cfg --set $two $wide --set 'run.dir="several"' >out 2>&1 || complain "eval: exit $?"

# apart RANKS ARGS...: train over ranks, each in a folder of its own, as on hosts that share none.
cat >start <<'END'
#!/bin/sh
cd "host-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-none}}" || exit 99
exec "$@"
END
chmod +x start
apart() {
	n=$1
	shift
	mkdir -p host-0 host-1 host-2
	# shellcheck disable=SC2086
	timeout 300 $mpirun ${many:-} -n "$n" "$dir/start" "$build/millrace-mpi" train "$dir/mlp.cfg" $wide \
		--set 'run.dir="run"' "$@" >out 2>&1 </dev/null
}

# gathered FOLDERS...: the parts of all of them come together.
gathered() {
	"$build/millrace" gather "$@" >out 2>&1
}

rm -rf one
# shellcheck disable=SC2086
"$build/millrace" train mlp.cfg --set machine.workers=3 $wide --set 'run.dir="one"' >out 2>&1 || complain "one: exit $?"
apart 3 --set machine.workers=3 || complain "apart: exit $?"
grep -q "each rank keeps its parts in its own folder run; millrace gather" out || complain "apart: nothing is said"
[ ! -e host-1/run/checkpoints/rank-0 ] && [ -e host-1/run/checkpoints/rank-1/LATEST ] || complain "apart: other folders"
# shellcheck disable=SC2086
"$build/millrace" eval mlp.cfg --set machine.workers=3 $wide --set 'run.dir="host-0/run"' >out 2>&1
got=$?
refused 5 "parts of some: millrace gather"
gathered host-0/run host-1/run/checkpoints
got=$?
refused 5 "the checkpoint of step 6 has 3 parts, and that of one rank is missing: rank 2 (host $(hostname))"
gathered host-1/run host-2/run
got=$?
refused 5 "none of the folders holds the parts of rank 0"
gathered host-0/run host-1/run/checkpoints host-2/run || complain "gather: exit $?"
equal one host-0/run "gathered"
cmp one/checkpoints/BEST host-0/run/checkpoints/BEST >out 2>&1 || complain "gathered: BEST differs"
"$build/millrace" inspect host-0/run >out 2>&1 || complain "inspect: exit $?"
gathered host-0/run host-1/run host-2/run && [ "$(grep -c "was whole before" out)" = 3 ] || complain "gathered twice"

# A part that is damaged.
rm -rf host-0/run/checkpoints/step-* host-0/run/checkpoints/LATEST
printf x | dd of=host-2/run/checkpoints/rank-2/step-00000006/part.safetensors bs=1 seek=9000 conv=notrunc 2>out
gathered host-0/run host-1/run host-2/run
got=$?
refused 5 "part.safetensors: damaged between bytes"
[ ! -e host-0/run/checkpoints/step-00000006 ] || complain "a damaged checkpoint was gathered"

# A run goes on from the parts of several folders, also over other ranks; what was fetched for it does not stay.
rm -rf host-*
apart 3 --set machine.workers=3 --set train.steps=4 --set train.eval_every=0 || complain "first part: exit $?"
apart 3 --set machine.workers=3 --resume || complain "second part: exit $?"
[ ! -e host-0/run/checkpoints/gathered ] && [ ! -e host-0/run/checkpoints/step-00000004 ] &&
	[ -z "$(ls host-0/run/checkpoints/rank-1 2>/dev/null)" ] || complain "what was fetched stays"
gathered host-0/run host-1/run host-2/run || complain "gather of both: exit $?"
for file in one/checkpoints/step-00000006/*.safetensors; do
	cmp "$file" "host-0/run/checkpoints/step-00000006/${file##*/}" >out 2>&1 || complain "both parts: $file differs"
done
rm -rf host-*
apart 3 --set machine.workers=3 --set train.steps=4 --set train.eval_every=0 || complain "elastic, first: exit $?"
mv host-2/run/checkpoints/rank-2 kept
apart 2 --set machine.workers=2 --resume
got=$?
refused 5 "that of one rank is missing: rank 2 (host $(hostname))"
mv kept host-1/run/checkpoints/rank-2
apart 2 --set machine.workers=2 --resume || complain "elastic, second: exit $?"
gathered host-0/run host-1/run || complain "elastic, gather: exit $?"
cmp one/checkpoints/step-00000006/model.safetensors host-0/run/checkpoints/step-00000006/model.safetensors >out 2>&1 ||
	complain "elastic: the weights differ"

# Rank 0 alone, if that is asked for; and a folder that is not shared does not pass for one.
rm -rf host-*
apart 3 --set machine.workers=3 --set 'checkpoint.parts="rank0"' || complain "rank0: exit $?"
for file in one/checkpoints/step-00000006/*.safetensors; do
	cmp "$file" "host-0/run/checkpoints/step-00000006/${file##*/}" >out 2>&1 || complain "rank0: $file differs"
done
[ ! -e host-1/run ] || complain "rank0: others write"
rm -rf host-*
apart 3 --set machine.workers=3 --set 'checkpoint.parts="shared"'
got=$?
refused 3 "does not see the folder run of rank 0"

[ $n_same -eq 6 ] || failed=1
exit $failed
