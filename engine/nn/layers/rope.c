/*
 * rope.c - rotary positions: queries and keys are rotated by their position and stored side by side with the values, in
 * the layout that attention reads.
 *
 *	q [samples * T, H d]   k, v [samples * T, K d]  ->  y [samples * T, (H + 2 K) d]
 *	of each head of q and k, at position t, for j < d/2, with the angle a = t theta^(-2j/d):
 *	F: y_j = x_j cos a - x_{j+d/2} sin a    y_{j+d/2} = x_{j+d/2} cos a + x_j sin a
 *	I: the same by the angle -a
 *
 * Su et al.: "RoFormer: enhanced transformer with rotary position embedding", 2021, eq. 34; numbers are paired as in
 * Hugging Face's Llama. Nothing is saved. Reads of the configuration: heads, kv_heads, theta.
 */
#include "nn/layers/shared.h"

#define DEFAULT_THETA 10000

static mr_rope describe(const mr_layer_cfg *cfg, mr_shape q, int64_t samples)
{
	return (mr_rope){.samples = samples, .t = q.rows, .heads = cfg->heads,
			 .kv_heads = cfg->kv_heads ? cfg->kv_heads : cfg->heads, .dim = q.cols / cfg->heads,
			 .theta = cfg->theta > 0 ? cfg->theta : DEFAULT_THETA};
}

static mr_status rope_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	mr_rope r;

	for (int i = 0; i < 3; i++)
		MR_TRY(mr_layer_check_numbers("rope", in[i]));
	MR_TRY(mr_layer_check_heads("rope", cfg));
	if (!(cfg->theta >= 0))
		return mr_fail(MR_ECONFIG, "rope needs theta > 0, or 0 for %d, got %g", DEFAULT_THETA, cfg->theta);
	if (in[0].cols % (2 * cfg->heads) != 0)
		return mr_fail(MR_ECONFIG, "rope needs heads of an even width, got %lld heads of %lld columns",
			       (long long)cfg->heads, (long long)in[0].cols);
	r = describe(cfg, in[0], 1);
	for (int i = 1; i < 3; i++)
		if (in[i].rows != in[0].rows || in[i].cols != r.kv_heads * r.dim)
			return mr_fail(MR_ECONFIG, "rope needs keys and values of %lld x %lld, got %lld x %lld",
				       (long long)in[0].rows, (long long)(r.kv_heads * r.dim), (long long)in[i].rows,
				       (long long)in[i].cols);
	*out = (mr_shape){.rows = in[0].rows, .cols = (r.heads + 2 * r.kv_heads) * r.dim};
	return MR_OK;
}

/* Scratch: gradients that are then added to dx (dx_add), or that the caller does not want. */
static void rope_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		       mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){0};
	for (int i = 0; i < 3; i++)
		out->scratch += mr_layer_align(mr_layer_bytes(k, mr_layer_count(in[i], samples)));
}

static mr_status rope_forward(const mr_layer_call *c)
{
	mr_rope r = describe(c->cfg, c->in[0], c->samples);

	r.first = c->past ? c->past->first : 0;
	return c->k->rope(c->kc, &(mr_rope_args){.r = &r, .q = c->x[0], .k = c->x[1], .v = c->x[2], .y = c->y[0]});
}

static mr_status rope_backward_input(const mr_layer_call *c)
{
	mr_rope r = describe(c->cfg, c->in[0], c->samples);
	char *room = c->scratch;
	void *dx[3];

	for (int i = 0; i < 3; i++) {
		dx[i] = c->dx[i] && !c->dx_add[i] ? c->dx[i] : room;
		room += mr_layer_align(mr_layer_bytes(c->k, mr_layer_count(c->in[i], c->samples)));
	}
	MR_TRY(c->k->rope_backward(
		c->kc, &(mr_rope_backward_args){.r = &r, .dy = c->dy[0], .dq = dx[0], .dk = dx[1], .dv = dx[2]}));
	for (int i = 0; i < 3; i++)
		MR_TRY(mr_layer_add_made(c, i, dx[i]));
	return MR_OK;
}

const mr_layer_ops mr_layer_rope = {
	.name = "rope",
	.summary = "rotary positions of queries and keys, side by side with the values",
	.n_in = 3,
	.shape = rope_shape,
	.needs = rope_needs,
	.forward = rope_forward,
	.decodes = mr_layer_by_rows, /* which know their position */
	.backward_input = rope_backward_input,
};
