#!/bin/sh
# A stranger's first ten minutes: a clean root, the package, init on a CSV and on a text, train, watch, interrupt,
# resume, report, profile, export. The root has no source tree, and nothing is built in it.
#   long_stranger.sh SOURCE BUILD
# MILLRACE_DEBS names a folder with packages, otherwise they are built; MILLRACE_ROOT a root to copy, otherwise
# debootstrap makes one of this machine's release.
set -eu
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
skip() {
	echo "stranger: skipped: $*"
	exit 77
}
grep -q '^MILLRACE_SANITIZE:STRING=$' "$build/CMakeCache.txt" || skip "packages hold no sanitizers"
[ "$(id -u)" = 0 ] || skip "a clean root takes root's rights"
for tool in chroot dpkg-deb dpkg-shlibdeps cpack; do
	command -v $tool >/dev/null || skip "there is no $tool here"
done
[ -n "${MILLRACE_ROOT:-}" ] || command -v debootstrap >/dev/null || skip "there is no debootstrap here"
work=$(mktemp -d "${TMPDIR:-/tmp}/millrace-stranger.XXXXXX")
root=$work/root
leave() {
	for folder in proc sys; do
		! grep -q " $root/$folder " /proc/mounts || umount "$root/$folder"
	done
	rm -rf "$work"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM

if [ -n "${MILLRACE_ROOT:-}" ]; then
	cp -a "$MILLRACE_ROOT" "$root"
else
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	debootstrap --variant=minbase "$suite" "$root" >"$work/log" 2>&1 ||
		skip "debootstrap cannot make a root of $suite: $(tail -1 "$work/log")"
fi
if ! mount -t proc proc "$root/proc" 2>/dev/null || ! mount -t sysfs -o ro sys "$root/sys" 2>/dev/null; then
	skip "/proc and /sys cannot be mounted in a new root"
fi

debs=${MILLRACE_DEBS:-}
if [ -z "$debs" ]; then
	debs=$work/tree/build
	# Of what the container file takes of the tree, which is all that a build needs.
	mkdir "$work/tree"
	for file in $(sed -n '/ AS build$/,/^RUN/s/^COPY \(.*\) [^ ]*$/\1/p' \
		"$source/engine/packaging/Containerfile"); do
		cp -a "$source/$file" "$work/tree/"
	done
	(cd "$work/tree" && cmake --preset release -B "$debs" -DCMAKE_INSTALL_PREFIX=/usr \
		-DMILLRACE_MPI=OFF) >"$work/log" 2>&1
	cmake --build "$debs" --target millrace millrace_shared millrace_static perf_flame printed >"$work/log" 2>&1
	(cd "$debs" && cpack -G DEB) >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
fi
mkdir "$root/packages"
cp "$debs"/*.deb "$root/packages/"
[ ! -e /etc/resolv.conf ] || cp /etc/resolv.conf "$root/etc/"

# --- ten minutes from here
begun=$(date +%s)
chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	--no-install-recommends /packages/millrace_*.deb' >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
chroot "$root" useradd -m -d /srv/stranger stranger

awk 'BEGIN {
	srand(7)
	print "id,height,weight,age,kind"
	for (i = 1; i <= 400; i++) {
		h = rand()
		w = rand()
		printf "%d,%.3f,%.3f,%.0f,%s\n", i, h, w, 20 + 60 * rand(), (h > w ? "tall" : "wide")
	}
}' >"$root/srv/stranger/people.csv"
# A text that is on every Debian machine.
cat "$root/usr/share/common-licenses/GPL-3" "$root/usr/share/common-licenses/LGPL-2.1" \
	>"$root/srv/stranger/licences.txt"

cat >"$root/srv/stranger/path.sh" <<'END'
set -eu
cd
say() {
	printf '== %s\n' "$*"
}
fail() {
	echo "stranger: $*"
	exit 1
}
[ -z "$(find / -xdev -name 'CMakeLists.txt' 2>/dev/null)" ] || fail "a source tree is here"

say "what is this"
millrace --help | head -3
millrace --version | head -2
[ -s /usr/share/bash-completion/completions/millrace ] || fail "no completion is installed"
millrace manual train | grep -q '^.SH NAME' || fail "no manual page"

say "a table of mine"
millrace init people.csv
millrace plan people.cfg >plan.txt
millrace train people.cfg >people.log
tail -2 people.log
millrace eval people.cfg | tee eval.txt
grep -Eq 'accuracy (9[0-9]|100)' eval.txt || fail "it did not learn who is tall"

say "a text of mine, trained in the background, watched, interrupted"
millrace init licences.txt
millrace train licences.cfg --set train.steps=100000 --set checkpoint.every=20 >licences.log 2>&1 &
training=$!
for i in $(seq 240); do
	[ ! -e runs/licences/checkpoints/LATEST ] || break
	sleep 0.5
done
grep step licences.log | tail -1
if millrace --help | grep -q '^  top'; then
	millrace top runs/licences --json | head -c 300
	echo
fi
kill -INT $training
code=0
wait $training || code=$?
[ $code = 130 ] || fail "an interrupted training ends with 130, not $code"
at=$(sed -n 's/.*"step":\([0-9]*\).*/\1/p' runs/licences/metrics.jsonl | tail -1)
say "resumed from step $at"
millrace train licences.cfg --resume --set train.steps=$((at + 10)) >more.log
grep -q "resumed at step" more.log || fail "it did not resume"
millrace sample licences.cfg --set train.steps=$((at + 10)) --set sample.tokens=100

say "report"
millrace curves runs/people runs/licences -o curves.svg
grep -q '</svg>' curves.svg || fail "no picture"
if millrace --help | grep -q '^  report'; then
	millrace report runs/people -o report.html
	grep -qi '</html>' report.html || fail "no report"
fi

say "profile"
millrace profile people.cfg --seconds 0.05 -o costs.json >profile.txt || [ $? = 6 ]
tail -2 profile.txt
millrace plan people.cfg --compare | head -4

say "export"
weights=runs/people/checkpoints/$(cat runs/people/checkpoints/LATEST)/model.safetensors
[ -s "$weights" ] || fail "no weights to take away"
millrace inspect runs/people | head -5
END
chroot "$root" su - stranger -c 'sh path.sh' >"$work/path.log" 2>&1 || {
	cat "$work/path.log"
	exit 1
}
took=$(($(date +%s) - begun))
cat "$work/path.log"
echo "the stranger's path took $took s"
[ $took -lt 600 ] || { echo "ten minutes were allowed" && exit 1; }
