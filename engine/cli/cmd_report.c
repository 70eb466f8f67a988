/* millrace report: everything that the folders of runs hold, as one page. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "report/output.h"
#include "page/page.h"

static const mr_option options[] = {
	{"title", MR_OPT_STRING, "", 0, 0, NULL, NULL, "headline of the page; empty: the run's name"},
	{"output", MR_OPT_STRING, "report.html", 0, 0, NULL, NULL, 
	 "write to this file (short: -o); -: standard output"},
	{0},
};

typedef struct mr_reported_runs {
	const mr_args *args;
	mr_run_folder at[MR_RUN_FOLDERS_MAX]; /* [args->n_operands] */
} mr_reported_runs;

static mr_status write_page(const void *arg, FILE *out)
{
	const mr_reported_runs *runs = arg;
	const char *title = mr_values_string(runs->args->values, "title");

	return mr_page_write(runs->at, runs->args->n_operands, *title ? title : NULL, out);
}

static mr_status run(mr_args *args)
{
	mr_reported_runs runs = {.args = args};
	const char *path = mr_values_string(args->values, "output");
	mr_status st = MR_OK;

	for (uint32_t i = 0; i < args->n_operands && st == MR_OK; i++)
		st = mr_run_folder_read_all(args->operand[i], &runs.at[i]);
	if (st == MR_OK)
		st = mr_output_make(path, write_page, &runs);
	if (st == MR_OK && *path && strcmp(path, "-") != 0)
		printf("%s is written; open it with a browser\n", path);
	for (uint32_t i = 0; i < args->n_operands; i++)
		mr_run_folder_fini(&runs.at[i]);
	return st;
}

const mr_command mr_command_report = {
	.name = "report",
	.operands = "RUN...",
	.min_operands = 1,
	.max_operands = MR_RUN_FOLDERS_MAX,
	.summary = "write a report of runs as one HTML page",
	.help = "RUN is the folder of a run, or its metrics.jsonl. The page needs no network and no scripts: losses,\n"
		"sessions, timeline, waiting, staleness, memory, machine, roofline, configuration, environment.\n",
	.options = options,
	.run = run,
};
