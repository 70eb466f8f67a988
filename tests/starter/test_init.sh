# millrace init: sees what data are, and what it writes trains as it stands.   test_init.sh SOURCE BUILD
. "$(dirname "$0")/../cli/cli_lib.sh"

# written FILE TEXT: the configuration has the line, blanks in front aside.
written() {
	sed 's/^[[:space:]]*//' "$1" | grep -qF -- "$2" || complain "$1 lacks \"$2\": $(cat "$1")"
}

# trains CONF [OPTION...]: the configuration trains, to a loss that is printed.
trains() {
	expect 0 "written to" train "$@" --set machine.peak_gflops=1
}

awk 'BEGIN {
	srand(1)
	print "id,length,width,colour,species,note"
	for (i = 1; i <= 90; i++)
		printf "%d,%.2f,%.2f,%s,kind %d,\n", i, i % 3 + rand() / 4, rand(), i % 2 ? "red" : "blue", i % 3
}' >flowers.csv
expect 0 "flowers.cfg is written; train it with: millrace train flowers.cfg" init flowers.csv
written flowers.cfg 'target = "species";'
written flowers.cfg 'targets = "classes"; # it has 3 different values'
written flowers.cfg 'ignore = "1,6";'
written flowers.cfg '# Column 6 (note) is left out: it is empty.'
written flowers.cfg 'categories = "4";'
trains flowers.cfg
awk -F'[:,]' '/"val_accuracy"/ { for (i = 1; i < NF; i++) if ($i ~ /val_accuracy/) x = $(i + 1) }
	END { exit !(x > 0.9) }' runs/flowers/metrics.jsonl || complain "the flowers were not told apart"
expect 0 "target   species, because of its name: 3 classes; --target NAME names another column" \
	init flowers.csv -o f.cfg
has "Column 1 (id) is left out: it numbers the rows."
has "texts    colour (2 values)"
expect 0 "target   width, as it is asked for: numbers from 0" init flowers.csv --target width -o w.cfg
written w.cfg 'target = "width";'
written w.cfg 'target_scale = "standard";'
expect 3 'target = "widht" is no column of flowers.csv, did you mean "width"?' init flowers.csv --target widht -o v.cfg
expect 2 "flowers.cfg exists and is left as it is" init flowers.csv

# With --system it is a pipeline, if this machine has two cores. What it is without follows from the machine's figures,
# which other programs may disturb here: choose.first_choice tries that on machines that are described.
expect 0 "system   pipedream, " init flowers.csv --system pipedream -o pipe.cfg
written pipe.cfg 'name = "pipedream";'
[ "$(nproc)" -lt 2 ] || written pipe.cfg 'workers = 2;'
written pipe.cfg '# As it was asked for; '
trains pipe.cfg --set train.steps=8
expect 2 '--system: no system is called "pipedreem"' init flowers.csv --system pipedreem -o v.cfg

# Numbers as targets, an empty field, no header, tabs; the configuration in another folder than the data.
awk 'BEGIN { srand(2); for (i = 0; i < 200; i++) { a = rand(); print a "\t" (i == 7 ? "" : rand()) "\t" 300 * a } }' \
	>prices.tsv
mkdir there 'with "quotes"'
expect 0 "there/p.cfg is written" init prices.tsv -o there/p.cfg
written there/p.cfg 'target = "3";'
written there/p.cfg 'targets = "numbers";'
written there/p.cfg 'empty = "mean";'
written there/p.cfg "path = \"$(pwd)/prices.tsv\";"
trains there/p.cfg --set train.steps=8
cp prices.tsv 'with "quotes"'
(cd 'with "quotes"' && "$millrace" init prices.tsv -o ../there/q.cfg) >out 2>&1 || complain "a folder with quotes:"
expect 0 "prices.tsv: " check-data there/q.cfg

