/*
 * lower_eager.c - reductions that do not wait for the end of the list.
 *
 * With several pipes the gradients of a stage are complete when the slowest pipe's are. Until then, and while a pipe
 * drains through its first stages, workers idle: chimera's outer workers, whose other pipe has long finished, wait
 * between the last backwards for the others. AR (and U, without clipping) of complete gradients fits there.
 *
 * Where: a walk with equal costs and unlimited buffers gives every instruction its time. A worker's AR of a stage
 * stands in the first gap of its list that begins or continues after the last gradient of that stage in any pipe,
 * provided that the list from there on makes nothing but sums that another worker reads; else at the end. So it delays
 * only its own worker, which has to do it anyway, and at most another's last steps. At the end stages come in the order
 * in which they are complete, so that no step waits behind a later one. (Never longer than all steps at the end, and up
 * to a tenth shorter, over a grid of systems and costs: tests/schedules/test_twoway.c.)
 *
 * Sums that are released (ir/plan.h) are reduced behind the next stage's backward passes, whatever the times are.
 *
 * There is no cycle: an AR stands in a gap at a time at which everything that it waits for has ended, so each edge
 * leads from an earlier time to a later one.
 */
#include "lower/lower_internal.h"

#include <math.h>
#include <stdlib.h>

#include "ir/stage_ops.h"
#include "timing/walk.h"

/* Shorter gaps are rounding errors of sums in another order. */
#define GAP 1e-9

typedef struct mr_eager {
	const mr_plan *plan;
	const mr_unroll *g;
	double *begin, *end; /* [n_all] */
	double *ready;       /* [n_stages] end of the last gradient in any pipe; 0: no pipe has any */
	mr_section section;  /* the one section of a flushing plan */
} mr_eager;

static bool applies(const mr_plan *p)
{
	return p->n_pipes > 1 && !mr_contract_replicates(&p->contract) && p->commits == 1 &&
	       p->contract.flush != MR_FLUSH_NONE;
}

static void find_ready(mr_eager *e)
{
	const mr_plan *p = e->plan;
	uint16_t last = (uint16_t)(p->n_stages - 1);

	for (uint16_t w = 0; w < p->n_workers; w++) {
		const mr_list *l = mr_plan_list(p, w, e->section);

		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].op == MR_OP_B || l->at[i].op == MR_OP_W)
				e->ready[l->at[i].stage] = fmax(e->ready[l->at[i].stage], e->end[e->g->first[w] + i]);
	}
	if (p->contract.tied)
		e->ready[0] = fmax(e->ready[0], e->ready[last]);
}

/* Whether another worker reads what @in makes. */
static bool is_read_elsewhere(const mr_plan *p, const mr_instr *in)
{
	uint16_t here = mr_plan_worker(p, in->pipe, in->stage);

	if (in->op == MR_OP_F)
		return in->stage + 1 < p->n_stages && mr_plan_worker(p, in->pipe, (uint16_t)(in->stage + 1)) != here;
	if (in->op == MR_OP_B || in->op == MR_OP_I)
		return in->stage > 0 && mr_plan_worker(p, in->pipe, (uint16_t)(in->stage - 1)) != here;
	return false;
}

static uint32_t first_gap(const mr_eager *e, uint16_t w, uint32_t from, double ready)
{
	const mr_list *l = mr_plan_list(e->plan, w, e->section);
	uint32_t node = e->g->first[w];

	for (uint32_t i = from; i < l->n; i++)
		if (e->begin[node + i] > fmax(ready, i ? e->end[node + i - 1] : 0) + GAP)
			return i;
	return MR_AT_END;
}

static void place_worker(const mr_eager *e, uint16_t w, uint32_t *before)
{
	const mr_plan *p = e->plan;
	const mr_list *l = mr_plan_list(p, w, e->section);
	uint32_t from = l->n;

	while (from > 0 && !is_read_elsewhere(p, &l->at[from - 1]))
		from--;
	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		for (uint16_t s = 0; s < p->n_stages; s++)
			if (mr_plan_worker(p, (uint8_t)pipe, s) == w)
				before[mr_plan_at(p, (uint8_t)pipe, s)] = first_gap(e, w, from, e->ready[s]);
}

/* Stages by the time at which their gradients are complete, later stages before earlier ones. */
static void sort_stages(const mr_eager *e, uint16_t *stages)
{
	for (uint32_t k = 0; k < e->plan->n_stages; k++) {
		uint16_t s = stages[k];
		uint32_t at = k;

		for (; at > 0 && e->ready[stages[at - 1]] > e->ready[s] + GAP; at--)
			stages[at] = stages[at - 1];
		stages[at] = s;
	}
}

/* Sums that are released: AR of a stage stands behind the last sum of the next lower one. */
static void place_released(const mr_plan *p, mr_section section, uint32_t *before)
{
	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		for (uint16_t s = 0; s < p->n_stages; s++) {
			const mr_list *l = mr_plan_list(p, mr_plan_worker(p, (uint8_t)pipe, s), section);
			uint16_t below = mr_trained_beside(p, s, -1);

			for (uint32_t i = 0; i < l->n; i++)
				if ((l->at[i].op == MR_OP_B || l->at[i].op == MR_OP_W) && l->at[i].stage == below &&
				    l->at[i].pipe == pipe)
					before[mr_plan_at(p, (uint8_t)pipe, s)] = i + 1 < l->n ? i + 1 : MR_AT_END;
		}
}

mr_status mr_lower_eager(const mr_plan *plan, const mr_unroll *g, const uint32_t *order, mr_steps *steps)
{
	mr_eager e = {.plan = plan, .g = g, .section = g->n_bodies ? MR_BODY : MR_PROLOGUE};
	size_t n = 2 * (size_t)g->n_all + plan->n_stages;
	mr_stage_cost *stages;
	mr_cost cost;

	for (size_t i = 0; i < (size_t)plan->n_pipes * plan->n_stages; i++)
		steps->before[i] = MR_AT_END;
	for (uint16_t s = 0; s < plan->n_stages; s++)
		steps->stages[s] = (uint16_t)(plan->n_stages - 1 - s);
	if (plan->contract.release_sums)
		place_released(plan, e.section, steps->before);
	if (!applies(plan) || plan->contract.release_sums)
		return MR_OK;
	stages = malloc(plan->n_stages * sizeof(*stages));
	e.begin = calloc(n, sizeof(*e.begin));
	if (stages && e.begin) {
		e.end = e.begin + g->n_all;
		e.ready = e.end + g->n_all;
		mr_cost_share(plan, 1, 1, 1, stages, &cost);
		mr_unroll_times(g, &cost, NULL, order, e.begin, e.end, NULL);
		find_ready(&e);
		for (uint16_t w = 0; w < plan->n_workers; w++)
			place_worker(&e, w, steps->before);
		sort_stages(&e, steps->stages);
	}
	free(stages);
	free(e.begin);
	return e.end ? MR_OK : mr_fail(MR_ERESOURCE, "no memory to time %u instructions", g->n_all);
}
