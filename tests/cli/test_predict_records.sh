# predict: of models of MNIST's and CIFAR's files, of made-up data and of arrays, from a checkpoint alone: IDX files,
# records of CIFAR, single pictures, arrays of NumPy and rows of bare numbers give what eval gives.
# Arguments: source tree, build tree.
. "$(dirname "$0")/cli_lib.sh"
command=predict
LC_ALL=C
export LC_ALL

how='optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "sequential"; };
machine = { threads = 1; peak_gflops = 1.0; };
train = { steps = 60; batch = 16; eval_every = 60; };'

# train NAME: quietly; its accuracy of the validation is $accuracy.
train() {
	"$millrace" train "$1.cfg" >out 2>&1 || complain "train $1.cfg:"
	"$millrace" eval "$1.cfg" >out 2>&1 || complain "eval $1.cfg:"
	accuracy=$(sed -n 's/.*\(accuracy [0-9.]*%\).*/\1/p' out)
}


idx() { # NAME FIRST COUNT: pictures of 4 x 3 pixels, three classes, and their labels
	{
		printf "\\0\\0\\010\\003\\0\\0\\0\\$(printf %03o "$3")\\0\\0\\0\\004\\0\\0\\0\\003"
		awk -v at="$2" -v n="$3" 'BEGIN { for (i = at; i < at + n; i++) for (j = 0; j < 12; j++)
			printf "%c", 1 + (i * 7 + j * 5) % 90 + 140 * (int(j / 3) == i % 3) }'
	} >"$1.images"
	{
		printf "\\0\\0\\010\\001\\0\\0\\0\\$(printf %03o "$3")"
		awk -v at="$2" -v n="$3" 'BEGIN { for (i = at; i < at + n; i++) printf "%c", 65 + i % 3 }' |
			tr ABC '\000\001\002'
	} >"$1.labels"
}
idx t 0 90
idx v 90 60
cat >mnist.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "mnist"; images = "t.images"; labels = "t.labels"; validation_images = "v.images";
         validation_labels = "v.labels"; classes = 3; mean = 0.3; std = 0.2; };
$how
END
train mnist
case $accuracy in "accuracy 9"* | "accuracy 100"*) ;; *) complain "the pictures were not learned: $accuracy" ;; esac
gzip -k v.images
mkdir away && mv t.images t.labels v.labels runs away
expect 0 "60 samples" away/runs/mnist v.images -o plain.csv
expect 0 "60 samples" away/runs/mnist v.images.gz -o packed.csv --batch 7
cmp -s plain.csv packed.csv || complain "a packed file changes predictions"
[ "$(head -n 1 plain.csv)" = "prediction,probability 0,probability 1,probability 2" ] ||
	complain "$(head -n 1 plain.csv)"
right=$(sed 1d plain.csv | awk -F, '{ n += $1 == (89 + NR) % 3 } END { printf "%.4f", n / 0.6 }')
[ "accuracy $right%" = "$accuracy" ] || complain "predict: $right % are right, eval: $accuracy"
# The same pictures one by one, as a folder for each class.
mkdir -p pics/0 pics/1 pics/2
for i in 0 1 2 3 4 5 6 7 8; do
	{ printf 'P5 3 4 255\n'; tail -c +$((17 + 12 * i)) v.images | head -c 12; } >pics/$((i % 3))/$i.pgm
done
expect 0 "9 samples" away/runs/mnist pics -o pics.csv
head -n 10 plain.csv | sed 1d | sort >want
sed 1d pics.csv | cut -d, -f2- | sort >got
cmp -s want got || complain "single pictures are predicted otherwise: $(diff want got)"
grep -q "^file,prediction," pics.csv || complain "pictures without names"
expect 4 "v.labels: is not a picture of a known format" away/runs/mnist away/v.labels
head -c 100 v.images >short.images
expect 4 "short.images: a file of 100 bytes cannot be 60 samples of 4x3" away/runs/mnist short.images
{ printf '\0\0\010\003\0\0\0\001\0\0\0\001\0\0\0\003'; printf abc; } >flat.images
expect 4 "flat.images: grey pictures of 3 x 1, where the model takes grey ones of 3 x 4" away/runs/mnist flat.images

