#include "manual/completion.h"

#include <string.h>

#include "manual/offer.h"

/* @text inside '...' of fish. */
static void put_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++)
		fprintf(out, *text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
	fputc('\'', out);
}

static void put_arguments(mr_offer_kind kind, const mr_strbuf *words, FILE *out)
{
	if (kind == MR_OFFER_WORDS)
		fprintf(out, " -x -a '%s'", mr_strbuf_text(words));
	else if (kind == MR_OFFER_CONFIGS)
		fputs(" -x -a '(__fish_complete_suffix .cfg)'", out);
	else if (kind == MR_OFFER_FOLDERS)
		fputs(" -x -a '(__fish_complete_directories)'", out);
	else
		fputs(kind == MR_OFFER_FILES ? " -r -F" : " -x", out);
}

static void put_command(const mr_command *c, FILE *out)
{
	mr_strbuf words = {0};

	fprintf(out, "complete -c millrace -n __fish_use_subcommand -x -a %s -d ", c->name);
	put_quoted(c->summary, out);
	fputc('\n', out);
	for (const mr_option *o = c->options; o && o->name; o++) {
		fprintf(out, "complete -c millrace -n '__fish_seen_subcommand_from %s'%s -l %s -d ", c->name,
			strcmp(o->name, "output") != 0 ? "" : " -s o", o->name);
		put_quoted(o->help, out);
		if (!mr_offer_is_flag(o)) {
			put_arguments(mr_offer_value(o, &words), &words, out);
			mr_strbuf_fini(&words);
		}
		fputc('\n', out);
	}
	if (c->sets)
		fprintf(out,
			"complete -c millrace -n '__fish_seen_subcommand_from %s' -l set -x -a '(__millrace_keys)' "
			"-d 'value of a key'\n",
			c->name);
	if (*c->operands) {
		fprintf(out, "complete -c millrace -n '__fish_seen_subcommand_from %s'", c->name);
		put_arguments(mr_offer_operand(c, &words), &words, out);
		fputc('\n', out);
		mr_strbuf_fini(&words);
	}
}

/* Each key with each of its words is one candidate: fish completes a whole argument. */
static void put_choice(void *arg, const char *key, const char *words)
{
	fprintf(arg, "\tprintf '%s=%%s\\n' %s\n", key, words);
}

void mr_completion_fish(const mr_command *const *commands, FILE *out)
{
	mr_strbuf keys = {0};

	fputs("# Completion of millrace for fish, written by `millrace completion fish`.\n"
	      "function __millrace_keys\n",
	      out);
	mr_offer_keys(&keys);
	fprintf(out, "\tprintf '%%s\\n' %s\n", mr_strbuf_text(&keys));
	mr_strbuf_fini(&keys);
	mr_offer_each_choice(put_choice, out);
	fputs("end\n\ncomplete -c millrace -f\ncomplete -c millrace -n __fish_use_subcommand -l version -d "
	      "'name version and libraries'\ncomplete -c millrace -l help -d 'describe the program or a command'\n",
	      out);
	for (const mr_command *const *c = commands; *c; c++)
		put_command(*c, out);
}
