#include "manual/help.h"

#include <math.h>
#include <string.h>

#define WIDTH 80
#define INDENT "      "

void mr_help_print(const mr_command *const *commands, FILE *out)
{
	fputs("millrace trains neural networks through pinned pipeline stages on one shared-memory machine.\n\n"
	      "usage: millrace COMMAND [ARGUMENTS]\n\n",
	      out);
	for (; *commands; commands++)
		fprintf(out, "  %-10s %s\n", (*commands)->name, (*commands)->summary);
	fputs("\nmillrace COMMAND --help (or help COMMAND) describes a command, millrace --version names version and "
	      "libraries.\n"
	      "exit codes: 0 ok, 1 failure, 2 usage, 3 configuration, 4 data, 5 checkpoint, 6 resources, 7 diverged,\n"
	      "            8 stalled, 128 + n signal n\n",
	      out);
}

static void print_range(const mr_option *o, FILE *out)
{
	if (o->min == 0 && o->max == 0)
		return;
	if (isinf(o->max))
		fprintf(out, ", at least %.15g", o->min);
	else if (isinf(o->min))
		fprintf(out, ", at most %.15g", o->max);
	else
		fprintf(out, ", %.15g to %.15g", o->min, o->max);
}

void mr_option_type_print(const mr_option *o, FILE *out)
{
	const char *words = o->type == MR_OPT_ENUM ? o->words : mr_option_type_text(o->type);

	for (; *words; words++)
		fprintf(out, *words == '|' ? " or " : "%c", *words);
	print_range(o, out);
	if (o->unit)
		fprintf(out, " %s", o->unit);
	if (!o->def)
		fputs(", required", out);
}

/* @text indented, in lines of at most WIDTH columns; a word that is longer has a line of its own. */
static void print_wrapped(const char *text, FILE *out)
{
	size_t column = 0;

	for (size_t n; *text; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		if (column && column + 1 + n > WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		fprintf(out, "%s%.*s", column ? " " : INDENT, (int)n, text);
		column += n + (column ? 1 : strlen(INDENT));
	}
	fputc('\n', out);
}

void mr_option_help_print(const mr_option *o, const char *prefix, FILE *out)
{
	bool flag = o->type == MR_OPT_BOOL && o->def && !strcmp(o->def, "false") && *prefix;

	fprintf(out, "  %s%s", prefix, o->name);
	if (!flag) {
		fputs("  ", out);
		mr_option_type_print(o, out);
	}
	if (o->def && !flag && *o->def)
		fprintf(out, ", default %s", o->def);
	fputc('\n', out);
	print_wrapped(o->help, out);
}

void mr_command_help_print(const mr_command *c, FILE *out)
{
	fprintf(out, "usage: millrace %s%s%s%s%s\n\n%s\n", c->name, *c->operands ? " " : "", c->operands,
		c->options && c->options->name ? " [OPTIONS]" : "", c->sets ? " [--set key=value]..." : "", c->summary);
	if (c->help)
		fprintf(out, "\n%s", c->help);
	fputs("\noptions:\n", out);
	for (const mr_option *o = c->options; o && o->name; o++)
		mr_option_help_print(o, "--", out);
	if (c->sets) {
		fputs("  --set key=value\n", out);
		print_wrapped(c->sets_help ? c->sets_help
					   : "use this value of a key of the configuration, such as train.steps=100",
			      out);
	}
	fputs("  --help\n      print this text\n", out);
}
