#include "perf/theory/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "weights/factors.h"
#include "weights/stage_weights.h"

/* The call of @o that steps parameter @p. */
static mr_optim_call call_of(const mr_history *h, const mr_kernels *k, const mr_optim *o, uint32_t p, double lr,
			     uint64_t t)
{
	const mr_graph *g = mr_stage_graph(h->stage);
	size_t at = mr_stage_weight_at(h->stage, p), state = mr_stage_state_at(h->stage, p);
	int16_t *rest = h->rest ? h->rest + at / mr_dtype_bytes(k->types.weights) : NULL;
	mr_optim_call c = {
		.src = (uint8_t *)mr_history_latest(h) + at,
		.dst = (uint8_t *)mr_history_weights(h, h->latest + 1) + at,
		.src_rest = rest,
		.dst_rest = rest,
		.lr = lr,
		.t = t,
		.gscale = 1,
		.decay = g->params[p].decay,
		.lazy_cols = mr_param_lazy_cols(&g->params[p]),
		.work = h->work,
	};

	for (uint32_t i = 0; i < o->ops->n_states; i++)
		c.state[i] = h->state[i] + state;
	if (!mr_optim_elementwise(o))
		c.matrix = mr_graph_matrix(g, p);
	if (h->factors)
		mr_factors_show(h->stage, o, k->types.state, p, h->factors, c.factor);
	return c;
}

static void layout(mr_histories *h, mr_arena *a, const mr_optim *o, const mr_types *t)
{
	for (uint16_t s = 0; s < h->n; s++) {
		mr_history *b = &h->at[s];
		const mr_stage_sizes *z = mr_stage_size(b->stage);

		b->version = mr_arena_take(a, z->weight_bytes * b->cap, MR_CACHE_LINE);
		if (z->rest_bytes)
			b->rest = mr_arena_take(a, z->rest_bytes, MR_CACHE_LINE);
		b->grads = mr_arena_take(a, z->grad_bytes, MR_CACHE_LINE);
		for (uint32_t i = 0; i < o->ops->n_states; i++)
			b->state[i] = mr_arena_take(a, z->state_bytes, MR_CACHE_LINE);
		if (o->ops->n_factors)
			b->factors = mr_arena_take(a, mr_factors_bytes(b->stage, o, t->state), MR_CACHE_LINE);
		b->work = mr_arena_take(a, mr_weights_work_bytes(b->stage, o, t->compute), MR_CACHE_LINE);
	}
}

mr_status mr_histories_create(mr_stage *const *stage, uint16_t n, const uint32_t *cap, const mr_kernels *k,
			      const mr_optim *o, uint64_t seed, mr_histories *out)
{
	mr_arena a;
	mr_status st;

	*out = (mr_histories){.n = n, .at = calloc(n, sizeof(*out->at))};
	if (!out->at)
		return mr_fail(MR_ERESOURCE, "no memory for %u stages", n);
	for (uint16_t s = 0; s < n; s++)
		out->at[s] = (mr_history){.stage = stage[s], .cap = cap[s]};
	mr_arena_init(&a, NULL, 0);
	layout(out, &a, o, &k->types);
	st = mr_region_map(&out->region, mr_align_up(a.used, MR_CACHE_LINE), NULL);
	if (st != MR_OK) {
		mr_histories_destroy(out);
		return st;
	}
	mr_arena_init(&a, out->region.base, out->region.bytes);
	layout(out, &a, o, &k->types);
	memset(out->region.base, 0, a.used);
	for (uint16_t s = 0; s < n; s++)
		mr_stage_init_weights(stage[s], seed, mr_history_weights(&out->at[s], 0), out->at[s].rest);
	return MR_OK;
}

void mr_histories_destroy(mr_histories *h)
{
	mr_region_unmap(&h->region);
	free(h->at);
	*h = (mr_histories){0};
}

mr_status mr_history_commit(mr_history *h, const mr_kernels *k, mr_kctx *kc, const mr_optim *o, double lr, uint64_t t)
{
	const mr_graph *g = mr_stage_graph(h->stage);
	uint32_t first, end;

	mr_stage_params(h->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		mr_optim_call c = call_of(h, k, o, p, lr, t);

		MR_TRY(mr_optim_step(o, &c, k, kc, g->params[p].n, h->grads + mr_stage_grad_at(h->stage, p)));
	}
	h->latest++;
	return MR_OK;
}
