#!/bin/sh
# Wrong programs that the tests must catch.
#
#   tests/mutants.sh [--list | --check] [--jobs N] [--keep DIR] [PATTERN...]
#
# tests/mutants.txt holds one edit of the program after the other (its head describes the format). Each is made in a
# copy of the tree, the copy is built, and the suites that the edit names are run, narrow ones first, until one of them
# fails: then the edit is caught. One line an edit, and at the end "N passed, N failed": edits that were caught, and
# edits that no suite noticed.
#
#   --list        print the names of the edits, their files and their suites
#   --check       only look whether each edit's old text is in its file exactly once; builds nothing
#   --jobs N      compilers at once (all CPUs that this process may use)
#   --keep DIR    copy and build in DIR, and leave it there; the next run with it only builds what has changed
#   PATTERN       only edits whose line of --list has a match (grep -E) of one of the patterns
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
edits=$root/tests/mutants.txt
mode=run
jobs=$(nproc 2>/dev/null || echo 1)
keep=

die() {
	printf 'mutants: %s\n' "$*" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--list | --check) mode=${1#--} ;;
	--jobs | --keep)
		[ $# -gt 1 ] || die "$1 needs a value"
		if [ "$1" = --jobs ]; then jobs=$2; else keep=$2; fi
		shift
		;;
	--) shift && break ;;
	-*) die "unknown option $1; see the head of tests/mutants.sh" ;;
	*) break ;;
	esac
	shift
done

# Reads the edits. With mode=list: prints "name<TAB>file<TAB>suites". With mode=check: says what does not apply. With
# mode=apply and want=NAME: prints the edited file.
reader='
function fail(text) { printf "%s: %s: %s\n", ARGV[1], name, text > "/dev/stderr"; bad = 1 }
function content(path,    text, line, sep, got) {
	if (path in cache)
		return cache[path]
	text = ""; sep = ""
	while ((got = (getline line < (root "/" path))) > 0) {
		text = text sep line
		sep = "\n"
	}
	close(root "/" path)
	if (got < 0)
		fail("there is no file " path)
	return cache[path] = text
}
function finish(    text, at, rest) {
	if (name == "")
		return
	n++
	if (file == "" || suites == "" || !has_old || old == new)
		fail("is not complete: it needs a file, suites, an old text and another new one")
	else if (mode == "list")
		printf "%s\t%s\t%s\n", name, file, suites
	else if (mode == "check" || name == want) {
		text = content(file)
		at = index(text, old)
		rest = substr(text, at + length(old))
		if (!at)
			fail("the old text is not in " file ":\n" old)
		else if (index(rest, old))
			fail("the old text is in " file " more than once:\n" old)
		else if (name == want)
			print substr(text, 1, at - 1) new rest
	}
	name = file = suites = old = new = ""
	has_old = has_new = 0
}
/^#/ || /^$/ { next }
/^edit / {
	finish()
	name = $2
	if (name in seen)
		fail("there are two edits of this name")
	seen[name] = 1
	next
}
/^file / { file = $2; next }
/^run / { suites = substr($0, 5); next }
/^-/ { old = old (has_old++ ? "\n" : "") substr($0, 2); next }
/^[+]/ { new = new (has_new++ ? "\n" : "") substr($0, 2); next }
{ fail("line " FNR " is none that an edit has: " $0) }
END {
	finish()
	if (!n)
		fail("holds no edits")
	exit bad
}'

read_edits() {
	awk -v mode="$1" -v want="$2" -v root="$3" "$reader" "$edits"
}

# The targets that have to be built for suites: the runner of a layer, or the program for a script.
targets() {
	for suite in "$@"; do
		layer=${suite%%.*}
		case $(echo "$root/tests/$layer/"*_"${suite#*.}".*) in
		*.c) echo "test_$layer" ;;
		*.sh) echo millrace ;;
		*) die "there is no suite $suite" ;;
		esac
	done | sort -u
}

build() {
	# shellcheck disable=SC2046 # a list of targets
	cmake --build "$work/build" -j "$jobs" --target $(targets "$@") >"$work/build.log" 2>&1
}

