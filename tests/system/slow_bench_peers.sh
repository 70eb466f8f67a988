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
echo "ready Yardstick 1.0"
n=0
while read -r go count; do
	n=$((n + 1))
	[ "$go $count" = "go 3" ] || exit 3
	[ $n -lt 3 ] || case $0 in
	*/dying) echo "out of patience" >&2; exit 1 ;;
	*/hanging) exec sleep 1000 ;;
	*/nonsense) echo "ms never"; continue ;;
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
		[ $tries -lt 50 ] || { fail "$1: the peer is still there"; return; }
		sleep 0.1
	done
}

bench() {
	rm -f pid out.json
	code=0
	"$steps" --tiny --patience 2 --json out.json "$@" >out 2>err </dev/null || code=$?
	[ "$code" = 0 ] || fail "$*: exit code $code"
	[ "$(grep -c '= replay$' out)" = 5 ] || fail "$*: our own systems were not all measured"
	grep -q '"measured_over_allowed"' out.json || fail "$*: no plan was compared with what it allows"
}

bench
grep -q 'A/this  of plan$' out || fail "without peers there is no column for one"
grep -q '"reason": "not found"' out.json || fail "the JSON does not say that there was no peer"

bench --torch ./good
grep -q 'A/this  PyTorch/this  of plan$' out || fail "no column for the peer"
grep -qE '^  Yardstick 1[.]0 .* 1[.]500 .* x1[.]00 ' out || fail "no row for the peer"
grep -q '"PyTorch": ' out.json || fail "no ratio to the peer in the JSON"
grep -q 'all others together used' out || fail "nothing about who was idle"
gone "a good peer"

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
left_out mute "it said nothing for 2 s"
left_out babbling 'it said "hello" where "ready ..." was expected'
left_out dying "out of patience"
left_out hanging "it said nothing for 2 s"
left_out nonsense 'it said that a step takes "never" ms'
bench --torch ./absent
grep -q 'PyTorch is left out of this case: ./absent: No such file' out || fail "absent: it is not said"

# Neither Ctrl-C nor a kill leaves one behind.
cp good mute
for sig in INT KILL; do
	rm -f pid
	"$steps" --tiny --torch ./mute >out 2>err </dev/null &
	pid=$!
	tries=0
	while [ ! -s pid ] && [ $tries -lt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -$sig $pid
	wait $pid || :
	pid=
	gone "SIG$sig"
done

finish
