#!/bin/sh
# The weights that every system ends with, as hashes, for fourteen networks.
#
#	slow_bits.sh SOURCE BUILD                     compare f64 with tests/golden/bits/reference.txt
#	slow_bits.sh SOURCE BUILD compare TYPE...     compare f64, f32, bf16 or bf16_pure, all by the reference backend
#	slow_bits.sh SOURCE BUILD TYPE...             only print; the types fused and onednn are f32 by these backends
#
# Any change of code must leave the list as it is. Of two builds on one machine the other backends' hashes must be the
# same, too.
. "$(dirname "$0")/train_lib.sh"
shift 2

# Configurations of their own, with every key that could change the weights: the list must not depend on a default
# elsewhere.   case_of LETTER STEPS BATCH OPTIMIZER MODEL DATA [TRAIN]
case_of() {
	cat >"$1.cfg" <<-END
	model = { $5 };
	data = { $6 };
	optimizer = { name = "$4"; lr = 0.01; };
	train = { steps = $2; batch = $3; seed = 3; eval_every = 0; ${7:-} };
	machine = { threads = 1; peak_gflops = 50.0; };
	END
}
text='name = "text"; path = "text.txt"; validation = 0.02;'
images='name = "synthetic"; image = [8, 8, 3]; classes = 4; samples = 100;'
hidden='name = "mlp"; hidden = [12, 12, 12, 12, 12, 12, 12];'
numbers='name = "synthetic"; features = 6; classes = 3; samples = 600;'
case_of m 12 8 adamw "$hidden activation = \"gelu\";" "$numbers"
case_of g 10 4 momentum \
	'name = "gpt"; layers = 3; width = 8; heads = 2; context = 8; dropout = 0.2; tied = false;' "$text"
case_of c 12 4 momentum 'name = "chain"; depth = 4; init = [0.9, 1.1, 0.8, 1.2];' \
	'name = "numbers"; x = [1.0, 0.5, -0.75, 1.25, 0.25]; y = [0.5, 1.0, -0.25, 0.75, -0.5];'
case_of n 8 8 momentum "$hidden activation = \"relu\"; norm = \"batch\";" "$numbers" 'clip = 0.5;'
case_of l 8 4 lion \
	'name = "llama"; layers = 3; width = 16; heads = 4; kv_heads = 2; context = 9; tied = false;' "$text"
case_of t 8 4 adam 'name = "gpt"; layers = 3; width = 8; heads = 2; context = 8; dropout = 0.0; tied = true;' "$text" \
	'clip = 0.5;'
case_of a 8 4 ema \
	'name = "awd_lm"; layers = 2; embed = 6; width = 9; context = 6; tied = false; weight_dropout = 0.2;' \
	"$text order = \"columns\";"
case_of d 8 8 nadam 'name = "dlrm"; rows = [50, 300, 7]; width = 4; bottom = [16]; top = [16, 8];' \
	'name = "clicks"; numbers = 5; categories = 3; values = 100; samples = 400;'
case_of u 8 4 adam 'name = "gnmt"; layers = 2; width = 8; attention = "additive";' \
	'name = "reversal"; letters = 12; shortest = 2; longest = 4; samples = 300;'
case_of s 8 4 adamw 'name = "s2vt"; projection = 8; embed = 6; width = 8; dropout = 0.2;' \
	'name = "captions"; frames = 4; features = 6; words = 10; longest = 3; samples = 300;'
case_of v 8 4 muon 'name = "vit"; layers = 2; width = 12; heads = 3; patch = 4;' "$images"
case_of r 6 8 momentum 'name = "resnet18"; width = 2; blocks = [1, 1];' "$images"
case_of e 6 4 momentum 'name = "lenet"; form = "caffe";' \
	'name = "synthetic"; image = [28, 28, 1]; classes = 10; samples = 100;'
case_of q 12 4 sgd 'name = "quadratic"; blocks = 6; noise = 0.1;' \
	'name = "generated"; kind = "tridiagonal"; features = 24; rows = 100;'

# The hash of the tensors of a run, without the file's header: 8 bytes with its length, and text.
hash_of() {
	file=$1/checkpoints/$(latest "$1")/model.safetensors
	skip=$(od -An -tu8 -N8 "$file" | tr -d ' ')
	tail -c +$((skip + 9)) "$file" | sha256sum | cut -c1-16
}

# What a type's backend is chosen by: "fused" is f32 by our own kernels, whose bits stay on one kind of machine.
bits_of() {
	case $1 in
	f32) echo "--set backend=reference --set precision=f32" ;;
	fused) echo "--set backend=fused --set precision=f32" ;;
	onednn) echo "--set backend=onednn --set precision=f32" ;;
	*) sets_of "$1" ;;
	esac
}

# list_of TYPE MODELS WORKERS: of four micro-batches if the system takes them, else of one.
list_of() {
	for system in $("$millrace" list systems | sed -n 's/^\([a-z0-9][a-z0-9_]*\) .*/\1/p'); do
		for model in $2; do
			for workers in $3; do
				for micro in 4 1; do
					rm -rf run
					train $model.cfg $(bits_of "$1") --set system.name=$system \
						--set machine.workers=$workers \
						--set train.microbatches=$micro --set run.dir=run
					if [ "$code" -eq 0 ]; then
						printf '%s %s %s %s %s %s\n' "$1" $system $model $workers $micro \
							"$(hash_of run)"
						break
					fi
				done
			done
		done
	done
}

all="n l t a d u s v r e q"
lists_of() {
	list_of "$1" "m g c" "2 4"
	list_of "$1" "$all" 2
}

if [ $# -gt 0 ] && [ "$1" != compare ]; then
	for type in "$@"; do
		lists_of "$type"
	done
	finish
fi
[ $# -eq 0 ] || shift

for type in ${*:-f64}; do
	lists_of "$type" >now.txt
	n=$(wc -l <now.txt)
	[ "$n" -ge 540 ] || fail "only $n cases of $type could be trained"
	# What has been added since is not on the list; what is on it must be there still.
	grep "^$type " "$source/tests/golden/bits/reference.txt" | sort >want.txt
	sort now.txt | comm -23 want.txt - >lost.txt
	: >err
	if [ -s lost.txt ]; then
		fail "these weights are not what they were: $(cut -d' ' -f1-5 lost.txt | tr '\n' ';')"
	fi
done
finish
