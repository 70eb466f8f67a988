# One budget for the whole process, judged before samples are read; files above an eighth of it stay on the disk.
# Arguments: source tree, build tree.
build=$(cd "$2" && pwd)
. "$(dirname "$0")/cli_lib.sh"

cat >big.cfg <<'END'
model = { name = "mlp"; hidden = [16]; };
data = { name = "synthetic"; features = 1000; classes = 4; samples = 160000; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 6; batch = 8; microbatches = 2; };
machine = { workers = 2; threads = 1; };
END
alone="--set system.name=sequential --set machine.workers=1"
for how in "" "$alone"; do
	expect 6 "MiB of memory, and 95 MiB is the limit (machine.memory_limit):" train big.cfg $how \
		--set machine.memory_limit=100000000
	has "  data                        610 MiB"
	has "  workers"
	[ ! -e runs/big ] || complain "what was refused left a folder"
done
expect 6 "95 MiB is the limit" simulate big.cfg --set machine.memory_limit=100000000
expect 6 "  data                        610 MiB" plan big.cfg --set machine.memory_limit=100000000
has "memory of the process"
expect 0 "  data                        610 MiB" plan big.cfg
expect 6 "the limit" profile big.cfg --set machine.memory_limit=100000000
if grep -q '^MILLRACE_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
	exit $failed
	# from here on limits are near to what the program itself needs, of which a sanitizer takes many times as much
fi
if (ulimit -v 600000) 2>/dev/null; then
	(ulimit -v 600000; expect 6 "586 MiB is the limit (RLIMIT_AS)" train big.cfg; exit $failed) || failed=1
fi

# What the process has before it plans varies by some pages of its libraries from start to start: so much beside what
# one start said it needs.
spare=4 # MiB
# What the process really took is below a limit that it was allowed to run with.
expect 0 "done: 6 of 6 steps" train big.cfg --set data.samples=5000 --set machine.memory_limit=60000000
peak=$(sed -n 's/^peak memory .*measured \([0-9]*\).* MiB.*/\1/p' out)
[ "${peak:-999}" -lt 57 ] || complain "measured $peak MiB with a limit of 57"

# The simulator takes some, too: all of it is refused before any is taken, and what is allowed is not passed.
expect 0 "at most at once" plan big.cfg --set data.samples=5000
least=$(sed -n 's/^ *at most at once *\([0-9]*\) MiB$/\1/p' out | head -n 1)
expect 6 "MiB as planned and" simulate big.cfg --set data.samples=5000 \
	--set machine.memory_limit=$(((${least:-0} + 2) * 1048576))
has "for the simulator, and $((least + 2)) MiB is the limit (machine.memory_limit)"
need=$(sed -n 's/.*the process needs \([0-9]*\) MiB.*/\1/p' out)
expect 0 "done: 6 of 6 steps" simulate big.cfg --set data.samples=5000 --set run.dir=simulated \
	--set machine.memory_limit=$(((${need:-0} + spare) * 1048576))
peak=$(sed -n 's/^peak memory .*measured \([0-9]*\).* MiB.*/\1/p' out)
[ "${peak:-999}" -le $((${need:-0} + spare)) ] || complain "simulate took $peak MiB with a limit of $((need + spare))"
# Where any worker may take W the whole run is simulated first: some hundred GiB here.
expect 6 "GiB for the simulator, and 95 MiB is the limit" simulate big.cfg --set data.samples=5000 \
	--set system.name=zb_h1 --set system.steal=true --set train.steps=100000000 \
	--set machine.memory_limit=100000000

