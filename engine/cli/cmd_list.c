/* millrace list: what this build knows. */
#include <string.h>

#include "base/str.h"
#include "cli/args.h"
#include "job/plugins.h"

static mr_status find_kind(const char *word, mr_plugin_kind *out)
{
	const char *words[MR_N_PLUGIN_KINDS], *near;

	for (int k = 0; k < MR_N_PLUGIN_KINDS; k++) {
		words[k] = mr_plugin_kind_word((mr_plugin_kind)k);
		if (!strcmp(words[k], word)) {
			*out = (mr_plugin_kind)k;
			return MR_OK;
		}
	}
	near = mr_nearest(word, words, MR_N_PLUGIN_KINDS);
	return mr_fail(MR_EUSAGE, "cannot list \"%.60s\"%s%s%s systems, models, layers, optimizers, mitigations or data", word,
		       near ? "; did you mean \"" : "", near ? near : "", near ? "\"? Known:" : ", expected");
}

static void list_kind(mr_plugin_kind kind)
{
	size_t width = 0;
	mr_plugin p;

	for (uint32_t i = 0; mr_plugin_at(kind, i, &p); i++)
		width = strlen(p.name) > width ? strlen(p.name) : width;
	for (uint32_t i = 0; mr_plugin_at(kind, i, &p); i++)
		printf("%-*s  %s\n", (int)width, p.name, p.summary);
}

static mr_status run(mr_args *args)
{
	mr_plugin_kind kind;
	mr_plugin p;

	MR_TRY(find_kind(args->operand[0], &kind));
	if (args->n_operands == 1) {
		list_kind(kind);
		return MR_OK;
	}
	if (mr_plugin_get(kind, args->operand[1], &p) != MR_OK)
		return mr_fail(MR_EUSAGE, "%s", mr_error_text());
	printf("%s - %s\n", p.name, p.summary);
	if (p.alias)
		printf("also called %s\n", p.alias);
	if (p.source)
		printf("source: %s\n", p.source);
	if (p.needs)
		printf("needs: %s\n", p.needs);
	puts(p.options->name ? "keys:" : "no keys of its own");
	for (const mr_option *o = p.options; o->name; o++)
		mr_option_help_print(o, "", stdout);
	return MR_OK;
}

const mr_command mr_command_list = {
	.name = "list",
	.operands = "systems|models|layers|optimizers|mitigations|data [NAME]",
	.min_operands = 1,
	.max_operands = 2,
	.summary = "name what this build knows; with NAME, the keys that it takes in a configuration",
	.run = run,
};
