#include "perf/steps/allowed.h"

#include <stdlib.h>

#include "timing/walk.h"

typedef struct mean {
	double ns;
	uint64_t n, micro; /* instructions, and the micro-batches that they handled */
} mean;

/* Of one stage; [1]: with the optimizer step inside. */
typedef struct durations {
	mean op[MR_N_OPS][2];
} durations;

void mr_allowed_mark(const mr_run *run, uint64_t skip, uint64_t *at)
{
	const mr_plan *plan = run->c.plan;

	for (uint16_t w = 0; w < run->n_workers; w++)
		at[w] = run->worker[w].n_trace + skip / plan->commits * mr_plan_list(plan, w, MR_BODY)->n;
}

/* The instruction that wrote worker @w's record number @k: its prologue once, then its body again and again. */
static const mr_instr *instr_of(const mr_plan *plan, uint16_t w, uint64_t k)
{
	const mr_list *prologue = mr_plan_list(plan, w, MR_PROLOGUE), *body = mr_plan_list(plan, w, MR_BODY);

	return k < prologue->n ? &prologue->at[k] : &body->at[(k - prologue->n) % body->n];
}

static void collect(const mr_run *run, const uint64_t *mark, durations *stage)
{
	for (uint16_t w = 0; w < run->n_workers; w++) {
		const mr_worker *wk = &run->worker[w];
		uint64_t k = wk->n_trace - mark[w] > MR_TRACE_RING ? wk->n_trace - MR_TRACE_RING : mark[w];

		for (; k < wk->n_trace; k++) {
			const mr_instr *in = instr_of(run->c.plan, w, k);
			const mr_trace_rec *r = &wk->trace[k % MR_TRACE_RING];
			mean *m = &stage[in->stage].op[in->op][(in->flags & MR_INSTR_UPDATE) != 0];

			m->ns += (double)(r->end_ns - r->begin_ns);
			m->n++;
			m->micro += in->span;
		}
	}
}

/* Of one instruction. */
static double of(const mean *m)
{
	return m->n ? m->ns / (double)m->n : 0;
}

/* Of one micro-batch: less than that where a W is merged. */
static double of_micro(const mean *m)
{
	return m->micro ? m->ns / (double)m->micro : 0;
}

/* @op of a micro-batch without its optimizer step; what that adds to an instruction goes to *@u. With nothing to
 * compare, the step stays inside. */
static double split(const durations *d, mr_op op, double *u)
{
	const mean *plain = &d->op[op][0], *with = &d->op[op][1];

	if (!plain->n)
		return of_micro(with);
	if (with->n && of_micro(with) > of_micro(plain))
		*u += (of_micro(with) - of_micro(plain)) * (double)with->micro / (double)with->n;
	return of_micro(plain);
}

/* Norms and reductions stand right in front of the update on the same worker; the walk has no cost for them alone. */
static mr_stage_cost cost_of(const durations *d, uint8_t n_pipes)
{
	mr_stage_cost c = {.u = of(&d->op[MR_OP_U][0]) + of(&d->op[MR_OP_N][0]) + of(&d->op[MR_OP_AR][0])};

	c.f = of(&d->op[MR_OP_F][0]);
	c.i = split(d, MR_OP_B, &c.u) + split(d, MR_OP_I, &c.u);
	c.w = split(d, MR_OP_W, &c.u);
	c.a = n_pipes * of(&d->op[MR_OP_AVG][0]);
	c.v = of(&d->op[MR_OP_V][0]);
	return c;
}

static mr_status walk(const mr_plan *plan, const mr_cost *cost, uint64_t steps, double *ns)
{
	uint32_t bodies = (uint32_t)(steps / plan->commits);
	mr_walk *w;

	if (plan->contract.flush == MR_FLUSH_NONE) {
		MR_TRY(mr_plan_period(plan, cost, false, ns));
		*ns *= bodies;
		return MR_OK;
	}
	MR_TRY(mr_plan_walk(plan, cost, bodies, &(mr_walk_opts){.no_period = true}, &w));
	*ns = w->makespan;
	mr_walk_destroy(w);
	return MR_OK;
}

mr_status mr_allowed_ms(const mr_run *run, const uint64_t *mark, uint64_t steps, double *ms)
{
	durations *stage = calloc(run->n_stages, sizeof(*stage));
	mr_stage_cost *costs = calloc(run->n_stages, sizeof(*costs));
	mr_cost cost = {.n_stages = run->n_stages, .stage = costs};
	mr_status st = MR_OK;
	bool all = true;
	double ns = 0;

	if (!stage || !costs) {
		st = mr_fail(MR_ERESOURCE, "no memory for the durations of %u stages", run->n_stages);
	} else {
		collect(run, mark, stage);
		for (uint16_t s = 0; s < run->n_stages; s++) {
			costs[s] = cost_of(&stage[s], run->n_pipes);
			all = all && costs[s].f > 0 && costs[s].i > 0;
		}
		st = all ? walk(run->c.plan, &cost, steps, &ns) : MR_OK;
	}
	*ms = ns / 1e6 / (double)steps;
	free(costs);
	free(stage);
	return st;
}
