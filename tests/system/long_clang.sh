#!/bin/sh
# Builds with Clang and LLVM's OpenMP (the preset clang) and runs the suites that threads matter to: host, nn, exec, and
# of system those that compare weights.   long_clang.sh SOURCE BUILD
set -eu
source=$(cd "$1" && pwd)
skip() {
	echo "clang: skipped: $*"
	exit 77
}
grep -q '^MILLRACE_SANITIZE:STRING=$' "$2/CMakeCache.txt" || skip "once is enough"
command -v clang >/dev/null || skip "there is no clang here"
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-clang.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
echo 'int main(void) { return 0; }' >"$work/one.c"
clang -fopenmp "$work/one.c" -o "$work/one" 2>/dev/null || skip "clang has no OpenMP here (Debian: libomp-dev)"

cd "$source"
cmake --preset clang -B "$work/build" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
cmake --build "$work/build" --target millrace test_host test_nn test_exec test_system >"$work/log" 2>&1 || {
	tail -20 "$work/log"
	exit 1
}
ctest --test-dir "$work/build" -L fast --output-on-failure \
	-R '^(host|nn|exec)[.]|^system[.](equal_sync|random_graphs|nodes|split|replicas|steal|pause|carried|mitigated)$'
