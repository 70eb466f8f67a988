/*
 * swiglu.c - a gated unit: y = silu(gate) * up, with silu(x) = x s(x) and s(x) = 1 / (1 + exp(-x)).
 *
 *	gate, up, y [n, C]
 *	I: dup = dy silu(gate)   dgate = dy up (s + gate s (1 - s))
 *
 * Shazeer: "GLU variants improve transformer", 2020, eq. 5, without its matrix products. I computes silu again
 * from the inputs, so nothing else is saved. Reads nothing of the configuration.
 */
#include "nn/layers/shared.h"

static mr_status swiglu_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	return mr_layer_check_pair("swiglu", "multiplies", in, out);
}

/* Scratch: gradients that are then added to dx (dx_add), or that the caller does not want. */
static void swiglu_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			 mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.x_i = true,
				.scratch = 2 * mr_layer_align(mr_layer_bytes(k, mr_layer_count(in[0], samples)))};
}

static mr_status swiglu_forward(const mr_layer_call *c)
{
	return c->k->swiglu(c->kc, &(mr_swiglu_args){.n = mr_layer_count(c->in[0], c->samples), .gate = c->x[0],
						     .up = c->x[1], .y = c->y[0]});
}

static mr_status swiglu_backward_input(const mr_layer_call *c)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);
	char *room = c->scratch;
	void *dx[2];

	for (int i = 0; i < 2; i++) {
		dx[i] = c->dx[i] && !c->dx_add[i] ? c->dx[i] : room;
		room += mr_layer_align(mr_layer_bytes(c->k, n));
	}
	MR_TRY(c->k->swiglu_backward(c->kc, &(mr_swiglu_backward_args){.n = n, .gate = c->x[0], .up = c->x[1],
								       .dy = c->dy[0], .dgate = dx[0], .dup = dx[1]}));
	MR_TRY(mr_layer_add_made(c, 0, dx[0]));
	return mr_layer_add_made(c, 1, dx[1]);
}

const mr_layer_ops mr_layer_swiglu = {
	.name = "swiglu",
	.summary = "y = silu(gate) * up",
	.n_in = 2,
	.shape = swiglu_shape,
	.needs = swiglu_needs,
	.forward = swiglu_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = swiglu_backward_input,
};
