#!/bin/sh
# Networks over images in pipelines: flushing systems end with the bits of sequential, PipeDream with those of its
# simulation on one thread and of a run that was stopped and resumed; evaluation and bf16 work; a model that does not
# fit the data is rejected with one message.
#	test_images.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

# 60 images of 16 x 16 and their labels: bytes of a text, and numbers below 4.
{
	printf '\000\000\010\003\000\000\000\074\000\000\000\020\000\000\000\020'
	cat "$source/README.md" "$source/LICENSE" | head -c 15360
} >images.idx
{
	printf '\000\000\010\001\000\000\000\074'
	i=0
	while [ $i -lt 60 ]; do
		printf "\\00$((i * i % 7 % 4))"
		i=$((i + 1))
	done
} >labels.idx
cat >lenet.cfg <<'END'
model = { name = "lenet"; form = "caffe"; };
data = { name = "mnist"; images = "images.idx"; labels = "labels.idx"; classes = 4; };
optimizer = { name = "momentum"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 6; batch = 8; microbatches = 4; eval_every = 3; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
END
sed 's/"caffe"/"lenet5"/; s/"momentum"/"adamw"/' lenet.cfg >lenet5.cfg

[ "$(wc -c <images.idx)" = 15376 ] && [ "$(wc -c <labels.idx)" = 68 ] || fail "the files are not what they should be"
sed 's/model = .*/model = { name = "resnet18"; form = "cifar"; width = 4; blocks = [1, 1]; };/' lenet.cfg >resnet.cfg
for conf in lenet lenet5 resnet; do
	for backend in $backends; do
		train $conf.cfg $(sets_of "$backend") --set run.dir=sequential.$conf.$backend
		expect 0 "$conf $backend"
		for system in gpipe 1f1b zb_h1; do
			train $conf.cfg $(sets_of "$backend") --set system.name=$system \
				--set run.dir=$system.$conf.$backend
			expect 0 "$conf $system $backend"
			forget='s/,"[a-z_]*staleness[a-z_]*":[^,}]*//g' same "$conf $system $backend" \
				sequential.$conf.$backend $system.$conf.$backend
		done
	done
done

for backend in $backends; do
	set -- lenet.cfg $(sets_of "$backend") --set system.name=pipedream --set train.microbatches=1
	train "$@" --set run.dir=once.$backend
	expect 0 "pipedream $backend"
	"$millrace" simulate "$@" --set run.dir=simulated.$backend >out 2>err || fail "simulate $backend: exit code $?"
	same "pipedream simulated, $backend" once.$backend simulated.$backend
	train "$@" --set run.dir=twice.$backend --set train.steps=3
	train "$@" --set run.dir=twice.$backend --resume
	expect 0 "pipedream resumed, $backend"
	forget='/"resume/d' same "pipedream resumed, $backend" once.$backend twice.$backend
done
# Cuts inside blocks of Inception: the outputs of finished branches cross beside the block's input.
cat >inception.cfg <<'END'
model = { name = "inception_v3"; width = 0.03; dropout = 0.2; };
data = { name = "synthetic"; image = [75, 79, 1]; classes = 4; samples = 40; };
optimizer = { name = "momentum"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 3; batch = 8; microbatches = 2; eval_every = 3; };
machine = { workers = 1; threads = 1; peak_gflops = 50.0; };
END
for backend in $backends; do
	train inception.cfg $(sets_of "$backend") --set run.dir=whole.$backend
	expect 0 "inception $backend"
	for system in gpipe 1f1b zb_h1; do
		train inception.cfg $(sets_of "$backend") --set system.name=$system --set machine.workers=3 \
			--set 'partition=["Mixed_5c.branch3x3dbl_2.conv","Mixed_7b.branch3x3_2b.conv"]' \
			--set run.dir=cut.$system.$backend
		expect 0 "inception, cut, $system $backend"
		forget='s/,"[a-z_]*staleness[a-z_]*":[^,}]*//g' same "inception, cut, $system $backend" \
			whole.$backend cut.$system.$backend
	done
done

# A folder of images larger than what is kept in memory, one of them a damaged JPEG. A damaged head is met when the data
# is opened, and nothing of the run is there. Behind a head that is whole the damage is met in the middle of the run:
# exit code 4 with the file's name, and the run goes on from its last checkpoint once the file is whole.
if "$millrace" --version | grep -q "libjpeg.* none"; then
	echo "$suite: this build reads no JPEG: damaged ones are skipped"
else
	jpeg() # the recorded picture plain.jpg
	{
		printf "$(sed -n 's/.*"plain.jpg","file":"\([0-9a-f]*\)".*/\1/p' \
			"$source/tests/golden/pictures/pictures.json" |
			awk -v h=123456789abcdef '{
				for (i = 1; i < length($0); i += 2) {
					high = index(h, substr($0, i, 1))
					printf "\\%03o", 16 * high + index(h, substr($0, i + 1, 1))
				}
			}')"
	}
	mkdir -p photos/a photos/b
	for i in 1 2 3 4 5 6 7 8 9 10 11; do
		{
			printf 'P6\n900 900\n255\n'
			head -c 2430000 /dev/zero
		} >"photos/$([ $i -lt 6 ] && echo a || echo b)/$i.ppm"
	done
	jpeg >plain.jpg
	{ # with a comment of 5,120 bytes: the first 4,096 bytes of a file are part of what identifies the data
		head -c 2 plain.jpg
		printf '\377\376\024\002'
		head -c 5120 /dev/zero
		tail -c +3 plain.jpg
	} >whole.jpg
	[ "$(wc -c <whole.jpg)" = 5913 ] || fail "the recorded JPEG is not what it should be"
	cat >photos.cfg <<'END'
