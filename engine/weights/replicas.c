#include "weights/replicas.h"

#include "base/zeroed.h"
#include "nn/element.h"
#include "weights/layer_states.h"
#include "weights/replica_links.h"

mr_status mr_replicas_create(const mr_plan *p, const mr_optim *optim, mr_stage_weights *weights, mr_replicas **out)
{
	mr_replicas *of = mr_zeroed(p->n_stages * sizeof(*of));
	uint32_t n_steps = mr_plan_steps(p);

	if (!of)
		return mr_fail(MR_ERESOURCE, "no memory for the replicas of %u stages", p->n_stages);
	for (uint16_t s = 0; s < p->n_stages; s++) {
		mr_replicas *g = &of[s];

		g->average = &p->contract.average;
		g->optim = optim;
		g->first = &weights[s];
		g->n = g->n_here = p->n_pipes;
		g->stride = p->n_stages;
		g->n_steps = n_steps;
		for (uint32_t r = 0; r < g->n; r++)
			mr_replicas_block(g, r)->replicas = g;
	}
	of[p->n_stages - 1].n_ready = mr_zeroed(n_steps * sizeof(*of->n_ready));
	if (!of[p->n_stages - 1].n_ready) {
		mr_replicas_destroy(of, p->n_stages);
		return mr_fail(MR_ERESOURCE, "no memory for %u steps of replicas", n_steps);
	}
	*out = of;
	return MR_OK;
}

void mr_replicas_destroy(mr_replicas *of, uint16_t n_stages)
{
	for (uint16_t s = 0; of && s < n_stages; s++)
		mr_replica_links_close(&of[s]);
	if (of)
		free(of[n_stages - 1].n_ready);
	free(of);
}

void mr_replicas_reset(mr_replicas *g)
{
	mr_weights_no_parts(&g->n_done);
	for (uint32_t i = 0; g->n_ready && i < g->n_steps; i++)
		mr_weights_no_parts(&g->n_ready[i]);
}

bool mr_replicas_ready(mr_replicas *g, uint64_t step)
{
	return mr_weights_last_of(&g->n_ready[step % g->n_steps], g->n_here);
}

void mr_replicas_layout(mr_replicas *g, mr_arena *a)
{
	bool elastic = g->average->rule == MR_AVERAGE_ELASTIC, outer = g->average->outer_lr > 0;
	const mr_stage_sizes *z = mr_stage_size(g->first->stage);

	if (elastic || outer)
		g->reference = mr_arena_take(a, z->weight_bytes, MR_CACHE_LINE);
	if ((elastic || outer) && z->rest_bytes)
		g->rest = mr_arena_take(a, z->rest_bytes, MR_CACHE_LINE);
	if (g->average->outer_mu > 0)
		g->velocity = mr_arena_take(a, z->state_bytes, MR_CACHE_LINE);
	if (elastic)
		g->mean = mr_arena_take(a, z->state_bytes, MR_CACHE_LINE);
}

uint64_t mr_replicas_bytes(const mr_replicas *g)
{
	mr_replicas counted = *g;
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	mr_replicas_layout(&counted, &a);
	return a.used;
}

void mr_replicas_init(mr_replicas *g)
{
	const mr_stage_sizes *z = mr_stage_size(g->first->stage);
	const mr_types *t = &g->first->k->types;
	const mr_stage_weights *b = mr_replicas_block(g, g->first_here);
	const void *weights = mr_weights_at(b, 0, 0);
	int64_t n = (int64_t)(z->weight_bytes / mr_dtype_bytes(t->weights));

	if (g->reference)
		memcpy(g->reference, weights, z->weight_bytes);
	if (g->rest)
		memcpy(g->rest, b->rest, z->rest_bytes);
	if (g->velocity)
		memset(g->velocity, 0, z->state_bytes);
	for (int64_t i = 0; g->mean && i < n; i++)
		mr_element_put(t->state, g->mean, i, mr_element_master(t->weights, weights, b->rest, i));
}

bool mr_replicas_made(mr_replicas *g, uint16_t worker, uint64_t v)
{
	for (uint32_t r = 0; r < g->n; r++)
		if (!mr_counter_reached(&mr_replicas_block(g, r)->published, worker, (uint32_t)v))
			return false;
	return true;
}

/* --- a part --- */

mr_replica_part mr_replicas_part(const mr_replicas *g, uint32_t p)
{
	size_t lines = mr_stage_size(g->first->stage)->weight_bytes / MR_CACHE_LINE;
	size_t each = mr_dtype_bytes(g->first->k->types.weights);
	mr_replica_part out = {.begin = lines * p / g->n * MR_CACHE_LINE,
			       .end = lines * (p + 1) / g->n * MR_CACHE_LINE};

	out.first = out.begin / each;
	out.n = (int64_t)((out.end - out.begin) / each);
	return out;
}

