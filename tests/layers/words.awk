# Prints "file:line: what is wrong" for words that have no place in the tree, and ends with 1 when there was one.
#
#	awk -f words.awk FILE...           any text: marks of unfinished work, paths of one machine
#	awk -v code=1 -f words.awk FILE... C of the engine: names of pipeline systems outside comments, strings included

function complain(text)
{
	print FILENAME ":" FNR ": " text
	bad = 1
}

# The line without its comments; strings stay. in_comment lives on over lines.
function strip(line,    out, i, c, two, quote)
{
	out = ""
	quote = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		two = substr(line, i, 2)
		if (in_comment) {
			if (two == "*/") {
				in_comment = 0
				i++
			}
		} else if (quote != "") {
			out = out c
			if (c == "\\") {
				i++
				out = out substr(line, i, 1)
			} else if (c == quote)
				quote = ""
		} else if (two == "/*") {
			in_comment = 1
			i++
		} else if (two == "//")
			break
		else {
			if (c == "\"" || c == "'")
				quote = c
			out = out c
		}
	}
	return out
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
