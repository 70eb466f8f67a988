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
written flowers.cfg 'ignore = "1,4,6";'
written flowers.cfg '# Column 4 (colour) is left out: "red" is no number.'
trains flowers.cfg
awk -F'[:,]' '/"val_accuracy"/ { for (i = 1; i < NF; i++) if ($i ~ /val_accuracy/) x = $(i + 1) }
	END { exit !(x > 0.9) }' runs/flowers/metrics.jsonl || complain "the flowers were not told apart"
expect 2 "flowers.cfg exists and is left as it is" init flowers.csv

# Numbers as targets, an empty field, no header, tabs; the configuration in another folder than the data.
awk 'BEGIN { srand(2); for (i = 0; i < 200; i++) { a = rand(); print a "\t" (i == 7 ? "" : rand()) "\t" 300 * a } }' \
	>prices.tsv
mkdir there 'with "quotes"'
expect 0 "there/p.cfg is written" init prices.tsv -o there/p.cfg
written there/p.cfg 'target = "3";'
written there/p.cfg 'targets = "numbers";'
written there/p.cfg 'empty = "zero";'
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
awk 'BEGIN { print "name,kind"; for (i = 0; i < 20; i++) print "n" i ",k" i % 2 }' >words.csv
expect 4 "no column of numbers is left beside the target, column 2 (kind)" init words.csv
awk 'BEGIN { print "a,label"; for (i = 0; i < 20; i++) print i * i ",x" }' >same.csv
expect 4 "taken for the target, has the same value in every row" init same.csv
awk 'BEGIN { print "a,b"; for (i = 0; i < 20; i++) print i * i "," i; print "1,2,3" }' >ragged.csv
expect 4 "ragged.csv:22: 3 fields, where the first line has 2" init ragged.csv
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
{ echo x,y; seq 30 | sed 's/.*/&.5,&/; 9s/.*/NA,9/'; } >na.csv
expect 4 "na.csv:10: no column of numbers is left beside the target, column 2 (y): column 1 (x) has \"NA\" here" \
	init na.csv

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
for file in c nowhere nothing short few words same ragged binary empty; do
	[ ! -e $file.cfg ] || complain "$file.cfg was written"
done
exit $failed
