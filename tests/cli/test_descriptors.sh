# A run that may not open the files that it needs ends before it trains; a soft limit is raised.
#	test_descriptors.sh SOURCE BUILD
. "$(dirname "$0")/cli_lib.sh"

tiny_configs 'run = { dir = "run"; };'

# Whatever the limit is: a run that begins to train also saves.
refused=0
trained=0
for n in 7 8 9 10 11 12 14 16 20 24 32; do
	rm -rf run
	(
		ulimit -n $n || exit 99
		exec "$millrace" train ok.cfg
	) >out 2>&1 </dev/null
	got=$?
	[ $got -ne 99 ] || continue
	if [ $got -eq 0 ]; then
		trained=1
		[ -n "$(ls run/checkpoints/step-* 2>/dev/null)" ] || complain "no save with $n:"
	else
		! grep -q '^step' out || complain "trains with $n files, and then fails with $got:"
		[ ! -e run/metrics.jsonl ] || complain "begins a run with $n files:"
		[ $n -gt 20 ] && complain "is refused with $n files:"
		refused=1
	fi
done
[ $refused = 1 ] && [ $trained = 1 ] || complain "expected some limits to be refused, and some not:"
(
	ulimit -n 12
	exec "$millrace" train ok.cfg --set run.dir=r12
) >out 2>&1 </dev/null
[ $? -eq 6 ] && has "a process may have 12 files open here (ulimit -n), which leaves" || complain "with 12 files:"
(
	ulimit -S -n 12
	exec "$millrace" train ok.cfg --set run.dir=soft
) >out 2>&1 </dev/null || complain "a soft limit is raised:"
exit $failed
