#!/bin/sh
# Builds with both MPIs of Debian 13 (Open MPI 5.0, MPICH 4.2), in a root of its own that debootstrap makes, and runs
# the suites of several processes there.   long_debian13.sh SOURCE BUILD
# Needs root, debootstrap, a mirror of Debian and 3 GB. MR_DEBIAN13=DIR takes the root in DIR, which then stays and has
# what is installed in it.
set -u
source=$(cd "$1" && pwd)
suite=mpi.debian13
. "$source/tests/missing.sh"
skip() {
	echo "$suite: skipped: $*"
	exit 77
}
grep -q '^MILLRACE_SANITIZE:STRING=$' "$2/CMakeCache.txt" || skip "once is enough"
[ "$(id -u)" = 0 ] || skip "a root of Debian 13 needs root"
command -v debootstrap >/dev/null || missing_package $suite debootstrap debootstrap
mirror=http://deb.debian.org/debian
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-debian13.XXXXXX") || exit 1
root=${MR_DEBIAN13:-$work/root}
leave() {
	rm -rf --one-file-system "$work" "$root/tmp/millrace"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
unshare --mount true 2>"$work/log" || skip "no mounts of its own can be made here: $(cat "$work/log")"

# inside COMMAND: in that root, with mounts that end with it.
inside() {
	unshare --mount --pid --fork sh -c 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" &&
		mount -t sysfs sysfs "$0/sys" && mount -t tmpfs tmpfs "$0/run" && exec chroot "$0" sh -c "$1"' \
		"$root" "export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive; $1" </dev/null
}
if [ ! -x "$root/usr/bin/dpkg" ]; then
	# Without a network there is no root to test in.
	debootstrap --print-debs --variant=minbase trixie "$work/none" $mirror >"$work/log" 2>&1 ||
		skip "no Debian 13 from $mirror: $(tail -n 1 "$work/log")"
	debootstrap --variant=minbase trixie "$root" $mirror >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		exit 1
	}
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
packages=$(sed -n "/^packages='/,/^'/p" "$source/mill" | awk 'NF > 2 { print $2 }')
inside "apt-get update -qq && apt-get install -y -qq --no-install-recommends $(echo $packages) procps \
	openmpi-bin libopenmpi-dev mpich libmpich-dev" >"$work/log" 2>&1 || {
	tail -n 20 "$work/log"
	exit 1
}
mkdir -p "$root/tmp/millrace"
tar -C "$source" --exclude=./.git --exclude='./build*' -cf - . | tar -C "$root/tmp/millrace" -xf - || exit 1

failed=0
for mpi in ompi-c mpich; do
	inside "cd /tmp/millrace && cmake --preset ci -B $mpi -DMILLRACE_MPI_PACKAGES=$mpi -DMILLRACE_WERROR=OFF &&
		cmake --build $mpi -t millrace millrace-mpi" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		exit 1
	}
	ldd_of=$(inside "ldd /tmp/millrace/$mpi/millrace-mpi | grep -E 'libmpi(ch)?[.]so'")
	echo "$mpi $(inside "pkg-config --modversion $mpi"):" $ldd_of
	for test in test_ranks test_parts slow_ranks_all; do
		if inside "cd /tmp/millrace && CI=1 XDG_CACHE_HOME=/dev/null \
			sh tests/mpi/$test.sh /tmp/millrace /tmp/millrace/$mpi" >"$work/log" 2>&1; then
			echo "$mpi $test: passed"
		else
			echo "$mpi $test: failed, exit $?"
			tail -n 20 "$work/log"
			failed=1
		fi
	done
done
exit $failed
