#include "ranks/traffic.h"

#include "exec/exec.h"
#include "weights/layer_states.h"
#include "weights/replica_links.h"
#include "weights/tied_links.h"
#include "weights/tied_sum.h"

/* What is being counted. */
typedef struct count {
	const mr_run *run;
	double *out;
} count;

/* Channel @c carries @times messages a step. */
static void add(const count *x, const mr_channel *c, double times)
{
	const mr_ranks *r = x->run->c.ranks;

	if (c->kind && !mr_link_kind_shares(c->kind))
		x->out[r->of_worker[c->edge.from] * r->n + r->of_worker[c->edge.to]] += (double)c->bytes * times;
}

/* Instructions of stage @s in @pipe that carry out one of @ops, a step. */
static double times_of(const mr_run *run, uint8_t pipe, uint16_t s, unsigned ops)
{
	const mr_plan *p = run->c.plan;
	const mr_list *l = mr_plan_list(p, mr_plan_worker(p, pipe, s), MR_BODY);
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		n += l->at[i].stage == s && l->at[i].pipe == pipe && 1u << l->at[i].op & ops;
	return (double)n / mr_plan_stride(p);
}

static void add_boundaries(const count *x, uint8_t pipe, uint16_t s)
{
	const mr_links_stage *st = mr_links_at(&x->run->train, pipe, s);

	if (st->in.remote)
		add(x, &st->in.remote->full, times_of(x->run, pipe, (uint16_t)(s - 1), 1u << MR_OP_F));
	if (st->grad.remote)
		add(x, &st->grad.remote->full,
		    times_of(x->run, pipe, (uint16_t)(s + 1), 1u << MR_OP_B | 1u << MR_OP_I));
}

static void add_ranges(const count *x, const mr_stage_weights *b, uint16_t s)
{
	const mr_ranges *r = b->ranges;

	for (uint32_t i = 0; r && i < r->n; i++) {
		for (uint32_t j = 0; j < r->n; j++) {
			add(x, &r->gradients[i * r->n + j].channel, b->shard[i].need ? b->in_step : 0);
			add(x, &r->weights[i * r->n + j].channel,
			    b->sharded ? mr_exec_fetches(x->run, (uint8_t)j, s) : (double)b->in_step);
		}
		for (uint32_t j = 0; j < r->n_whole; j++)
			add(x, &r->totals[i * r->n_whole + j].channel, b->in_step);
	}
}

static void add_layer_states(const count *x, const mr_stage_weights *b)
{
	const mr_layer_states *l = b->layer_states;

	for (uint32_t i = 0; l && l->lists && i < b->n_shards * b->n_shards; i++)
		add(x, &l->lists[i].channel, b->shard[i / b->n_shards].need ? b->in_step : 0);
}

static void add_replicas(const count *x, const mr_replicas *g)
{
	for (int a = 0; g->links && a < MR_REPLICA_ARRAYS; a++)
		for (uint32_t i = 0; i < g->n * g->n; i++) {
			add(x, &g->links->up[a][i].channel, 1.0 / g->average->every);
			add(x, &g->links->down[a][i].channel, 1.0 / g->average->every);
		}
}

static void add_tied(const count *x, const mr_stage_weights *b)
{
	const mr_tied_links *t = b->tied ? b->tied->links : NULL;

	for (uint32_t i = 0; t && i < t->n_owners * t->n_users; i++) {
		add(x, &t->weights[i].channel, b->in_step);
		add(x, &t->gradients[i].channel, b->tied->user->shard[i / t->n_owners].need ? b->in_step : 0);
	}
}

static void add_norms(const count *x, const mr_stage_weights *b)
{
	const mr_stage_norms *n = b->norms;

	for (uint16_t w = 0; n && n->known.end && x->run->c.plan->contract.clip && w < n->known.n_workers; w++)
		add(x, &n->known.end[w].in[n->by], b->in_step);
}

void mr_rank_traffic(const mr_run *run, double *out)
{
	count x = {run, out};

	for (uint16_t s = 0; s < run->n_stages; s++) {
		for (unsigned p = 0; p < run->n_pipes; p++)
			add_boundaries(&x, (uint8_t)p, s);
		add_ranges(&x, &run->weights[s], s);
		add_layer_states(&x, &run->weights[s]);
		if (run->replicas)
			add_replicas(&x, &run->replicas[s]);
		add_tied(&x, &run->weights[s]);
		add_norms(&x, &run->weights[s]);
	}
}
