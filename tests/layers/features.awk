# Prints "file:line: what is wrong" for code that names a feature of plans, and ends with 1 when there was some.
#
#	awk -v word=RE -v member=RE -v header=RE -f strip.awk -f features.awk FILE...

function complain(text)
{
	print FILENAME ":" FNR ": " text
	bad = 1
}

FNR == 1 {
	in_comment = 0
}

{
	line = strip($0)
	if (match(line, word) || match(line, member) || match(line, header))
		complain("names a feature, whose code stands in engine/exec/features: " substr(line, RSTART, RLENGTH))
}

END {
	exit bad || !NR
}
