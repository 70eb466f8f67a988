#include "run/trajectory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/size.h"

/* --- memory --- */

static void *rows(uint64_t n, uint64_t each, mr_status *st)
{
	size_t bytes;
	void *p = NULL;

	if (*st != MR_OK)
		return NULL;
	if (mr_size_mul(n, each, &bytes))
		p = calloc(bytes ? bytes : 1, 1);
	if (!p)
		*st = mr_fail(MR_ERESOURCE, "no memory for the trajectory of %llu steps", (unsigned long long)n);
	return p;
}

static uint32_t scalars(const mr_graph *g, uint32_t first, uint32_t end)
{
	int64_t n = 0;

	for (uint32_t p = first; p < end; p++)
		if (g->params[p].tied_to < 0)
			n += g->params[p].n;
	return (uint32_t)n;
}

static mr_status allocate(mr_trajectory *t, const mr_partition *p)
{
	mr_status st = MR_OK;
	uint32_t param = 0;

	t->first = rows(t->n_stages + 1u, sizeof(*t->first), &st);
	t->stage = rows(t->n_stages, sizeof(*t->stage), &st);
	t->loss = rows(t->n_micro, sizeof(double), &st);
	for (uint16_t s = 0; s < t->n_stages && st == MR_OK; s++) {
		mr_trajectory_stage *row = &t->stage[s];

		t->first[s] = param;
		while (param < t->graph->n_params && t->graph->params[param].node < p->first[s + 1])
			param++;
		t->first[s + 1] = param;
		row->n_scalars = scalars(t->graph, t->first[s], param);
		row->f_version = rows(t->n_micro, sizeof(uint64_t), &st);
		row->b_version = rows(t->n_micro, sizeof(uint64_t), &st);
		row->applied_on = rows(t->n_micro, sizeof(uint64_t), &st);
		row->weights = rows(t->n_steps + 1, row->n_scalars * sizeof(double), &st);
		row->born = rows(t->n_steps + 1, sizeof(uint64_t), &st);
		row->last_read = rows(t->n_steps + 1, sizeof(uint64_t), &st);
		row->summed = rows(t->need, sizeof(uint64_t), &st);
	}
	return st;
}

mr_status mr_trajectory_create(const mr_graph *graph, const mr_partition *p, uint32_t need, uint64_t n_steps,
			       mr_trajectory **out)
{
	int64_t n = mr_graph_n_params(graph);
	mr_trajectory *t;
	size_t n_micro;
	mr_status st;

	if (n > MR_TRAJECTORY_MAX_PARAMS)
		return mr_fail(MR_ECONFIG,
			       "a trajectory keeps every version of all %lld weights; at most %d are recorded",
			       (long long)n, MR_TRAJECTORY_MAX_PARAMS);
	if (!mr_size_mul(n_steps, need, &n_micro) || n_steps == UINT64_MAX)
		return mr_fail(MR_ERESOURCE, "no memory for the trajectory of %llu steps", (unsigned long long)n_steps);
	t = calloc(1, sizeof(*t));
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a trajectory");
	*t = (mr_trajectory){
		.n_stages = p->n_stages, .need = need, .n_steps = n_steps, .n_micro = n_micro, .graph = graph};
	st = allocate(t, p);
	if (st != MR_OK) {
		mr_trajectory_destroy(t);
		return st;
	}
	*out = t;
	return MR_OK;
}

void mr_trajectory_destroy(mr_trajectory *t)
{
	if (!t)
		return;
	for (uint16_t s = 0; t->stage && s < t->n_stages; s++) {
		free(t->stage[s].f_version);
		free(t->stage[s].b_version);
		free(t->stage[s].applied_on);
		free(t->stage[s].weights);
		free(t->stage[s].born);
		free(t->stage[s].last_read);
		free(t->stage[s].summed);
	}
	free(t->first);
	free(t->stage);
	free(t->loss);
	free(t);
}

/* --- recording: nothing here allocates --- */

