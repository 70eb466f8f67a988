# What of the data a training does not see is said on the terminal, and texts of files do nothing to the terminal.
#	test_left_out.sh SOURCE BUILD
. "$(dirname "$0")/cli_lib.sh"
escape=$(printf '\033')

clean() {
	! grep -q "$escape" out || complain "$1: control characters go to the terminal:"
}

# A classifier whose columns of text, or of row numbers, are dropped.
awk -v e="$escape" 'BEGIN { srand(1); print "id,name" e "[31m,a,b,kind"
	for (i = 0; i < 60; i++)
		print i ",Bob" e "[7m" i "," rand() "," rand() "," (i % 2 ? "x" : "y" e "[2J") }' >r.csv
expect 0 'Column 1 (id) is left out: it numbers the rows.' init r.csv -o r.cfg
has 'Column 2 (name?[31m) is left out: 60 of 60 rows have a text that no other has, such as "Bob?[7m0".'
clean init
for words in "check-data r.cfg" "train r.cfg --set train.steps=2 --set machine.peak_gflops=1.0"; do
	# shellcheck disable=SC2086 # words
	expect 0 'left out: id, name?[31m (2 of 5 columns), 2 classes: x, y?[2J' $words
	clean "$words"
done
awk 'BEGIN { srand(1); print "a,b,kind"; for (i = 0; i < 60; i++) print rand() "," rand() "," i % 2 }' >n.csv
expect 0 "n.cfg is written" init n.csv -o n.cfg
! grep -q "left out" out || complain "nothing is left out:"
expect 0 "" check-data n.cfg
! grep -q "left out" out || complain "nothing is left out:"

# Pictures of kinds that no part of the program reads, and what else lies in the folders.
mkdir -p pics/cat pics/dog/inner
for c in cat dog; do
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		printf 'P5\n8 8\n255\n%064d' $i >pics/$c/$i.pgm
	done
done
for f in cat/a.heic cat/b.HEIC dog/c.bmp dog/d.tiff readme.txt; do
	echo other >pics/$f
done
said="6 files are skipped: 2 .heic (cat/a.heic), 1 .bmp (dog/c.bmp), 1 .tiff (dog/d.tiff), "
said="${said}1 inner folders (dog/inner), 1 .txt (readme.txt)"
expect 0 "$said" init pics -o p.cfg
for words in "check-data p.cfg" \
	"train p.cfg --set train.steps=1 --set lr_schedule.warmup=0 --set machine.peak_gflops=1.0"; do
	# shellcheck disable=SC2086 # words
	expect 0 "$said" $words
done
rm pics/dog/*.pgm
expect 4 "pics/dog: holds no picture: a class needs files .png, .jpg, .jpeg, .ppm or .pgm; in all 5 files are skipped" \
	check-data p.cfg
has "1 .bmp (dog/c.bmp)"
rm pics/cat/*.pgm
expect 4 "in its folders 5 files are skipped: " init pics -o q.cfg

# status.json, a tensor's name and a plan's, an error's file.
mkdir run
printf '{"millrace_status":1,"pid":1,"state":"trains","host":"h","name":"a\\u001b[31m","model":"m\\u0007","system":
"s\\u009b1m","error":"","workers":[{"stages":"0\\u001b","cores":"1","doing":"x\\u007f"}],"stages":[]}' >run/status.json
expect 0 'a?[31m   m? under s??1m' top run --once
clean top
expect 3 "no?[31m.cfg: no such file" plan "no$escape[31m.cfg"
clean plan
exit $failed
