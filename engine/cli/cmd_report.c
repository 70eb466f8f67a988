/* millrace report: everything that the folders of runs hold, as one page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/clean_env.h"
#include "page/page.h"
#include "report/output.h"
#include "trained/errors.h"

static const mr_option options[] = {
	{"title", MR_OPT_STRING, "", 0, 0, NULL, NULL, "headline of the page; empty: the run's name"},
	{"output", MR_OPT_STRING, "report.html", 0, 0, NULL, NULL, 
	 "write to this file (short: -o); -: standard output"},
	{"examples", MR_OPT_INT, "10000", 0, 1 << 30, NULL, "samples",
	 "look for errors of the model in at most this number of samples of its validation data, of texts tokens; "
	 "0: in none, and show what an earlier report has found"},
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

static mr_status prepare(void *args, const mr_config *config)
{
	return mr_clean_env(args, config);
}

/* Of a run without its model or data the page is made as well, and says why errors are not known. */
static mr_status take_errors(mr_args *args, const char *path, mr_run_folder *r)
{
	uint64_t most = (uint64_t)mr_values_int(args->values, "examples");
	char *folder = mr_run_folder_path(path);
	mr_json *errors = NULL;
	mr_status st;

	if (!folder)
		return mr_fail(MR_ERESOURCE, "no memory for a path");
	if (mr_errors_find(folder, most, prepare, args, &errors) == MR_OK) {
		mr_json_destroy(r->errors);
		r->errors = errors;
	} else {
		r->no_errors = strdup(mr_error_text());
	}
	st = errors || r->no_errors ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a message");
	free(folder);
	return st;
}

static mr_status run(mr_args *args)
{
	mr_reported_runs runs = {.args = args};
	const char *path = mr_values_string(args->values, "output");
	mr_status st = MR_OK;

	for (uint32_t i = 0; i < args->n_operands && st == MR_OK; i++)
		st = mr_run_folder_read_all(args->operand[i], &runs.at[i]);
	for (uint32_t i = 0; i < args->n_operands && st == MR_OK && mr_values_int(args->values, "examples"); i++)
		st = take_errors(args, args->operand[i], &runs.at[i]);
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
	.help = "RUN is the folder of a run, or its metrics.jsonl. The page needs no network and no scripts. First it\n"
		"says what was learned, where the model errs, and what to try next; then come sessions, timeline,\n"
		"waiting, staleness, memory, machine, roofline, configuration, environment.\n"
		"To see where it errs, the best checkpoint predicts validation samples of the training's data; what\n"
		"it finds is also kept in the run's folder, in errors.json. Without the checkpoint or the data the\n"
		"page says what is missing.\n",
	.options = options,
	.run = run,
};
