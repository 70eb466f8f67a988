#include "manual/page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "job/keys.h"
#include "manual/help.h"
#include "manual/pages_text.h"
#include "report/figures.h"

/* @n bytes of text as troff reads them: hyphens that can be copied, and no line that looks like a request. */
static void put_text(const char *text, size_t n, FILE *out)
{
	for (size_t i = 0; i < n && text[i]; i++) {
		if ((!i || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", out);
		if (text[i] == '-')
			fputs("\\-", out);
		else if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '"')
			fputs("\\(dq", out);
		else
			fputc(text[i], out);
	}
}

static void put(const char *text, FILE *out)
{
	put_text(text, strlen(text), out);
}

/* With a full stop. */
static void put_sentence(const char *text, FILE *out)
{
	put(text, out);
	fputs(*text && strchr(".?!", text[strlen(text) - 1]) ? "\n" : ".\n", out);
}

/* The same with a capital letter, for texts that do not begin with a name. */
static void put_line(const char *text, FILE *out)
{
	fputc(toupper((unsigned char)*text), out);
	put_sentence(text + 1, out);
}

#define MARK "\n.\\\"@ "

/* Does the blank-separated list of @n bytes hold @word? */
static bool holds(const char *list, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if ((!i || list[i - 1] == ' ') && !strncmp(list + i, word, len) &&
		    (i + len == n || list[i + len] == ' '))
			return true;
	return false;
}

/* The part of pages.roff whose mark names @page and, behind "--", @option ("": the mark has none); else false. */
static bool put_part(const char *page, const char *option, FILE *out)
{
	const char *mark = strstr(mr_pages_text, MARK), *end;

	for (; mark; mark = end) {
		const char *names = mark + strlen(MARK), *text = strchr(names, '\n');
		size_t n = (size_t)(text - names), to = 0;

		end = strstr(text, MARK);
		while (to + 3 <= n && strncmp(names + to, " --", 3) != 0)
			to++;
		if (to + 3 > n)
			to = n;
		if (!holds(names, to, page) || (to == n) != !*option)
			continue;
		if (*option && (n - to - 3 != strlen(option) || strncmp(names + to + 3, option, n - to - 3) != 0))
			continue;
		text++;
		fwrite(text, 1, end ? (size_t)(end + 1 - text) : strlen(text), out);
		return true;
	}
	return false;
}

static void put_head(const char *name, char section, const char *version, FILE *out)
{
	fputs(".TH ", out);
	for (; *name; name++)
		fputc(toupper((unsigned char)*name), out);
	fprintf(out, " %c \"\" \"millrace %s\" \"%s\"\n", section, version,
		section == '1' ? "User Commands" : "File Formats");
}

/* Lines of a help text; an empty one begins a paragraph. */
static void put_help(const char *help, FILE *out)
{
	while (*help) {
		size_t n = strcspn(help, "\n");

		if (n)
			put_text(help, n, out);
		else
			fputs(".PP", out);
		fputc('\n', out);
		help += n + (help[n] == '\n');
	}
}

/* @page: the command whose option it is; NULL: a key of a configuration, whose page has no parts by hand. */
static void put_option(const mr_option *o, const char *page, FILE *out)
{
	const char *prefix = page ? "--" : "";
	char *type = NULL;
	size_t len = 0;
	bool flag = *prefix && o->type == MR_OPT_BOOL && o->def && !strcmp(o->def, "false");
	FILE *text = open_memstream(&type, &len);

	fputs(".TP\n.B ", out);
	put(prefix, out);
	put(o->name, out);
	fputc('\n', out);
	if (text) {
		mr_option_type_print(o, text);
		if (o->def && *o->def)
			fprintf(text, ", default %s", o->def);
		fclose(text);
	}
	if (text && !flag) {
		fputc('(', out);
		put(type, out);
		fputs(")\n.br\n", out);
	}
	if (!page || !put_part(page, o->name, out))
		put_sentence(o->help, out);
	free(type);
}

void mr_page_command(const mr_command *c, const char *version, FILE *out)
{
	char name[64];

	snprintf(name, sizeof(name), "millrace-%s", c->name);
	put_head(name, '1', version, out);
	fprintf(out, ".SH NAME\nmillrace\\-%s \\- ", c->name);
	put(c->summary, out);
	fprintf(out, "\n.SH SYNOPSIS\n.B millrace %s\n", c->name);
	if (*c->operands) {
		fputs(".I ", out);
		put(c->operands, out);
		fputc('\n', out);
	}
	if (c->options && c->options->name)
		fputs(".RI [ options ]\n", out);
	if (c->sets)
		fputs(".RB [ \\-\\-set\n.IR key = value ]...\n", out);
	fputs(".SH DESCRIPTION\n", out);
	put_line(c->summary, out);
	put_part(c->name, "", out);
	if (c->help) {
		fputs(".PP\n", out);
		put_help(c->help, out);
	}
	fputs(".SH OPTIONS\n", out);
	for (const mr_option *o = c->options; o && o->name; o++)
		put_option(o, c->name, out);
	if (c->sets) {
		fputs(".TP\n.BI \\-\\-set \" key\" = value\n", out);
		put_sentence(c->sets_help ? c->sets_help
					  : "use this value of a key of the configuration, such as train.steps=100",
			     out);
	}
	fputs(".TP\n.B \\-\\-help\nPrint the help of this command.\n.SH \"SEE ALSO\"\n.BR millrace (1)", out);
	fputs(c->sets || !strncmp(c->operands, "CONF", 4) ? ",\n.BR millrace.cfg (5)\n" : "\n", out);
}

static void put_plugin(const mr_job_group_info *info, const mr_plugin *p, FILE *out)
{
	fprintf(out, ".SS \"%s: ", info->name);
	put(p->name, out);
	fputs("\"\n", out);
	put_sentence(p->summary, out);
	if (p->alias)
		fprintf(out, "Also called %s.\n", p->alias);
	if (p->needs) {
		fputs("Needs: ", out);
		put_sentence(p->needs, out);
	}
	for (const mr_option *o = p->options; o->name; o++)
		put_option(o, NULL, out);
}

static void put_group(const mr_job_group_info *info, FILE *out)
{
	mr_plugin p;

	if (*info->name)
		fprintf(out, ".SH \"GROUP %s\"\n", info->name);
	else
		fputs(".SH \"KEYS OUTSIDE GROUPS\"\n", out);
	put_line(info->help, out);
	if (info->plugin) {
		fprintf(out, "The key\n.B name\nchooses one of the following; %s%s.\n",
			info->usual ? "without the group it is " : "the group is required",
			info->usual ? info->usual : "");
		for (uint32_t i = 0; mr_plugin_at(info->kind, i, &p); i++)
			put_plugin(info, &p, out);
	}
	for (const mr_option *o = info->options; o && o->name; o++)
		put_option(o, NULL, out);
}

static void put_figure(const char *name, const char *unit, const char *meaning, FILE *out)
{
	fprintf(out, ".TP\n.B %s\n", name);
	if (unit)
		fprintf(out, "(%s)\n", unit);
	put_line(meaning, out);
}

/* What is measured of a training. */
static void put_figures(FILE *out)
{
	fputs(".SH FIGURES\nWhat metrics.jsonl, status.json and run.json have by these names"
	      " (train_ in place of val_ where the training samples were evaluated).\n",
	      out);
	for (int f = 0; f < MR_N_FIGURES; f++)
		put_figure(mr_figure_table[f].name, mr_figure_table[f].unit, mr_figure_table[f].meaning, out);
	for (int r = 0; r < MR_N_RECORDS; r++) {
		fprintf(out, ".SS %s\n", mr_record_in((mr_record)r));
		for (const mr_member *m = mr_record_members((mr_record)r); m->of == (mr_record)r; m++)
			put_figure(mr_member_key(m), m->unit, m->meaning, out);
	}
}

void mr_page_program(const mr_command *const *commands, const char *version, FILE *out)
{
	put_head("millrace", '1', version, out);
	put_part("millrace begin", "", out);
	fputs(".SH COMMANDS\n", out);
	for (const mr_command *const *c = commands; *c; c++) {
		fputs(".TP\n.B ", out);
		put((*c)->name, out);
		if (*(*c)->operands) {
			fputs(" \\fI", out);
			put((*c)->operands, out);
			fputs("\\fP", out);
		}
		fputc('\n', out);
		put_line((*c)->summary, out);
	}
	put_part("millrace end", "", out);
	put_figures(out);
	fputs(".SH \"SEE ALSO\"\n", out);
	for (const mr_command *const *c = commands; *c; c++) {
		fputs(".BR millrace\\-", out);
		put((*c)->name, out);
		fputs(" (1),\n", out);
	}
	fputs(".BR millrace.cfg (5)\n", out);
}

void mr_page_config(const char *version, FILE *out)
{
	put_head("millrace.cfg", '5', version, out);
	fputs(".SH NAME\nmillrace.cfg \\- what millrace trains, on what and how\n.SH DESCRIPTION\n"
	      "A configuration is a file in the format of libconfig: groups in braces, keys with values, "
	      "comments behind # or //.\nAll mistakes of a file are reported at once, as\n"
	      ".IR file : line : \" key\" : \" message\" .\n"
	      "The option\n.B \\-\\-set\n.IR group . key = value\nof a command takes precedence over the file.\n"
	      "Numbers may end in k, M or G, for thousands, millions and thousands of millions.\n"
	      ".SH EXAMPLE\n.nf\n"
	      "model     = { name = \\(dqmlp\\(dq; hidden = [64, 64]; };\n"
	      "data      = { name = \\(dqcsv\\(dq; path = \\(dqrows.csv\\(dq; };\n"
	      "optimizer = { name = \\(dqadamw\\(dq; lr = 1e\\-3; };\n"
	      "system    = { name = \\(dq1f1b\\(dq; };\n"
	      "train     = { steps = 1000; batch = 32; };\n.fi\n",
	      out);
	for (int g = 0; g < MR_N_JOB_GROUPS; g++)
		put_group(mr_job_group_of((mr_job_group)g), out);
	fputs(".SH \"SEE ALSO\"\n.BR millrace (1),\n.BR millrace\\-train (1),\n.BR millrace\\-init (1)\n", out);
}
