# Ranks that read neither inputs nor targets train without the data's files: every source, systems and ranks by seed,
# shares, resumed runs; weights, losses and manifests are those of one process. A rank that reads and has no file, or
# another one, is named.
# Arguments: source tree, build tree.
. "$(dirname "$0")/ranks_lib.sh"

# Ranks in $far start with a copy of the configuration in a folder that has no data.
mkdir far
cat >by_rank <<'END'
program=$1 command=$2 conf=$3
shift 3
case " $far " in *" ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} "*) conf=far/$conf ;; esac
exec "$program" "$command" "$conf" "$@"
END
over() {
	n=$1
	shift
	far=$far timeout 300 $mpirun ${many:-} -n "$n" sh by_rank "$build/millrace-mpi" "$@" >out 2>&1 </dev/null
}

# conf NAME MODEL DATA [TRAIN]: a configuration of three workers.
confs=
conf() {
	cat >"$1.cfg" <<END
model = { $2 };
data = { $3 };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
machine = { threads = 1; peak_gflops = 1.0; workers = 3; };
train = { steps = 4; batch = 24; eval_every = 2; ${4:-} };
checkpoint = { every = 2; keep = 9; };
END
	cp "$1.cfg" far
	confs="$confs $1"
}

# letters N: as many bytes, which repeat after 89.
letters() {
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%c", 33 + i * i % 89 }'
}
mlp='name = "mlp"; hidden = [16, 16, 16, 16, 16, 16, 16, 16, 16];'
gpt='name = "gpt"; layers = 4; width = 16; heads = 2; context = 8;'
conf text "$gpt" 'name = "text"; path = "prose.txt";'
conf columns 'name = "awd_lm"; layers = 6; width = 16; context = 8;' \
	'name = "text"; path = "prose.txt"; order = "columns";'
cp "$source/tests/golden/token/digits.json" .
conf bpe "$gpt" 'name = "text"; path = "prose.txt"; tokenizer = "digits.json";'
# shellcheck disable=SC2059 # bytes
printf "$(awk 'BEGIN { for (i = 0; i < 900; i++) printf "\\%03o\\000", i * i % 61 }')" >tokens.bin
conf tokens "$gpt" 'name = "tokens"; path = "tokens.bin";'
mkdir tree
head -c 3000 prose.txt >tree/README.md
conf sources "$gpt" 'name = "sources"; root = "tree";'
awk 'BEGIN { for (i = 0; i < 90; i++) printf "a%d b%d c\tx%d y%d z%d\n", i % 7, i % 5, i % 3, i % 7, i % 5 }' >pairs.txt
gnmt='name = "gnmt"; layers = 2; width = 16;'
conf pairs "$gnmt" 'name = "pairs"; path = "pairs.txt";'
conf reversal "$gnmt" 'name = "reversal"; samples = 200; longest = 6;'
conf captions 'name = "s2vt"; projection = 8; embed = 8; width = 8;' \
	'name = "captions"; samples = 200; frames = 4; features = 8; longest = 4;'
{ printf '\0\0\10\3\0\0\0\170\0\0\0\10\0\0\0\10' && letters 7680; } >images.idx
{ printf '\0\0\10\1\0\0\0\170' && letters 120; } >labels.idx
conf mnist "$mlp" 'name = "mnist"; images = "images.idx"; labels = "labels.idx"; classes = 128;'
letters 184380 >records.bin
conf cifar 'name = "resnet18"; form = "cifar"; width = 4; blocks = [1, 1];' \
	'name = "cifar"; path = "records.bin"; classes = 128;'
for class in cat dog; do
	mkdir -p "pictures/$class"
	for i in $(seq 20); do
		{ printf 'P6 8 8 255\n' && letters $((192 + i)) | tail -c 192; } >"pictures/$class/$i.ppm"
	done
done
conf images "$mlp" 'name = "images"; path = "pictures"; size = 8; crop = "random";'
conf synthetic "$mlp" 'name = "synthetic"; samples = 256;'
conf clicks 'name = "dlrm"; rows = [50, 50, 50]; width = 4; bottom = [8, 8]; top = [8, 8];' \
	'name = "clicks"; categories = 3; values = 50; samples = 200;'
awk 'BEGIN { for (i = 0; i < 960; i++) printf "%c%c%c?", 33 + i % 90, 33 + i * 7 % 90, 33 + i * i % 89 }' >matrix
head -c 480 matrix >targets
arrays='name = "arrays"; matrix = "matrix"; targets = "targets"; rows = 120; features = 8; numbers = "f32";'
conf arrays "$mlp" "$arrays validation = 0.1;"
awk 'BEGIN { for (i = 0; i < 120; i++) printf "%d 1:%d 3:%.2f\n", i % 3, i % 11, i * i % 17 / 17 }' >rows.libsvm
conf libsvm "$mlp" 'name = "libsvm"; path = "rows.libsvm"; labels = "classes"; validation = 0.1;'
awk 'BEGIN {
	split("red,green,blue,grey", colour, ",")
	print "size,colour,shape,answer,price"
	for (i = 0; i < 150; i++)
		printf "%d,%s,s%d,%s,%d\n", i * i % 71, colour[i % 4 + 1], i % 9, i % 5 ? "no" : "yes", i * 13 % 997
}' >rows.csv
known='path = "rows.csv"; categories = "colour,shape"; category = "known"; one_hot = 5;'
conf classes "$mlp categories = 1;" "name = \"csv\"; $known target = \"answer\"; targets = \"classes\";" \
	'class_weights = "balanced";'