static void *at(void *tensor, size_t byte)
{
	return tensor ? (uint8_t *)tensor + byte : NULL;
}

/* Range @part of version @v of replica @r. */
static void *weights_of(const mr_replicas *g, uint32_t part, uint32_t r, uint64_t v)
{
	void *copy = mr_replica_links_at(g, MR_REPLICA_WEIGHTS, part, r, v);

	return copy ? copy : at(mr_weights_at(mr_replicas_block(g, r), 0, v), mr_replicas_part(g, part).begin);
}

mr_status mr_replicas_average(mr_replicas *g, uint32_t part, uint64_t v, mr_kctx *kc)
{
	const mr_stage_weights *b = g->first;
	const mr_average *a = g->average;
	mr_replica_part of = mr_replicas_part(g, part);
	size_t state = of.first * mr_dtype_bytes(b->k->types.state);
	const void *src[MR_REPLICAS_MOST];
	void *dst[MR_REPLICAS_MOST];
	int16_t *rest[MR_REPLICAS_MOST];
	mr_averaging m = {.kind = a->rule == MR_AVERAGE_ELASTIC ? MR_AVERAGING_PULL
				  : g->reference                ? MR_AVERAGING_OUTER
								: MR_AVERAGING_MEAN,
			  .weights = true,
			  .n = g->n,
			  .src = src,
			  .dst = dst,
			  .reference = at(g->reference, of.begin),
			  .velocity = at(g->velocity, state),
			  .mean = at(g->mean, state),
			  .rest = b->rest ? rest : NULL,
			  .reference_rest = at(g->rest, of.begin),
			  .alpha = a->alpha,
			  .lr = a->outer_lr,
			  .mu = a->outer_mu};

	for (uint32_t r = 0; r < g->n; r++) {
		src[r] = weights_of(g, part, r, v - 1);
		dst[r] = weights_of(g, part, r, v);
		rest[r] = mr_replica_links_at(g, MR_REPLICA_REST, part, r, v);
		if (!rest[r])
			rest[r] = mr_weights_rest(mr_replicas_block(g, r), of.begin);
	}
	MR_TRY(b->k->mix(kc, &(mr_mix_args){.n = of.n, .m = &m}));
	m.kind = MR_AVERAGING_MEAN;
	m.weights = false;
	for (uint32_t k = 0; a->state && k < g->optim->ops->n_states; k++) {
		for (uint32_t r = 0; r < g->n; r++) {
			dst[r] = mr_replica_links_at(g, MR_REPLICA_STATES + k, part, r, v);
			if (!dst[r])
				dst[r] = at(mr_replicas_block(g, r)->state[k], state);
			src[r] = dst[r];
		}
		MR_TRY(b->k->mix(kc, &(mr_mix_args){.n = of.n, .m = &m}));
	}
	return MR_OK;
}

/* Of MR_AVERAGING_PULL, MR_AVERAGING_OUTER and MR_AVERAGING_MEAN. */
uint32_t mr_replicas_passes(const mr_average *a, uint32_t n, uint32_t n_states)
{
	uint32_t states = a->state ? 2 * n * n_states : 0;

	if (a->rule == MR_AVERAGE_ELASTIC)
		return 2 * n + 4 + states;
	return 2 * n + (a->outer_lr > 0 ? 2 : 0) + (a->outer_mu > 0 ? 2 : 0) + states;
}

/* --- pauses --- */

void *mr_replicas_model(const mr_replicas *g, uint32_t r)
{
	const mr_stage_weights *b = mr_replicas_block(g, r);

	return g->reference ? g->reference : mr_weights_at(b, 0, b->latest);
}

int16_t *mr_replicas_rest(const mr_replicas *g, uint32_t r)
{
	return g->reference ? g->rest : mr_replicas_block(g, r)->rest;
}

void mr_replicas_spread(mr_replicas *g)
{
	const void *model = mr_replicas_model(g, 0);
	const int16_t *rest = mr_replicas_rest(g, 0);

	for (uint32_t r = 0; g->average->rule == MR_AVERAGE_MEAN && r < g->n; r++) {
		mr_stage_weights *b = mr_replicas_block(g, r);
		void *to = mr_weights_at(b, 0, b->latest);

		if (to != model)
			memcpy(to, model, mr_stage_size(b->stage)->weight_bytes);
		if (b->rest != rest)
			memcpy(b->rest, rest, mr_stage_size(b->stage)->rest_bytes);
	}
	mr_layer_states_spread(g);
}
