#!/bin/sh
# The manual page names the commands and options that the program's own help names, and no others.
#	test_man.sh SOURCE BUILD
set -eu
page=$1/engine/cli/millrace.1
millrace=$2/millrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$millrace" --help | awk '/^usage:/ { next } /^  [a-z]+ / { print $1 }' | sort >"$scratch/commands"
awk '/^\.SH/ { inside = $2 == "COMMANDS" } inside && /^\.BI [a-z]+/ { print $2 }' "$page" | sort >"$scratch/commands.man"
{
	echo --version
	while read -r command; do
		"$millrace" "$command" --help | awk '/^  --/ { print $1 }'
	done <"$scratch/commands"
} | sort -u >"$scratch/options"
awk '/^\.SH/ { inside = $2 == "OPTIONS" } inside && /^\.BI? \\-\\-|^\.BR \\-\\-/ { gsub(/\\/, "", $2); print $2 }' "$page" |
	sort -u >"$scratch/options.man"
[ -s "$scratch/commands" ]
diff "$scratch/commands" "$scratch/commands.man"
diff "$scratch/options" "$scratch/options.man"
