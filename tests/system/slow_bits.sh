#!/bin/sh
# The weights that every system ends with, as hashes, for three models.   slow_bits.sh SOURCE BUILD [f64|f32...]
#
# The reference backend's are compared with the list tests/golden/bits/reference.txt, which any change of code must
# leave as it is. With a third argument the hashes are only printed: of two builds on one machine they must be the same,
# for any backend (f32 is the default one, f64 the reference).
. "$(dirname "$0")/train_lib.sh"
shift 2

# Configurations of their own, with every key that could change the weights: the list must not depend on a default
# elsewhere.
cat >m.cfg <<'END'
model = { name = "mlp"; hidden = [12, 12, 12, 12, 12, 12, 12]; activation = "gelu"; };
data = { name = "synthetic"; features = 6; classes = 3; samples = 600; };
optimizer = { name = "adamw"; };
train = { steps = 12; batch = 8; lr = 0.01; seed = 3; eval_every = 0; };
machine = { threads = 1; peak_gflops = 50.0; };
END
cat >g.cfg <<'END'
model = { name = "gpt"; layers = 3; width = 8; heads = 2; context = 8; dropout = 0.2; tied = false; };
data = { name = "text"; path = "text.txt"; validation = 0.02; };
optimizer = { name = "momentum"; };
train = { steps = 10; batch = 4; lr = 0.01; seed = 3; eval_every = 0; };
machine = { threads = 1; peak_gflops = 50.0; };
END
cat >c.cfg <<'END'
model = { name = "chain"; depth = 4; init = [0.9, 1.1, 0.8, 1.2]; };
data = { name = "numbers"; x = [1.0, 0.5, -0.75, 1.25, 0.25]; y = [0.5, 1.0, -0.25, 0.75, -0.5]; };
optimizer = { name = "momentum"; };
train = { steps = 12; batch = 4; lr = 0.01; seed = 3; eval_every = 0; };
machine = { threads = 1; peak_gflops = 50.0; };
END

# The hash of the tensors of a run, without the file's header: 8 bytes with its length, and text.
hash_of() {
	file=$1/checkpoints/$(latest "$1")/model.safetensors
	skip=$(od -An -tu8 -N8 "$file" | tr -d ' ')
	tail -c +$((skip + 9)) "$file" | sha256sum | cut -c1-16
}

# What a type's backend is chosen by: of f32 our own kernels, whose bits stay, and not a table that may be measured
# anew.
bits_of() {
	case $1 in
	f32) echo "--set backend=fused --set dtype=f32" ;;
	*) sets_of "$1" ;;
	esac
}

list_of() {
	for system in $("$millrace" list systems | sed -n 's/^\([a-z0-9][a-z0-9_]*\) .*/\1/p'); do
		for model in m g c; do
			for workers in 2 4; do
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

if [ $# -gt 0 ]; then
	for type in "$@"; do
		list_of "$type"
	done
	finish
fi

list_of f64 >now.txt
n=$(wc -l <now.txt)
[ "$n" -ge 150 ] || fail "only $n cases could be trained"
# What has been added since is not on the list; what is on it must be there still.
grep -v '^#' "$source/tests/golden/bits/reference.txt" | sort >want.txt
sort now.txt | comm -23 want.txt - >lost.txt
: >err
if [ -s lost.txt ]; then
	fail "these weights are not what they were: $(cut -d' ' -f1-5 lost.txt | tr '\n' ';')"
fi
finish
