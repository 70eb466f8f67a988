# Names that are no regular file, as output and as input of each command: nothing hangs, nothing grows without an end,
# nothing that stood there is lost, and the exit code is the documented one.   slow_special_files.sh SOURCE BUILD
. "$(dirname "$0")/cli_lib.sh"

cp "$source/tests/golden/token/gpt2.json" .
tiny_configs 'run = { dir = "run"; };'
"$millrace" schedule 1f1b --workers 2 --format json -o plan.json >out 2>&1 || complain "a plan:"
"$millrace" plan ok.cfg --format layers -o layers.csv >out 2>&1 || complain "layers:"
"$millrace" train ok.cfg >out 2>&1 || complain "a training:"
"$millrace" --version | grep -q 'tokenizers by PCRE2: none' && tokens= || tokens=yes

# limited SECONDS CODE TEXT WORDS: as expect, with a limit of time and of memory.
limited() {
	limit=$1
	code=$2
	text=$3
	shift 3
	timeout "$limit" "$millrace" "$@" >out 2>&1 </dev/null
	got=$?
	if [ $got -ne "$code" ] || { [ -n "$text" ] && ! grep -qF -- "$text" out; }; then
		complain "$case: millrace $*: exit $got, expected $code with \"$text\":"
	fi
}

is_kept() {
	[ "$(cat "$1")" = "$2" ] || complain "$case: $1 has lost its contents:"
}