static void put_weights(double *to, mr_dtype dtype, const void *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = dtype == MR_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* Version @v of stage @s, from a run or from sequential training. */
static void put_version(mr_trajectory *t, uint16_t s, uint64_t v, const mr_run *run, mr_sequential *q)
{
	mr_trajectory_stage *row = &t->stage[s];
	double *to = row->weights + v * row->n_scalars;

	for (uint32_t p = t->first[s]; p < t->first[s + 1]; p++) {
		const mr_param *param = &t->graph->params[p];
		mr_dtype dtype = run ? run->c.kernels->dtype : mr_sequential_config_of(q)->kernels->dtype;
		const void *from;

		if (param->tied_to >= 0)
			continue;
		from = run ? (const char *)mr_block_weights(&run->block[s], 0, v) + mr_stage_weight_at(run->stage[s], p)
			   : mr_sequential_weights(q, p);
		put_weights(to, dtype, from, param->n);
		to += param->n;
	}
}

static void begin(mr_trajectory *t, mr_trajectory_stage *row)
{
	row->n_commits = row->n_events = 0;
	row->n_summed = 0;
	memset(row->last_read, 0, (t->n_steps + 1) * sizeof(uint64_t));
	for (uint64_t m = 0; m < t->n_micro; m++)
		row->f_version[m] = row->b_version[m] = row->applied_on[m] = MR_TRAJECTORY_NONE;
}

static void note_read(mr_trajectory *t, mr_trajectory_stage *row, uint64_t version)
{
	if (version <= t->n_steps)
		row->last_read[version] = row->n_events;
	row->n_events++;
}

static void note_summed(mr_trajectory *t, mr_trajectory_stage *row, uint64_t micro)
{
	if (row->n_summed < t->need)
		row->summed[row->n_summed] = micro;
	row->n_summed++;
}

static void note_commit(mr_trajectory *t, mr_trajectory_stage *row, uint64_t version)
{
	for (uint32_t i = 0; i < row->n_summed && i < t->need; i++)
		if (row->summed[i] < t->n_micro)
			row->applied_on[row->summed[i]] = version - 1;
	row->n_summed = 0;
	row->born[version] = row->n_events++;
	row->n_commits = version;
}

void mr_trajectory_observer(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	mr_trajectory *t = arg;
	mr_trajectory_stage *row = &t->stage[in->stage];

	if (in->op == MR_OP_F && micro == 0) {
		begin(t, row);
		put_version(t, in->stage, 0, run, NULL);
	}
	if (in->op == MR_OP_U ? version > t->n_steps : micro >= t->n_micro)
		return;
	switch (in->op) {
	case MR_OP_F:
		row->f_version[micro] = version;
		if (run->block[in->stage].holds && micro % t->need) /* made from that version, not reading it */
			row->n_events++;
		else
			note_read(t, row, version);
		if (in->stage + 1 == t->n_stages)
			t->loss[micro] = run->losses[micro % run->n_losses];
		break;
	case MR_OP_B:
	case MR_OP_I:
		row->b_version[micro] = version;
		note_read(t, row, version);
		if (in->op == MR_OP_B)
			note_summed(t, row, micro);
		break;
	case MR_OP_W:
		note_read(t, row, version);
		note_summed(t, row, micro);
		break;
	default:
		break;
	}
	if (in->op == MR_OP_U || in->flags & MR_INSTR_UPDATE) {
		uint64_t latest = run->block[in->stage].latest;

		note_commit(t, row, latest);
		put_version(t, in->stage, latest, run, NULL);
	}
}

void mr_trajectory_note(mr_trajectory *t, mr_sequential *q, uint64_t step)
{
	if (step > t->n_steps)
		return;
	for (uint16_t s = 0; s < t->n_stages; s++) {
		mr_trajectory_stage *row = &t->stage[s];

		if (step == 0)
			begin(t, row);
		for (uint64_t m = step ? (step - 1) * t->need : 0; m < step * t->need; m++) {
			row->f_version[m] = row->b_version[m] = step - 1;
			note_read(t, row, step - 1);
			note_summed(t, row, m);
			t->loss[m] = mr_sequential_losses(q)[m % t->need];
		}
		if (step > 0)
			note_commit(t, row, step);
		put_version(t, s, step, NULL, q);
	}
}

/* --- reading --- */

uint64_t mr_trajectory_steps(const mr_trajectory *t)
{
	uint64_t n = t->n_steps;

	for (uint16_t s = 0; s < t->n_stages; s++)
		if (t->stage[s].n_commits < n)
			n = t->stage[s].n_commits;
	return n;
}

uint32_t mr_trajectory_peak_live(const mr_trajectory *t, uint16_t stage)
{
	const mr_trajectory_stage *row = &t->stage[stage];
	uint64_t oldest = 0;
	uint32_t peak = 1;

	/* What is dead at the birth of a version stays so: those that can be alive begin at the oldest that is. */
	for (uint64_t v = 0; v <= row->n_commits; v++) {
		uint64_t born = v ? row->born[v] : 0;
		uint32_t alive = 1;

		while (oldest < v && row->last_read[oldest] < born)
			oldest++;
		for (uint64_t u = oldest; u < v; u++)
			alive += row->last_read[u] >= born;
		peak = alive > peak ? alive : peak;
	}
	return peak;
}

static void write_versions(mr_json_writer *w, const mr_trajectory *t, uint64_t n, const char *key, size_t field,
			   bool age)
{
	mr_json_key(w, key);
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++) {
		const mr_trajectory_stage *row = &t->stage[s];
		const uint64_t *value = *(uint64_t *const *)((const char *)row + field);

		mr_json_begin_array(w);
		for (uint64_t m = 0; m < n; m++)
			mr_json_put_uint(w, age ? row->applied_on[m] - row->f_version[m] : value[m]);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
}

static void write_weights(mr_json_writer *w, const mr_trajectory_stage *row, uint64_t v)
{
	const double *x = row->weights + v * row->n_scalars;

	if (row->n_scalars == 1) {
		mr_json_put_double(w, *x);
		return;
	}
	mr_json_begin_array(w);
	for (uint32_t i = 0; i < row->n_scalars; i++)
		mr_json_put_double(w, x[i]);
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
	mr_json_key(w, "weights");
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++) {
		mr_json_begin_array(w);
		for (uint64_t v = 0; v <= steps; v++)
			write_weights(w, &t->stage[s], v);
		mr_json_end_array(w);
	}
	mr_json_end_array(w);
	mr_json_key(w, "final");
	mr_json_begin_array(w);
	for (uint16_t s = 0; s < t->n_stages; s++)
		write_weights(w, &t->stage[s], steps);
	mr_json_end_array(w);
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
	if (fclose(f) != 0 && st == MR_OK)
		st = mr_fail(MR_ERESOURCE, "no memory for the text of a trajectory");
	if (st == MR_OK)
		st = mr_file_replace(path, text, len);
	free(text);
	return st;
}
