/* The words stand in case statements; "@" and a letter in their place asks for files. */
#include "manual/completion.h"
#include "manual/offer.h"

static const char *const marks[] = {
	[MR_OFFER_NOTHING] = "", [MR_OFFER_CONFIGS] = "@c", [MR_OFFER_FOLDERS] = "@d", [MR_OFFER_FILES] = "@f"};

static void put_offer(mr_offer_kind kind, const mr_strbuf *words, FILE *out)
{
	fprintf(out, "'%s' ;;\n", kind == MR_OFFER_WORDS ? mr_strbuf_text(words) : marks[kind]);
}

static void put_values(const mr_command *c, FILE *out)
{
	for (const mr_option *o = c->options; o && o->name; o++) {
		mr_strbuf words = {0};
		mr_offer_kind kind;

		if (mr_offer_is_flag(o))
			continue;
		kind = mr_offer_value(o, &words);
		fprintf(out, "\t'%s --%s') words=", c->name, o->name);
		put_offer(kind, &words, out);
		mr_strbuf_fini(&words);
	}
}

static void put_options(const mr_command *c, FILE *out)
{
	fprintf(out, "\t%s) words='", c->name);
	for (const mr_option *o = c->options; o && o->name; o++)
		fprintf(out, "--%s%s ", o->name, mr_offer_is_flag(o) ? "" : "=");
	fprintf(out, "%s--help ' ;;\n", c->sets ? "--set " : "");
}

static void put_operand(const mr_command *c, FILE *out)
{
	mr_strbuf words = {0};
	mr_offer_kind kind = mr_offer_operand(c, &words);

	fprintf(out, "\t%s) words=", c->name);
	put_offer(kind, &words, out);
	mr_strbuf_fini(&words);
}

static void put_choice(void *arg, const char *key, const char *words)
{
	fprintf(arg, "\t%s) words='%s' ;;\n", key, words);
}

/* bash breaks words at "=": `--format=svg` is three words, `--set train.steps=5` four. */
static const char script[] =
	"_millrace() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} i=$COMP_CWORD command=${COMP_WORDS[1]} before words key=''\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_millrace_offer \"$_millrace_commands help --help --version\"\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ $cur == '=' ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ ${COMP_WORDS[i - 1]} == '=' ]]; then\n"
	"\t\ti=$((i - 1))\n"
	"\telse\n"
	"\t\ti=0\n"
	"\tfi\n"
	"\tif ((i)); then\n"
	"\t\tbefore=${COMP_WORDS[i - 1]}\n"
	"\t\t[[ $before == --* ]] || key=$before\n"
	"\t\t[[ $before != --set ]] || before=--set\n"
	"\telse\n"
	"\t\tbefore=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tfi\n"
	"\t[[ $before != -o ]] || before=--output\n"
	"\tif [[ -n $key ]]; then\n"
	"\t\t_millrace_choice \"$key\"\n"
	"\t\t[[ -n $words ]] || words=@f\n"
	"\telif [[ $before == --set ]]; then\n"
	"\t\twords=$_millrace_keys\n"
	"\telif _millrace_value \"$command $before\"; then\n"
	"\t\t:\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\t_millrace_option \"$command\"\n"
	"\telse\n"
	"\t\t_millrace_operand \"$command\"\n"
	"\tfi\n"
	"\t_millrace_offer \"$words\"\n"
	"}\n"
	"\n"
	"_millrace_offer() {\n"
	"\tcase $1 in\n"
	"\t@c) mapfile -t COMPREPLY < <(compgen -f -X '!*.cfg' -- \"$cur\"; compgen -d -S / -- \"$cur\") ;;\n"
	"\t@d) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
	"\t@f) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\") ;;\n"
	"\tesac\n"
	"\tif [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/] ]]; then\n"
	"\t\tcompopt -o nospace 2>/dev/null\n"
	"\tfi\n"
	"}\n"
	"\n"
	"complete -F _millrace millrace\n";

void mr_completion_bash(const mr_command *const *commands, FILE *out)
{
	mr_strbuf keys = {0};

	fputs("# Completion of millrace for bash, written by `millrace completion bash`.\n_millrace_commands='", out);
	for (const mr_command *const *c = commands; *c; c++)
		fprintf(out, "%s ", (*c)->name);
	mr_offer_keys(&keys);
	fprintf(out, "'\n_millrace_keys='%s'\n\n_millrace_option() {\n\tcase $1 in\n", mr_strbuf_text(&keys));
	mr_strbuf_fini(&keys);
	for (const mr_command *const *c = commands; *c; c++)
		put_options(*c, out);
	fputs("\t*) words='' ;;\n\tesac\n}\n\n_millrace_operand() {\n\tcase $1 in\n", out);
	for (const mr_command *const *c = commands; *c; c++)
		put_operand(*c, out);
	fputs("\t*) words='' ;;\n\tesac\n}\n\n_millrace_value() {\n\tcase $1 in\n", out);
	for (const mr_command *const *c = commands; *c; c++)
		put_values(*c, out);
	fputs("\t*) return 1 ;;\n\tesac\n}\n\n_millrace_choice() {\n\tcase $1 in\n", out);
	mr_offer_each_choice(put_choice, out);
	fprintf(out, "\t*) words='' ;;\n\tesac\n}\n\n%s", script);
}
