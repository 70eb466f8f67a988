#!/bin/sh
# The pages are true: every block of commands is carried out, and what it is said to print it prints; every piece of
# code stands in the file that it names.
#	slow_pages.sh SOURCE BUILD
# In a page (any *.md but those of tests/golden)
#	```sh          commands, run in order in one folder a page, with `millrace` on the path and the tree's conf/
#	```text        lines that the block of commands before it printed
#	```c FILE      stands so in FILE
#	```sh tree     commands that change a copy of the tree: long_pages_tree.sh
#	```sh dry      commands that take too long, or need root or a network: tests/cli/test_pages.sh looks whether
#	               what they name is there; a command in no block of these kinds is a fault there
#	```console     output of another machine or moment: not looked at, but for commands behind "$ ", as with sh dry
. "$(dirname "$0")/train_lib.sh"

[ "$backends" != f64 ] || skip "without oneDNN the trainings of the pages take many minutes"

mkdir bin
ln -s "$millrace" bin/millrace
PATH=$work/bin:$PATH

# Each fenced block of page @1 into a file of folder @2: NUMBER.KIND, its first line being the rest of the fence's line.
split_page() {
	awk -v dir="$2" '
		/^```/ && !inside { inside = 1; kind = substr($1, 4); file = sprintf("%s/%03d.%s", dir, ++n, kind)
			$1 = ""; print substr($0, 2) >file; next }
		/^```/ { inside = 0; close(file); next }
		inside { print >file }' "$1"
}

check_block() # FILE PAGE
{
	rest=$(head -n 1 "$1")
	tail -n +2 "$1" >body
	case $1 in
	*.sh)
		[ -z "$rest" ] || return 0
		cp body run.sh
		(cd "$folder" && sh -e ../run.sh) >printed 2>err </dev/null || fail "$2: exit code $? of: $(cat body)"
		n_blocks=$((n_blocks + 1))
		;;
	*.text)
		while IFS= read -r line; do
			grep -qxF -- "$line" printed || fail "$2: not printed: $line"
		done <body
		;;
	*.c)
		# All of the block, as one string of the file.
		awk 'NR == FNR { want = want $0 "\n"; next } { have = have $0 "\n" }
			END { exit !index(have, want) }' body "$source/$rest" ||
			fail "$2: $rest has no such code: $(head -n 3 body)"
		n_blocks=$((n_blocks + 1))
		;;
	esac
}

n_blocks=0
for page in $(cd "$source" && find . -name '*.md' ! -path './build*' ! -path './tests/golden/*' | sort); do
	folder=folder.$(echo "$page" | tr / _)
	mkdir "$folder" blocks
	ln -s "$source/conf" "$folder/conf"
	cp text.txt "$folder/input.txt"
	split_page "$source/$page" blocks
	for block in blocks/*; do
		[ ! -f "$block" ] || check_block "$block" "$page"
	done
	rm -r blocks
done
[ "$n_blocks" -ge 20 ] || fail "only $n_blocks blocks were found"
finish
