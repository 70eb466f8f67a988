#include "timing/walk.h"

#include <math.h>
#include <stdlib.h>

#include "ir/op.h"

/* Two times are the same when they differ by less than this part of the larger: sums of doubles in another order. */
#define SAME 1e-9

/* A period is looked for in this many iterations at first, and in at most that many instructions. */
#define PERIOD_BODIES 12u
#define PERIOD_NODES (1u << 21)

/* Iterations from which the mean period of irregular times is taken. */
#define IRREGULAR_BODIES 64u

/* Periods that repeat only every 2, 3, ... iterations are recognised up to this. */
#define MAX_CYCLE 8u

/* A graph with its times. */
typedef struct mr_timed {
	mr_unroll *g;
	double *begin, *end;
	uint32_t *order, *binding;
} mr_timed;

static void timed_fini(mr_timed *t)
{
	mr_unroll_destroy(t->g);
	free(t->begin);
	free(t->order);
}

/* With an order and what each waited for last; else with times alone. */
static mr_status fill(mr_timed *t, const mr_cost *cost, const mr_time_hooks *hooks, bool why)
{
	size_t n = t->g->n_all;
	bool complete = false;

	t->begin = malloc(2 * n * sizeof(*t->begin));
	if (!t->begin)
		return mr_fail(MR_ERESOURCE, "no memory to walk %zu instructions", n);
	t->end = t->begin + n;
	if (!why)
		MR_TRY(mr_unroll_times_swept(t->g, cost, hooks, t->begin, t->end, &complete));
	if (complete)
		return MR_OK;
	t->order = malloc(2 * n * sizeof(*t->order));
	if (!t->order)
		return mr_fail(MR_ERESOURCE, "no memory to walk %zu instructions", n);
	t->binding = t->order + n;
	MR_TRY(mr_unroll_order(t->g, t->order));
	mr_unroll_times(t->g, cost, hooks, t->order, t->begin, t->end, t->binding);
	return MR_OK;
}

static mr_status timed_init(mr_timed *t, const mr_plan *plan, const mr_cost *cost, const mr_time_hooks *hooks,
			    uint32_t n_bodies, mr_unroll_opts opts, bool why)
{
	mr_status st;

	*t = (mr_timed){0};
	MR_TRY(mr_unroll_create(plan, n_bodies, &opts, &t->g));
	st = fill(t, cost, hooks, why);
	if (st != MR_OK)
		timed_fini(t);
	return st;
}

/* --- period --- */

/* End of worker @w's part of iteration @n. */
static double end_of(const mr_timed *t, uint16_t w, uint32_t n)
{
	return t->end[mr_unroll_body_end(t->g, w, n)];
}

/* Whether over the last three times @cycle iterations every worker advanced alike; then by how much an iteration. */
static bool steady(const mr_timed *t, uint32_t cycle, double *period)
{
	const mr_plan *p = t->g->plan;
	uint32_t last = t->g->n_bodies - 1;

	*period = 0;
	if (t->g->n_bodies < 3 * cycle + 1)
		return false;
	for (uint16_t w = 0; w < p->n_workers; w++) {
		double step;

		if (!mr_plan_list(p, w, MR_BODY)->n)
			continue;
		step = end_of(t, w, last) - end_of(t, w, last - cycle);
		for (uint32_t n = last - 1; n + 2 * cycle >= last && n >= cycle; n--)
			if (fabs(end_of(t, w, n) - end_of(t, w, n - cycle) - step) > SAME * end_of(t, w, last))
				return false;
		*period = fmax(*period, step / cycle);
	}
	return true;
}

/* The mean advance over the later half: for plans that settle slowly. */
static double mean_period(const mr_timed *t)
{
	uint32_t last = t->g->n_bodies - 1, half = last / 2;
	double period = 0;

	for (uint16_t w = 0; last > half && w < t->g->plan->n_workers; w++)
		if (mr_plan_list(t->g->plan, w, MR_BODY)->n)
			period = fmax(period, (end_of(t, w, last) - end_of(t, w, half)) / (last - half));
	return period;
}

