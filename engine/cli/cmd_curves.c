/* millrace curves: draws the loss of one or several runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/args.h"
#include "report/output.h"
#include "report/curves.h"

#define MAX_RUNS 16

static const mr_option options[] = {
	{"title", MR_OPT_STRING, "", 0, 0, NULL, NULL, "headline of the picture"},
	{"output", MR_OPT_STRING, "", 0, 0, NULL, NULL, "write to this file (short: -o); empty or -: standard output"},
	{0},
};

/* A run is its folder, or its metrics.jsonl. The caller frees *@name. */
static mr_status read_run(const char *path, mr_metrics_row **rows, size_t *n, char **name)
{
	char file[4096], folder[4096];
	struct stat info;
	mr_status st;
	char *slash;

	snprintf(file, sizeof(file), "%s", path);
	if (!stat(path, &info) && S_ISDIR(info.st_mode))
		snprintf(file, sizeof(file), "%s/metrics.jsonl", path);
	snprintf(folder, sizeof(folder), "%s", file);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	for (size_t len = strlen(folder); len > 1 && folder[len - 1] == '/'; len--)
		folder[len - 1] = '\0';
	slash = strrchr(folder, '/');
	st = mr_metrics_read(file, rows, n);
	if (st == MR_EIO)
		return mr_fail(MR_EDATA, "%s", mr_error_text());
	MR_TRY(st);
	if (*n == 0)
		return mr_fail(MR_EDATA, "%s: it holds no step of a run", file);
	*name = strdup(slash ? slash + 1 : folder);
	return *name ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a name");
}

/* Drawn into memory first: runs that cannot be drawn must not empty the file. */
static mr_status put_output(const mr_args *args, const mr_curve *curves, size_t n)
{
	const char *path = mr_values_string(args->values, "output"), *title = mr_values_string(args->values, "title");
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len), *out;
	mr_status st;

	if (!memory)
		return mr_fail(MR_ERESOURCE, "no memory for a picture");
	st = mr_curves_svg(curves, n, *title ? title : NULL, memory);
	if (fclose(memory) && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for a picture");
	if (st == MR_OK)
		st = mr_output_open(path, &out);
	if (st == MR_OK) {
		fwrite(text, 1, len, out);
		st = mr_output_close(path, out, MR_OK);
	}
	free(text);
	return st;
}

static mr_status run(mr_args *args)
{
	mr_metrics_row *rows[MAX_RUNS] = {0};
	char *names[MAX_RUNS] = {0};
	mr_curve curves[MAX_RUNS];
	mr_status st = MR_OK;

	for (uint32_t i = 0; i < args->n_operands && st == MR_OK; i++) {
		size_t n = 0;

		st = read_run(args->operand[i], &rows[i], &n, &names[i]);
		curves[i] = (mr_curve){names[i], rows[i], n};
	}
	if (st == MR_OK)
		st = put_output(args, curves, args->n_operands);
	for (uint32_t i = 0; i < MAX_RUNS; i++) {
		free(rows[i]);
		free(names[i]);
	}
	return st;
}

const mr_command mr_command_curves = {
	.name = "curves",
	.operands = "RUN...",
	.min_operands = 1,
	.max_operands = MAX_RUNS,
	.summary = "draw the loss of runs over tokens and over seconds, as SVG",
	.help = "RUN is the folder of a run, or its metrics.jsonl. Runs are named by their folders.\n",
	.options = options,
	.run = run,
};
