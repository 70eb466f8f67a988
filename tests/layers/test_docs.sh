#!/bin/sh
# What the pages name is there: files, links, functions and types, suites.   test_docs.sh SOURCE
# A name in backquotes counts as a file where it ends like one, and may begin at the root, at engine/ or at its own
# folder; without a folder any file of that name will do. Names with a capital NAME or with *, <, $ or blanks are
# patterns, and not looked for.
set -u
cd "$1" || exit 1
bad=0
complain() {
	printf '%s: %s\n' "$page" "$1"
	bad=1
}

# Does @1 lie below the root, below engine/ or beside the page?
is_there() {
	[ -e "$1" ] || [ -e "engine/$1" ] || [ -e "$(dirname "$page")/$1" ]
}

words=$(mktemp)
trap 'rm -f "$words"' EXIT
pages=$(find . -name '*.md' ! -path './build*' ! -path './tests/golden/*' ! -path './.*' | sed 's,^[.]/,,' | sort)
for page in $pages; do
	[ -f "$page" ] || continue
	grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^https\?:' | sort -u >"$words"
	while read -r link; do
		[ -z "$link" ] || [ -e "$(dirname "$page")/$link" ] ||
			complain "a link leads to $link, which is not there"
	done <"$words"
	grep -o '`[^`]*`' "$page" | tr -d '`' | grep -v 'NAME\|[*<$ ]\|^mr_$\|^[.]' | sort -u >"$words"
	while read -r word; do
		case $word in
		*/*.[ch1] | */*.def | */*.inc | */*.md | */*.sh | */*.txt | */*.cfg | */*.py | */ | engine/* | tests/*)
			is_there "$word" || complain "$word is not there"
			;;
		*.[ch] | *.def | *.inc | *.py)
			[ -n "$(find engine schedules models tests -name "$word")" ] ||
				complain "no file is called $word"
			;;
		mr_* | MR_*)
			grep -rqw --include='*.[ch]' "$word" engine schedules models tests ||
				complain "the code has no $word"
			;;
		*[a-z].[a-z]*)
			# Not a suite: names of files, and keys of a configuration.
			[ -d "tests/${word%%.*}" ] || [ -d "engine/${word%%.*}" ] || continue
			grep -q "^[#|	]*${word#*.} = " conf/reference.cfg 2>/dev/null && continue
			found=
			for file in "tests/${word%%.*}"/*_"${word#*.}".*; do
				[ -f "$file" ] && found=1
			done
			[ -n "$found" ] || complain "there is no suite $word"
			;;
		esac
	done <"$words"
done
exit $bad