static uint64_t body_length(const mr_plan *plan)
{
	uint64_t n = 0;

	for (uint16_t w = 0; w < plan->n_workers; w++)
		n += mr_plan_list(plan, w, MR_BODY)->n;
	return n;
}

static mr_status find_period(const mr_plan *plan, const mr_cost *cost, const mr_time_hooks *hooks, bool unlimited,
			     double *period)
{
	uint64_t length = body_length(plan);
	bool irregular = hooks && hooks->irregular;
	uint32_t n = (irregular ? IRREGULAR_BODIES : PERIOD_BODIES) + mr_plan_steady(plan);

	*period = 0;
	if (!length)
		return MR_OK;
	while (n > 4 && n * length > PERIOD_NODES)
		n--;
	for (;; n *= 2) {
		mr_timed t;
		bool found = false;

		MR_TRY(timed_init(&t, plan, cost, hooks, n,
				  (mr_unroll_opts){.no_barrier = !plan->contract.steal, .no_storage = unlimited},
				  false));
		for (uint32_t cycle = 1; cycle <= MAX_CYCLE && !found && !irregular; cycle++)
			found = steady(&t, cycle, period);
		if (!found)
			*period = mean_period(&t);
		timed_fini(&t);
		if (found || irregular || 2 * n * length > PERIOD_NODES || n > 256)
			return MR_OK;
	}
}

mr_status mr_plan_period(const mr_plan *plan, const mr_cost *cost, bool unlimited, double *period)
{
	return find_period(plan, cost, NULL, unlimited, period);
}

/* --- figures --- */

static double instr_busy(const mr_timed *t, uint32_t node)
{
	return t->end[node] - t->begin[node];
}

static bool is_recomputed(const mr_unroll *g, uint32_t f)
{
	return g->recompute[g->at[f].in->stage * (size_t)g->n_micro + (size_t)mr_unroll_micro(g, f)] != MR_NO_NODE;
}

/* Micro-batches of U @node whose W other workers did. */
static int64_t away_until(const mr_unroll *g, uint32_t node)
{
	uint64_t last = mr_unroll_micro(g, node);
	int64_t n = 0;

	for (uint64_t m = last + 1 - g->plan->contract.need; m <= last; m++)
		n += mr_unroll_is_away(g, g->sum[g->at[node].in->stage * (size_t)g->n_micro + (size_t)m]);
	return n;
}

static void count_peaks(mr_walk *k, const mr_unroll *g, uint16_t w)
{
	double share = (double)g->plan->n_workers / g->plan->n_stages;
	int64_t until_w = 0, until_i = 0, most_w = 0, most_i = 0;

	for (uint32_t i = g->first[w]; i < g->first[w + 1]; i++) {
		uint8_t op = g->at[i].in->op;
		bool saves = op == MR_OP_F || op == MR_OP_R;

		if (op == MR_OP_U && g->plan->contract.steal)
			until_w -= away_until(g, i);
		if (mr_unroll_is_away(g, i))
			continue; /* what it uses is given back by U */
		until_w += saves ? 1 : op == MR_OP_B || op == MR_OP_W ? -(int64_t)g->at[i].in->span : 0;
		until_i += saves ? 1 : op == MR_OP_B || op == MR_OP_I ? -1 : 0;
		most_w = until_w > most_w ? until_w : most_w;
		most_i = until_i > most_i ? until_i : most_i;
		if (op == MR_OP_F && is_recomputed(g, i)) {
			until_w--;
			until_i--;
		}
	}
	k->peak_until_w[w] = (double)most_w * share;
	k->peak_until_i[w] = (double)most_i * share;
}

