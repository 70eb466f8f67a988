#!/bin/sh
# Every edit of tests/mutants.txt still applies, exactly once, and names suites that exist.   test_mutants.sh SOURCE
set -eu
cd "$1"
sh tests/mutants.sh --check
sh tests/mutants.sh --list | awk -F '\t' '
{
	n = split($3, suites, " ")
	for (i = 1; i <= n; i++)
		print suites[i]
}
END { if (NR < 60) { print "fewer than 60 edits: " NR > "/dev/stderr"; exit 1 } }' | sort -u | while read -r suite; do
	found=
	for file in "tests/${suite%%.*}/test_${suite#*.}".*; do
		[ -f "$file" ] && found=1
	done
	if [ -z "$found" ]; then
		echo "tests/mutants.txt names the suite $suite, which is no fast suite of this tree"
		exit 1
	fi
done
# The check can fail: an old text that is gone, one that is there twice, a line that means nothing.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/tests"
cp tests/mutants.sh "$tree/tests/"
printf 'one two two\n' >"$tree/file"
expect() {
	printf 'edit x\nfile file\nrun nn.gemm\n%s\n+three\n' "$1" >"$tree/tests/mutants.txt"
	if said=$(sh "$tree/tests/mutants.sh" --check 2>&1); then
		echo "mutants.sh --check did not see: $2"
		exit 1
	fi
	case $said in
	*"$2"*) ;;
	*) echo "mutants.sh --check said \"$said\", not: $2" && exit 1 ;;
	esac
}
expect '-four' 'is not in file'
expect '-two' 'more than once'
expect '-three' 'is not complete'
expect '?one' 'none that an edit has'
printf 'edit x\nfile file\nrun nn.gemm\n-one\n+three\n' >"$tree/tests/mutants.txt"
sh "$tree/tests/mutants.sh" --check
