#include "profile/profile_live.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "host/clock.h"
#include "threads/engine.h"
#include "profile/profile.h"
#include "exec/run_plan.h"

#define WARM_BODIES 2u
#define LEAST_BODIES 5u
#define MOST_BODIES 64u
#define LOOKED_AT 512u /* records of a worker that are searched for transfers */

static const mr_lr still = {.kind = MR_LR_CONSTANT, .base = 1e-12}; /* the weights do not change */

bool mr_profile_is_live(const mr_run_config *c)
{
	bool repeats = !c->plan->contract.racing && !c->place->shared;

	for (uint16_t w = 0; repeats && w < c->plan->n_workers; w++) {
		const mr_list *l = mr_plan_list(c->plan, w, MR_BODY);

		repeats = l->n > 0 && (WARM_BODIES + LEAST_BODIES) * l->n <= MR_TRACE_RING;
	}
	return repeats;
}

/* Run @bodies more iterations of the body, as far as the plan reaches. */
static mr_status advance(mr_engine *e, const mr_plan *plan, uint64_t bodies, uint64_t *at)
{
	uint64_t until = *at + bodies * mr_plan_steps(plan), last = mr_run_last_step(plan);

	return mr_engine_run(e, until < last ? until : last, NULL, NULL, at);
}

static mr_status run_for(mr_engine *e, const mr_plan *plan, double seconds)
{
	uint64_t begin = mr_clock_ns(), at = 0;
	double each, left;

	MR_TRY(advance(e, plan, WARM_BODIES + LEAST_BODIES, &at));
	each = (double)(mr_clock_ns() - begin) * 1e-9 / (WARM_BODIES + LEAST_BODIES);
	left = fmin(seconds / each, MOST_BODIES) - LEAST_BODIES;
	return left > 1 ? advance(e, plan, (uint64_t)left, &at) : MR_OK;
}

/* The median time of the instruction at place @i of the body of worker @w, over the iterations left in its trace. */
static double median_at(const mr_run *run, uint16_t w, uint32_t i, double *least)
{
	const mr_list *before = mr_plan_list(run->c.plan, w, MR_PROLOGUE), *l = mr_plan_list(run->c.plan, w, MR_BODY);
	const mr_worker *wk = &run->worker[w];
	uint64_t k = before->n + WARM_BODIES * (uint64_t)l->n + i;
	double x[MOST_BODIES];
	uint32_t n = 0;

	while (k + MR_TRACE_RING < wk->n_trace)
		k += l->n;
	for (; k < wk->n_trace && n < MOST_BODIES; k += l->n) {
		const mr_trace_rec *r = &wk->trace[k % MR_TRACE_RING];

		if (r->op == l->at[i].op && r->stage == l->at[i].stage) /* a repetition after V shifts the others */
			x[n++] = (double)(r->end_ns - r->begin_ns) * 1e-9;
	}
	if (!n)
		return NAN;
	mr_sort_f64(x, n);
	*least = x[0];
	return mr_quantile(x, n, 0.5);
}

/* The median time from the end of one body of worker @w to that of the next; 0: its trace has no two. */
static double median_body(const mr_run *run, uint16_t w)
{
	const mr_list *before = mr_plan_list(run->c.plan, w, MR_PROLOGUE), *l = mr_plan_list(run->c.plan, w, MR_BODY);
	const mr_instr *last = &l->at[l->n - 1];
	const mr_worker *wk = &run->worker[w];
	uint64_t k = before->n + (WARM_BODIES + 1) * (uint64_t)l->n - 1;
	double x[MOST_BODIES];
	uint32_t n = 0;

	while (k + MR_TRACE_RING < wk->n_trace)
		k += l->n;
	for (; k + l->n < wk->n_trace && n < MOST_BODIES; k += l->n) {
		const mr_trace_rec *a = &wk->trace[k % MR_TRACE_RING], *b = &wk->trace[(k + l->n) % MR_TRACE_RING];

		if (a->op == last->op && b->op == last->op && a->stage == last->stage && b->stage == last->stage)
			x[n++] = (double)(b->end_ns - a->end_ns) * 1e-9;
	}
	return n ? mr_median(x, n) : 0;
}

