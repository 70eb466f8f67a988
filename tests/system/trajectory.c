#include "trajectory.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "weights/predict.h"
#include "weights/replicas.h"
#include "nn/element.h"

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

static void allocate_row(trajectory *t, uint16_t r, uint16_t s, mr_status *st)
{
	trajectory_stage *row = trajectory_row(t, r, s);

	row->n_scalars = scalars(t->graph, t->first[s], t->first[s + 1]);
	row->f_version = rows(t->n_micro, sizeof(uint64_t), st);
	row->b_version = rows(t->n_micro, sizeof(uint64_t), st);
	row->applied_on = rows(t->n_micro, sizeof(uint64_t), st);
	row->weights = rows(t->n_versions + 1, row->n_scalars * sizeof(double), st);
	row->born = rows(t->n_versions + 1, sizeof(uint64_t), st);
	row->last_read = rows(t->n_versions + 1, sizeof(uint64_t), st);
	row->summed = rows(t->sum, sizeof(uint64_t), st);
	if (r == 0 && mr_average_copies(&t->average))
		row->reference = rows(t->n_versions + 1, row->n_scalars * sizeof(double), st);
}

static mr_status allocate(trajectory *t, const mr_partition *p)
{
	mr_status st = MR_OK;
	uint32_t param = 0;

	t->first = rows(t->n_stages + 1u, sizeof(*t->first), &st);
	t->stage = rows((uint64_t)t->n_rows * t->n_stages, sizeof(*t->stage), &st);
	t->loss = rows(t->n_micro, sizeof(double), &st);
	for (uint16_t s = 0; s < t->n_stages && st == MR_OK; s++) {
		t->first[s] = param;
		while (param < t->graph->n_params && t->graph->params[param].node < p->first[s + 1])
			param++;
		t->first[s + 1] = param;
		for (uint16_t r = 0; r < t->n_rows; r++)
			allocate_row(t, r, s, &st);
	}
	return st;
}

/* @replicas: stage_replicas of a plan that has any, or NULL. */
static mr_status create(const mr_graph *graph, const mr_partition *p, const mr_contract *c, const uint8_t *replicas,
			uint16_t n_rows, uint64_t n_steps, trajectory **out)
{
	trajectory *t;
	size_t n_micro;
	mr_status st;

	if (!mr_size_mul(n_steps, c->need, &n_micro) || n_steps >= UINT64_MAX / 2)
		return mr_fail(MR_ERESOURCE, "no memory for the trajectory of %llu steps", (unsigned long long)n_steps);
	t = calloc(1, sizeof(*t));
	if (!t)
		return mr_fail(MR_ERESOURCE, "no memory for a trajectory");
	*t = (trajectory){.n_stages = p->n_stages,
			     .need = c->need,
			     .sum = c->need / n_rows,
			     .n_rows = n_rows,
			     .average = c->average,
			     .n_steps = n_steps,
			     .n_micro = n_micro,
			     .n_versions = mr_contract_after(c, n_steps),
			     .graph = graph};
	st = MR_OK;
	if (replicas) {
		t->stage_replicas = rows(p->n_stages, 1, &st);
		for (uint16_t s = 0; s < p->n_stages && st == MR_OK; s++) {
			t->stage_replicas[s] = replicas[s];
			if (n_micro / replicas[s] > t->n_versions)
				t->n_versions = n_micro / replicas[s];
		}
	}
	if (st == MR_OK)
		st = allocate(t, p);
	if (st != MR_OK) {
		trajectory_destroy(t);
		return st;
	}
	*out = t;
	return MR_OK;
}

mr_status trajectory_create(const mr_graph *graph, const mr_partition *p, uint32_t need, uint64_t n_steps,
			       trajectory **out)
{
	return create(graph, p, &(mr_contract){.need = need}, NULL, 1, n_steps, out);
}

mr_status trajectory_create_for(const mr_graph *graph, const mr_partition *p, const mr_plan *plan, uint64_t n_steps,
				   trajectory **out)
{
	bool replicates = mr_contract_replicates(&plan->contract);

	MR_TRY(create(graph, p, &plan->contract, mr_plan_has_stage_replicas(plan) ? plan->stage_replicas : NULL,
		      replicates ? plan->n_pipes : 1, n_steps, out));
	for (uint16_t r = 0; replicates && r < plan->n_pipes; r++)
		for (uint16_t s = 0; s < plan->n_stages; s++) {
			const mr_list *l = mr_plan_list(plan, mr_plan_worker(plan, (uint8_t)r, s), MR_BODY);
			uint64_t first = UINT64_MAX;

			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].op == MR_OP_F && l->at[i].pipe == r && l->at[i].stage == s &&
				    l->at[i].micro < first)
					first = l->at[i].micro;
			trajectory_row(*out, r, s)->first_micro = first;
		}
	return MR_OK;
}

