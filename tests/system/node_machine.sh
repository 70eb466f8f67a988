# node_machine.sh - an emulated machine with several NUMA nodes of its own kernel's. Source it with the paths of the
# source tree and the build tree, as train_lib.sh, which it sources; the test is skipped where QEMU, busybox or Debian's
# kernel are missing. It leaves net.cfg, a pipeline of two workers, and wide.cfg, the same with 26 MB a worker, and has
#
#	machine NAME MB TEXT
#	                start a machine with MB mebibytes a node, run the script TEXT there as root, in a folder with
#	                the program and the configurations of this one; exit code in $code, and what it prints is
#	                printed where something failed, and in the file said
#	host_bits CONF ARGS...
#	                what `bits CONF ARGS...` prints on this machine, with the instructions of the emulated one
#	net FILE WIDTH STEPS
#	                write a configuration like net.cfg, with layers of this width
#
# NAME: two, four (nodes of two cores, two of them near each other), dies (two L3 domains a node), smt (two threads a
# core), uneven (3 cores and 1), nomem (a third node of two cores without memory), nocpu (a third node of memory alone),
# expander (one node of two cores, one of memory alone). Each has a disk of 1 GiB of zeros, /dev/nvme0n1. The kernel is
# that of Debian's package for virtual machines, fetched once into $MILLRACE_KERNEL_CACHE. Neither root nor KVM is
# needed. The emulation has AVX2 and no AVX-512, and its times mean nothing.
#
# The script has these:
#
#	train CONF ARGS...       as in train_lib.sh, with the folder run for the run
#	bits CONF ARGS...        train, then a checksum of the weights
#	start, ended             train in the background until it has done a step, as $pid; end it
#	affinity                 "mr-w0 0-1": the CPUs of each thread of $pid that has a worker's name
#	placed                   "1 512 0": for each node that memory of $pid is planned for alone, its pages there, and
#	                         elsewhere
#	workers AFFINITY NODES   check both, "mr-w0 0-1" and "0 1": no page is elsewhere
#	fill NODE KIB CPU        fill the memory of a node with files (tmpfs), all but so much, by a CPU of that node
#	under MODE MASK          start and train under this policy of memory from now on, as numactl does it: 2 1
#	                         binds to node 0, 1 2 prefers node 1, 0 0 is none
#	cache MB CPU             read so much of the disk into the page cache, by this CPU; it stays there
#	fail TEXT                note a failure and go on

. "$(dirname "$0")/train_lib.sh"
cache=${MILLRACE_KERNEL_CACHE:-${TMPDIR:-/tmp}/millrace-kernel.$(id -u)}