static void add_up(mr_walk *k, const mr_timed *t)
{
	const mr_unroll *g = t->g;
	double from = INFINITY, to = 0, most = 0, sum = 0, most_body = 0;

	for (uint16_t w = 0; w < k->n_workers; w++) {
		uint32_t a = g->first[w], b = g->first[w + 1];
		double body = 0, first = INFINITY, last = 0;

		count_peaks(k, g, w);
		for (uint32_t i = a; i < b; i++) {
			const mr_list *l = mr_plan_list(g->plan, w, MR_BODY);

			k->busy[w] += instr_busy(t, i);
			if (l->n && g->at[i].n == 0 && g->at[i].in >= l->at && g->at[i].in < l->at + l->n)
				body += instr_busy(t, i);
			if (mr_op_is_compute(g->at[i].in->op)) {
				first = fmin(first, t->begin[i]);
				last = fmax(last, t->end[i]);
			}
		}
		k->span = fmax(k->span, last - first);
		sum += k->busy[w];
		most = fmax(most, k->busy[w]);
		most_body = fmax(most_body, body);
		if (a == b)
			continue;
		from = fmin(from, t->begin[a]);
		to = fmax(to, t->end[b - 1]);
	}
	k->makespan = to > from ? to - from : 0;
	/* Sums in another order may come out a last bit above what they are part of. */
	k->bubble_flush = k->makespan > 0 ? fmax(0, 1 - sum / (k->n_workers * k->makespan)) : 0;
	k->bubble_span = k->span > 0 ? fmax(0, 1 - most / k->span) : 0;
	k->bubble_period = k->period > 0 && k->n_bodies ? fmax(0, 1 - most_body / k->period) : 0;
}

static mr_walk *walk_alloc(const mr_plan *plan, uint32_t n_nodes)
{
	mr_walk *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->n_workers = plan->n_workers;
	k->at = malloc((n_nodes ? n_nodes : 1) * sizeof(*k->at));
	k->first = malloc((plan->n_workers + 1u) * sizeof(*k->first));
	k->busy = calloc(3 * (size_t)plan->n_workers, sizeof(*k->busy));
	if (!k->at || !k->first || !k->busy) {
		mr_walk_destroy(k);
		return NULL;
	}
	k->peak_until_w = k->busy + plan->n_workers;
	k->peak_until_i = k->peak_until_w + plan->n_workers;
	return k;
}

mr_status mr_plan_walk(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *opts,
		       mr_walk **out)
{
	mr_walk_opts o = opts ? *opts : (mr_walk_opts){0};
	mr_timed t;
	mr_walk *k;
	double period = 0;

	*out = NULL;
	if (cost->n_stages != plan->n_stages)
		return mr_fail(MR_EINVAL, "a cost table of %u stages for a plan of %u", cost->n_stages, plan->n_stages);
	if (!o.no_period)
		MR_TRY(find_period(plan, cost, o.hooks, o.unlimited, &period));
	MR_TRY(timed_init(&t, plan, cost, o.hooks, n_bodies,
			  (mr_unroll_opts){.no_barrier = o.no_barrier, .no_storage = o.unlimited}, true));
	k = walk_alloc(plan, t.g->n_nodes);
	if (!k) {
		timed_fini(&t);
		return mr_fail(MR_ERESOURCE, "no memory for a walk of %u workers", plan->n_workers);
	}
	k->n_bodies = n_bodies;
	k->period = period;
	for (uint32_t i = 0; i < t.g->n_nodes; i++)
		k->at[i] = (mr_walk_rec){.in = t.g->at[i].in,
					 .n = t.g->at[i].n,
					 .cause = mr_unroll_cause(t.g, i, t.binding[i]),
					 .begin = t.begin[i],
					 .end = t.end[i]};
	for (uint32_t i = 0; i < t.g->n_all; i++)
		if (t.order[i] < t.g->n_nodes)
			k->at[t.order[i]].rank = i;
	for (uint32_t w = 0; w <= plan->n_workers; w++)
		k->first[w] = t.g->first[w];
	add_up(k, &t);
	timed_fini(&t);
	*out = k;
	return MR_OK;
}

void mr_walk_destroy(mr_walk *walk)
{
	if (!walk)
		return;
	mr_plan_destroy(walk->plan);
	free(walk->at);
	free(walk->first);
	free(walk->busy);
	free(walk);
}

void mr_cost_share(const mr_plan *plan, double f, double i, double w, mr_stage_cost *stage, mr_cost *cost)
{
	double share = (double)plan->n_workers / plan->n_stages;

	for (uint16_t s = 0; s < plan->n_stages; s++)
		stage[s] = (mr_stage_cost){.f = f * share, .i = i * share, .w = w * share};
	*cost = (mr_cost){plan->n_stages, stage};
}
