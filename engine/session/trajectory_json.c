/* trajectory_json.c - a trajectory as JSON. */
#include "session/trajectory.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/result.h"

/* The row of stage @s in whose pipe micro-batch @m was. */
static const mr_trajectory_stage *row_that_had(const mr_trajectory *t, uint16_t s, uint64_t m)
{
	uint16_t r = 0;

	while (r + 1 < t->n_rows && mr_trajectory_row(t, r, s)->f_version[m] == MR_TRAJECTORY_NONE)
		r++;
	return mr_trajectory_row(t, r, s);
}

static void write_versions(mr_json_writer *w, const mr_trajectory *t, uint64_t n, const char *key, size_t field,
			   bool age)
{
	mr_json_key(w, key);
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++) {
		mr_json_begin_array(w);
		for (uint64_t m = 0; m < n; m++) {
			const mr_trajectory_stage *row = row_that_had(t, s, m);
			const uint64_t *value = *(uint64_t *const *)((const char *)row + field);

			mr_json_put_uint(w, age ? row->applied_on[m] - row->f_version[m] : value[m]);
		}
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

static void write_weights(mr_json_writer *w, const mr_trajectory_stage *row, const double *all, uint64_t v)
{
	const double *x = all + v * row->n_scalars;

	if (row->n_scalars == 1) {
		mr_json_put_double(w, *x);
		return;
	}
	mr_json_begin_array(w);
	for (uint32_t i = 0; i < row->n_scalars; i++)
		mr_json_put_double(w, x[i]);
	mr_json_end_array(w);
}

/* For each stage, its weights after @steps steps and all versions before (or @steps averages of the reference). */
static void write_stages(mr_json_writer *w, const mr_trajectory *t, uint16_t r, bool reference, uint64_t steps)
{
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++) {
		const mr_trajectory_stage *row = mr_trajectory_row(t, r, s);
		uint64_t n = reference ? steps : mr_trajectory_versions(t, s, steps);

		mr_json_begin_array(w);
		for (uint64_t v = 0; v <= n; v++)
			write_weights(w, row, reference ? row->reference : row->weights, v);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

static void write_all_weights(mr_json_writer *w, const mr_trajectory *t, uint64_t steps)
{
	uint64_t averages = t->average.every ? steps / t->average.every : 0;
	bool reference = t->stage[0].reference;

	mr_json_key(w, "weights");
	if (t->n_rows > 1)
		mr_json_begin_array(w);
	for (uint16_t r = 0; r < t->n_rows; r++)
		write_stages(w, t, r, false, steps);
	if (t->n_rows > 1) {
		mr_json_end_array(w);
		mr_json_key(w, "every");
		mr_json_put_uint(w, t->average.every);
	}
	if (reference) {
		mr_json_key(w, "reference");
		write_stages(w, t, 0, true, averages);
	}
	mr_json_key(w, "final");
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++)
		write_weights(w, &t->stage[s], reference ? t->stage[s].reference : t->stage[s].weights,
			      reference ? averages : mr_trajectory_versions(t, s, steps));
	mr_json_end_array(w);
}

static void write_all(mr_json_writer *w, const mr_trajectory *t)
{
	uint64_t steps = mr_trajectory_steps(t), n = steps * t->need;

	mr_json_begin_object(w);
	write_versions(w, t, n, "F_ver", offsetof(mr_trajectory_stage, f_version), false);
	write_versions(w, t, n, "B_ver", offsetof(mr_trajectory_stage, b_version), false);
	write_versions(w, t, n, "applied_on", offsetof(mr_trajectory_stage, applied_on), false);
	write_versions(w, t, n, "staleness", offsetof(mr_trajectory_stage, applied_on), true);
	write_all_weights(w, t, steps);
	mr_json_key(w, "peak_live");
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++)
		mr_json_put_uint(w, mr_trajectory_peak_live(t, s));
	mr_json_end_array(w);
	mr_json_key(w, "loss");
	mr_json_begin_array(w);
	for (uint64_t m = 0; m < n; m++)
		mr_json_put_double(w, t->loss[m]);
	mr_json_end_array(w);
	mr_json_end_object(w);
}

mr_status mr_trajectory_write(const mr_trajectory *t, const char *path)
{
	mr_json_writer w;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	mr_status st;

	if (!f)
		return mr_fail(MR_ERESOURCE, "no memory for the text of a trajectory");
	mr_json_init(&w, f, true);
	write_all(&w, t);
	st = mr_json_finish(&w);
	if (fclose(f) || st != MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for the text of a trajectory");
	if (st == MR_OK)
		st = mr_result_write(path, text, len, MR_RESULT_NAMED);
	free(text);
	return st;
}
