#!/bin/sh
# Global names of the static libraries begin with mr_ and belong to one object.   test_symbols.sh SOURCE BUILD
# BUILD/archives.txt lists the libraries.
set -eu
list=$(mktemp)
trap 'rm -f "$list"' EXIT
xargs nm -A -g --defined-only <"$2/archives.txt" >"$list"
awk '
# "libmr_x.a:y.c.o:0000 T name"; sanitizers add names of their own.
NF < 3 { next }
{
	split($1, part, ":")
	file = part[1] ":" part[2]
	sub(/.*\//, "", file)
	name = $NF
	n_symbols++
}
name ~ /^(__asan|__odr_asan|__tsan|__ubsan|__gcov|_GLOBAL__)/ { next }
# sys/sdt.h names the semaphores of probes, and a symbol that all files with probes share.
name ~ /^(millrace_[a-z_]+_semaphore|_[.]stapsdt[.]base)$/ { next }
name !~ /^mr_/ { print file ": global name " name " does not begin with mr_"; bad = 1 }
name in owner && owner[name] != file { print name ": defined in " owner[name] " and in " file; bad = 1 }
{ owner[name] = file }
END {
	if (!n_symbols) print "no symbol was found"
	exit bad || !n_symbols
}' "$list"
