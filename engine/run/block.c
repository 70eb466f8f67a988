#include "run/block.h"

#include <math.h>

#include "base/size.h"

void mr_block_layout(mr_block *b, mr_arena *a, uint32_t n_states)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	b->version = mr_arena_take(a, z->weight_bytes * b->cap, MR_CACHE_LINE);
	b->grads = mr_arena_take(a, z->grad_bytes, MR_CACHE_LINE);
	for (uint32_t i = 0; i < n_states; i++)
		b->state[i] = mr_arena_take(a, z->weight_bytes, MR_CACHE_LINE);
	b->sumsq = mr_arena_take(a, (end - first) * sizeof(double), MR_CACHE_LINE);
	b->step = mr_arena_take(a, (end - first) * sizeof(mr_step), MR_CACHE_LINE);
}

void mr_block_norms(mr_block *b, mr_kctx *kc)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++)
		b->sumsq[p - first] = mr_stage_weight_at(b->stage, p) == SIZE_MAX
					      ? 0
					      : b->k->sumsq(kc, g->params[p].n, b->grads + mr_stage_grad_at(b->stage, p));
}

double mr_blocks_norm(const mr_block *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t first, end;

		mr_stage_params(b[i].stage, &first, &end);
		for (uint32_t p = first; p < end; p++)
			sum += b[i].sumsq[p - first];
	}
	return sqrt(sum);
}

double mr_clip_factor(double norm, double max_norm)
{
	double factor = max_norm / (norm + 1e-6);

	return max_norm > 0 && factor < 1 ? factor : 1;
}

const mr_step *mr_block_steps(mr_block *b, const mr_optim *o, double lr, double gscale)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	const uint8_t *src = mr_block_weights(b, b->latest);
	uint8_t *dst = mr_block_weights(b, b->latest + 1);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		mr_optim_call c = {.lr = lr, .t = b->latest + 1, .gscale = gscale, .decay = g->params[p].decay};

		b->step[p - first] = (mr_step){0};
		if (at == SIZE_MAX)
			continue;
		c.src = src + at;
		c.dst = dst + at;
		for (uint32_t i = 0; i < o->ops->n_states; i++)
			c.state[i] = b->state[i] + at;
		o->ops->fill(o, &c, &b->step[p - first]);
	}
	return b->step;
}

void mr_block_commit(mr_block *b, mr_kctx *kc, const mr_optim *o, double lr, double gscale)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	const mr_step *step = mr_block_steps(b, o, lr, gscale);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++)
		if (step[p - first].dst)
			b->k->step(kc, g->params[p].n, &step[p - first], b->grads + mr_stage_grad_at(b->stage, p));
	mr_block_committed(b);
}
