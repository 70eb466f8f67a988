#include "timing/bend.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

/* --- jitter --- */

static double factor_of(const mr_bend *b, const mr_instr *in, uint64_t micro)
{
	const mr_walk_opts *p = b->p;
	uint64_t element = (uint64_t)in->pipe * MR_N_OPS + in->op;

	switch (p->jitter) {
	case MR_JITTER_LOGNORMAL:
		return exp(p->amount * mr_rng_normal(p->seed, MR_RNG_JITTER, micro, in->stage, element) -
			   p->amount * p->amount / 2);
	case MR_JITTER_UNIFORM:
		return 1 + p->amount * (2 * mr_rng_uniform(p->seed, MR_RNG_JITTER, micro, in->stage, element) - 1);
	default:
		return 1;
	}
}

/* --- stragglers --- */

/* The factor by which worker @w is slower just after @t, and the end of the interval in which that holds. */
static double slowness(const mr_walk_opts *p, uint16_t w, double t, double *until)
{
	double slow = 1;

	*until = INFINITY;
	for (uint32_t i = 0; i < p->n_stragglers; i++) {
		const mr_straggler *s = &p->straggler[i];

		if (s->worker != w || t >= s->to)
			continue;
		if (t >= s->from)
			slow *= s->factor;
		*until = fmin(*until, t >= s->from ? s->to : s->from);
	}
	return slow;
}

/* Interval by interval: in one that is k times slower, work of x takes k x. */
static double work_through(const mr_walk_opts *p, uint16_t w, double t, double work)
{
	for (;;) {
		double until, slow = slowness(p, w, t, &until);

		if (t + work * slow <= until)
			return t + work * slow;
		work -= (until - t) / slow;
		t = until;
	}
}

double mr_bend_end(const mr_bend *b, const mr_instr *in, uint64_t micro, uint16_t w, double begin, double duration)
{
	if (duration > 0 && b->p->jitter != MR_JITTER_NONE)
		duration *= factor_of(b, in, micro);
	return b->slow[w] ? work_through(b->p, w, begin, duration) : begin + duration;
}

static double finish(const void *arg, const mr_unroll *g, uint32_t node, double begin, double duration)
{
	const mr_bend *b = arg;
	uint64_t micro = mr_unroll_micro(g, node) + b->first * g->plan->n_micro;

	return mr_bend_end(b, g->at[node].in, micro, g->at[node].worker, begin, duration);
}

/* --- links --- */

static double handoff(const void *arg, uint16_t from, uint16_t to, double c)
{
	const mr_bend *b = arg;

	return b->p->node[from] == b->p->node[to] ? c : b->p->far;
}

/* --- all of it --- */

static bool is_cost(double x)
{
	return isfinite(x) && x >= 0;
}

static mr_status check_costs(const mr_plan *plan, const mr_cost *cost)
{
	if (cost->n_stages != plan->n_stages)
		return mr_fail(MR_EINVAL, "a cost table of %u stages for a plan of %u", cost->n_stages, plan->n_stages);
	for (uint16_t s = 0; s < cost->n_stages; s++) {
		const mr_stage_cost *c = &cost->stage[s];

		if (!is_cost(c->f) || !is_cost(c->i) || !is_cost(c->w) || !is_cost(c->u) || !is_cost(c->c) ||
		    !is_cost(c->o) || !is_cost(c->b) ||
		    !is_cost(c->r) || !is_cost(c->n) || !is_cost(c->g) || !is_cost(c->s) || !is_cost(c->a) ||
		    !is_cost(c->v))
			return mr_fail(
				MR_EINVAL,
				"stage %u: costs are numbers from 0, got %g, %g, %g, %g, %g, %g, %g, %g, %g, %g, %g, "
				"%g, %g",
				s, c->f, c->i, c->w, c->u, c->c, c->o, c->b, c->r, c->n, c->g, c->s, c->a, c->v);
		if (c->g > c->w)
			return mr_fail(
				MR_EINVAL,
				"stage %u: a further micro-batch of a merged W takes at most w = %g less, got %g", s,
				c->w, c->g);
		if (c->s > c->u)
			return mr_fail(
				MR_EINVAL,
				"stage %u: a step inside a B or W takes at most u = %g less than one alone, got %g", s,
				c->u, c->s);
	}
	return MR_OK;
}

static mr_status check_params(const mr_plan *plan, const mr_walk_opts *p)
{
	if (p->jitter != MR_JITTER_NONE &&
	    (!is_cost(p->amount) || p->amount > (p->jitter == MR_JITTER_UNIFORM ? 1 : 10)))
		return mr_fail(MR_EINVAL, "an amount of jitter is from 0 to %d, got %g",
			       p->jitter == MR_JITTER_UNIFORM ? 1 : 10, p->amount);
	for (uint32_t i = 0; i < p->n_stragglers; i++) {
		const mr_straggler *s = &p->straggler[i];

		if (s->worker >= plan->n_workers)
			return mr_fail(MR_EINVAL, "worker %u cannot be slow: the plan has workers 0 to %u", s->worker,
				       plan->n_workers - 1);
		if (!isfinite(s->factor) || s->factor <= 0)
			return mr_fail(MR_EINVAL, "worker %u takes a factor above 0 as long, got %g", s->worker,
				       s->factor);
		if (!is_cost(s->from) || !(s->to > s->from))
			return mr_fail(MR_EINVAL,
				       "worker %u is slow from a time of at least 0 to a later one, got %g to %g",
				       s->worker, s->from, s->to);
	}
	if (p->node && !is_cost(p->far))
		return mr_fail(MR_EINVAL, "a hand-over between nodes takes a time from 0, got %g", p->far);
	return MR_OK;
}

mr_status mr_bend_init(mr_bend *b, const mr_plan *plan, const mr_cost *cost, const mr_walk_opts *p)
{
	bool varies = p->jitter != MR_JITTER_NONE && p->amount > 0;

	*b = (mr_bend){.p = p};
	MR_TRY(check_costs(plan, cost));
	MR_TRY(check_params(plan, p));
	b->slow = calloc(plan->n_workers, sizeof(*b->slow));
	if (!b->slow)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u workers", plan->n_workers);
	b->hooks.arg = b;
	b->hooks.irregular = varies;
	for (uint32_t i = 0; i < p->n_stragglers; i++) {
		const mr_straggler *s = &p->straggler[i];

		b->slow[s->worker] = true;
		b->hooks.irregular |= s->from > 0 || s->to < INFINITY;
	}
	if (p->n_stragglers || varies)
		b->hooks.finish = finish;
	if (p->node)
		b->hooks.handoff = handoff;
	return MR_OK;
}

void mr_bend_fini(mr_bend *b)
{
	free(b->slow);
	*b = (mr_bend){0};
}

void mr_nodes_spread(uint16_t n_workers, uint16_t n_nodes, uint16_t *node)
{
	for (uint16_t w = 0; w < n_workers; w++)
		node[w] = (uint16_t)((uint32_t)w * n_nodes / n_workers);
}

bool mr_nodes_are_apart(const uint16_t *node, uint16_t n_workers)
{
	for (uint16_t w = 1; w < n_workers; w++)
		if (node[w] != node[0])
			return true;
	return false;
}
