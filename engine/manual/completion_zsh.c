#include "manual/completion.h"

#include <string.h>

#include "manual/offer.h"

/* @text inside '...' of a specification of _arguments: quotes and what has a meaning there. */
static void put_spec(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void put_action(mr_offer_kind kind, const mr_strbuf *words, FILE *out)
{
	if (kind == MR_OFFER_WORDS)
		fprintf(out, "(%s)", mr_strbuf_text(words));
	else if (kind == MR_OFFER_CONFIGS)
		fputs("_files -g \"*.cfg\"", out);
	else if (kind == MR_OFFER_FOLDERS)
		fputs("_files -/", out);
	else if (kind == MR_OFFER_FILES)
		fputs("_files", out);
	else
		fputc(' ', out);
}

/* @name: "--output=", "-o+". */
static void put_option(const char *name, const mr_option *o, FILE *out)
{
	mr_strbuf words = {0};

	fprintf(out, " \\\n\t\t'%s[", name);
	put_spec(o->help, out);
	fputc(']', out);
	if (!mr_offer_is_flag(o)) {
		fprintf(out, ":%s:", o->name);
		put_action(mr_offer_value(o, &words), &words, out);
		mr_strbuf_fini(&words);
	}
	fputc('\'', out);
}

static void put_command(const mr_command *c, FILE *out)
{
	mr_strbuf words = {0};
	char name[80];

	fprintf(out, "\t%s)\n\t\t_arguments", c->name);
	for (const mr_option *o = c->options; o && o->name; o++) {
		snprintf(name, sizeof(name), "--%s%s", o->name, mr_offer_is_flag(o) ? "" : "=");
		put_option(name, o, out);
		if (!strcmp(o->name, "output"))
			put_option("-o+", o, out);
	}
	if (c->sets)
		fputs(" \\\n\t\t'*--set=[value of a key]:key=value:_millrace_key'", out);
	fputs(" \\\n\t\t'--help[describe the command]'", out);
	if (*c->operands) {
		fputs(" \\\n\t\t'*:", out);
		put_spec(c->operands, out);
		fputc(':', out);
		put_action(mr_offer_operand(c, &words), &words, out);
		fputc('\'', out);
		mr_strbuf_fini(&words);
	}
	fputs("\n\t\t;;\n", out);
}

static void put_choice(void *arg, const char *key, const char *words)
{
	fprintf(arg, "\t\t%s) compadd -- %s ;;\n", key, words);
}

void mr_completion_zsh(const mr_command *const *commands, FILE *out)
{
	mr_strbuf keys = {0};

	fputs("#compdef millrace\n# Completion of millrace for zsh, written by `millrace completion zsh`.\n\n"
	      "_millrace_key() {\n\tif compset -P 1 '*='; then\n"
	      "\t\tlocal key=${${IPREFIX%=}##*--set=}\n\t\tcase $key in\n",
	      out);
	mr_offer_each_choice(put_choice, out);
	mr_offer_keys(&keys);
	fprintf(out, "\t\t*) _files ;;\n\t\tesac\n\telse\n\t\tcompadd -S '' -- %s\n\tfi\n}\n\n", mr_strbuf_text(&keys));
	mr_strbuf_fini(&keys);
	fputs("_millrace() {\n\tlocal context state line\n\tlocal -a commands\n\tcommands=(\n", out);
	for (const mr_command *const *c = commands; *c; c++) {
		fprintf(out, "\t\t'%s:", (*c)->name);
		put_spec((*c)->summary, out);
		fputs("'\n", out);
	}
	fputs("\t)\n\t_arguments -C '--help[describe the program]' '--version[name version and libraries]' \\\n"
	      "\t\t'1:command:->command' '*::argument:->argument'\n"
	      "\tif [[ $state == command ]]; then\n\t\t_describe -t commands command commands\n\t\treturn\n\tfi\n"
	      "\tcase $words[1] in\n",
	      out);
	for (const mr_command *const *c = commands; *c; c++)
		put_command(*c, out);
	fputs("\tesac\n}\n\nif [[ $funcstack[1] == _millrace ]]; then\n\t_millrace \"$@\"\nelse\n"
	      "\tcompdef _millrace millrace\nfi\n",
	      out);
}
