#include "nn/part_grads.h"

#include <string.h>

size_t mr_part_grads_bytes(const mr_layer_cfg *cfg, int64_t numbers, const mr_kernels *k)
{
	return k && (cfg->parts > 1 || cfg->copies > 1) ? (size_t)numbers * mr_dtype_bytes(k->types.gradients) : 0;
}

void mr_part_grads_begin(mr_part_grads *p, const mr_layer_ops *ops, const mr_layer_call *c)
{
	mr_param_spec spec[MR_LAYER_PARAMS];
	size_t at = 0;

	*p = (mr_part_grads){.call = *c, .n = ops->params(c->cfg, c->in, spec),
			     .among = mr_part_grads_among(ops, c->cfg)};
	for (uint32_t j = 0; j < p->n; j++) {
		p->count[j] = mr_param_count(&spec[j]);
		p->dw[j] = (char *)c->scratch + at;
		at += (size_t)p->count[j] * mr_dtype_bytes(c->k->types.gradients);
	}
	p->call.dw = p->dw;
	p->call.dw_add = false;
	p->call.step = NULL;
	p->call.sumsq = NULL;
}

static mr_status sum(const mr_layer_call *c, int64_t n, const void *a, const void *b, void *y)
{
	return c->k->sum_gradients(c->kc, &(mr_sum_gradients_args){.n = n, .a = a, .b = b, .y = y});
}

mr_status mr_part_grads_end(const mr_part_grads *p, const mr_layer_call *c)
{
	size_t each = mr_dtype_bytes(c->k->types.gradients);
	const void *part[MR_SHARES_MOST];
	int64_t all = 0;

	for (uint32_t j = 0; j < p->n; j++)
		all += p->count[j];
	if (c->shares) {
		const void **own = part + c->shares->self / p->among * p->among;

		MR_TRY(c->shares->meet(c->shares->arg, c->scratch, (size_t)all * each, part));
		for (uint32_t q = 1; q < p->among; q++)
			MR_TRY(sum(c, all, q == 1 ? own[0] : c->scratch, own[q], c->scratch));
	}
	for (uint32_t j = 0; j < p->n; j++) {
		if (c->dw_add)
			MR_TRY(sum(c, p->count[j], c->dw[j], p->dw[j], c->dw[j]));
		else if (!c->k->recorded)
			memcpy(c->dw[j], p->dw[j], (size_t)p->count[j] * each);
	}
	return MR_OK;
}
