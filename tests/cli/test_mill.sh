#!/bin/sh
# What mill asks for where packages are missing: by the names of the distribution.   test_mill.sh SOURCE BUILD
source=$(cd "$1" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# A machine with the few commands that mill itself needs, and with the package manager $1.
mkdir "$dir/tree"
cp "$source/mill" "$dir/tree/"
machine() {
	rm -rf "${dir:?}/bin"
	mkdir "$dir/bin"
	for tool in sh dirname tr cat id; do
		ln -s "$(command -v $tool)" "$dir/bin/$tool"
	done
	[ -z "$1" ] || {
		printf '#!/bin/sh\necho started >&2\nexit 1\n' >"$dir/bin/$1"
		chmod +x "$dir/bin/$1"
	}
}

expect() {
	machine "$1"
	env -i PATH="$dir/bin" "$dir/bin/sh" "$dir/tree/mill" build >"$dir/out" 2>&1
	code=$?
	if [ $code != 1 ] || ! grep -qF -- "$2" "$dir/out" || grep -q started "$dir/out"; then
		echo "with ${1:-no package manager}: exit $code, expected 1 with \"$2\":"
		cat "$dir/out"
		failed=1
	fi
}

again="as root, run this and start mill again"
expect dnf "$again: dnf install gcc cmake ninja-build pkgconf-pkg-config glibc-devel onednn-devel libconfig-devel \
hwloc-devel CUnit-devel jansson-devel zlib-devel libpng-devel libjpeg-turbo-devel pcre2-devel utf8proc-devel"
expect zypper "$again: zypper install gcc cmake ninja pkg-config glibc-devel onednn-devel libconfig-devel hwloc-devel \
cunit-devel libjansson-devel zlib-devel libpng16-devel libjpeg8-devel pcre2-devel utf8proc-devel"
expect apk "$again: apk add gcc cmake samurai pkgconf musl-dev one-dnn-dev libconfig-dev hwloc-dev cunit-dev \
jansson-dev zlib-dev libpng-dev libjpeg-turbo-dev pcre2-dev utf8proc-dev"
expect "" "gcc cmake ninja-build pkg-config libc6-dev libdnnl-dev libconfig-dev libhwloc-dev libcunit1-dev \
libjansson-dev zlib1g-dev libpng-dev libjpeg-dev libpcre2-dev libutf8proc-dev"
exit $failed