conf prices "$mlp categories = 1;" "name = \"csv\"; $known target = \"price\"; ignore = \"answer\";
	target_scale = \"standard\";"
conf generated "$mlp" 'name = "generated"; rows = 200; features = 8;'
list=$(seq -s ', ' 40)
conf numbers "$mlp" "name = \"numbers\"; x = [$list]; y = [$list]; validation = 0.2;"
conf formula "$mlp" 'name = "formula"; rows = 64;'

# manifests WITHOUT: those of both runs are the same but for the lines with one of these words.
manifests() {
	for file in one/checkpoints/step-*/MANIFEST.json; do
		grep -v "$1" "$file" >manifest
		grep -v "$1" "several/${file#one/}" | diff manifest - >out 2>&1 || complain "$file differs"
	done
}

# The rank in the middle has no file, be it the one that leads, which writes the data into the manifest.
want=0
for name in $confs; do
	want=$((want + 1))
	far=1
	same 3 $name.cfg
	manifests nothing
	case $name in
	text | bpe | images | classes | prices)
		want=$((want + 1))
		far=0
		same 3 $name.cfg --set 'machine.ranks="1 0 2"'
		[ -L one ] || manifests '"configuration"\|manifest_crc32c'
		;;
	esac
done

# random N: `drawn` is from 0 to N - 1, the next of a fixed sequence.
state=20261130
random() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	drawn=$((state / 65536 % $1))
}
for i in $(seq 16); do
	want=$((want + 1))
	# shellcheck disable=SC2086
	set -- $confs
	random $#
	shift $drawn
	name=$1
	set -- 1f1b gpipe pipedream zb_h1 interleaved chimera zb_v dualpipe_v
	random $#
	shift $drawn
	system=$1
	case $name in # short networks, a carried state that wants whole steps
	pairs | reversal | captions | clicks | cifar | columns) system=1f1b ;;
	esac
	random 2
	ranks=$((3 + drawn))
	map= reading=
	random 4
	first=$drawn
	for worker in 0 1 2 3; do
		map="$map $(((first + worker) % 4 % ranks))"
		case $worker$system in
		0* | 3[!zd]* | 3zb_h1) reading="$reading ${map##* }" ;;
		esac
	done
	far=
	for rank in $(seq 0 $((ranks - 1))); do
		case "$reading " in *" $rank "*) ;; *) far="$far $rank" ;; esac
	done
	same $ranks $name.cfg --set machine.workers=4 --set "system.name=\"$system\"" \
		--set "machine.ranks=\"${map# }\"" --set train.seed=$i
done

# Shares of the first and the last worker read; those between do not.
want=$((want + 1))
far='2 3'
same 4 text.cfg --set machine.shares=2 --set 'machine.ranks="0 1 2 3 0 1"'
# A run goes on, from a file that is a link elsewhere.
far=1
rm -rf half
ln -s prose.txt link.txt
cp text.cfg half.cfg
sed -i 's/prose/link/' half.cfg
cp half.cfg far
for steps in 2 4; do
	over 3 train half.cfg --set 'run.dir="half"' --set train.steps=$steps \
		$([ $steps = 2 ] || echo --resume) || complain "half to step $steps: exit $?"
done
want=$((want + 1))
same 3 text.cfg
cmp one/checkpoints/step-00000004/model.safetensors half/checkpoints/step-00000004/model.safetensors >out 2>&1 ||
	complain "resumed: the weights differ"

# --- who needs the files, and has none or others ---
# failed CODE TEXT RANKS ARGS...: training fails so.
failed() {
	code=$1 text=$2
	shift 2
	over "$@" --set 'run.dir="refused"'
	got=$?
	refused "$code" "$text"
	[ "$(grep -c '^millrace: ' out)" = 1 ] && [ ! -e refused ] || complain "not one sentence, or a run was begun:"
}
far=2
failed 4 "rank 2 (host $(hostname)): $dir/far/prose.txt: No such file" 3 train text.cfg
far=0
failed 4 "millrace: $dir/far/rows.csv: No such file" 3 train classes.cfg
far='0 1 2'
failed 4 "millrace: $dir/far/prose.txt: No such file" 3 train text.cfg
far=1
failed 4 "rank 1 (host $(hostname)): $dir/far/prose.txt: No such file" 3 train text.cfg \
	--set 'system.name="data_parallel"'
# Rank 0 computes an objective's constants from all rows.
cat >quadratic.cfg <<END
model = { name = "quadratic"; };
data = { $arrays };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "pipedream"; };
machine = { threads = 1; workers = 3; };
train = { steps = 4; batch = 4; };
END
cp quadratic.cfg targets far
far=0
failed 4 "millrace: $dir/far/matrix: No such file" 3 train quadratic.cfg --set 'machine.ranks="1 0 2"'
far=2
cp rows.csv far
sed -i 's/^4,/5,/' far/rows.csv
failed 3 "differs: " 3 train classes.cfg
head -n 100 rows.csv >far/rows.csv
failed 3 "the data (samples that train) differs: 135 on rank 0 (host $(hostname)), 89 on rank 2" 3 train classes.cfg

[ $n_same -eq $want ] || failed=1
exit $failed
