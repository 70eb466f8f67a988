/* train_files.c - files that say what a run was: its trace, and memory.json with the storage that it has used beside
 * the prediction. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/result.h"
#include "training/train.h"
#include "session/shares.h"
#include "session/worker_text.h"
#include "report/chrome.h"
#include "report/records.h"
#include "exec/usage.h"

static mr_usage_row row_of(const mr_run *run, uint32_t i, const mr_usage *got, const mr_usage *want)
{
	return (mr_usage_row){
		.stage = (uint16_t)(i % run->n_stages),
		.pipe = (uint8_t)(i / run->n_stages),
		.versions = got->versions,
		.versions_predicted = want->versions,
		.weights = got->weight_bytes,
		.weights_predicted = want->weight_bytes,
		.activations = got->activation_bytes,
		.activations_predicted = want->activation_bytes,
		.boundaries = got->boundary_bytes,
		.boundaries_predicted = want->boundary_bytes,
	};
}

static mr_status write_file(const mr_train *t, const mr_usage_row *rows, uint32_t n)
{
	mr_result r;

	MR_TRY(mr_result_begin(&r, t->dir.memory, MR_RESULT_OWN));
	return mr_result_end(&r, mr_report_usage_json(t->step, rows, n, r.file));
}

mr_status mr_train_usage(const mr_train *t, mr_usage_row **rows, uint32_t *n_rows)
{
	const mr_run *run = mr_executor_run_of(&t->s.executor);
	uint32_t n = (uint32_t)run->n_pipes * run->n_stages;
	mr_usage *want = calloc(n + 1u, sizeof(*want)), *got = calloc(n + 1u, sizeof(*got));
	mr_status st = MR_OK;

	*n_rows = n;
	*rows = calloc(n + 1u, sizeof(**rows));
	if (!want || !got || !*rows)
		st = mr_fail(MR_ERESOURCE, "no memory for a table of %u stages", n);
	if (st == MR_OK)
		st = mr_usage_predict(run, want);
	if (st == MR_OK) {
		mr_usage_count(run, got);
		for (uint32_t i = 0; i < n; i++)
			(*rows)[i] = row_of(run, i, &got[i], &want[i]);
	}
	free(want);
	free(got);
	return st;
}

mr_status mr_train_write_usage(const mr_train *t)
{
	mr_usage_row *rows;
	uint32_t n;
	mr_status st = mr_train_usage(t, &rows, &n);

	mr_activity_begin("writes memory.json");
	if (st == MR_OK)
		st = write_file(t, rows, n);
	mr_activity_end();
	free(rows);
	return st;
}

/* --- the trace --- */

/* The messages that were under way between the first begin and the last end of the @n records @rec; returns how many,
 * and puts them to @to unless it is NULL. Where clocks of hosts disagree, one may seem to come before it left. */
static size_t pick_messages(const mr_run *run, const mr_trace_rec *rec, size_t n, const mr_message_time **to)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		first = rec[i].begin_ns < first ? rec[i].begin_ns : first;
		last = rec[i].end_ns > last ? rec[i].end_ns : last;
	}
	for (uint32_t r = 0; run->messages && r < run->c.ranks->n; r++)
		for (size_t i = 0; i < run->messages[r].n; i++) {
			const mr_message_time *m = &run->messages[r].at[i];

			if ((m->arrived_ns < first && m->sent_ns < first) || m->sent_ns > last)
				continue;
			if (to)
				to[found] = m;
			found++;
		}
	return found;
}

static void name_tracks(const mr_train *t, char (*name)[128], const char **tracks)
{
	const mr_executor *x = &t->s.executor;

	for (uint32_t i = 0; i < mr_executor_rows(x); i++) {
		char stages[48], cores[48], row[24];

		mr_worker_stages_text(t->s.plan, mr_executor_row(x, i)->id, stages, sizeof(stages));
		mr_worker_cores_text(mr_session_row_place(&t->s, i), cores, sizeof(cores));
		snprintf(name[i], sizeof(name[i]), "%s stage %s cpu %s",
			 mr_report_row_name(i, mr_executor_shares(x), row), stages, cores);
		tracks[i] = name[i];
	}
}

mr_status mr_train_write_trace(const mr_train *t)
{
	const mr_executor *x = &t->s.executor;
	const mr_run *run = mr_executor_run_of(x);
	uint32_t n = mr_executor_rows(x);
	mr_chrome c = {.n_workers = (uint16_t)n, .n_shares = mr_executor_shares(x), .title = t->s.job->name};
	char(*name)[128] = calloc(n, sizeof(*name));
	const char **tracks = calloc(n, sizeof(*tracks));
	mr_trace_rec *recs = calloc(mr_executor_records(x, t->trace_first, t->trace_last, NULL) + 1, sizeof(*recs));
	const mr_message_time **messages = NULL;
	mr_result r;
	mr_status st;

	c.n_rec = recs ? mr_executor_records(x, t->trace_first, t->trace_last, recs) : 0;
	if (recs)
		messages = calloc(pick_messages(run, recs, c.n_rec, NULL) + 1, sizeof(*messages));
	st = recs && name && tracks && messages ? mr_result_begin(&r, t->dir.trace, MR_RESULT_OWN)
					      : mr_fail(MR_ERESOURCE, "no memory for a trace");

	if (st == MR_OK) {
		name_tracks(t, name, tracks);
		c.tracks = tracks;
		c.rec = recs;
		c.n_messages = pick_messages(run, recs, c.n_rec, messages);
		c.messages = messages;
		st = mr_result_end(&r, mr_chrome_write(&c, r.file));
	}
	free(recs);
	free(messages);
	free(name);
	free(tracks);
	return st;
}
