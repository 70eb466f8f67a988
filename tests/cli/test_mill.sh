#!/bin/sh
# What mill asks for where packages are missing, by the names of the distribution, and what it says to wrong usage.
#   test_mill.sh SOURCE BUILD
source=$(cd "$1" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# A machine with the few commands that mill itself needs, and with the package managers $1.
mkdir "$dir/tree"
cp "$source/mill" "$dir/tree/"
machine() {
	rm -rf "${dir:?}/bin"
	mkdir "$dir/bin"
	for tool in sh dirname tr cat id; do
		ln -s "$(command -v $tool)" "$dir/bin/$tool"
	done
	for manager in $1; do
		printf '#!/bin/sh\necho started >&2\nexit 1\n' >"$dir/bin/$manager"
		chmod +x "$dir/bin/$manager"
	done
}

os=/nonexistent
expect() {
	machine "$1"
	env -i PATH="$dir/bin" MILL_OS_RELEASE="$os" "$dir/bin/sh" "$dir/tree/mill" build >"$dir/out" 2>&1
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

# Where there are several, that of the distribution: by its name, or by what it is like.
distribution() {
	os=$dir/os-release
	printf 'NAME="A distribution"\n%s\n' "$1" >"$os"
}
distribution 'ID="opensuse-tumbleweed"
ID_LIKE="opensuse suse"'
expect "dnf zypper apt-get" "$again: zypper install gcc"
distribution 'ID="rocky"
ID_LIKE="rhel centos fedora"'
expect "apt-get dnf zypper" "$again: dnf install gcc"
distribution ID=fedora
expect "apt-get dnf" "$again: dnf install gcc"
distribution ID=alpine
expect "apk dnf" "one-dnn-dev is in the repository testing"
distribution ID=void
expect "zypper" "$again: zypper install gcc"
distribution ID=debian
expect dnf "$again: dnf install gcc"

# said CODE TEXT ARGS...: where nothing can be installed or built, and from another folder.
said() {
	want=$1 text=$2
	shift 2
	(cd / && env -i PATH="$dir/bin" "$dir/bin/sh" "$dir/tree/mill" "$@") >"$dir/out" 2>&1
	code=$?
	if [ $code != "$want" ] || ! grep -qxF -- "$text" "$dir/out"; then
		echo "mill $*: exit $code, expected $want with \"$text\":"
		cat "$dir/out"
		failed=1
	fi
}
machine ""
help="see ./mill help"
said 0 "usage: ./mill COMMAND" help
said 2 "usage: ./mill COMMAND"
said 2 "mill: no command is called \"frob\"; $help" frob
said 2 "mill: test takes --all, --rest, --long, --tsan or --asan, not \"--lon\"; $help" test --asan --lon
said 2 "mill: build takes nothing more, but got \"all\"; $help" build all
said 2 "mill: package takes nothing more, but got \"rpm\"; $help" package rpm
mkdir "$dir/tree/perf"
touch "$dir/tree/perf/kernels.c" "$dir/tree/perf/flame.c"
said 2 "mill: there is no benchmark \"kernel\", but kernels systems saves; $help" bench kernels kernel
said 2 "mill: there is no benchmark \"flame\", but kernels systems saves; $help" bench flame
said 2 "mill: bench kernels --choices takes one file; $help" bench kernels --choices
said 1 "mill: packages are missing, and there is none of apt, dnf, zypper, apk to install them: install what Debian\
 calls gcc cmake ninja-build pkg-config libc6-dev libdnnl-dev libconfig-dev libhwloc-dev libcunit1-dev libjansson-dev\
 zlib1g-dev libpng-dev libjpeg-dev libpcre2-dev libutf8proc-dev, and start mill again" bench kernels
ln -s "$(command -v mkdir)" "$(command -v touch)" "$(command -v readlink)" "$dir/bin"
touch "$dir/tree/build-test"
said 1 "mill: cannot write to the folder $dir/tree/build-test, in which it builds" test
grep -qx "0 passed, 1 failed" "$dir/out" || { echo "mill test does not count: $(cat "$dir/out")" && failed=1; }
# By a link it is still the tree that mill lies in.
mv "$dir/tree" "$dir/moved"
mkdir "$dir/tree"
ln -s ../moved/mill "$dir/tree/mill"
said 1 "mill: cannot write to the folder $dir/moved/build-test, in which it builds" test
exit $failed
