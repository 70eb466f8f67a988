/*
 * lrn.c - local response normalisation: every number is divided by a power of a sum of squares over the neighbouring
 * channels of its pixel.
 *
 *	y_c = x_c s_c^-beta
 *	s_c = k + alpha / size * sum of x_j^2 over channels j from c - size / 2 to c + (size - 1) / 2
 *
 * Krizhevsky, Sutskever, Hinton: "ImageNet classification with deep convolutional neural networks", 2012, section 3.3,
 * whose alpha is not divided by the size: its 1e-4 is 5e-4 here, as in PyTorch and oneDNN. I computes
 * s again. Reads of the configuration: size, alpha, beta, k.
 */
#include "nn/layers/images.h"

static mr_status lrn_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_images("lrn", in[0]));
	if (cfg->size < 1 || cfg->size > MR_LRN_MOST)
		return mr_fail(MR_ECONFIG, "lrn sums 1 to %d channels, got %lld", MR_LRN_MOST, (long long)cfg->size);
	if (!(cfg->k > 0 && cfg->alpha >= 0 && cfg->beta > 0))
		return mr_fail(MR_ECONFIG,
			       "lrn needs k above 0, alpha of at least 0 and beta above 0, got %g, %g and %g", cfg->k,
			       cfg->alpha, cfg->beta);
	*out = in[0];
	return MR_OK;
}

static void lrn_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		      mr_layer_needs *out)
{
	(void)cfg, (void)in, (void)samples, (void)k;
	*out = (mr_layer_needs){.x_i = true};
}

static mr_lrn lrn_of(const mr_layer_call *c)
{
	return (mr_lrn){.pixels = mr_layer_rows(c), .c = c->in->cols, .size = c->cfg->size, .alpha = c->cfg->alpha,
			.beta = c->cfg->beta, .k = c->cfg->k};
}

static mr_status lrn_forward(const mr_layer_call *c)
{
	mr_lrn l = lrn_of(c);

	return c->k->lrn(c->kc, &(mr_lrn_args){.l = &l, .x = c->x[0], .y = c->y[0]});
}

static mr_status lrn_backward_input(const mr_layer_call *c)
{
	mr_lrn l = lrn_of(c);

	if (c->dx[0])
		MR_TRY(c->k->lrn_backward(c->kc, &(mr_lrn_backward_args){.l = &l, .x = c->x[0], .dy = c->dy[0],
									 .dx = c->dx[0], .add = c->dx_add[0]}));
	return MR_OK;
}

const mr_layer_ops mr_layer_lrn = {
	.name = "lrn",
	.summary = "local response normalisation over channels",
	.n_in = 1,
	.shape = lrn_shape,
	.needs = lrn_needs,
	.forward = lrn_forward,
	.backward_input = lrn_backward_input,
};