model = { name = "lenet"; form = "caffe"; };
data = { name = "images"; path = "photos"; size = 16; validation = 0.0; flip = true; };
optimizer = { name = "sgd"; lr = 0.01; };
system = { name = "sequential"; };
train = { steps = 6; batch = 2; seed = 7; };
checkpoint = { every = 1; };
machine = { workers = 1; threads = 1; loaders = 2; memory_limit = 208M; peak_gflops = 50.0; };
END
	damaged() # zeros from byte $1 on: the last table is at byte 5550, the scan at 5733, its coefficients at 5747
	{
		head -c "$1" whole.jpg
		head -c $((5913 - $1)) /dev/zero
	}
	damaged 5624 >photos/b/bad.jpg
	train photos.cfg --set backend=reference --set run.dir=photos.head
	expect 4 "a JPEG damaged in its head" "photos/b/bad.jpg: damaged JPEG: no scan is said before byte 5733"
	[ ! -e photos.head ] || fail "a JPEG damaged in its head: the run was begun"
	# Loaders are ahead of the steps, so the picture may be met before the first save.
	none="no checkpoint had been saved before"
	for system in sequential 1f1b; do
		damaged 5757 >photos/b/bad.jpg
		set -- photos.cfg --set backend=reference --set system.name=$system --set run.dir=photos.$system
		train "$@"
		expect 4 "a damaged JPEG, $system" \
			"photos/b/bad.jpg: .*\(the checkpoint of step [1-5] is intact, and --resume\|$none\)"
		again=--resume
		! grep -q "$none" err || { again= && rm -r photos.$system; }
		[ $system = sequential ] || { code=0 && "$millrace" check-data photos.cfg >out 2>err || code=$?; }
		expect 4 "check-data, or a damaged JPEG, $system" "photos/b/bad.jpg: damaged JPEG"
		cp whole.jpg photos/b/bad.jpg
		train "$@" $again
		expect 0 "a JPEG that was made whole, $system"
	done
fi

train lenet.cfg --set backend=reference --set precision=bf16 --set system.name=1f1b --set run.dir=bf16
expect 0 "bf16"

sed 's/data = .*/data = { name = "synthetic"; features = 144; };/' lenet.cfg >numbers.cfg
train numbers.cfg --set backend=reference --set run.dir=none
expect 3 "numbers that are no images" "numbers.cfg:.*model.*takes images, the data has 1 x 144 numbers"
finish
