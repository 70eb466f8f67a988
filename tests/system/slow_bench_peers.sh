#!/bin/sh
# The benchmark beside other programs: one that answers, and those that fail in every way.   slow_bench_peers.sh SOURCE
# BUILD
. "$(dirname "$0")/train_lib.sh"

steps=$(dirname "$millrace")/perf_steps
[ -x "$steps" ] || skip "this build has no benchmarks"

# In place of a Python with torch. It finds out what to be from the name it is called by.
cat >good <<'END'
#!/bin/sh
echo $$ >pid
case $0 in
*/mute) exec sleep 1000 ;;
*/missing) echo "Traceback" >&2; echo "ModuleNotFoundError: No module named 'torch'" >&2; exit 1 ;;
*/babbling) echo "hello"; exec sleep 1000 ;;
esac
version=1.0
[ -z "${LD_PRELOAD:-}" ] || version=1.0-preloaded
n=0
while read -r word count precision warm; do
	case $word in
	case)
		[ "$count" = tiny ] || exit 5
		all=$precision
		echo "process $$"
		case $0 in
		*/choosing)
			echo "trying bf16 compiled"
			sleep 1.2
			;;
		esac
		echo "built"
		continue
		;;
	choose)
		case $0 in
		*/choosing)
			sleep 1.2
			echo "setting bf16 compiled: eager 2 ms; compiled 1 ms"
			;;
		esac
		echo "ready Yardstick $version"
		continue
		;;
	end)
		echo "$all" >ended
		continue
		;;
	esac
	n=$((n + 1))
	[ "$word $count" = "go 3" ] && [ "$warm" -le 1 ] || exit 3
	case "$precision,$all" in
	f32,f32* | bf16,*bf16) ;;
	*) exit 4 ;;
	esac
	case $0 in
	*/sleeping) sleep 0.5 ;;
	esac
	[ $n -lt 2 ] || case $0 in
	*/dying) echo "out of patience" >&2; exit 1 ;;
	*/hanging) exec sleep 1000 ;;
	*/nonsense) echo "ms never"; continue ;;
	*/working)
		i=0
		while [ $i -lt 200000 ]; do
			i=$((i + 1))
		done
		;;
	esac
	echo "ms 1.5"
done
END
chmod +x good

# What is left of a peer when the benchmark is over: nothing, or a dead process that nobody has asked about.
gone() {
	tries=0
	while kill -0 "$(cat pid)" 2>/dev/null && ! grep -q ') Z ' "/proc/$(cat pid)/stat" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { fail "$1: the peer is still there"; return; }
		sleep 0.1
	done
}

