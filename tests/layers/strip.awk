# strip(line): for rules about C, by awk -f strip.awk -f RULE.awk; the rule sets in_comment = 0 at FNR == 1.

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