# A file of --init with a table of more positions than the network has: read whole, and so judged before.
awk 'BEGIN { for (i = 0; i < 2000; i++) print "abcdefgh" i % 10 }' >short.txt
cat >init.cfg <<'END'
model = { name = "gpt"; layers = 1; width = 16; heads = 2; context = 16; };
data = { name = "text"; path = "short.txt"; };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 1; batch = 4; };
machine = { workers = 1; threads = 1; };
END
head='{"wpe.weight":{"dtype":"F32","shape":[8388608,16],"data_offsets":[0,536870912]}}'
{
	printf "\\$(printf %03o ${#head})\\000\\000\\000\\000\\000\\000\\000%s" "$head"
} >positions.safetensors
truncate -s $((8 + ${#head} + 536870912)) positions.safetensors
expect 6 "512 MiB for what reads tensor wpe.weight of positions.safetensors, and 95 MiB is the limit" \
	train init.cfg --init positions.safetensors --init-anyway --set machine.memory_limit=100000000

# le64 NUMBER: eight bytes.
le64() {
	left=$1
	for _ in 1 2 3 4 5 6 7 8; do
		printf "\\$(printf %03o $((left % 256)))"
		left=$((left / 256))
	done
}
# Its header is judged before it is read, and the tree of a header of many tensors before it is made; so is an index.
mkdir long many
le64 90000000 >long/model.safetensors
truncate -s 100000000 long/model.safetensors
expect 6 "long/model.safetensors: its header may take 86 MiB of memory, and" \
	train init.cfg --init long --set machine.memory_limit=100000000
awk 'BEGIN { printf "{"; for (i = 0; i < 100000; i++)
	printf "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? "," : "", i; print "}" }' >header
{
	le64 "$(($(wc -c <header)))"
	cat header
} >many/model.safetensors
expect 6 "many/model.safetensors: header: its JSON may take 1" \
	train init.cfg --init many --set machine.memory_limit=100000000
awk 'BEGIN { printf "{\"weight_map\":{"; for (i = 0; i < 1000000; i++)
	printf "%s\"%d\":\"a\"", i ? "," : "", i; print "}}" }' \
	>many/model.safetensors.index.json
expect 6 "index.json: its JSON may take 3" train init.cfg --init many/model.safetensors.index.json \
	--set machine.memory_limit=100000000
mkdir named
echo '{}' >named/config.json
truncate -s 16000000 named/config.json
le64 2 >named/model.safetensors
printf '{}' >>named/model.safetensors
expect 6 "named/config.json: the file may take 15 MiB of memory, and" \
	train init.cfg --init named --set machine.memory_limit=25000000
rm -r long many named header

# A checkpoint whose manifest or header has become long.
expect 0 "done: 1 of 1 steps" train init.cfg --set run.dir=grown
newest=grown/checkpoints/step-00000001
cp $newest/MANIFEST.json manifest
truncate -s 60000000 $newest/MANIFEST.json
expect 6 "MANIFEST.json may take 57 MiB of memory, and" train init.cfg --set run.dir=grown --resume \
	--set train.steps=2 --set machine.memory_limit=50000000
cp manifest $newest/MANIFEST.json
expect 0 "done: 2 of 2 steps" train init.cfg --set run.dir=grown --resume --set train.steps=2
rm -r grown

# A tokenizer is judged by the size of its file.
{
	printf '{"model":{"type":"BPE","vocab":{"a":0},"merges":['
	awk 'BEGIN { for (i = 0; i < 1600000; i++) printf "%s\"a a\"", i ? "," : "" }'
	printf ']}}'
} >tokenizer.json
expect 6 "tokenizer.json: a tokenizer of 9.2 MiB may take 146 MiB of memory, and" train init.cfg \
	--set data.tokenizer=tokenizer.json --set machine.memory_limit=100000000

# A text that is not kept: the same weights, and the file counts as no memory.
awk 'BEGIN { srand(5); for (i = 0; i < 90000; i++) { s = ""; for (j = 0; j < 50; j++) s = s sprintf("%c",
	97 + int(rand() * 9)); print s } }' >text.txt