void trajectory_destroy(trajectory *t)
{
	if (!t)
		return;
	for (size_t s = 0; t->stage && s < (size_t)t->n_rows * t->n_stages; s++) {
		free(t->stage[s].reference);
		free(t->stage[s].f_version);
		free(t->stage[s].b_version);
		free(t->stage[s].applied_on);
		free(t->stage[s].weights);
		free(t->stage[s].born);
		free(t->stage[s].last_read);
		free(t->stage[s].summed);
	}
	free(t->first);
	free(t->stage_replicas);
	free(t->stage);
	free(t->loss);
	free(t);
}

/* --- recording: nothing here allocates --- */

static void put_weights(double *to, mr_dtype dtype, const void *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = mr_element(dtype, from, i);
}

/* The parameters of stage @s to @to, from @weights of @run. */
static void put_params(const trajectory *t, uint16_t s, double *to, const void *weights, const mr_run *run)
{
	for (uint32_t p = t->first[s]; p < t->first[s + 1]; p++) {
		const mr_param *param = &t->graph->params[p];

		if (param->tied_to >= 0)
			continue;
		put_weights(to, run->c.kernels->types.weights,
			    (const char *)weights + mr_stage_weight_at(run->stage[s], p), param->n);
		to += param->n;
	}
}

/* Version @v of stage @s in row @r. */
static void put_version(trajectory *t, uint16_t r, uint16_t s, uint64_t v, const mr_run *run)
{
	trajectory_stage *row = trajectory_row(t, r, s);

	put_params(t, s, row->weights + v * row->n_scalars,
		   mr_weights_at(mr_run_weights(run, (uint8_t)r, s), 0, v), run);
}

/* The reference after @n averages. */
static void put_reference(trajectory *t, uint16_t s, uint64_t n, const mr_run *run)
{
	trajectory_stage *row = trajectory_row(t, 0, s);

	if (row->reference)
		put_params(t, s, row->reference + n * row->n_scalars, mr_replicas_model(&run->replicas[s], 0), run);
}

static void begin(trajectory *t, trajectory_stage *row)
{
	row->n_commits = row->n_events = 0;
	row->n_summed = 0;
	memset(row->last_read, 0, (t->n_versions + 1) * sizeof(uint64_t));
	for (uint64_t m = 0; m < t->n_micro; m++)
		row->f_version[m] = row->b_version[m] = row->applied_on[m] = TRAJECTORY_NONE;
}

static void note_read(trajectory *t, trajectory_stage *row, uint64_t version)
{
	if (version <= t->n_versions)
		row->last_read[version] = row->n_events;
	row->n_events++;
}

static void note_summed(trajectory *t, trajectory_stage *row, uint64_t micro)
{
	if (row->n_summed < t->sum)
		row->summed[row->n_summed] = micro;
	row->n_summed++;
}

static void note_commit(trajectory *t, trajectory_stage *row, uint64_t version)
{
	for (uint32_t i = 0; i < row->n_summed && i < t->sum; i++)
		if (row->summed[i] < t->n_micro)
			row->applied_on[row->summed[i]] = version - 1;
	row->n_summed = 0;
	row->born[version] = row->n_events++;
	row->n_commits = version;
}

/* Version @v of replica @r is an average that is not noted yet. */
static void note_average(trajectory *t, uint16_t r, uint16_t s, uint64_t v, const mr_run *run)
{
	trajectory_stage *row = trajectory_row(t, r, s);

	if (!t->average.every || v <= row->n_commits || v > t->n_versions)
		return;
	note_commit(t, row, v);
	put_version(t, r, s, v, run);
	if (r == 0)
		put_reference(t, s, v / (t->average.every + (uint64_t)1), run);
}

void trajectory_close(trajectory *t, const mr_run *run)
{
	for (uint16_t r = 0; t->average.every && r < t->n_rows; r++)
		for (uint16_t s = 0; s < t->n_stages; s++)
			note_average(t, r, s, mr_run_weights(run, (uint8_t)r, s)->latest, run);
}

static void note_loss(trajectory *t, const mr_run *run, const mr_instr *in, uint64_t micro)
{
	if (in->stage + 1 == t->n_stages)
		t->loss[micro] = run->losses[micro % run->n_losses];
}