awk 'BEGIN {
	srand(3)
	for (i = 0; i < 100; i++) {
		x = rand() - 0.5
		print (x > 0 ? "+1" : "-1") " 1:" x " 4:" rand()
	}
}' >heart
expect 0 "heart.cfg is written" init heart
written heart.cfg 'name = "libsvm";'
written heart.cfg 'labels = "classes";'
trains heart.cfg --set train.steps=8

awk 'BEGIN { for (i = 0; i < 300; i++) print "Line " i ", of a text, that is no table." }' >prose.txt
expect 0 "prose.cfg is written" init prose.txt
expect 4 "prose.txt: it is no table" init prose.txt --target x -o v.cfg
written prose.cfg 'name = "gpt";'
written prose.cfg 'name = "text";'
trains prose.cfg --set train.steps=2 --set lr_schedule.warmup=0 --set sample.tokens=5

# Two classes of pictures of 40 x 36, reddish and bluish: letters are bytes.
mkdir -p pictures/red pictures/blue
for class in red blue; do
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		printf 'P6\n40 36\n255\n' >"pictures/$class/$i.ppm"
		awk -v c=$class 'BEGIN { for (i = 0; i < 1440; i++) printf c == "red" ? "z! " : "! z" }' \
			>>"pictures/$class/$i.ppm"
	done
done
expect 0 "pictures.cfg is written" init pictures/
written pictures.cfg 'name = "resnet18";'
written pictures.cfg '# 24 pictures of 2 classes'
trains pictures.cfg --set train.steps=1 --set lr_schedule.warmup=0 --set model.width=2

written pictures.cfg 'flip = true;'
mkdir signs
cp -r pictures/red signs/digit_6
cp -r pictures/blue signs/digit_9
expect 0 "signs.cfg is written" init signs
written signs.cfg 'flip = false; # digits and letters'

# MNIST's files: 40 images of 28 x 28, and their labels.
mkdir idx
printf '\000\000\010\003\000\000\000\050\000\000\000\034\000\000\000\034' >idx/train-images-idx3-ubyte
awk 'BEGIN { for (i = 0; i < 31360; i++) printf "%c", 33 + i % 90 }' >>idx/train-images-idx3-ubyte
printf '\000\000\010\001\000\000\000\050' >idx/train-labels-idx1-ubyte
for i in 1 2 3 4 5 6 7 8 9 10; do
	printf '\001\002\003\004' >>idx/train-labels-idx1-ubyte
done
expect 0 "a.cfg is written" init idx -o a.cfg
expect 0 "b.cfg is written" init idx/train-labels-idx1-ubyte -o b.cfg
written a.cfg 'labels = "idx/train-labels-idx1-ubyte";'
written b.cfg 'images = "idx/train-images-idx3-ubyte";'
written a.cfg 'name = "lenet";'
trains a.cfg --set train.steps=2

# What it cannot take, and why.
rm idx/train-labels-idx1-ubyte
expect 4 "there is no file of their labels beside them" init idx -o c.cfg
expect 4 "nowhere.csv: No such file or directory" init nowhere.csv
: >nothing.txt
expect 4 "nothing.txt: the file is empty" init nothing.txt
echo short >short.txt
expect 4 "a text of 6 bytes is too short to learn from; at least 400 are needed" init short.txt
printf 'a,b\n1,2\n3,4\n' >few.csv
expect 4 "few.csv: 2 rows are too few to learn from; at least 10 are needed" init few.csv
awk 'BEGIN { print "name,kind"; for (i = 0; i < 30; i++) print "n" i ",k" i % 2 }' >words.csv
expect 4 "no column is left beside the target, column 2 (kind). Column 1 (name) is left out" init words.csv
awk 'BEGIN { print "a,label"; for (i = 0; i < 20; i++) print i * i ",x" }' >same.csv
expect 4 "taken for the target because of its name, has the same value in every row" init same.csv
printf 'ab\000cd' >binary.bin
expect 4 "this is no text, and of no other kind that init can see" init binary.bin
mkdir empty
expect 4 "the folder has neither folders of PNG" init empty
printf 'x,y,c\r1,2,a\r' >old.csv
expect 4 "old.csv: its lines end in CR alone, expected LF or CR LF" init old.csv
printf '\377\376t\000o\000' >wide.txt
expect 4 "wide.txt: a text in UTF-16, expected UTF-8" init wide.txt
printf 'x,y,c' >head.csv
expect 4 "head.csv: 0 rows are too few to learn from" init head.csv
awk 'BEGIN { print "a,b"; for (i = 0; i < 40; i++) print i * i "," (i < 21 ? "1,2,3" : i * i + 1) }' >ragged.csv
expect 4 "ragged.csv: 21 of 40 rows are damaged, the first: ragged.csv:2: 4 fields, where the first line has 2" \
	init ragged.csv

