#!/bin/sh
# The table of rooms in engine/README.md has a row for each layer of tests/layers.txt, bottom to top, with what it may
# see, and each folder of engine/ is one of them.   test_rooms.sh SOURCE
set -u
cd "$1" || exit 1
want=$(mktemp)
trap 'rm -f "$want" "$want.now"' EXIT
# A line that ends in a backslash goes on; single headers are left out; "+F" is F and all that F sees.
sed -e ':again' -e '/\\$/ { N; s/\\\n//; b again' -e '}' tests/layers.txt | awk -F: '
	/^layer / {
		split($1, name, " ")
		n = split($2, may, " ")
		sees = ""
		for (i = 1; i <= n; i++) {
			if (may[i] ~ /[.]h$/)
				continue
			word = may[i] == "*" ? "everything" : may[i]
			plus = sub(/^[+]/, "", word)
			sub(/^engine\//, "", word)
			sees = sees (sees == "" ? "" : ", ") word (plus ? "+" : "")
		}
		printf "| `%s` | %s |\n", name[2], sees == "" ? "-" : sees
	}' >"$want"
awk -F' [|] ' '/^[|] `(engine|perf|schedules|models)/ { sub(/ [|]$/, "", $3); print $1 " | " $3 " |" }' \
	engine/README.md >"$want.now"
diff "$want" "$want.now" | sed -n 's/^< /engine\/README.md lacks /p; s/^> /engine\/README.md has /p'
bad=0
cmp -s "$want" "$want.now" || bad=1
for folder in engine/*/; do
	folder=${folder%/}
	case $folder in engine/cmake | engine/packaging | engine/python) continue ;; esac
	grep -q "^layer $folder " tests/layers.txt || {
		echo "$folder: tests/layers.txt does not say what it may include"
		bad=1
	}
done
exit $bad
