# Divides sources in C, and files whose comments begin with #: awk -v names=OUT -f comments.awk FILE... prints
# "word FILE:LINE" for each path and each name in a comment, and writes every identifier outside comments to the file
# OUT. A name begins with mr_ or MR_, or has two words or more of some letters each: x_ij and w_old are formulas.

function in_comment(text,    word)
{
	while (match(text, /[A-Za-z0-9_.\/*-]+/)) {
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		sub(/^[.*\/-]+/, "", word)
		if (word ~ /\*/) # a name that stands for several
			continue
		sub(/[.-]+$/, "", word)
		if (word ~ /^[A-Za-z0-9_\/.-]+[.](c|h|inc|def|sh|py|md|awk)$/ || word ~ /^(mr|MR)_[A-Za-z0-9_]+$/ ||
		    word ~ /^[A-Za-z0-9][A-Za-z0-9][A-Za-z0-9]+(_[A-Za-z0-9][A-Za-z0-9]+)+$/)
			print word, FILENAME ":" FNR
	}
}

function in_code(text,    word)
{
	gsub(/'(\\.|[^'\\])'/, " ", text)
	while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
		word = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		if (!(word in seen)) {
			seen[word] = 1
			print word >names
		}
	}
}

FNR == 1 {
	inside = 0
}

FILENAME !~ /[.](c|h|inc|def)$/ {
	if (match($0, /(^|[ \t])#([ \t]|$)/)) {
		in_code(substr($0, 1, RSTART))
		in_comment(substr($0, RSTART + RLENGTH))
	} else
		in_code($0)
	next
}

{
	rest = $0
	while (rest != "") {
		if (inside) {
			at = index(rest, "*/")
			in_comment(at ? substr(rest, 1, at - 1) : rest)
			rest = at ? substr(rest, at + 2) : ""
			inside = !at
		} else if (match(rest, /\/\*|\/\/|"/)) {
			mark = substr(rest, RSTART, RLENGTH)
			before = substr(rest, 1, RSTART - 1)
			rest = substr(rest, RSTART + RLENGTH)
			in_code(before)
			if (mark == "/*")
				inside = 1
			else if (mark == "//") {
				in_comment(rest)
				rest = ""
			} else if (match(rest, /^(\\.|[^"\\])*"/)) { # a string: a name in it counts as code
				before = substr(rest, 1, RLENGTH - 1)
				rest = substr(rest, RLENGTH + 1)
				in_code(before)
			} else
				rest = ""
		} else {
			in_code(rest)
			rest = ""
		}
	}
}
