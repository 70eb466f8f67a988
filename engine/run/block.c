#include "run/block.h"

#include <assert.h>
#include <math.h>

#include "base/size.h"

size_t mr_block_work_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t)
{
	uint32_t first, end;
	size_t most = 0;

	mr_stage_params(s, &first, &end);
	for (uint32_t p = first; p < end && o->ops->work_bytes; p++) {
		mr_optim_matrix m = mr_graph_matrix(mr_stage_graph(s), p);
		size_t bytes = m.rows ? o->ops->work_bytes(&m, t) : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}

void mr_block_layout(mr_block *b, mr_arena *a, const mr_optim *o)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	b->version = mr_arena_take(a, z->weight_bytes * b->cap, MR_CACHE_LINE);
	b->grads = mr_arena_take(a, z->grad_bytes, MR_CACHE_LINE);
	for (uint32_t i = 0; i < o->ops->n_states; i++)
		b->state[i] = mr_arena_take(a, z->weight_bytes, MR_CACHE_LINE);
	b->work = mr_arena_take(a, mr_block_work_bytes(b->stage, o, b->k->dtype), MR_CACHE_LINE);
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

/* How @o steps parameter @p, whose storage lies at @at. */
static mr_optim_call call_of(const mr_block *b, const mr_optim *o, uint32_t p, size_t at, double lr, double gscale)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	mr_optim_call c = {
		.src = (const uint8_t *)mr_block_weights(b, b->latest) + at,
		.dst = (uint8_t *)mr_block_weights(b, b->latest + 1) + at,
		.lr = lr,
		.t = b->latest + 1,
		.gscale = gscale,
		.decay = g->params[p].decay,
		.work = b->work,
	};

	for (uint32_t i = 0; i < o->ops->n_states; i++)
		c.state[i] = b->state[i] + at;
	if (!mr_optim_elementwise(o))
		c.matrix = mr_graph_matrix(g, p);
	return c;
}

const mr_step *mr_block_steps(mr_block *b, const mr_optim *o, double lr, double gscale)
{
	uint32_t first, end;

	assert(mr_optim_elementwise(o));
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		mr_optim_call c;

		b->step[p - first] = (mr_step){0};
		if (at == SIZE_MAX)
			continue;
		c = call_of(b, o, p, at, lr, gscale);
		o->ops->fill(o, &c, &b->step[p - first]);
	}
	return b->step;
}

mr_status mr_block_commit(mr_block *b, mr_kctx *kc, const mr_optim *o, double lr, double gscale)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++) {
		size_t at = mr_stage_weight_at(b->stage, p);
		mr_optim_call c;

		if (at == SIZE_MAX)
			continue;
		c = call_of(b, o, p, at, lr, gscale);
		MR_TRY(mr_optim_step(o, &c, b->k, kc, g->params[p].n, b->grads + mr_stage_grad_at(b->stage, p)));
	}
	mr_block_committed(b);
	return MR_OK;
}
