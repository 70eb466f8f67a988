#!/bin/sh
# libmillrace built inside another project by add_subdirectory.   long_library_inside.sh SOURCE BUILD
set -eu
source=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-inside.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outside C)
add_subdirectory($source millrace)
add_executable(outside $source/engine/include/examples/train.c)
target_link_libraries(outside PRIVATE millrace::millrace)
END
cmake -S "$work" -B "$work/build" -G Ninja >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
cmake --build "$work/build" --target outside >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 1; }
OMP_WAIT_POLICY=passive "$work/build/outside" | grep -q '^validation loss'
