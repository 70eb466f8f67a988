#!/bin/sh
# No command of a page escapes: what system.pages does not carry out must at least exist.   test_pages.sh SOURCE BUILD
#
# Looked at are the commands of all pages (*.md but those of tests/golden) that take too long, or need root, a network
# or other packages: blocks "```sh dry", lines after "$ " in "```console", and what stands in `backquotes`. Programs,
# commands, options, presets, cases of benchmarks, suites and files that they name must be there. A command in an
# indented block is none of these, and a fault, as is a kind of block that no test knows.
. "$(dirname "$0")/cli_lib.sh"
build=$2

# Lines "PAGE:LINE<tab>KIND<tab>COMMAND" of the page @1: dry, console, quoted; fault where a block is not allowed.
commands_of() {
	(cd "$source" && awk '
	function put(kind, text) { printf "%s:%d\t%s\t%s\n", FILENAME, FNR, kind, text }
	function lines(kind, text) { # with their continuations
		sub(/[ \t]+#.*/, "", text)
		part = part text
		if (part ~ /\\$/) { sub(/\\$/, " ", part); return }
		if (part !~ /^[ \t]*$/) put(kind, part)
		part = ""
	}
	/^```/ && !fence {
		fence = 1; kind = $0; sub(/^```/, "", kind); going = 0
		if (kind !~ /^(sh|sh dry|sh tree|text|console|python|c [a-z_\/]+[.](c|def|inc))$/)
			put("fault", "a block of kind \"" kind "\"")
		next
	}
	/^```/ { fence = 0; next }
	fence && kind == "sh dry" { lines("dry", $0); next }
	fence && kind == "console" {
		if ($0 ~ /^\$ /) { going = 1; lines("console", substr($0, 3)) }
		else if (going && part != "") lines("console", $0)
		next
	}
	fence { next }
	/^    [^ ]/ && before == "" {
		if ($1 ~ ("^(\\./mill|millrace|build[a-z-]*/|cmake|ctest|sh|sudo|apt|apt-get|pip|python3?|perf|perf/|" \
			  "docker|podman|dpkg|systemctl|man)($|[^a-z])"))
			put("fault", "a command in an indented block, which no test sees: " $0)
	}
	{
		text = $0
		while (match(text, /`[^`]+`/)) {
			quoted = substr(text, RSTART + 1, RLENGTH - 2)
			text = substr(text, RSTART + RLENGTH)
			if (quoted ~ /^(\.\/mill|millrace|build\/[a-z_]+|perf\/[a-z]+\.sh|ctest|cmake) /)
				put("quoted", quoted)
		}
	}
	{ before = $0 }' "$1")
}

missing() { # TEXT: of the command at $place
	echo "$place: $1: $text"
	failed=1
}

# The options among the words are options that file or text @1 names.
options_in() {
	named=$1
	shift
	for word; do
		case $word in
		*' '*) ;; # words for another program, as the value of an option
		--?*) grep -qF -- "${word%%=*}" "$named" || missing "no option ${word%%=*}" ;;
		esac
	done
}

# millrace @...: the command and its options.
check_program() {
	case ${1:-} in
	-* | '') return ;;
	esac
	"$millrace" "$1" --help >help.text 2>&1 </dev/null || {
		missing "no command millrace $1"
		return
	}
	options_in help.text "$@"
}

# A benchmark and its options, which its sources name.
check_bench() {
	name=$1
	[ -f "$source/perf/$name.c" ] || [ -f "$source/perf/$name.sh" ] || {
		missing "no benchmark $name"
		return
	}
	shift
	cat "$source/perf/$name".* "$source/perf/$name"/* "$source/mill" 2>/dev/null >bench.text
	options_in bench.text "$@"
	case_next=false
	for word; do
		if $case_next && ! grep -qF -- "\"$word" bench.text; then
			missing "no case $word"
		fi
		case_next=false
		[ "$word" != --case ] || case_next=true
	done
}

check_mill() {
	"$source/mill" help >help.text
	grep -q "^  $1 *\( \|\$\)" help.text || missing "no ./mill $1"
	[ "$1" != bench ] || [ $# = 1 ] || {
		shift
		check_bench "$@"
		return
	}
	[ "$1" = run ] || options_in help.text "$@"
}

check_ctest() {
	while [ $# -gt 1 ]; do
		case $1 in
		-R) # builds with sanitizers have names in front of those of the page
			ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | sed 's/^[at]san[.]//' |
				grep -Eq -- "$2" || missing "no such test"
			;;
		-L)
			ctest --test-dir "$build" -N -L "$2" 2>&1 | grep -q '^Total Tests: [1-9]' ||
				missing "no such test"
			;;
		esac
		shift
	done
}

# Paths of the tree among the words.
check_files() {
	for word; do
		case $word in
		build* | *'*'*) ;;
		perf/* | conf/* | engine/* | tests/* | schedules/* | ./engine/*)
			[ -e "$source/$word" ] || missing "no file $word"
			;;
		esac
	done
}

check_command() {
	check_files "$@"
	case $1 in
	./mill) shift && check_mill "$@" ;;
	millrace | build/millrace) shift && check_program "$@" ;;
	build/perf_*) name=${1#build/perf_} && shift && check_bench "$name" "$@" ;;
	build-test/test_*)
		[ -f "$source/tests/${1#build-test/test_}/test_$2.c" ] || missing "no suite $2"
		;;
	ctest) check_ctest "$@" ;;
	cmake)
		for word; do
			case $word in
			--*) last=$word ;;
			*) [ "${last:-}" != --preset ] || grep -q "\"name\": \"$word\"" "$source/CMakePresets.json" ||
				missing "no preset $word" ;;
			esac
			[ "$word" = "${last:-}" ] || last=
		done
		;;
	sh) [ -f "$source/$2" ] || missing "no file $2" ;;
	perf/*.sh | perf/*.py) options_in "$source/$1" "$@" ;;
	# Other programs: their files, and the millrace that they start.
	perf | bpftrace | gdb | pip | ssh | ssh-keygen | ssh-copy-id | sysctl) ;;
	*) missing "no test looks at such a command" ;;
	esac
}

n=0
for page in $(cd "$source" && find . -name '*.md' ! -path './build*' ! -path './tests/golden/*' | sort); do
	commands_of "$page" >commands || failed=1
	while IFS='	' read -r place kind text; do
		n=$((n + 1))
		if [ "$kind" = fault ]; then
			missing "$kind"
			continue
		fi
		# What another program starts counts, too; quotes of words do not.
		printf '%s\n' "$text" | sed 's/ && /\n/g; s/-c "\(build\/millrace [^"]*\)"/\n\1/; s/--args /\n/' >parts
		while read -r part; do
			set -f
			eval "set -- $part" 2>/dev/null || set -- $part
			set +f
			[ $# = 0 ] || check_command "$@"
		done <parts
	done <commands
done
[ "$n" -ge 50 ] || complain "only $n commands were found"
exit $failed
