/* millrace curves: draws the loss of one or several runs, or prints their figures as a table. */
#include <string.h>

#include "cli/args.h"
#include "report/curves.h"
#include "report/output.h"
#include "report/run_folder.h"

static const mr_option options[] = {
	{"format", MR_OPT_ENUM, "svg", 0, 0, "svg|csv", NULL,
	 "svg: a picture; csv: all figures of metrics.jsonl as a table of comma-separated values, a line a row"},
	{"title", MR_OPT_STRING, "", 0, 0, NULL, NULL, "headline of the picture"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

typedef struct mr_drawn_runs {
	const mr_args *args;
	mr_run_folder at[MR_RUN_FOLDERS_MAX]; /* [args->n_operands] */
} mr_drawn_runs;

static mr_status draw(const void *arg, FILE *out)
{
	const mr_drawn_runs *runs = arg;
	const char *title = mr_values_string(runs->args->values, "title");
	mr_curve curves[MR_RUN_FOLDERS_MAX];
	size_t n = runs->args->n_operands;

	for (size_t i = 0; i < n; i++)
		curves[i] = (mr_curve){runs->at[i].name, runs->at[i].rows, runs->at[i].n_rows};
	if (!strcmp(mr_values_string(runs->args->values, "format"), "csv"))
		return mr_curves_csv(curves, n, out);
	return mr_curves_svg(curves, n, *title ? title : NULL, out);
}

static mr_status run(mr_args *args)
{
	mr_drawn_runs runs = {.args = args};
	mr_status st = MR_OK;

	for (uint32_t i = 0; i < args->n_operands && st == MR_OK; i++)
		st = mr_run_folder_read(args->operand[i], &runs.at[i]);
	if (st == MR_OK)
		st = mr_output_make(mr_values_string(args->values, "output"), draw, &runs);
	for (uint32_t i = 0; i < args->n_operands; i++)
		mr_run_folder_fini(&runs.at[i]);
	return st;
}

const mr_command mr_command_curves = {
	.name = "curves",
	.operands = "RUN...",
	.min_operands = 1,
	.max_operands = MR_RUN_FOLDERS_MAX,
	.summary = "draw the loss of runs over tokens and over seconds, as SVG; or their figures as CSV",
	.help = "RUN is the folder of a run, or its metrics.jsonl. Runs are named by their folders.\n",
	.options = options,
	.run = run,
};