no_rest() {
	! ls ./*.tmp* 2>/dev/null || complain "$case: a temporary file is left:"
}

# --- output: one line a command, whose last word is the option; then the file that it reads ---
while read -r input words; do
	[ "$tokens" ] || [ "${words%% *}" != tokenize ] || continue
	case="output of $words"
	echo before >old
	ln -s old link
	ln -s new dangling
	ln -s loop loop
	ln -s /dev/null null
	ln -s /dev/full full
	mkfifo pipe
	mkdir folder
	# shellcheck disable=SC2086 # words
	{
		timeout 60 cat pipe >piped &
		limited 60 0 "" $words pipe
		wait $!
		[ -s piped ] && [ -p pipe ] || complain "$case: a pipe gets it and stays:"
		limited 60 1 "it is a pipe that nothing reads" $words pipe
		[ -p pipe ] || complain "$case: a pipe that nothing reads stays:"
		limited 60 0 "" $words null
		[ -L null ] || complain "$case: a link to a device stays:"
		limited 60 1 "full: cannot write: No space left on device" $words full
		[ -L full ] && [ -c /dev/full ] || complain "$case: a device stays:"
		limited 60 1 "loop: cannot write: Too many levels of symbolic links" $words loop
		limited 60 1 "folder: cannot write: is a directory, expected a file" $words folder
		limited 60 1 "none/x: cannot write: No such file or directory" $words none/x
		cp "$input" kept
		limited 60 2 "$input: is read by this command and is left as it is" $words "$input"
		cmp -s kept "$input" || complain "$case: its input is gone:"
		ln -s "$input" alias
		limited 60 2 "alias: is read by this command and is left as it is" $words alias
		cmp -s kept "$input" || complain "$case: its input, by a link, is gone:"
		is_kept old before
		limited 60 0 "" $words link
		[ -L link ] && [ ! -L old ] && [ "$(cat old)" != before ] || complain "$case: a link is kept:"
		limited 60 0 "" $words dangling
		[ -L dangling ] && [ -s new ] || complain "$case: a link to no file is kept:"
		limited 60 0 "" $words /dev/stdout
		echo "a log" >log
		timeout 60 "$millrace" $words /dev/stderr 2>>log >out
		[ "$(head -n 1 log)" = "a log" ] && [ "$(wc -c <log)" -gt 6 ] ||
			complain "$case: a log is gone on with:"
	}
	no_rest
	rm -rf old link dangling new loop null full pipe folder alias kept piped log
done <<'END'
ok.cfg plan ok.cfg --format layers -o
ok.cfg plan ok.cfg -o
layers.csv partition layers.csv --workers 2 -o
run/metrics.jsonl curves run -o
run/metrics.jsonl report run -o
prose.txt tokenize gpt2.json prose.txt -o
gpt2.json tokenize gpt2.json prose.txt --format nanogpt -o
END

# What fails on the way leaves the old file; also the one that begins with a long measurement.
case="after a failure"
echo before >old
limited 60 4 "" report nowhere -o old
is_kept old before
if [ "$tokens" ]; then
	limited 60 4 "" tokenize gpt2.json prose.txt nowhere.txt -o old
	is_kept old before
fi
mkdir folder
racing="--set system.name=ampnet --set system.order=racing"
for words in "profile ok.cfg -o" "profile ok.cfg --roofline" "tune -o" "plan ok.cfg --auto -o" \
	"train ok.cfg --set run.dir=t $racing --record"; do
	# shellcheck disable=SC2086 # words
	limited 60 1 "folder: cannot write: is a directory, expected a file" $words folder
done
limited 60 2 "ok.cfg: is read by this command" profile ok.cfg -o ok.cfg
limited 60 2 "ok.cfg: is read by this command" train ok.cfg --set run.dir=t $racing --record ok.cfg
limited 60 2 "exists and is left as it is" init rows.csv -o rows.csv
no_rest

# --- input: one line a command and its exit code; @ stands for the name ---
mkfifo pipe
ln -s loop loop
ln -s nowhere dangling
ln -s /dev/zero zero
truncate -s 1T sparse
cp -r run special
while read -r code words; do
	case "$words" in
	tokenize*) [ "$tokens" ] || continue ;;
	esac
	for name in pipe zero folder loop dangling sparse; do
		case="input $name"
		# shellcheck disable=SC2046 # words
		limited 60 "$code" "" $(echo "$words" | sed "s,@,$name,g")
	done
done <<'END'
3 plan @
3 check @
3 schedule 1f1b --workers 2 --costs @
3 partition @ --workers 2
3 plan ok.cfg --costs @
4 check-data ok.cfg --set data.path=@
4 check-data ok.cfg --set data.validation_path=@
4 tokenize @ prose.txt -o x
4 check-data text.cfg --set data.tokenizer=@
5 inspect @
END
for name in pipe zero folder loop dangling; do
	case="input $name"
	limited 60 4 "$name" check-data text.cfg --set data.path=$name
	[ ! "$tokens" ] || limited 60 4 "$name" tokenize gpt2.json $name -o x
done
case="a text larger than memory"
[ ! "$tokens" ] || limited 60 6 "no memory for 1.0 TiB" tokenize gpt2.json sparse -o x
for name in pipe zero loop dangling sparse; do
	case="input $name"
	limited 60 4 "$name" report $name
	limited 60 4 "$name" curves $name
	limited 60 4 "$name" top $name --once
	limited 60 4 "$name" init $name -o x.cfg
done

# Files of a run: what is no regular file is refused, and not waited for.
for file in metrics.jsonl status.json resolved.cfg memory.json run.json; do
	for name in pipe zero sparse; do
		case="$file is $name"
		rm -rf special
		cp -r run special
		rm special/$file
		ln -s ../$name special/$file
		[ $file = status.json ] || limited 60 4 "$file" report special -o x.html
		[ $file != metrics.jsonl ] || limited 60 4 "$file" curves special -o x.svg
		[ $file != status.json ] || limited 60 4 "$file" top special --once
	done
done
case="a run goes on"
rm -rf special
cp -r run special
rm special/metrics.jsonl
mkfifo special/metrics.jsonl
limited 60 1 "metrics.jsonl: is a pipe, expected a file" train ok.cfg --set run.dir=special --set train.steps=4 --resume
mkdir elsewhere linked
ln -s ../elsewhere linked/tensorboard
limited 60 1 "tensorboard: is a link, expected a folder" train ok.cfg --set run.dir=linked --set run.tensorboard=true
[ -z "$(ls elsewhere)" ] || complain "$case: the link to elsewhere was followed:"

# A pipe that a user names is read.
case="a pipe to read"
cat ok.cfg >pipe &
limited 60 0 "54 training" check-data pipe
"$millrace" check - <plan.json >out 2>&1 || complain "a plan on standard input:"
cat plan.json | "$millrace" check /dev/stdin >out 2>&1 || complain "a plan through a pipe:"
exit $failed