/* The first micro-batch of a part begins its record again; that of the first part, the record of the whole stage. */
static void begin_part(trajectory *t, const mr_run *run, uint16_t s, uint64_t part)
{
	trajectory_stage *row = trajectory_row(t, 0, s);

	for (uint64_t m = part; m < t->n_micro; m += t->stage_replicas[s])
		row->f_version[m] = row->b_version[m] = row->applied_on[m] = TRAJECTORY_NONE;
	if (part > 0)
		return;
	row->n_commits = row->n_events = 0;
	memset(row->last_read, 0, (t->n_versions + 1) * sizeof(uint64_t));
	put_version(t, 0, s, 0, run);
}

/* Record @in, of one of the replicas of a stage. Of the parts of a commit the last one makes the version. */
static void observe_turn(trajectory *t, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	uint32_t replicas = t->stage_replicas[in->stage];
	trajectory_stage *row = trajectory_row(t, 0, in->stage);
	bool first = in->pipe % replicas == 0, made = in->flags & MR_INSTR_UPDATE;

	if (in->op == MR_OP_U) {
		made = run->worker[mr_plan_worker(run->c.plan, in->pipe, in->stage)].made;
		micro = (version - 1) * replicas;
	}
	if (in->op == MR_OP_F && micro < replicas)
		begin_part(t, run, in->stage, micro);
	if (micro >= t->n_micro)
		return;
	if (in->op == MR_OP_F) {
		row->f_version[micro] = version;
		note_loss(t, run, in, micro);
	} else if (in->op == MR_OP_B) {
		row->b_version[micro] = version;
	}
	if (first && in->op <= MR_OP_B)
		note_read(t, row, version);
	version = micro / replicas + 1;
	if (first && (in->op == MR_OP_U || made))
		row->born[version] = row->n_events++;
	if (!made)
		return;
	for (uint64_t m = (version - 1) * replicas; m < version * replicas; m++)
		row->applied_on[m] = version - 1;
	row->n_commits = version;
	put_version(t, 0, in->stage, version, run);
}

/* Does F at stage @s work on held weights? */
static bool holds(const mr_run *run, uint16_t s)
{
	return run->weights[s].prediction && run->weights[s].prediction->holds;
}

void trajectory_observer(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	trajectory *t = arg;
	uint16_t r = t->n_rows > 1 ? in->pipe : 0;
	trajectory_stage *row = trajectory_row(t, r, in->stage);

	if (t->stage_replicas) {
		observe_turn(t, run, in, micro, version);
		return;
	}
	if (in->op == MR_OP_F && micro == row->first_micro) {
		begin(t, row);
		put_version(t, r, in->stage, 0, run);
		if (r == 0)
			put_reference(t, in->stage, 0, run);
	}
	if (in->op == MR_OP_F)
		note_average(t, r, in->stage, version, run);
	if (in->op == MR_OP_U ? version > t->n_versions : micro >= t->n_micro)
		return;
	switch (in->op) {
	case MR_OP_F:
		row->f_version[micro] = version;
		if (holds(run, in->stage) && micro % t->need) /* made from that version, and does not read it */
			row->n_events++;
		else
			note_read(t, row, version);
		note_loss(t, run, in, micro);
		break;
	case MR_OP_B:
	case MR_OP_I:
		row->b_version[micro] = version;
		if (mr_instr_takes_made(run->c.plan, in)) /* likewise */
			row->n_events++;
		else
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
		uint64_t latest = mr_run_weights(run, in->pipe, in->stage)->latest;

		note_commit(t, row, latest);
		put_version(t, r, in->stage, latest, run);
	}
}

/* --- reading --- */

uint64_t trajectory_versions(const trajectory *t, uint16_t s, uint64_t n_steps)
{
	const mr_contract c = {.average = t->average};

	return t->stage_replicas ? n_steps * t->need / t->stage_replicas[s] : mr_contract_after(&c, n_steps);
}

uint64_t trajectory_steps(const trajectory *t)
{
	const mr_contract c = {.average = t->average};
	uint64_t n = t->n_steps;

	for (size_t i = 0; i < (size_t)t->n_rows * t->n_stages; i++) {
		uint64_t steps = t->stage_replicas ? t->stage[i].n_commits * t->stage_replicas[i] / t->need
						   : mr_contract_steps(&c, t->stage[i].n_commits);

		n = steps < n ? steps : n;
	}
	return n;
}

uint32_t trajectory_peak_live(const trajectory *t, uint16_t stage)
{
	const trajectory_stage *row = &t->stage[stage];
	uint64_t oldest = 0;
	uint32_t peak = 1;

	/* A version that is dead when another is made stays dead: live ones begin at the oldest that is alive. */
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
