# Prints "file:line: what is wrong" for words that have no place in the tree, and ends with 1 when there was one.
#
#	awk -f strip.awk -f words.awk FILE...           any text: marks of unfinished work, paths of one machine
#	awk -v code=1 -f strip.awk -f words.awk FILE...
#		C of the engine: names of pipeline systems outside comments, strings included

function complain(text)
{
	print FILENAME ":" FNR ": " text
	bad = 1
}

# Brackets keep these words out of this file itself.
BEGIN {
	unfinished = "(^|[^A-Za-z0-9_])([T]ODO|[F]IXME|[X]XX|[H]ACK)([^A-Za-z0-9_]|$)|[n]ot implemented"
	machine = "/[w]ork/|/[t]mp/b-|/[h]ome/[a-z]"
	systems = "[g]pipe|[1]f1b|[p]ipedream|[c]himera|[d]ualpipe|[x]pipe|[p]ipemare|[s]pectrain|[p]ipeoptim|[a]mpnet"
	systems = systems "|[h]anayo|[t]erapipe|[d]apple|[z]b_?h[12]|[z]b_?v|[z]b_auto|[z]ero_?bubble|[m]egatron"
	systems = systems "|[d]eepspeed"
	systems = "(^|[^a-z])(" systems "|[g]ems([^a-z]|$))"
}

FNR == 1 {
	in_comment = 0
}

code {
	line = tolower(strip($0))
	if (match(line, systems))
		complain("no executor knows a system by name: " substr(line, RSTART, RLENGTH))
}

!code && $0 ~ unfinished {
	complain("mark of unfinished work")
}

!code && $0 ~ machine {
	complain("path of one machine")
}

END {
	exit bad || !NR
}