# Runs the suites until one fails, whose name it prints; fails if all pass.
first_failure() {
	for suite in "$@"; do
		if ! (cd "$work/build" && ctest -R "^$(echo "$suite" | sed 's/[.]/[.]/')\$" \
			--no-tests=error) >"$work/run.log" 2>&1; then
			# An edit may make a suite wait for ever; on a busy machine it may be just late.
			grep -q '[*]Timeout' "$work/run.log" && suite="$suite, which did not end in time"
			echo "$suite"
			return 0
		fi
	done
	return 1
}

case $mode in
check)
	read_edits check "" "$root"
	printf 'all %d edits apply exactly once\n' "$(read_edits list "" "$root" | wc -l)"
	exit
	;;
esac
list=$(read_edits list "" "$root")
if [ $# -gt 0 ]; then
	patterns=$(printf '%s\n' "$@")
	list=$(printf '%s\n' "$list" | grep -E -e "$patterns") || list=
	[ -n "$list" ] || die "no line of --list has a match of $*"
fi
if [ "$mode" = list ]; then
	printf '%s\n' "$list"
	exit
fi

# --- a copy of the tree, built ---------------------------------------------------------------------------------------

if [ -n "$keep" ]; then
	mkdir -p "$keep"
	work=$(cd "$keep" && pwd)
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
fi
mkdir -p "$work/tree"
# What differs alone is copied, with its time, so that a kept build stays as it is where nothing has changed.
(cd "$root" && find . -path ./.git -prune -o -path './build*' -prune -o -path ./runs -prune -o -path ./rpd -prune -o \
	-type f -print) |
	while read -r path; do
		cmp -s "$root/$path" "$work/tree/$path" && continue
		mkdir -p "$work/tree/${path%/*}"
		cp "$root/$path" "$work/tree/$path"
	done
(cd "$work/tree" && find . -type f) | while read -r path; do
	[ -e "$root/$path" ] || rm "$work/tree/$path"
done
edits=$work/tree/tests/mutants.txt # the tree may change while this runs
# As the tests' own build, but quick to compile: what is caught does not depend on the optimizer.
cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=-O1 -DNDEBUG" \
	-DMILLRACE_FAULTS=ON \
	>"$work/configure.log" 2>&1 || {
	cat "$work/configure.log" >&2
	die "cmake could not configure the copy"
}
suites=$(printf '%s\n' "$list" | awk -F '\t' '{ print $3 }' | tr ' ' '\n' | sort -u)
# shellcheck disable=SC2086 # a list of suites
build $suites || {
	cat "$work/build.log" >&2
	die "the copy does not build"
}
# shellcheck disable=SC2086
if failed=$(first_failure $suites); then
	cat "$work/run.log" >&2
	die "$failed fails without any edit"
fi

# --- one edit after the other ----------------------------------------------------------------------------------------

caught=0
missed=0
old_ifs=$IFS
IFS='
'
for line in $list; do
	IFS=$old_ifs
	name=$(printf '%s' "$line" | cut -f 1)
	file=$(printf '%s' "$line" | cut -f 2)
	suites=$(printf '%s' "$line" | cut -f 3)
	read_edits apply "$name" "$work/tree" >"$work/edited" || die "$name cannot be made"
	cp "$work/tree/$file" "$work/original"
	cp "$work/edited" "$work/tree/$file"
	# shellcheck disable=SC2086
	if ! build $suites; then
		cat "$work/build.log" >&2
		printf '%-40s DOES NOT BUILD\n' "$name"
		missed=$((missed + 1))
	elif failed=$(first_failure $suites); then
		printf '%-40s caught by %s\n' "$name" "$failed"
		caught=$((caught + 1))
	else
		printf '%-40s NOT CAUGHT by %s\n' "$name" "$suites"
		missed=$((missed + 1))
	fi
	cp "$work/original" "$work/tree/$file"
done
printf '%d passed, %d failed\n' "$caught" "$missed"
[ "$missed" = 0 ]
