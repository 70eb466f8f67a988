# Completions and manual pages, which are made from the tables of options.   test_manual.sh SOURCE BUILD
. "$(dirname "$0")/../cli/cli_lib.sh"

expect 2 'no completion for "csh"; expected bash, zsh or fish' completion csh
expect 2 'did you mean "train"?' manual trian
expect 2 "manual takes the name of a page, or --folder for all of them" manual
expect 1 "no/such" manual --folder no/such

mkdir pages
expect 0 "" manual --folder pages
for shell in bash zsh fish; do
	"$millrace" completion $shell >by.$shell || failed=1
done
commands=$("$millrace" --help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p')
for command in $commands; do
	page=pages/millrace-$command.1
	grep -q "^\.B millrace $command$" $page || complain "$page does not name its command"
	for option in $("$millrace" "$command" --help | awk '/^  --/ { print $1 }'); do
		quoted=$(printf %s "$option" | sed 's/-/\\\\-/g')
		grep -q "^\.BI* $quoted" $page || complain "$page does not describe $option"
		for shell in bash zsh; do
			grep -q -- "$option" by.$shell || complain "completion for $shell lacks $option"
		done
		grep -q -- "-l ${option#--}" by.fish || complain "completion for fish lacks $option"
	done
done
command=
"$millrace" manual train | cmp -s - pages/millrace-train.1 || complain "a page alone differs from it among all"

# Every key that the reference shows has its paragraph, and every plug-in its heading.
sed -n 's/^[#|[:space:]]*\([a-z_0-9]*\) = .*;.*/\1/p' "$source/conf/reference.cfg" | grep -v '^name$' | sort -u >keys
[ "$(wc -l <keys)" -gt 150 ] || complain "the reference has hardly a key"
while read -r key; do
	grep -qx "\.B $key" pages/millrace.cfg.5 || complain "millrace.cfg(5) does not describe $key"
done <keys
for kind in model:models data:data optimizer:optimizers mitigation:mitigations system:systems; do
	for name in $("$millrace" list "${kind#*:}" | awk '{ print $1 }'); do
		grep -qx "\.SS \"${kind%:*}: $name\"" pages/millrace.cfg.5 ||
			complain "millrace.cfg(5) lacks ${kind%:*} $name"
	done
done

if command -v man >/dev/null && command -v groff >/dev/null; then
	for page in pages/millrace.1 pages/millrace-plan.1 pages/millrace-train.1 pages/millrace-schedule.1 \
		pages/millrace-list.1 pages/millrace.cfg.5; do
		LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z $page 2>warnings >formatted
		[ ! -s warnings ] && [ -s formatted ] || complain "$page: $(head -3 warnings)"
	done
else
	echo "pages were not formatted: there is no man or groff here"
fi

# What bash offers behind some words; it breaks them at "=".
touch rows.cfg notes.txt
mkdir runs
cat >offers.bash <<'END'
. ./by.bash
status=0
offers() { # WORDS... are OFFER...: "..." at the end of the offers allows for more
	local words=() want
	while [[ $1 != are ]]; do
		words+=("$1")
		shift
	done
	shift
	want="$*"
	COMP_WORDS=("${words[@]}")
	COMP_CWORD=$((${#words[@]} - 1))
	_millrace
	case "${COMPREPLY[*]} " in
	"$want " | ${want%...}*)
		[[ $want == *... || "${COMPREPLY[*]}" == "$want" ]] && return
		;;
	esac
	echo "${words[*]}: bash offers '${COMPREPLY[*]}', expected '$want'"
	status=1
}
offers millrace tra are train
offers millrace train '' are rows.cfg ...
offers millrace plan --f are --format=
offers millrace plan --format = s are svg
offers millrace plan --format '' are text json svg machine layers
offers millrace tune --prec are --precision=
offers millrace train rows.cfg --set lr_schedule.s are lr_schedule.step_every= lr_schedule.start_ratio=
offers millrace train rows.cfg --set lr_schedule.name = c are constant cosine
offers millrace train rows.cfg --set = system.name = zb_ are zb_h1 zb_h2 ...
offers millrace schedule pipedr are pipedream pipedream_2bw
offers millrace list m are models mitigations machines
offers millrace completion '' are bash zsh fish
offers millrace plan rows.cfg -o no are notes.txt
exit $status
END
if command -v bash >/dev/null; then
	bash offers.bash >out 2>&1 || complain "bash:"
fi
if command -v zsh >/dev/null; then
	zsh -n by.zsh >out 2>&1 || complain "zsh:"
	mkdir functions
	cp by.zsh functions/_millrace
	cat >inside.zsh <<'END'
fpath=($PWD/functions $fpath)
autoload -Uz compinit
compinit -u -D
PS1=
compadd() {
	local -a offers
	if [[ "${@[1,(i)(-|--)]}" != *-[OAD]\ * ]]; then
		builtin compadd -A offers "$@"
		print -rn -- "$offers " >>offers.zsh
	fi
	builtin compadd "$@"
}
end-of-line() { print "<- $BUFFER" >>offers.zsh; BUFFER= }
zle-line-init() { print ready >>offers.zsh }
zle -N end-of-line
zle -N zle-line-init
bindkey '^E' end-of-line
END
	cat >outside.zsh <<'END'
zmodload zsh/zpty || exit 77
: >offers.zsh
zpty z zsh -f -i
lines_are() {
	for try in {1..2400}; do
		[[ $(wc -l <offers.zsh) -ge $1 ]] && return
		zpty -r -t z out || sleep 0.05
	done
	exit 1
}
zpty -w z "source $PWD/inside.zsh"
lines_are $((n = 1)) # "ready"
for line in 'millrace tra' 'millrace plan --format=s' 'millrace train rows.cfg --set lr_schedule.name=c' \
	'millrace schedule pipedr' 'millrace plan rows.cfg -o not'; do
	zpty -w -n z "$line"$'\t\x05'
	lines_are $((++n))
done
zpty -d z
END
	code=0
	zsh -f outside.zsh >out 2>&1 </dev/null || code=$?
	if [ $code = 77 ]; then
		echo "zsh's offers were not looked at: it has no module zsh/zpty here"
	else
		cat offers.zsh >>out
		[ $code = 0 ] || complain "zsh: exit code $code"
	fi
	for word in '^train ' '^svg ' '^constant cosine ' '^pipedream pipedream_2bw ' '^notes.txt '; do
		[ $code = 77 ] || grep -q "$word" offers.zsh || complain "zsh does not offer $word:"
	done
fi
if command -v fish >/dev/null; then
	HOME=$dir fish -c 'source by.fish; complete -C "millrace schedule pipedr"; complete -C "millrace plan --format "
complete -C "millrace train --set train.sched"' >out 2>&1 || complain "fish:"
	for word in pipedream_2bw layers lr_schedule.name=cosine; do
		has $word
	done
fi
exit $failed
