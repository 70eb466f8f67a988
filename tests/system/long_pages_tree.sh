#!/bin/sh
# The commands of a page that change the tree, on a copy of it: the blocks "```sh tree" of every page (slow_pages.sh),
# each page on a copy of its own.
#	long_pages_tree.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

n_pages=0
for page in $(cd "$source" && grep -rl --include='*.md' '^```sh tree$' . | grep -v '^./build'); do
	rm -rf tree
	mkdir tree
	(cd "$source" && tar cf - --exclude='./build*' --exclude=./runs --exclude=./.git .) | tar xf - -C tree
	awk '/^```sh tree$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$source/$page" >commands.sh
	(cd tree && sh -e ../commands.sh) >out 2>err </dev/null || fail "$page: exit code $?"
	n_pages=$((n_pages + 1))
done
[ "$n_pages" -ge 1 ] || fail "no page changes the tree"
finish