/* --- hand-overs --- */

/* Does @from, on another worker, produce the input that @to waits for? */
static bool hands_over(const mr_trace_rec *from, const mr_trace_rec *to)
{
	bool forward = to->op == MR_OP_F;

	if (from->micro != to->micro || from->pipe != to->pipe)
		return false;
	if (forward)
		return from->op == MR_OP_F && from->stage + 1 == to->stage;
	return (from->op == MR_OP_B || from->op == MR_OP_I) && from->stage == to->stage + 1;
}

/* Did @to wait for its input and for nothing else? */
static bool waited_for_input(const mr_trace_rec *to)
{
	for (int c = 0; c < MR_N_WAITS; c++)
		if ((to->wait_ns[c] > 0) != (c == MR_WAIT_UPSTREAM))
			return false;
	return to->op == MR_OP_F || to->op == MR_OP_B || to->op == MR_OP_I;
}

/* The time at which the input of @to was produced, by the last records of worker @w; false: they do not contain it. */
static bool find_source(const mr_run *run, uint16_t w, const mr_trace_rec *to, double *seconds)
{
	const mr_worker *wk = &run->worker[w];
	uint64_t n = wk->n_trace < LOOKED_AT ? wk->n_trace : LOOKED_AT;

	for (uint64_t k = 1; k <= n; k++) {
		const mr_trace_rec *r = &wk->trace[(wk->n_trace - k) % MR_TRACE_RING];

		if (hands_over(r, to)) {
			*seconds = to->begin_ns > r->end_ns ? (double)(to->begin_ns - r->end_ns) * 1e-9 : 0;
			return true;
		}
	}
	return false;
}

static double median_hop(const mr_run *run)
{
	double x[LOOKED_AT];
	uint32_t n = 0;

	for (uint16_t w = 0; w < run->n_workers; w++) {
		const mr_worker *wk = &run->worker[w];

		for (uint64_t k = 1; k <= wk->n_trace && k <= LOOKED_AT && n < LOOKED_AT; k++) {
			const mr_trace_rec *to = &wk->trace[(wk->n_trace - k) % MR_TRACE_RING];
			bool found = false;

			for (uint16_t v = 0; waited_for_input(to) && v < run->n_workers && !found; v++)
				found = v != w && find_source(run, v, to, &x[n]);
			n += found;
		}
	}
	return n ? mr_median(x, n) : 0;
}

static mr_status collect(const mr_run *run, mr_live_profile *out)
{
	const mr_plan *plan = run->c.plan;
	double medians = 0, minima = 0;
	size_t n = mr_plan_length(plan, MR_BODY);

	out->instr = malloc(n * sizeof(*out->instr));
	if (!out->instr)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %zu instructions", n);
	n = 0;
	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(plan, w, MR_BODY)->n; i++) {
			double least = 0;

			out->instr[n] = median_at(run, w, i, &least);
			if (isfinite(out->instr[n])) {
				medians += out->instr[n];
				minima += least;
			}
			n++;
		}
	for (uint16_t w = 0; w < plan->n_workers; w++)
		out->step_s = fmax(out->step_s, median_body(run, w) / mr_plan_steps(plan));
	out->spread = mr_profile_spread(medians, minima);
	out->hop_s = median_hop(run);
	return MR_OK;
}

mr_status mr_profile_live(const mr_run_config *c, double seconds, mr_live_profile *out)
{
	mr_run_config own = *c;
	mr_engine *e;
	mr_status st;

	own.trace = true;
	own.lr = &still;
	own.observer = NULL;
	*out = (mr_live_profile){0};
	MR_TRY(mr_engine_create(&own, 0, &e));
	st = run_for(e, c->plan, seconds);
	if (st == MR_OK)
		st = collect(mr_engine_run_of(e), out);
	mr_engine_destroy(e);
	return st;
}