needs_machine() {
	sanitized && skip "once is enough"
	for tool in qemu-system-x86_64 busybox dpkg apt-get; do
		command -v $tool >/dev/null || skip "there is no $tool here (Debian: qemu-system-x86, busybox-static)"
	done
	busybox --list | grep -qx taskset || skip "this busybox has no taskset"
	mkdir -p "$cache"
	kernel=$(ls "$cache"/vmlinuz-* 2>/dev/null | tail -1)
	[ -z "$kernel" ] || return 0
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
	[ -n "$package" ] || skip "apt has no linux-image-cloud-amd64 here"
	(mkdir fetched && cd fetched && apt-get download "$package" >/dev/null 2>&1) ||
		skip "apt cannot download $package"
	dpkg --fsys-tarfile fetched/*.deb | tar x -C fetched ./boot
	kernel=$cache/$(basename fetched/boot/vmlinuz-*)
	cp fetched/boot/vmlinuz-* "$kernel.$$" && mv "$kernel.$$" "$kernel"
	rm -rf fetched
}

# node ID CPUS MB: one node; CPUS or MB may be empty.
node() {
	of_node="-numa node,nodeid=$1"
	if [ -n "$3" ]; then
		hardware="$hardware -object memory-backend-ram,id=m$1,size=$3M"
		of_node="$of_node,memdev=m$1"
		memory=$((memory + $3))
	fi
	hardware="$hardware $of_node${2:+,cpus=$2}"
}

far() { # NODE NODE DISTANCE
	hardware="$hardware -numa dist,src=$1,dst=$2,val=$3"
}

describe() {
	hardware='' memory=0 processor=max
	case $1 in
	two) smp=4,sockets=2,cores=2 && node 0 0-1 "$2" && node 1 2-3 "$2" && far 0 1 21 ;;
	four)
		smp=8,sockets=2,dies=2,cores=2
		for n in 0 1 2 3; do node $n $((2 * n))-$((2 * n + 1)) "$2"; done
		far 0 1 12 && far 2 3 12 && far 0 2 32 && far 0 3 32 && far 1 2 32 && far 1 3 32
		;;
	dies | smt)
		processor=max,vendor=GenuineIntel
		[ "$1" = dies ] && smp=8,sockets=2,dies=2,cores=2 || smp=8,sockets=2,cores=2,threads=2
		node 0 0-3 "$2" && node 1 4-7 "$2"
		;;
	uneven) smp=4,sockets=1,cores=4 && node 0 0-2 "$2" && node 1 3 "$2" ;;
	nomem) smp=6,sockets=3,cores=2 && node 0 0-1 "$2" && node 1 2-3 "$2" && node 2 4-5 "" ;;
	expander) smp=2,sockets=1,cores=2 && node 0 0-1 "$2" && node 1 "" "$2" ;;
	nocpu) smp=4,sockets=2,cores=2 && node 0 0-1 "$2" && node 1 2-3 "$2" && node 2 "" "$2" ;;
	*) echo "node_machine: no machine $1" >&2 && exit 2 ;;
	esac
}

# The file system of the machine in the folder root: busybox, the program with its libraries, configurations, @1.
furnish() {
	rm -rf root
	mkdir -p root/bin root/proc root/sys root/dev root/tmp root/mill
	cp "$(command -v busybox)" root/bin/busybox
	cp "$millrace" policy ./*.cfg text.txt root/mill
	for library in $(ldd "$millrace" policy | grep -o '/[^ ]* (0x' | cut -d' ' -f1); do
		mkdir -p "root$(dirname "$library")"
		cp -L "$library" "root$library"
	done
	printf '%s\n' "$1" >root/script
	cat >root/words <<'WORDS'
n_failed=0 policy=
under() { policy="/mill/policy $1 $2"; }
fail() { echo "FAILED: $*"; n_failed=$((n_failed + 1)); }
train() {
	code=0
	rm -rf run
	$policy /mill/millrace train "$@" --set run.dir=run >out 2>err || code=$?
}
bits() {
	train "$@"
	[ $code -eq 0 ] || fail "$*: exit code $code: $(tail -2 err)"
	cat run/checkpoints/$(cat run/checkpoints/LATEST)/model.safetensors | sha256sum | cut -c1-16
}
start() {
	rm -rf run
	: >out # what the last one said must not count
	$policy /mill/millrace train "$@" --set run.dir=run --set train.steps=1000000 >out 2>err &
	pid=$!
	until grep -qs '^step' out; do
		kill -0 $pid 2>/dev/null || { fail "$* did not begin: $(tail -2 err)"; return 0; }
		sleep 0.2
	done
}
ended() { kill -9 $pid; wait $pid 2>/dev/null; }
affinity() {
	for t in /proc/$pid/task/*; do
		case $(cat $t/comm 2>/dev/null) in
		mr-w[0-9]*) echo "$(cat $t/comm) $(sed -n 's/Cpus_allowed_list:[^0-9]*//p' $t/status)" ;;
		esac
	done | sort | xargs
}
placed() {
	sed -n 's/^[0-9a-f]* prefer:\([0-9]*\) /\1 /p' /proc/$pid/numa_maps | awk '{
		for (i = 2; i <= NF; i++)
			if (split($i, a, "=") == 2 && a[1] ~ /^N[0-9]+$/) {
				here[$1] += a[1] == "N" $1 ? a[2] : 0
				away[$1] += a[1] == "N" $1 ? 0 : a[2]
			}
	} END { for (n = 0; n < 64; n++) if (n in here) print n, here[n], away[n] }'
}
workers() {
	[ "$(affinity)" = "$1" ] || fail "affinity: $(affinity)"
	placed | awk '{ if ($3) exit 1 }' || fail "pages elsewhere: $(placed | xargs)"
	[ "$(placed | cut -d' ' -f1 | xargs)" = "$2" ] || fail "nodes: $(placed | xargs)"
}
free_kib() { sed -n 's/.*MemFree: *\([0-9]*\) kB/\1/p' /sys/devices/system/node/node$1/meminfo; }
fill() {
	for _ in 1 2 3 4 5 6; do # the kernel gives back what it had cached meanwhile
		n=$(($(free_kib $1) - $2))
		[ $n -ge 2048 ] || return 0
		taskset $((1 << $3)) dd if=/dev/zero bs=64k count=$((n / 64)) 2>/dev/null >>/full/$1
	done
	n=$(($(free_kib $1) - $2))
	[ $n -lt 4096 ] || fail "node $1 has $n KiB too much free"
}
cache() {
	exec 9</dev/nvme0n1 # a disk that nobody has open has no cache
	taskset $((1 << $2)) dd if=/dev/nvme0n1 of=/dev/null bs=64k count=$(($1 * 16)) 2>/dev/null ||
		fail "the disk cannot be read"
}
WORDS
	cat >root/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t cgroup2 c /sys/fs/cgroup
