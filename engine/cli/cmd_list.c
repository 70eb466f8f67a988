/* millrace list: lists the plug-ins and kernels of this build. */
#include <string.h>

#include "base/str.h"
#include "choose/server_report.h"
#include "cli/args.h"
#include "job/plugins.h"
#include "manual/help.h"
#include "nn/choices.h"
#include "nn/kernels.h"
#include "report/figures.h"
#include "report/output.h"
#include "report/table.h"
#include "schedules/registry.h"

#define KERNELS "kernels"
#define MACHINES "machines"
#define FIGURES "figures"

static mr_status find_kind(const char *word, mr_plugin_kind *out)
{
	const char *words[MR_N_PLUGIN_KINDS + 3], *near;

	for (int k = 0; k < MR_N_PLUGIN_KINDS; k++) {
		words[k] = mr_plugin_kind_word((mr_plugin_kind)k);
		if (!strcmp(words[k], word)) {
			*out = (mr_plugin_kind)k;
			return MR_OK;
		}
	}
	words[MR_N_PLUGIN_KINDS] = KERNELS;
	words[MR_N_PLUGIN_KINDS + 1] = MACHINES;
	words[MR_N_PLUGIN_KINDS + 2] = FIGURES;
	near = mr_nearest(word, words, MR_N_PLUGIN_KINDS + 3);
	return mr_fail(MR_EUSAGE,
		       "cannot list \"%.60s\"%s%s%s systems, models, layers, optimizers, mitigations, data, kernels, "
		       "machines or figures",
		       word, near ? "; did you mean \"" : "", near ? near : "", near ? "\"? Known:" : ", expected");
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

static void print_bf16_engine(void)
{
	const mr_kernels *k = mr_kernels_find("fused", MR_BF16);

	printf("bf16       %s%s\n", k ? "products of fused and auto by " : "",
	       k ? mr_kernels_bf16_engine(k) : mr_error_text());
}

/* Prints the backend that executes each operation, for each backend of a configuration. */
static mr_status list_kernels(void)
{
	static const mr_table_column columns[] = {{"operation", false}, {"reference", false}, {"fused", false},
						  {"onednn", false},	{"auto", false},      {"what", false}};
	mr_operation op;
	mr_backend b;
	mr_table *t;

	for (uint32_t i = 0; mr_backend_at(i, &b); i++)
		printf("%-9s  %s\n", b.name, b.summary);
	print_bf16_engine();
	printf("auto       by a table that was measured on %s;\n"
	       "           `millrace tune` makes one of this machine\n\n",
	       mr_choices_built_in.made);
	MR_TRY(mr_table_create(columns, sizeof(columns) / sizeof(columns[0]), &t));
	for (uint32_t i = 0; mr_operation_at(i, &op); i++)
		mr_table_cells(t, "%s\t%s\t%s\t%s\t%s\t%s", op.name, op.reference, op.fused, op.onednn, op.chosen,
			       op.what);
	return mr_table_finish(t, stdout);
}

static mr_status list_machine(const char *name)
{
	const mr_server *s;

	if (mr_server_get(name, &s) != MR_OK)
		return mr_fail(MR_EUSAGE, "%s", mr_error_text());
	return mr_server_print(s, stdout);
}

/* A name of others' systems: false if @name is none. */
static bool print_elsewhere(mr_plugin_kind kind, const char *name)
{
	const mr_sched_name *n = kind == MR_PLUGIN_SYSTEM ? mr_schedule_name_find(name) : NULL;

	if (n)
		printf("%s - no system of its own here: %s\nthe nearest: %s\n", n->name, n->text, n->nearest);
	return n;
}

static mr_status list(mr_args *args)
{
	mr_plugin_kind kind;
	mr_plugin p;

	if (!strcmp(args->operand[0], MACHINES))
		return args->n_operands == 1 ? mr_servers_print(stdout) : list_machine(args->operand[1]);
	if (!strcmp(args->operand[0], FIGURES))
		return args->n_operands == 1 ? mr_figures_list(stdout)
					     : mr_fail(MR_EUSAGE, "list figures takes no name");
	if (!strcmp(args->operand[0], KERNELS))
		return args->n_operands == 1 ? list_kernels() : mr_fail(MR_EUSAGE, "list kernels takes no name");
	MR_TRY(find_kind(args->operand[0], &kind));
	if (args->n_operands == 1) {
		list_kind(kind);
		return MR_OK;
	}
	if (print_elsewhere(kind, args->operand[1]))
		return MR_OK;
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

/* A list may be longer than the buffer of standard output, so a failure may lie before the last flush. */
static mr_status run(mr_args *args)
{
	return mr_output_flush(list(args));
}

const mr_command mr_command_list = {
	.name = "list",
	.operands = "systems|models|layers|optimizers|mitigations|data|kernels|machines|figures [NAME]",
	.min_operands = 1,
	.max_operands = 2,
	.summary = "name what this build has; with NAME, the keys that it takes in a configuration",
	.run = run,
};
