#include "timing/walk.h"

#include <math.h>
#include <stdlib.h>

#include "ir/op.h"
#include "timing/period.h"

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
	double from = INFINITY, to = 0, most = 0, sum = 0;

	for (uint16_t w = 0; w < k->n_workers; w++) {
		uint32_t a = g->first[w], b = g->first[w + 1];
		double first = INFINITY, last = 0;

		count_peaks(k, g, w);
		for (uint32_t i = a; i < b; i++) {
			k->busy[w] += t->end[i] - t->begin[i];
			if (mr_op_is_compute(g->at[i].in->op)) {
				first = fmin(first, t->begin[i]);
				last = fmax(last, t->end[i]);
			}
		}
		k->span = fmax(k->span, last - first);
		sum += k->busy[w];
		most = fmax(most, k->busy[w]);
		if (a == b)
			continue;
		from = fmin(from, t->begin[a]);
		to = fmax(to, t->end[b - 1]);
	}
	k->makespan = to > from ? to - from : 0;
	/* Sums in another order may come out a last bit above what they are part of. */
	k->bubble_flush = k->makespan > 0 ? fmax(0, 1 - sum / (k->n_workers * k->makespan)) : 0;
	k->bubble_span = k->span > 0 ? fmax(0, 1 - most / k->span) : 0;
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

/* The records of all instructions, worker after worker. */
static void put_records(mr_walk *k, const mr_timed *t)
{
	const mr_unroll *g = t->g;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		k->at[i] = (mr_walk_rec){.in = g->at[i].in,
					 .n = g->at[i].n,
					 .cause = mr_unroll_cause(g, i, t->binding[i]),
					 .begin = t->begin[i],
					 .end = t->end[i]};
	for (uint32_t i = 0; i < g->n_all; i++)
		if (t->order[i] < g->n_nodes)
			k->at[t->order[i]].rank = i;
	for (uint32_t w = 0; w <= k->n_workers; w++)
		k->first[w] = g->first[w];
}

mr_status mr_walk_make(const mr_walked *of, uint32_t n_bodies, mr_walk **out)
{
	mr_timed t;
	mr_walk *k = NULL;
	mr_status st = mr_timed_init(&t, of, n_bodies, of->opts->no_barrier, true);

	if (st == MR_OK) {
		k = walk_alloc(of->plan, t.g->n_nodes);
		st = k ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for a walk of %u workers", of->plan->n_workers);
	}
	if (k) {
		k->n_bodies = n_bodies;
		put_records(k, &t);
		add_up(k, &t);
		if (of->opts->use)
			*of->opts->use = t.use;
	}
	mr_timed_fini(&t);
	*out = k;
	return st;
}

/* The longest busy time of an iteration as a part of the period. */
static void set_period(mr_walk *k, const mr_walked *of, double period)
{
	double most = 0;

	k->period = period;
	for (uint16_t w = 0; w < k->n_workers; w++) {
		const mr_list *l = mr_plan_list(of->plan, w, MR_BODY);
		double body = 0;

		for (size_t i = k->first[w]; i < k->first[w + 1] && !of->sharing; i++)
			if (l->n && k->at[i].n == 0 && k->at[i].in >= l->at && k->at[i].in < l->at + l->n)
				body += k->at[i].end - k->at[i].begin;
		if (of->sharing) /* iterations differ: their mean */
			body = k->busy[w] / (k->n_bodies ? k->n_bodies : 1);
		most = fmax(most, body);
	}
	k->bubble_period = period > 0 && (k->n_bodies || of->sharing) ? fmax(0, 1 - most / period) : 0;
}

static mr_status walk(const mr_walked *of, uint32_t n_bodies, mr_walk **out)
{
	double period = 0;

	if (!of->opts->no_period)
		MR_TRY(mr_period_find(of, &period));
	MR_TRY(mr_walk_make(of, n_bodies, out));
	set_period(*out, of, period);
	return MR_OK;
}

mr_status mr_plan_walk(const mr_plan *plan, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *opts,
		       mr_walk **out)
{
	mr_walk_opts o = opts ? *opts : (mr_walk_opts){0};
	bool steals = o.steals && plan->contract.steal;
	mr_bend bend;
	mr_status st = mr_bend_init(&bend, plan, cost, &o);
	mr_walked of = {.plan = plan, .cost = cost, .opts = &o, .hooks = &bend.hooks};

	*out = NULL;
	if (o.use)
		*o.use = (mr_shared_use){0};
	if (o.sharing && !steals && (o.sharing->hosts || mr_sharing_has_bytes(o.sharing)))
		of.sharing = o.sharing;
	if (st == MR_OK && steals && plan->lowered && n_bodies > 0 && mr_plan_list(plan, 0, MR_BODY)->n > 0)
		st = mr_walk_stolen(&of, n_bodies, out);
	else if (st == MR_OK)
		st = walk(&of, n_bodies, out);
	mr_bend_fini(&bend);
	return st;
}

mr_status mr_plan_period(const mr_plan *plan, const mr_cost *cost, bool unlimited, double *period)
{
	mr_walk_opts opts = {.unlimited = unlimited};
	mr_walked of = {.plan = plan, .cost = cost, .opts = &opts};

	return mr_period_find(&of, period);
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