mkdir -p /dev/shm /full; mount -t tmpfs s /dev/shm; mount -t tmpfs -o size=90% s /full
stty -F /dev/ttyS0 -opost; stty -F /dev/ttyS1 raw
export HOME=/tmp TERM=dumb PATH=/bin MR_LOG=warn
ip link set lo up
cd /mill; (. /words; . /script; [ $n_failed -eq 0 ]) </dev/null >/dev/ttyS1 2>&1
code=$?
if dmesg | grep -q 'Out of memory: Killed'; then
	dmesg | grep 'Out of memory: Killed' >/dev/ttyS1
	code=99
fi
echo "machine ended $code" >/dev/ttyS0
sync; poweroff -f
INIT
	chmod 755 root/init
	(cd root && find . | busybox cpio -o -H newc 2>/dev/null) >root.cpio
	rm -rf root
}

machine() {
	describe "$1" "$2"
	furnish "$3"
	: >console
	truncate -s 1G disk
	# shellcheck disable=SC2086
	timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -M q35 -cpu $processor -m ${memory}M -smp $smp \
		$hardware -drive file=disk,format=raw,if=none,id=disk -device nvme,drive=disk,serial=disk \
		-nodefaults -display none -no-reboot -kernel "$kernel" -initrd root.cpio \
		-append "console=ttyS0 quiet panic=-1 nokaslr mitigations=off no_timer_check" \
		-serial file:console -serial file:said </dev/null || :
	rm -f root.cpio disk
	code=$(tr -d '\r' <console | sed -n 's/.*machine ended \([0-9]*\).*/\1/p' | tail -1)
	if [ -z "$code" ]; then
		tail -5 console >err
		code=98
	fi
	[ "$code" = 0 ] && return 0
	cat said
	fail "$1: exit code $code: $(grep 'FAILED\|Killed' said)"
}

host_bits() {
	rm -rf run
	env ONEDNN_MAX_CPU_ISA=AVX2 "$millrace" train "$@" --set run.dir=run >out 2>err || fail "$*"
	sha256sum <"run/checkpoints/$(latest run)/model.safetensors" | cut -c1-16
}

net() {
	cat >"$1" <<CFG
model = { name = "mlp"; hidden = [$2, $2]; };
data = { name = "synthetic"; features = 16; classes = 4; samples = 400; };
optimizer = { name = "adamw"; lr = 0.01; };
system = { name = "1f1b"; };
train = { steps = $3; batch = 8; microbatches = 4; };
machine = { workers = 2; threads = 1; peak_gflops = 50.0; };
CFG
}
# numactl, of which not every machine has a copy: policy MODE MASK COMMAND...
cat >policy.c <<'C'
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long mask = argc > 3 ? strtoul(argv[2], NULL, 0) : 0;

	if (argc < 4 || syscall(SYS_set_mempolicy, atoi(argv[1]), mask ? &mask : NULL, mask ? 64ul : 0ul))
		return 125;
	execv(argv[3], argv + 3);
	return 126;
}
C
${CC:-cc} -o policy policy.c || skip "there is no compiler for a program that sets a policy of memory"
net net.cfg 256 3
net wide.cfg 1280 2
needs_machine