# A table with every oddity: what becomes of it is said, and it trains and predicts.
awk 'BEGIN {
	srand(7)
	split("red green blue", colour)
	print "Ref;price;share;open;when;colour;town;remark;always;size"
	for (i = 1; i <= 300; i++) {
		size = rand() * 9
		printf "R%03d;%s;%d %%;%s;%d.%d.2021;%s;t%d;\"says \"\"no\"\";\n%s\";x;%s\n", i,
		       i % 9 ? sprintf("1.%03d,5", size * 100) : "n/a", 100 * rand(), i % 3 ? "yes" : "no",
		       1 + i % 28, 1 + i % 12, i % 7 ? colour[1 + i % 3] : "?", i % 90, i % 2 ? "a" : "b",
		       i % 50 ? sprintf("%.2f", size) : "NULL"
	}
	print "R301;1;2"
	print "R302;much;3 %;yes;1.1.2021;red;t1;a;x;1"
}' >odd.csv
expect 0 "odd.cfg is written" init odd.csv
has "target   size, because it is the last column: numbers from 0"
has 'Column 1 (Ref) is left out: 301 of 301 rows have a text that no other has, such as "R001".'
has 'Column 9 (always) is left out: it has the same value in each row, "x".'
has '2 damaged rows are left out, the first: odd.csv:602: 3 fields, where the first line has 10.'
has '6 rows are left out, without a target.'
has 'texts    colour (4 values), town (90 values), remark (3 values)'
written odd.cfg 'damaged = 2;'
written odd.cfg 'categories = 1; # columns with a table of embeddings each'
trains odd.cfg
"$millrace" predict runs/odd odd.csv >p 2>out
[ $? -eq 4 ] && grep -q '2 samples cannot be read, the first: odd.csv:602' out || complain "predict of damaged rows:"
sed '/^R30[12];/d' odd.csv >even.csv
"$millrace" predict runs/odd even.csv >p 2>out || complain "predict odd:"
sed -n 's/.*R2 \(0\.[0-9]*\), 294 samples.*/\1/p' out | awk '{ ok = $1 > 0.8 } END { exit !ok }' ||
	complain "sizes are not predicted"
expect 4 "odd.csv: 2 of 296 rows are damaged" train odd.cfg --set data.damaged=1
has "odd.csv:603: price: \"much\" is no number such as 1.234,5"

# A byte order mark, and no newline behind the last line.
{ printf '\357\273\277'; seq 30 | sed 's/.*/&.5,&.25/'; printf '7,7'; } >mark.csv
expect 0 "mark.cfg is written" init mark.csv
grep -q ignore mark.cfg && complain "a column with a byte order mark is left out: $(cat mark.cfg)"
expect 0 "27 training and 4 validation rows of 1 numbers" check-data mark.cfg
{ printf '\357\273\277'; seq 30 | sed 's/.*/& 1:.5 3:&/'; } >mark.svm
expect 0 "mark.svm.cfg is written" init mark.svm -o mark.svm.cfg
written mark.svm.cfg 'name = "libsvm";'
expect 1 "no/such/folder" init flowers.csv -o no/such/folder/x.cfg
expect 2 "usage: millrace init DATA" init
for file in c nowhere nothing short few words same ragged binary empty v; do
	[ ! -e $file.cfg ] || complain "$file.cfg was written"
done
exit $failed
