#include "timing/unroll_time.h"

#include "ir/sweep.h"

double mr_instr_cost(const mr_plan *plan, const mr_instr *in, const mr_cost *cost)
{
	const mr_stage_cost *c = &cost->stage[in->stage];
	double update = in->flags & MR_INSTR_UPDATE ? c->u - c->s : 0;

	switch (in->op) {
	case MR_OP_F:
	case MR_OP_R:
		return c->f;
	case MR_OP_B:
		return c->i + c->w + update;
	case MR_OP_I:
		return c->i;
	case MR_OP_W:
		return in->span * c->w - (in->span - 1) * c->g + update;
	case MR_OP_U: /* one range of as many as there are parts, but of a replica its own */
		return mr_contract_replicates(&plan->contract) ? c->u : c->u / mr_plan_partial_sums(plan, in->stage);
	case MR_OP_AR: /* likewise; of joint W the sums are part of W */
		return plan->contract.joint_w ? 0 : c->r / mr_plan_partial_sums(plan, in->stage);
	case MR_OP_N:
		return c->n;
	case MR_OP_V:
		return c->v;
	case MR_OP_AVG: /* one range of as many as there are replicas */
		return c->a / plan->n_pipes;
	default:
		return 0;
	}
}

/* What is known of @to comes first: @from lies elsewhere in memory. */
bool mr_unroll_hands_over(const mr_unroll *g, uint32_t from, uint32_t to)
{
	uint8_t a, b = to < g->n_nodes ? g->at[to].op : MR_N_OPS;

	if ((b != MR_OP_F && b != MR_OP_B && b != MR_OP_I) || from >= g->n_nodes ||
	    g->at[from].worker == g->at[to].worker)
		return false;
	a = g->at[from].op;
	return b == MR_OP_F ? a == MR_OP_F : a == MR_OP_B || a == MR_OP_I;
}

/* A W that has its turn behind another follows it layer by layer: as if there were very many layers. */
static bool follows(const mr_unroll *g, uint32_t from, uint32_t to)
{
	return to < g->n_nodes && from < g->n_nodes && g->at[to].op == MR_OP_W && g->at[from].op == MR_OP_W;
}

/* When what @from makes is there for @to. */
static double arrival(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *h, uint32_t from, uint32_t to,
		      double end)
{
	double c;

	if (!mr_unroll_hands_over(g, from, to))
		return end;
	c = mr_cost_handover(&cost->stage[g->at[from].in->stage], g->at[from].op != MR_OP_F);
	return end + (h->handoff ? h->handoff(h->arg, g->at[from].worker, g->at[to].worker, c) : c);
}

static const mr_time_hooks no_hooks;

/* Is an edge nothing but the end of its source: does no hand-over take time, and no W follow another? */
static bool is_plain(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks)
{
	bool plain = !(hooks && hooks->handoff) && !g->plan->contract.steal;

	for (uint16_t s = 0; plain && s < g->plan->n_stages; s++)
		plain = cost->stage[s].c + cost->stage[s].o + cost->stage[s].b == 0;
	return plain;
}

static mr_ready after(mr_ready r, uint32_t from, double t)
{
	if (t > r.at) {
		r.at = t;
		r.last = from;
	}
	return r;
}

static mr_ready after_storage(const mr_unroll *g, uint32_t node, const double *end, mr_ready r)
{
	if (node < g->n_nodes && g->storage[node] != MR_NO_NODE)
		r = after(r, g->storage[node], end[g->storage[node]]);
	return r;
}

static mr_ready ready_plain(const mr_unroll *g, uint32_t node, const double *end, mr_ready r)
{
	for (uint32_t e = g->edge_first[node]; e < g->edge_first[node + 1]; e++)
		r = after(r, g->edge[e], end[g->edge[e]]);
	return after_storage(g, node, end, r);
}

mr_ready mr_unroll_ready(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, uint32_t node,
			 const double *begin, const double *end, mr_ready r)
{
	const mr_time_hooks *h = hooks ? hooks : &no_hooks;

	for (uint32_t e = g->edge_first[node]; e < g->edge_first[node + 1]; e++) {
		uint32_t from = g->edge[e];
		bool turn = follows(g, from, node);
		double t = turn ? begin[from] : arrival(g, cost, h, from, node, end[from]);

		r.behind = turn ? end[from] : r.behind;
		r = after(r, from, t);
	}
	return after_storage(g, node, end, r);
}

double mr_unroll_finish(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, uint32_t node,
			const mr_ready *r)
{
	const mr_time_hooks *h = hooks ? hooks : &no_hooks;
	double work = node < g->n_nodes ? mr_instr_cost(g->plan, g->at[node].in, cost) : 0, end = r->at + work;

	if (h->finish && node < g->n_nodes)
		end = h->finish(h->arg, g, node, r->at, work);
	return r->behind > end ? r->behind : end;
}

static void time_node(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, uint32_t node,
		      bool plain, double *begin, double *end, uint32_t *binding)
{
	mr_ready r = {.last = MR_NO_NODE};

	if (hooks && hooks->known && node < g->n_nodes && node < hooks->known[g->at[node].worker])
		return;
	if (node < g->n_nodes && node > g->first[g->at[node].worker]) {
		r.last = node - 1;
		r.at = end[r.last];
	}
	r = plain ? ready_plain(g, node, end, r) : mr_unroll_ready(g, cost, hooks, node, begin, end, r);
	begin[node] = r.at;
	end[node] = mr_unroll_finish(g, cost, hooks, node, &r);
	if (binding)
		binding[node] = r.last;
}

void mr_unroll_times(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, const uint32_t *order,
		     double *begin, double *end, uint32_t *binding)
{
	bool plain = is_plain(g, cost, hooks);

	for (uint32_t k = 0; k < g->n_all; k++)
		time_node(g, cost, hooks, order[k], plain, begin, end, binding);
}

mr_status mr_unroll_times_swept(const mr_unroll *g, const mr_cost *cost, const mr_time_hooks *hooks, double *begin,
				double *end, bool *complete)
{
	bool plain = is_plain(g, cost, hooks);
	mr_sweep s;
	uint32_t node;

	MR_TRY(mr_sweep_init(&s, g));
	while ((node = mr_sweep_next(&s)) != MR_NO_NODE)
		time_node(g, cost, hooks, node, plain, begin, end, NULL);
	*complete = s.n_done == g->n_all;
	mr_sweep_fini(&s);
	return MR_OK;
}

uint8_t mr_unroll_cause(const mr_unroll *g, uint32_t node, uint32_t from)
{
	if (from == MR_NO_NODE ||
	    (from < g->n_nodes && node > 0 && from == node - 1 && g->at[from].worker == g->at[node].worker))
		return MR_WAIT_NONE;
	if (from == g->storage[node])
		return MR_WAIT_DOWNSTREAM;
	if (from >= g->n_nodes)
		return (uint8_t)mr_dep_cause(from - g->n_nodes < g->n_versions ? MR_DEP_NORMS : MR_DEP_COMMITS);
	switch (g->at[node].in->op) {
	case MR_OP_AR:
	case MR_OP_N:
	case MR_OP_U:
	case MR_OP_AVG:
		return MR_WAIT_WEIGHTS;
	case MR_OP_F: /* what is no F either is a commit, by itself or inside a B or W */
		return g->at[from].in->op == MR_OP_F ? MR_WAIT_UPSTREAM : MR_WAIT_WEIGHTS;
	default:
		return MR_WAIT_UPSTREAM;
	}
}