bench() {
	rm -f pid out.json
	code=0
	"$steps" --tiny --still --systems all --precision f32 --preload no --patience "$patience" --json out.json "$@" \
		>out 2>err </dev/null || code=$?
	[ "$code" = 0 ] || fail "$*: exit code $code"
	[ "$(grep '= replay$' out | grep -vc "planner's choice")" = "$plans" ] ||
		fail "$*: our own systems were not all measured"
	grep -qE "^  planner's choice: [a-z0-9_]+.*, [0-9]+ micro-batch" out ||
		fail "$*: no planner's choice"
	grep -q '"measured_over_allowed"' out.json || fail "$*: no plan was compared with what it allows"
}

plans=10
patience=20
bench
grep -q 'A/this  of plan$' out || fail "without peers there is no column for one"
grep -q '"reason": "not found"' out.json || fail "the JSON does not say that there was no peer"
tr ',}' '\n\n' <out.json | awk -F': ' '/percent_of_f32_peak/ { n++; if ($2 > 100) exit 1 } END { exit !n }' ||
	fail "the JSON has no shares of the peak, or some above 100 %"

bench --torch ./good
grep -q 'A/this  PyTorch/this  of plan$' out || fail "no column for the peer"
grep -qE '^  Yardstick 1[.]0 .* 1[.]500 .* x1[.]00 ' out || fail "no row for the peer"
grep -q '"PyTorch": ' out.json || fail "no ratio to the peer in the JSON"
grep -q 'those that stood still used' out || fail "nothing about who was idle"
gone "a good peer"

# Both precisions side by side: columns for each, the setting that a peer chose, and the table of all cases.
cp good choosing
plans=17
bench --precision f32,bf16 --torch ./choosing
grep -q 'A f32/this  A bf16/this  PyTorch f32/this  PyTorch bf16/this  of plan$' out || fail "columns: $(cat out)"
grep -qF 'PyTorch bf16 compiled: eager 2 ms; compiled 1 ms' out || fail "it is not said which settings were tried"
grep -qE '^  Yardstick 1[.]0, compiled +bf16 .* 1[.]500 .* x1[.]00 ' out || fail "no row of the chosen setting"
grep -qE '^  Yardstick 1[.]0 +f32 .* 1[.]500 ' out || fail "no row of f32"
row='^[|] tiny [|] NEAR [|]( [^|]+ [0-9.]+!? [|]){2} 1[.]50!? [|] compiled 1[.]50!? [|]'
row="$row Yardstick 1[.]0 1[.]50!? [|] Yardstick 1[.]0, (compiled|f32) 1[.]50!? [|]( x[0-9.]+ [|]){4}"
row="$row( (x[0-9.]+|-) [|]){2}( ([0-9]+ %|-) [|]){2} [1-9][0-9]* [|] [0-9]+ of [0-9]+ [|] [^|]* [|]\$"
grep -qE "$row" out || fail "no row in Markdown: $(tail -3 out)"
plans=10

# PyTorch twice, and JAX: each has a column; the fastest is the best known.
cp good quick
sed -i 's/ms 1[.]5/ms 0.75/' quick
bench --torch ./good --preload yes --jax ./quick
grep -q 'A/this  PyTorch/this  PyTorch, MKL for AMD/this  JAX/this  of plan$' out || fail "peers' columns: $(cat out)"
grep -qE '^  Yardstick 1[.]0-preloaded .* 1[.]500 ' out || fail "the library is not preloaded"
grep -qE '^[|] tiny [|] NEAR [|] [^|]+ [|] - [|] 1[.]50!? [|] - [|] Yardstick 1[.]0 0[.]750!? [|] - [|]' out ||
	fail "the best known is not the fastest: $(tail -3 out)"
bench --torch ./good --preload no
! grep -q 'MKL for AMD/this' out || fail "--preload no: PyTorch runs twice"
plans=7
bench --precision bf16
grep -q 'A/this  of plan$' out || fail "bf16 alone: columns"
code=0
"$steps" --tiny --precision f16 >out 2>err || code=$?
expect 2 "--precision f16" '^steps: --precision expects f32, bf16 or f32,bf16, got "f16"'
plans=10

# Bursts during which others used CPU are marked; what a peer used itself is not others'.
cp good sleeping
sh -c 'while :; do :; done' &
pid=$!
bench --torch ./sleeping
kill $pid
wait $pid 2>/dev/null || :
pid=
grep -qE '^  Yardstick 1[.]0 +f32 .* NEAR +[1-7]! ' out || fail "a busy process: no mark: $(cat out)"
grep -qE ' bursts, .* [1-9][0-9]* disturbed by others' out || fail "a busy process: $(grep bursts out)"
grep -q '"disturbed": true' out.json || fail "a busy process: no mark in the JSON"
cp good working
bench --torch ./working
awk '/"system": / { peer = /Yardstick/ } peer && /"own_cpu_s": / { if ($2 + 0 > 0.01) found = 1 } END { exit !found }' \
	out.json || fail "what the peer used is not counted as its own"

# One that fails is one line, and the others go on.
left_out() {
	name=$1
	shift
	cp good "$name"
	bench --torch "./$name"
	grep -qF "  PyTorch is left out of this case: $*" out || fail "$name: it is not said that $*"
	grep -qF '"reason": "' out.json || fail "$name: the JSON does not say why"
	[ ! -e pid ] || gone "$name"
}
left_out missing "ModuleNotFoundError: No module named 'torch'"
patience=2
left_out mute "it said nothing for 2 s"
left_out hanging "it said nothing for 2 s"
patience=20
left_out babbling 'it said "hello" where "process ..." was expected'
left_out dying "out of patience"
left_out nonsense 'it said that a step takes "never" ms'
bench --torch ./absent
grep -q 'PyTorch is left out of this case: ./absent: No such file' out || fail "absent: it is not said"

# Neither Ctrl-C nor a kill leaves one behind.
cp good mute
for sig in INT KILL; do
	rm -f pid
	"$steps" --tiny --preload no --torch ./mute >out 2>err </dev/null &
	pid=$!
	tries=0
	while [ ! -s pid ] && [ $tries -lt 1200 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -$sig $pid
	wait $pid || :
	pid=
	gone "SIG$sig"
done

finish
