#!/bin/sh
# The parts of manual pages that are written by hand belong to commands and options that are there, all of them are
# printed, and none of them has a list of its own.   test_man.sh SOURCE BUILD
set -eu
parts=$1/engine/manual/pages.roff
millrace=$2/millrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() {
	echo "man: $*"
	failed=1
}

"$millrace" manual millrace >"$scratch/page"
"$millrace" --help | awk '/^usage:/ { next } /^  [a-z-]+ / { print $1 }' >"$scratch/commands"
[ -s "$scratch/commands" ]
sed -n '/^\.SH COMMANDS$/,/^\.SH OPTIONS$/s/^\.B \([a-z\\-]*\).*/\1/p' "$scratch/page" | tr -d '\\' |
	cmp - "$scratch/commands" || fail "millrace(1) lists other commands than --help"
while read -r command; do
	"$millrace" "$command" --help | awk -v c="$command" '/^  --/ { print c " " $1 }'
	echo "$command"
done <"$scratch/commands" >"$scratch/options"
printf 'millrace begin\nmillrace end\n' >>"$scratch/options"

# "COMMAND... --OPTION" as one line a command.
sed -n 's/^\.\\"@ //p' "$parts" | awk '
/^millrace / || !/ --/ { print; next }
{ for (i = 1; i < NF; i++) print $i " " $NF }' >"$scratch/marks"
[ "$(sort "$scratch/marks" | uniq -d)" = "" ] || fail "marked twice: $(sort "$scratch/marks" | uniq -d)"
grep -vxF -f "$scratch/options" "$scratch/marks" >"$scratch/lost" || :
[ ! -s "$scratch/lost" ] || fail "$parts has parts of what is not there: $(cat "$scratch/lost")"
grep -q -- '--' "$scratch/marks" || fail "$parts has no part of an option"
"$millrace" manual --folder "$scratch"
cat "$scratch"/millrace*.1 >"$scratch/all"
awk '/^\.\\"@ / { part = $0; next } part && NR > 1 { print }' "$parts" | sort -u |
	while read -r line; do
		grep -qxF -- "$line" "$scratch/all" || echo "$line"
	done >"$scratch/unprinted"
[ ! -s "$scratch/unprinted" ] || fail "on no page: $(head -3 "$scratch/unprinted")"
# Options stand in the tables of their commands; these three belong to no command or to many.
sed -n '/^\.TP$/{n;s/^\.BI* \\-\\-\([a-z]*\).*/\1/p}' "$parts" | tr '\n' ' ' >"$scratch/by_hand"
[ "$(cat "$scratch/by_hand")" = "set help version " ] ||
	fail "$parts lists options itself: $(cat "$scratch/by_hand")"

# The rule by which a save is refused is told where one looks for it, with the same bound.
rule() {
	tr -d '" ' <"$1" | grep -qF 'r>1000*max(1,r0)*(n-n0)' || fail "the rule of refused saves is not in $1"
}
rule "$scratch/page"
rule "$1/conf/reference.cfg"
"$millrace" train --help | grep -qF 'exit code 7 (millrace(1), CHECKPOINTS)' || fail "train --help: no CHECKPOINTS"
grep -q '^#define MOST_GROWTH 1000.0$' "$1/engine/checkpoint/checkpoints.c" || fail "another growth is refused"
grep -q '^\.SH CHECKPOINTS$' "$scratch/page" || fail "millrace(1) has no CHECKPOINTS"
exit $failed
