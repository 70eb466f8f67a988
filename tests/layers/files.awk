# Prints "file:line: what is wrong" for a call that opens or renames a file and that files.txt does not allow there, and
# for a line of files.txt that nothing uses; ends with 1 when there was one.
#
#	awk -f strip.awk -f files.awk files.txt FILE...

function complain(text)
{
	print FILENAME ":" FNR ": " text
	bad = 1
}

BEGIN {
	calls = "fopen|freopen|fdopen|fopen64|tmpfile|open|openat|open64|creat|rename|renameat|renameat2"
	calls = calls "|mkstemp|mkostemp"
	call = "(^|[^A-Za-z0-9_>.])(" calls ")[ \t]*\\("
}

FNR == 1 {
	in_comment = 0
}

FILENAME ~ /files[.]txt$/ {
	if ($0 !~ /^#/ && NF) {
		n = split($0, part, / : /)
		if (n != 3 || part[3] == "")
			complain("expected FILE : CALL... : REASON")
		m = split(part[2], name, " ")
		for (i = 1; i <= m; i++)
			allowed[part[1], name[i]] = FNR
		list = FILENAME
	}
	next
}

{
	line = strip($0)
	while (match(line, call)) {
		word = substr(line, RSTART, RLENGTH)
		gsub(/[^a-z0-9]/, "", word)
		if ((FILENAME, word) in allowed)
			used[FILENAME, word] = 1
		else
			complain(word "() is for base/file.c and base/result.c: use base/file.h or base/result.h")
		line = substr(line, RSTART + RLENGTH)
	}
}

END {
	for (k in allowed)
		if (!(k in used)) {
			split(k, part, SUBSEP)
			print list ":" allowed[k] ": " part[1] " calls no " part[2] "()"
			bad = 1
		}
	exit bad || !NR
}
