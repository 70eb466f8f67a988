#!/bin/sh
# Every file of engine/nn compiles with the sanitizers in at most two minutes of the compiler's CPU time, by GCC and by
# Clang where it is here: what takes longer is too long a unit.   long_compile_time.sh SOURCE BUILD
# MR_COMPILE_SECONDS is another limit.
set -eu
source=$(cd "$1" && pwd)
skip() {
	echo "compile_time: skipped: $*"
	exit 77
}
grep -q '^MILLRACE_SANITIZE:STRING=$' "$2/CMakeCache.txt" || skip "once is enough"
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-compile_time.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
limit=${MR_COMPILE_SECONDS:-120}

# In front of the compiler, which inherits the limit: the kernel ends what computes longer.
cat >"$work/limited" <<END
#!/bin/sh
ulimit -t $limit
for file; do :; done
"\$@" || { echo "\$file takes more than $limit s, or is wrong" >>"$work/refused"; exit 1; }
times >"$work/times.\$\$" # not into a pipe, whose end would be another shell without children
awk -F '[ms ]' -v file="\$file" 'NR == 2 { printf "%.1f s  %s\n", 60 * \$1 + \$2, file }' "$work/times.\$\$" \
	>>"$work/seconds"
rm "$work/times.\$\$"
END
chmod +x "$work/limited"

n_failed=0
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	rm -rf "$work/build" "$work/refused" "$work/seconds"
	cmake -S "$source" --preset asan -B "$work/build" -DCMAKE_C_COMPILER=$compiler -DMILLRACE_WERROR=OFF \
		-DCMAKE_C_COMPILER_LAUNCHER="$work/limited" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
	cmake --build "$work/build" --target mr_nn -- -k 0 >"$work/log" 2>&1 || n_failed=$((n_failed + 1))
	echo "$compiler, $(wc -l <"$work/seconds") files; the longest:"
	sort -rn "$work/seconds" | head -n 6
	if [ -s "$work/refused" ]; then
		cat "$work/refused"
	fi
done
[ $n_failed = 0 ]