cat >gpt.cfg <<'END'
model = { name = "gpt"; layers = 1; width = 16; heads = 2; context = 16; };
data = { name = "text"; path = "text.txt"; validation = 0.01; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 20; batch = 4; microbatches = 2; };
machine = { workers = 2; threads = 1; };
END
# Room for the program, whose libraries differ from system to system, and for less than half of the text.
expect 6 "at most at once" plan gpt.cfg --set machine.memory_limit=1000000
least=$(sed -n 's/^ *at most at once *\([0-9]*\) MiB$/\1/p' out | head -n 1)
limit="--set machine.memory_limit=$(((${least:-0} + spare) * 1048576))"
expect 0 "done: 20 of 20" train gpt.cfg --set run.dir=kept
for how in "" "$alone"; do
	rm -rf read
	expect 0 "done: 20 of 20" train gpt.cfg $how --set run.dir=read $limit
	[ -n "$how" ] || cmp kept/checkpoints/step-00000020/model.safetensors \
		read/checkpoints/step-00000020/model.safetensors >>out ||
		complain "weights differ when the text stays on the disk"
done
expect 0 "  read from files meanwhile" plan gpt.cfg $limit

# The file is cut short in the middle of a training: one message, and nothing that was trained on zeros is saved.
for how in "" "$alone"; do
	rm -rf cut
	cp text.txt short.txt
	"$millrace" train gpt.cfg $how --set data.path=short.txt --set run.dir=cut \
		--set train.steps=100000000 $limit >out 2>&1 &
	pid=$!
	tries=0
	until [ -s cut/metrics.jsonl ] || [ $tries -ge 2400 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	: >short.txt
	code=0
	wait $pid || code=$?
	[ $code -eq 4 ] || complain "a text that was cut short ends a training with $code"
	has "short.txt: the file was shortened while it was in use: nothing is left at byte"
	[ -z "$(ls cut/checkpoints 2>/dev/null)" ] || complain "what was trained on zeros is saved"
done

# A JPEG whose colours lie in three scans: its decoder keeps all coefficients, which the plan knows before it reads.
byte() {
	for number in "$@"; do
		printf "\\$(printf %03o "$number")"
	done
}
zeros() {
	head -c "$1" /dev/zero
}
# A picture of 1600 x 1600 pixels, grey throughout: each block is two bits, a difference of 0 and its end.
three_scans() {
	byte 255 216 255 219 0 67 0
	zeros 64 | tr '\000' '\001'
	byte 255 192 0 17 8 6 64 6 64 3 1 17 0 2 17 0 3 17 0
	for table in 0 16; do
		byte 255 196 0 20 $table 1
		zeros 16
	done
	for component in 1 2 3; do
		byte 255 218 0 8 1 $component 0 0 63 0
		zeros 10016
	done
	byte 255 217
}
if ! "$millrace" --version | grep -q "libjpeg: none"; then
	mkdir -p pictures/a pictures/b
	three_scans >pictures/a/1.jpg
	cp pictures/a/1.jpg pictures/a/2.jpg
	cp pictures/a/1.jpg pictures/b/1.jpg
	cp pictures/a/1.jpg pictures/b/2.jpg
	cat >pictures.cfg <<'END'
model = { name = "mlp"; hidden = [16]; };
data = { name = "images"; path = "pictures"; size = 16; validation = 0.5; };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = 4; batch = 4; microbatches = 2; };
machine = { workers = 2; threads = 1; };
END
	# A small limit leaves the pixels on the disk: each thread that makes samples decodes.
	expect 6 "  decoding of samples" train pictures.cfg --set machine.memory_limit=30000000
	least=$(sed -n 's/^ *at most at once *\([0-9]*\) MiB$/\1/p' out | head -n 1)
	expect 0 "done: 4 of 4" train pictures.cfg --set machine.memory_limit=$(((${least:-0} + spare) * 1048576))
	peak=$(sed -n 's/^peak memory .*measured \([0-9]*\).* MiB.*/\1/p' out)
	[ "${peak:-99999}" -le $((${least:-0} + spare)) ] ||
		complain "measured $peak MiB with a limit of $((least + spare))"
fi

exit $failed
