#!/bin/sh
# The probes of base/usdt.h: their list and arguments in the program, and what debuggers and tracers see where this
# machine has them.   test_probes.sh SOURCE BUILD
. "$(dirname "$0")/train_lib.sh"

. "$source/tests/missing.sh"
"$millrace" --version | grep -q '^probes  *USDT' ||
	missing_package "$suite" "build with probes" systemtap-sdt-dev
command -v readelf >/dev/null || missing_package "$suite" "readelf, which reads the list of probes" binutils

# "name sizes": of each probe the sizes of its arguments, at each of its places.
readelf -n "$millrace" | awk '
/^ *Provider:/ { mine = $2 == "millrace" }
mine && /^ *Name:/ { name = $2 }
mine && /^ *Location:/ && / Semaphore: 0x0*$/ { print name " has no semaphore" }
mine && /^ *Arguments:/ {
	sizes = ""
	while (match($0, /[0-9]+@/)) {
		sizes = sizes " " substr($0, RSTART, RLENGTH - 1)
		$0 = substr($0, RSTART + RLENGTH)
	}
	print name sizes
}' | sort -u >found
sort >wanted <<'END'
checkpoint_begin 8
checkpoint_end 8 4
commit 4 4 4 8
instr_begin 4 4 4 4 8 8
instr_end 4 4 4 4 8 8
layer_begin 4 8 8 8 8 8
layer_end 4 8 8 8 8 8
step 8 8 8
wait_begin 4 4 4 8
wait_end 4 4 4 8 8
END
cmp -s found wanted || fail "the probes are not those of base/usdt.h: $(diff wanted found)"

set -- train "$source/conf/chain.cfg" --set train.steps=6 --set machine.peak_gflops=50.0

# gdb needs no privilege. Four stages, 6 steps: each stage commits the versions 1 to 6 in their order.
if command -v gdb >/dev/null; then
	cat >commits.gdb <<'END'
set pagination off
break -probe-stap millrace:commit
commands
silent
printf "commit of %d arguments: stage %d version %ld\n", $_probe_argc, $_probe_arg1, $_probe_arg3
continue
end
END
	gdb -batch -x commits.gdb -ex "run" --args "$millrace" "$@" --set run.dir=gdb >gdb.out 2>&1 || :
	if grep -qi "ptrace.*not permitted\|Could not trace" gdb.out; then
		echo "$suite: gdb may not trace here: values were not compared with it"
	else
		for stage in 0 1 2 3; do
			versions=$(sed -n "s/^commit of 4 arguments: stage $stage version //p" gdb.out | tr '\n' ' ')
			[ "$versions" = "1 2 3 4 5 6 " ] || fail "gdb: stage $stage commits ${versions:-nothing}"
		done
	fi
else
	echo "$suite: there is no gdb: values were not compared with it"
fi

# bpftrace: the scripts of perf/bpf load, and count what the plan has: 6 backward passes of each of 4 stages, and as
# many F or a few more.
if command -v bpftrace >/dev/null && bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1; then
	for script in instructions layers staleness; do
		bpftrace "$source/perf/bpf/$script.bt" -c "$millrace $* --set run.dir=$script" "$millrace" \
			>$script.out 2>$script.err || fail "bpftrace $script.bt: $(tail -3 $script.err)"
	done
	[ "$(grep -c '^@sum_us.* [FB], stage, [0-3]\]: count [6-9],' instructions.out)" = 8 ] ||
		fail "instructions.bt: $(grep '^@sum_us' instructions.out)"
	grep -q '^@us\[I+W, w[.][1-3], linear, 1, 1, 1\]: count [67],' layers.out ||
		fail "layers.bt: $(grep '^@us' layers.out)"
	# The table of the program itself: "stage stale 0 stale 1 ..."
	awk '
	/^stage  stale/ { for (i = 3; i <= NF; i += 2) age[(i - 1) / 2] = $i; in_table = 1; next }
	in_table && NF == 0 { in_table = 0 }
	in_table && $1 ~ /^[0-9]+$/ && !/B/ { for (i = 2; i <= NF; i++) if ($i > 0)
		print "@gradients[stage, " $1 ", age, " age[i - 1] "]: " $i }
	/^stage  versions/ { in_table = 0 }' staleness.out | sort >ages.wanted
	grep '^@gradients' staleness.out | sort >ages
	[ -s ages.wanted ] || fail "the program printed no table of staleness"
	cmp -s ages ages.wanted || fail "staleness.bt differs from the table: $(diff ages.wanted ages)"
	for script in steps waits; do # read, not run
		bpftrace -d "$source/perf/bpf/$script.bt" "$millrace" >$script.out 2>$script.err ||
			fail "bpftrace $script.bt: $(tail -3 $script.err)"
	done
else
	echo "$suite: bpftrace is missing, or may not load programs here: its scripts were not run"
fi
finish
