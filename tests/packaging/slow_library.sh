#!/bin/sh
# libmillrace as an outside project meets it: installed, found by pkg-config and by CMake, used by the example.
#   slow_library.sh SOURCE BUILD
set -eu
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
if ! grep -q '^MILLRACE_SANITIZE:STRING=$' "$build/CMakeCache.txt"; then
	echo "library: skipped: a sanitized library needs sanitized programs"
	exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-library.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
failed=0
fail() {
	echo "library: $*" >&2
	failed=1
}

cmake --install "$build" --prefix "$work/usr" >install.log 2>&1 || { cat install.log >&2; exit 1; }
lib=$(dirname "$(find usr -name 'libmillrace.so')")
example=usr/share/millrace/examples/train.c
export PKG_CONFIG_PATH="$work/$lib/pkgconfig" LD_LIBRARY_PATH="$work/$lib" OMP_WAIT_POLICY=passive

# Every header by itself, in C and C++.
for header in usr/include/millrace/*.h; do
	printf '#include <millrace/%s>\n' "${header##*/}" >one.c
	gcc -std=c11 -pedantic -Wall -Wextra -Werror -Iusr/include -fsyntax-only one.c || fail "$header in C"
	cp one.c one.cc
	if command -v g++ >/dev/null; then
		g++ -std=c++17 -Wall -Wextra -Werror -Iusr/include -fsyntax-only one.cc 2>cc.log ||
			{ fail "$header in C++"; head -3 cc.log >&2; }
	fi
done

# What the headers declare is exported, and nothing else.
sed -n 's/^MR_API [^;(]*[ *]\(mr_[a-z_]*\)(.*/\1/p' usr/include/millrace/*.h | sort >declared
nm -D --defined-only "$lib/libmillrace.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >exported
cmp -s declared exported || fail "declared and exported differ: $(diff declared exported | tr '\n' ' ')"
[ "$(wc -l <declared)" -ge 15 ] || fail "the headers declare hardly anything"
[ "$(wc -l <$example)" -lt 80 ] || fail "the example has 80 lines or more"

# The example must learn, whichever way it was built; the weights are the same, so are its words.
learns() {
	code=0
	"$1" >out 2>err || code=$?
	loss=$(sed -n 's/^validation loss \([0-9.]*\),.*/\1/p' out)
	if [ "$code" -ne 0 ] || ! awk -v x="${loss:-9}" 'BEGIN { exit !(x < 1.3) }'; then # log 4 = 1.39 is chance
		fail "$1: exit code $code, $(cat out err)"
	fi
	[ -f first ] || cp out first
	cmp -s out first || fail "$1 printed other figures than the first one"
}
gcc $example -o by_gcc $(pkg-config --cflags --libs millrace) && learns ./by_gcc || fail "gcc and pkg-config"
if command -v clang >/dev/null; then
	clang $example -o by_clang $(pkg-config --cflags --libs millrace) &&
		learns ./by_clang || fail "clang and pkg-config"
fi
gcc $example -o by_static $(pkg-config --cflags millrace) "$lib/libmillrace.a" \
	$(pkg-config --static --libs millrace | sed 's/-lmillrace//') && learns ./by_static || fail "the static library"
case $(pkg-config --define-variable=prefix=/elsewhere --cflags --libs millrace) in
*-I/elsewhere/include*-L/elsewhere/lib*) ;;
*) fail "pkg-config takes no other prefix" ;;
esac
mkdir found
cat >found/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(outside C)
find_package(millrace 0.1 REQUIRED)
add_executable(by_cmake ${EXAMPLE})
target_link_libraries(by_cmake PRIVATE millrace::millrace)
END
if cmake -S found -B found/build -G Ninja "-DCMAKE_PREFIX_PATH=$work/usr" "-DEXAMPLE=$work/$example" >cmake.log 2>&1 &&
	cmake --build found/build >>cmake.log 2>&1; then
	learns found/build/by_cmake
else
	fail "find_package"
	tail -5 cmake.log >&2
fi

# Two trainings, one after the other, in one process.
cat >twice.c <<'END'
#include <stdio.h>
#define main main_once
#include EXAMPLE
#undef main
int main(void)
{
	return main_once() || main_once();
}
END
gcc twice.c -o twice "-DEXAMPLE=\"$work/$example\"" $(pkg-config --cflags --libs millrace)
./twice >out 2>err || fail "two trainings in a process: $(cat err)"
cat first first | cmp -s - out || fail "the second training in a process differs from the first"

# A mistake of a job is a message, and nothing is trained.
sed 's/"pipedream"/"pipedrem"/' $example >wrong.c
gcc wrong.c -o wrong $(pkg-config --cflags --libs millrace)
code=0
./wrong >out 2>err || code=$?
[ "$code" -eq 3 ] && grep -q '^system.name: .*did you mean "pipedream"' err ||
	fail "a wrong name: exit code $code, $(cat err)"
exit $failed
