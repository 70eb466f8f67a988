# python_lib.sh - what the tests of the library from Python share: sourced as `. "$(dirname "$0")/python_lib.sh"` with
# the test's own arguments, source tree and build tree. Afterwards $source and $build are full paths, $python is a
# Python with NumPy, and the test stands in an empty folder of its own. Skips a build without the library.
set -u
name=$(basename "$0" .sh)
name=${name#test_}
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
if ! grep -q '^MILLRACE_SANITIZE:STRING=$' "$build/CMakeCache.txt" || [ ! -f "$build/libmillrace.so" ]; then
	echo "$name: skipped: this build has no library for others"
	exit 77
fi
python=
for p in "${MILLRACE_PYTHON:-}" python3 /usr/bin/python3; do
	if [ -n "$p" ] && "$p" -c 'import numpy' 2>/dev/null; then
		python=$p
		break
	fi
done
if [ -z "$python" ]; then
	. "$source/tests/missing.sh"
	missing_package "$name" "Python with NumPy" python3-numpy
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
