# Holds #include lines to tests/layers.txt:  awk -f includes.awk tests/layers.txt FILE...   (paths relative to the root)
# Prints "file:line: what is wrong" for each forbidden include and ends with 1 when there was one.

function complain(text)
{
	print FILENAME ":" FNR ": " text
	bad = 1
}

# "a*b.[ch]" as a regular expression; a dot is itself.
function pattern(glob)
{
	gsub(/[.]/, "[.]", glob)
	gsub(/[*]/, "[^/]*", glob)
	return "^" glob "$"
}

# The layer a path below the root belongs to: the longest folder of the table that it starts with; "" if none.
function layer_of(path,    l, best)
{
	best = ""
	for (l in may)
		if (index(path, l "/") == 1 && length(l) > length(best))
			best = l
	return best
}

# The words of @list without the blanks around them; "+FOLDER" becomes FOLDER and all that FOLDER may include.
function whole(list,    i, n, word, all)
{
	n = split(list, word, " ")
	for (i = 1; i <= n; i++) {
		if (word[i] ~ /^[+]/) {
			word[i] = substr(word[i], 2)
			if (!(word[i] in may))
				complain("+" word[i] " stands above the line of " word[i])
			word[i] = word[i] " " may[word[i]]
		}
		all = all (i > 1 ? " " : "") word[i]
	}
	return all
}

# May this file include @name, as far as the table says that only some may? Shown as @quoted.
function check_only(name, quoted,    i, n, word)
{
	if (!(name in only))
		return
	n = split(only[name], word, " ")
	for (i = 1; i <= n; i++)
		if (FILENAME ~ pattern(word[i]))
			return
	complain(quoted " belongs to " only[name])
}

function check_inside(layer, name,    i, n, word, path, target)
{
	check_only(name, "\"" name "\"")
	# Includes are relative to engine/, to engine/include/ for millrace/, and to the root for schedules/ and
	# models/.
	path = index(name, "millrace/") == 1 ? "engine/include/" name : name
	if (layer_of("engine/" name) != "")
		path = "engine/" name
	target = layer_of(path)
	if (target == "")
		complain("\"" name "\" names no layer; includes are relative to engine/ or to the root")
	else if (target != layer && may[layer] != "*") {
		n = split(may[layer], word, " ")
		for (i = 1; i <= n; i++)
			if (word[i] == target || word[i] == path)
				return
		complain(layer " may not include \"" name "\" of " target)
	}
}

function check_outside(layer, name,    i, n, word)
{
	check_only(name, "<" name ">")
	n = split(outside[layer], word, " ")
	for (i = 1; i <= n; i++)
		if (word[i] == name || ((word[i], name) in set))
			return
	complain(layer " may not include <" name ">")
}

FNR == 1 {
	n_files++
	if (n_files > 1) {
		layer = layer_of(FILENAME)
		if (layer == "")
			complain("this folder is not in the table of layers")
	}
}

# A line of the table may go on in the next one.
n_files == 1 && /\\$/ {
	held = held substr($0, 1, length($0) - 1)
	next
}

n_files == 1 && held != "" {
	$0 = held $0
	held = ""
}

n_files == 1 && /^headers / {
	for (i = 3; i <= NF; i++)
		set[$2, $i] = 1
}

n_files == 1 && /^layer / {
	n = split($0, part, ":")
	if (n != 3)
		complain("expected layer FOLDER : may : outside")
	split(part[1], word, " ")
	may[word[2]] = whole(part[2])
	outside[word[2]] = part[3]
}

n_files == 1 && /^only / {
	only[$2] = $3
	for (i = 4; i <= NF; i++)
		only[$2] = only[$2] " " $i
}

n_files > 1 && layer != "" && /^[ \t]*#[ \t]*include/ {
	rest = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", rest)
	close_at = index(substr(rest, 2), rest ~ /^</ ? ">" : "\"")
	name = substr(rest, 2, close_at - 1)
	n_includes++
	if (close_at && rest ~ /^"/)
		check_inside(layer, name)
	else if (close_at && rest ~ /^</)
		check_outside(layer, name)
	else
		complain("expected a name in quotes or brackets")
}

END {
	if (!n_includes) {
		print "no #include line was found at all"
		bad = 1
	}
	exit bad
}
