/* usage_report.c - the storage that the training has used, beside the prediction: a table at the end, and
 * memory.json. */
#include <stdlib.h>

#include "base/file.h"
#include "base/result.h"
#include "training/train.h"
#include "report/table.h"
#include "exec/usage.h"

static mr_report_usage_row row_of(const mr_run *run, uint32_t i, const mr_usage *got, const mr_usage *want)
{
	return (mr_report_usage_row){
		.stage = (uint16_t)(i % run->n_stages),
		.pipe = (uint8_t)(i / run->n_stages),
		.n_pipes = run->n_pipes,
		.versions = {got->versions, want->versions},
		.weight_bytes = {got->weight_bytes, want->weight_bytes},
		.activation_bytes = {got->activation_bytes, want->activation_bytes},
		.boundary_bytes = {got->boundary_bytes, want->boundary_bytes},
	};
}

static mr_status write_file(const mr_train *t, const mr_report_usage_row *rows, uint32_t n)
{
	size_t bytes = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &bytes);
	mr_status st;

	if (!f)
		return mr_fail(MR_ERESOURCE, "no memory to write %s", t->dir.memory);
	st = mr_report_usage_json(t->step, rows, n, f);
	if (fclose(f) || st != MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory to write %s", t->dir.memory);
	if (st == MR_OK)
		st = mr_result_write(t->dir.memory, text, bytes, MR_RESULT_OWN);
	free(text);
	return st;
}

mr_status mr_train_report_usage(const mr_train *t)
{
	const mr_run *run = mr_executor_run_of(&t->s.executor);
	uint32_t n = (uint32_t)run->n_pipes * run->n_stages;
	mr_usage *want = calloc(n + 1u, sizeof(*want)), *got = calloc(n + 1u, sizeof(*got));
	mr_report_usage_row *rows = calloc(n + 1u, sizeof(*rows));
	mr_status st = MR_OK;

	if (!want || !got || !rows)
		st = mr_fail(MR_ERESOURCE, "no memory for a table of %u stages", n);
	if (st == MR_OK)
		st = mr_usage_predict(run, want);
	if (st == MR_OK) {
		mr_usage_count(run, got);
		for (uint32_t i = 0; i < n; i++)
			rows[i] = row_of(run, i, &got[i], &want[i]);
		st = mr_report_usage(rows, n, stdout);
	}
	mr_activity_begin("writes memory.json");
	if (st == MR_OK)
		st = write_file(t, rows, n);
	mr_activity_end();
	free(want);
	free(got);
	free(rows);
	return st;
}
