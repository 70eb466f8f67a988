#!/bin/sh
# rpm packages: what they need, and the program out of them, in a root with an rpm database of its own.
#   long_rpm.sh SOURCE BUILD
# MILLRACE_RPMS names a folder with packages, otherwise they are built.
set -eu
source=$(cd "$1" && pwd)
skip() {
	echo "rpm: skipped: $*"
	exit 77
}
fail() {
	echo "rpm: $*"
	exit 1
}
grep -q '^MILLRACE_SANITIZE:STRING=$' "$2/CMakeCache.txt" || skip "packages hold no sanitizers"
for tool in rpm rpmbuild cpack; do
	command -v $tool >/dev/null || skip "there is no $tool here"
done
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-rpm.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

rpms=${MILLRACE_RPMS:-}
if [ -z "$rpms" ]; then
	rpms=$work/build
	(cd "$source" && cmake --preset release -B "$rpms" -DCMAKE_INSTALL_PREFIX=/usr) >"$work/log" 2>&1
	cmake --build "$rpms" --target millrace millrace_shared millrace_static perf_flame printed >"$work/log" 2>&1
	(cd "$rpms" && cpack -G RPM) >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
fi

rpm -qp --requires "$rpms"/millrace-0*.rpm >"$work/needs" 2>"$work/log"
for library in dnnl gomp hwloc config jansson z; do
	grep -q "^lib$library[.]so" "$work/needs" || fail "the program's package does not need lib$library"
done
version=$("$2/millrace" --version | sed -n 's/^millrace //p')
rpm -qp --requires "$rpms"/millrace-devel-*.rpm 2>"$work/log" | grep -qx "millrace-libs = $version" ||
	fail "millrace-devel does not need the library of its version"
if rpm -qpl "$rpms"/*.rpm 2>"$work/log" | grep -x '/usr\(/lib\|/share\|/share/man\|/lib/systemd/system\)'; then
	fail "a package owns a folder of the system"
fi

mkdir "$work/root"
rpm --root "$work/root" --initdb
# Not with what it needs: the libraries are those of this machine, which another package manager has installed.
rpm --root "$work/root" --nodeps -i "$rpms"/*.rpm >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
rpm --root "$work/root" --nodeps -V millrace millrace-libs millrace-devel >"$work/log" 2>&1 || {
	cat "$work/log"
	fail "what is installed is not what the packages hold"
}
cd "$work"
seq 500 >numbers.txt
root/usr/bin/millrace init numbers.txt >"$work/log"
root/usr/bin/millrace train numbers.cfg --set train.steps=21 --set sample.tokens=5 >"$work/log" 2>&1 || {
	cat "$work/log"
	fail "the program out of the package does not train"
}
rpm --root "$work/root" --nodeps -e millrace millrace-libs millrace-devel
left=$(find root/usr ! -type d)
[ -z "$left" ] || fail "left behind: $left"
