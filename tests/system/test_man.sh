#!/bin/sh
# The manual page names the commands and options that the program's own help names, and no others.
#	test_man.sh SOURCE BUILD
set -eu
page=$1/engine/cli/millrace.1
millrace=$2/millrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$millrace" --help | awk '/^usage:/ { next } /^  [a-z-]+ / { print $1 }' | sort >"$scratch/commands"
awk '/^\.SH/ { inside = $2 == "COMMANDS" } inside && /^\.BI [a-z]+/ { gsub(/\\/, "", $2); print $2 }' "$page" |
	sort >"$scratch/commands.man"
{
	echo --version
	while read -r command; do
		"$millrace" "$command" --help | awk '/^  --/ { print $1 }'
	done <"$scratch/commands"
} | sort -u >"$scratch/options"
awk '/^\.SH/ { inside = $2 == "OPTIONS" } inside && /^\.BI? \\-\\-|^\.BR \\-\\-/ { gsub(/\\/, "", $2); print $2 }' \
	"$page" |
	sort -u >"$scratch/options.man"
[ -s "$scratch/commands" ]
diff "$scratch/commands" "$scratch/commands.man"
diff "$scratch/options" "$scratch/options.man"

# The rule by which a save is refused is told where one looks for it, with the same bound.
rule() {
	tr -d '" ' <"$1" | grep -qF 'r>1000*max(1,r0)*(n-n0)'
}
rule "$page"
rule "$1/conf/reference.cfg"
"$millrace" train --help | grep -qF 'exit code 7 (millrace(1), CHECKPOINTS)'
grep -q '^#define MOST_GROWTH 1000.0$' "$1/engine/session/checkpoints.c"
grep -q '^\.SH CHECKPOINTS$' "$page"
