#!/bin/sh
# cmake --install: what stands where, a unit that systemd understands, and nothing left by the target uninstall.
#   test_install.sh SOURCE BUILD
set -u
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
if ! grep -q '^MILLRACE_SANITIZE:STRING=$' "$build/CMakeCache.txt" || [ ! -f "$build/libmillrace.so" ]; then
	echo "install: skipped: this build has no library for others"
	exit 77
fi
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
failed=0
fail() {
	echo "install: $*"
	failed=1
}

# Where only the program is built, as by `mill run`, it says what is missing, and where from.
mkdir "$root/bare"
sed "s,$build/\(libmillrace[.]so[.0-9]*\),$root/bare/\1,g" "$build/cmake_install.cmake" \
	>"$root/bare/cmake_install.cmake"
cmake -DCMAKE_INSTALL_PREFIX="$root/no" -P "$root/bare/cmake_install.cmake" >"$root/log" 2>&1 &&
	fail "an installation without the library succeeds"
tr -s ' \n' ' ' <"$root/log" | grep -q "millrace_shared is not built yet: cmake --build $build builds" ||
	fail "what is missing is not said: $(cat "$root/log")"
# A build folder of its own would take minutes: this one, with its lists of files put aside afterwards.
DESTDIR=$root cmake --install "$build" --prefix /usr >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }
cd "$root/usr" || exit 1
for file in bin/millrace include/millrace/millrace.h share/millrace/reference.cfg share/millrace/examples/train.c \
	lib/systemd/system/millrace@.service share/millrace/perf/record.sh share/millrace/perf/bpf/waits.bt \
	libexec/millrace/perf_flame; do
	[ -f $file ] || fail "there is no $file"
done
[ ! -e share/millrace/quickstart.cfg ] || fail "quickstart.cfg reads a source tree, and is installed"
mkdir "$root/recorded"
echo 'mr-w0;main;linear_forward 3' >"$root/recorded/stacks.folded"
share/millrace/perf/flame.sh "$root/recorded" >"$root/log" 2>&1 || fail "flame.sh, installed: $(cat "$root/log")"
for name in libmillrace.a libmillrace.so libmillrace.so.0 millrace.pc millraceConfig.cmake; do
	[ -n "$(find . -name $name)" ] || fail "there is no $name"
done
if command -v gzip >/dev/null; then
	for command in $(bin/millrace --help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'); do
		[ -s "share/man/man1/millrace-$command.1.gz" ] || fail "there is no manual page of $command"
	done
	for file in man/man1/millrace.1.gz man/man5/millrace.cfg.5.gz bash-completion/completions/millrace \
		fish/vendor_completions.d/millrace.fish; do
		[ -s share/$file ] || fail "there is no share/$file"
	done
	[ -n "$(find share/zsh -name _millrace)" ] || fail "there is no completion for zsh"
fi
# Pages of the manual are looked up by the unit's check, and are not on this machine's path.
if command -v systemd-analyze >/dev/null && systemd-analyze --version >/dev/null 2>&1; then
	sed "s,^ExecStart=[^ ]*,ExecStart=$root/usr/bin/millrace,; /^Documentation/d" \
		lib/systemd/system/millrace@.service >"$root/millrace@job.service"
	systemd-analyze verify "$root/millrace@job.service" >"$root/log" 2>&1 || true
	if grep -q "millrace@job" "$root/log"; then
		fail "systemd-analyze: $(cat "$root/log")"
	fi
else
	echo "install: the unit was not checked: there is no systemd-analyze here"
fi
grep -q '^Type=notify' lib/systemd/system/millrace@.service || fail "the unit does not wait for READY"

cd / || exit 1
DESTDIR=$root cmake -DBUILD="$build" -P "$source/engine/cmake/MillraceUninstall.cmake" >"$root/log" 2>&1 ||
	{ cat "$root/log"; failed=1; }
left=$(find "$root/usr" ! -type d)
[ -z "$left" ] || fail "uninstall left $left"
cmake -DBUILD="$root" -P "$source/engine/cmake/MillraceUninstall.cmake" >"$root/log" 2>&1 &&
	fail "uninstall without an installation succeeded"
grep -q "nothing was installed from" "$root/log" || fail "uninstall does not say why: $(cat "$root/log")"
exit $failed