# --- CIFAR ---
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "%c", 1 + i % 2; for (c = 0; c < 3; c++) for (j = 0; j < 1024; j++)
	printf "%c", 1 + (i * 3 + j * 5 + c) % 50 + 150 * (c == i % 2) } }' >cifar.bin
cat >cifar.cfg <<END
model = { name = "mlp"; hidden = [4]; };
data = { name = "cifar"; path = "cifar.bin"; validation_path = "cifar.bin"; padding = 0; flip = false; };
$how
END
train cifar
expect 0 "$accuracy, 40 samples" runs/cifar cifar.bin -o cifar.csv
{ printf 'P6 32 32 255\n'; awk 'BEGIN { for (j = 0; j < 1024; j++) for (c = 0; c < 3; c++)
	printf "%c", 1 + (3 + j * 5 + c) % 50 + 150 * (c == 1) }'; } >one.ppm
expect 0 "1 sample" runs/cifar one.ppm -o one.csv
[ "$(sed -n 2p one.csv | cut -d, -f2-)" = "$(sed -n 3p cifar.csv)" ] || complain "a picture of CIFAR is another one"
head -c 100 cifar.bin >short.bin
expect 4 "short.bin: 100 bytes are not a whole number of records of 3073 bytes" runs/cifar short.bin

# --- made-up data: rows of the input's numbers, with a target or without one ---
cat >made.cfg <<END
model = { name = "mlp"; hidden = [8]; };
data = { name = "synthetic"; features = 3; classes = 2; };
$how
END
train made
printf '1,2,3,0\n-1,-2,-3,1\n' >with.csv
cut -d, -f1-3 with.csv >without.csv
expect 0 "accuracy" runs/made with.csv -o a.csv
expect 0 "2 samples" runs/made without.csv -o b.csv
cmp -s a.csv b.csv || complain "a target changes predictions"
echo 1 >one.txt
expect 4 "one.txt:1: 1 column without names, where the model's data have 4" runs/made one.txt

# --- arrays of NumPy: what predict itself writes is one ---
cat >formula.cfg <<END
model = { name = "mlp"; hidden = [4]; };
data = { name = "formula"; rows = 32; features = 2; };
$how
END
train formula
awk 'BEGIN { for (i = 0; i < 20; i++) print i / 10 "," (i * 3 % 7) / 4 }' >rows.csv
awk 'BEGIN { for (i = 0; i < 20; i++) print i / 10 "," (i * 3 % 7) / 4 "," 1 - i / 9 }' >three.csv
expect 0 "20 samples" runs/made three.csv -o two.npy
expect 0 "20 samples" runs/formula two.npy -o from_npy.csv
"$millrace" predict runs/made three.csv 2>out | sed 1d | cut -d, -f2,3 >two.csv
expect 0 "20 samples" runs/formula two.csv -o from_csv.csv
paste -d' ' from_npy.csv from_csv.csv | awk 'NR > 1 { d = $1 - $2; if (d > 1e-5 || d < -1e-5) exit 1 }' ||
	complain "an array is predicted unlike its text: $(paste -d' ' from_npy.csv from_csv.csv)"
expect 4 "two.npy: rows of 2 numbers, where the model takes 3" runs/made two.npy
expect 4 "two.npy: rows of 2 numbers, where the model takes 12" away/runs/mnist two.npy
head -c 200 two.npy >cut.npy
expect 4 "cut.npy: has 72 bytes behind its head, where its shape asks for 40 numbers of 8" runs/formula cut.npy

# ... and what data "arrays" trains on.
expect 0 "" runs/formula two.npy -o y.npy
cat >arrays.cfg <<END
model = { name = "mlp"; hidden = [4]; };
data = { name = "arrays"; matrix = "two.npy"; targets = "y.npy"; };
$how
END
train arrays
expect 0 "20 samples" runs/arrays two.npy -o again.csv

# --- sequences that become sequences ---
cat >pairs.cfg <<END
model = { name = "gnmt"; layers = 2; width = 8; };
data = { name = "reversal"; };
$how
END
"$millrace" train pairs.cfg --set train.steps=1 >out 2>&1 || complain "train pairs.cfg:"
expect 5 "its data are pairs of sequences, of which no file is predicted" runs/pairs rows.csv
exit $failed
