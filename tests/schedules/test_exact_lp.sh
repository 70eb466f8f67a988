# exact_lp: what `search` proves against an integer program that GLPK solves: begin times and an order bit for each pair
# of passes of a worker, in which micro-batches are not alike. Arguments: source tree, build tree.
. "$(dirname "$0")/../cli/cli_lib.sh"
. "$source/tests/missing.sh"

command -v glpsol >/dev/null || missing_package exact_lp glpsol glpk-utils

# Write costs.csv and the integer program of instance $1 with $2 workers, $3 micro-batches and room for $4.
problem() {
	awk -v seed="$1" -v D="$2" -v T="$3" -v cap="$4" '
	function draw(from, to) {
		seed = (seed * 1103 + 12345) % 65536
		return from + int(seed / 7) % (to - from + 1)
	}
	function x(op, s, m) { return op "_" s "_" m }
	function after(late, early, by) { print " " late " - " early " >= " by }
	BEGIN {
		print "stage,f,i,w,u,c" >"costs.csv"
		for (s = 0; s < D; s++) {
			cost["F", s] = draw(1, 6)
			cost["I", s] = draw(1, 6)
			cost["W", s] = draw(1, 6)
			c[s] = draw(0, 2)
			print s "," cost["F", s] "," cost["I", s] "," cost["W", s] ",0," c[s] >"costs.csv"
		}
		big = 0
		for (s = 0; s < D; s++)
			big += T * (cost["F", s] + cost["I", s] + cost["W", s]) + 2 * T * c[s]
		print "Minimize\n obj: span\nSubject To"
		for (s = 0; s < D; s++)
			for (m = 0; m < T; m++) {
				if (s)
					after(x("F", s, m), x("F", s - 1, m), cost["F", s - 1] + c[s - 1])
				after(x("I", s, m), x("F", s, m), cost["F", s])
				if (s + 1 < D)
					after(x("I", s, m), x("I", s + 1, m), cost["I", s + 1] + c[s + 1])
				after(x("W", s, m), x("I", s, m), cost["I", s])
				after("span", x("W", s, m), cost["W", s])
			}
		split("F I W", op)
		for (s = 0; s < D; s++) {
			n = 0
			for (k = 1; k <= 3; k++)
				for (m = 0; m < T; m++) {
					name[n] = x(op[k], s, m)
					takes[n++] = cost[op[k], s]
				}
			for (a = 0; a < n; a++)
				for (b = a + 1; b < n; b++) {
					y = "y_" name[a] "_" name[b]
					bits = bits " " y "\n"
					# y = 1: a is before b
					print " " name[b] " - " name[a] " - " big " " y " >= " takes[a] - big
					print " " name[a] " - " name[b] " + " big " " y " >= " takes[b]
				}
			# F of others before this F, less W of others before it, leaves room
			for (m = 0; m < T; m++) {
				line = ""
				right = cap - 1
				for (o = 0; o < T; o++) {
					if (o == m)
						continue
					if (o < m)
						line = line " + y_" x("F", s, o) "_" x("F", s, m)
					else {
						line = line " - y_" x("F", s, m) "_" x("F", s, o)
						right -= 1
					}
					line = line " + y_" x("F", s, m) "_" x("W", s, o) # 1 - (W before F)
					right += 1
				}
				print line " <= " right
			}
		}
		print "Bounds\nBinary\n" bits "End"
	}' >problem.lp
}

n=0
for instance in "1 2 2 2" "2 2 2 1" "3 2 3 2" "4 2 3 3" "5 3 2 2" "6 3 2 1" "7 4 2 2" "8 2 3 1" "9 3 2 2" "10 2 3 2"; do
	set -- $instance
	problem "$@"
	glpsol --lp problem.lp --tmlim 60 -o solution >out || complain "GLPK refused problem $1"
	best=$(sed -n 's/^Objective: *obj = \([0-9.]*\) .*/\1/p' solution)
	grep -q "INTEGER OPTIMAL" solution || best=
	[ -n "$best" ] || continue
	n=$((n + 1))
	expect 0 '"optimal": true' schedule search --workers "$2" --microbatches "$3" --chunks 1 --costs costs.csv \
		--set cap="$4" --set tries=1 --set proof=20000 --format json
	ours=$(sed -n '/"proof"/,/}/s/.*"makespan": \([0-9.]*\),/\1/p' out)
	awk -v a="$best" -v b="$ours" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' ||
		complain "problem $instance: GLPK finds $best, search proves $ours"
done
[ "$n" -ge 8 ] || complain "GLPK solved $n of 10 problems alone"
exit $failed
