/*
 * linear.c - y = act(x W + b), row by row.
 *
 *	x [n, in]   W [in, out] (or, transposed, [out, in])   b [out]   z = x W + b   y = act(z) [n, out]
 *	I: dz = dy * act'(z), dx = dz W^T        W: dW = x^T dz, db = sum over rows of dz
 *
 * With an activation, I writes dz to `kept` for W; without one dz is dy itself and W reads that. ReLU finds its
 * derivative in y, GELU in what F keeps in aux_i: z, or act'(z) itself, depending on the kernels. If the next layer is
 * a linear one and the only reader of y, it may multiply by act' in the product that gives it dy, which then is dz
 * (produces_dz).
 *
 * Initial weights: normal with cfg.std; by default sqrt(2 / in) in front of ReLU and GELU (He, Zhang, Ren, Sun:
 * "Delving deep into rectifiers", ICCV 2015, eq. 10) and sqrt(1 / in) without an activation, so that the variance of
 * what flows neither grows nor dies with depth. cfg.std < 0: every weight is cfg.value. Biases start at 0, or
 * normal with bias_std. Reads of the configuration: out, act, no_bias, transposed, std, value, bias_std, flat: a row is
 * a whole sample, all its dimensions in order; bias_elsewhere, copies.
 */
#include "nn/layers/shared.h"
#include "nn/part_grads.h"

#include <assert.h>
#include <math.h>

static int64_t columns(const mr_layer_cfg *cfg, const mr_shape *in)
{
	return cfg->flat ? mr_shape_count(*in) : in->cols;
}

static int64_t rows_of(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples)
{
	return cfg->flat ? samples : samples * in->rows;
}

static mr_status linear_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("linear", in[0]));
	if (cfg->out < 1)
		return mr_fail(MR_ECONFIG, "linear needs at least 1 output column, got %lld", (long long)cfg->out);
	if (cfg->act > MR_ACT_GELU)
		return mr_fail(MR_ECONFIG, "linear ends in ReLU, GELU or nothing; the layer activation has others");
	*out = cfg->flat ? (mr_shape){.rows = 1, .cols = cfg->out} : mr_shape_with_cols(in[0], cfg->out);
	return MR_OK;
}

static uint32_t linear_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	double std = cfg->std != 0 ? cfg->std : sqrt((cfg->act == MR_ACT_NONE ? 1.0 : 2.0) / (double)columns(cfg, in));

	spec[0] = (mr_param_spec){
		.suffix = "weight",
		.rank = 2,
		.dim = {cfg->transposed ? cfg->out : columns(cfg, in), cfg->transposed ? columns(cfg, in) : cfg->out},
		.init = std < 0 ? MR_INIT_VALUE : MR_INIT_NORMAL,
		.std = std < 0 ? cfg->value : std,
		.decay = true,
	};
	if (cfg->no_bias)
		return 1;
	spec[1] = (mr_param_spec){.suffix = "bias", .rank = 1, .dim = {cfg->out, 1}, .init = MR_INIT_ZERO};
	if (cfg->bias_std > 0) {
		spec[1].init = MR_INIT_NORMAL;
		spec[1].std = cfg->bias_std;
	} else if (cfg->bias != 0) {
		spec[1].init = MR_INIT_VALUE;
		spec[1].std = cfg->bias;
	}
	return 2;
}

/* x W */
static mr_gemm product(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples)
{
	return (mr_gemm){
		.m = rows_of(cfg, in, samples),
		.n = cfg->out,
		.k = columns(cfg, in),
		.tb = cfg->transposed,
		.bias = !cfg->no_bias && !cfg->bias_elsewhere,
		.act = cfg->act,
	};
}

static void linear_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			 mr_layer_needs *out)
{
	double flops = 2.0 * (double)samples * (double)in->rows * (double)in->cols * (double)cfg->out;
	size_t bytes = mr_layer_bytes(k, rows_of(cfg, in, samples) * cfg->out);
	mr_gemm g = product(cfg, in, samples);

	*out = (mr_layer_needs){
		.x_w = true,
		.y_i = cfg->act == MR_ACT_RELU,
		.dy_w = cfg->act == MR_ACT_NONE,
		.flops_f = flops,
		.flops_i = flops,
		.flops_w = flops,
	};
	out->scratch = mr_part_grads_bytes(cfg, (columns(cfg, in) + !cfg->no_bias) * cfg->out, k);
	if (k && k->panel_bytes && !cfg->transposed)
		out->panels = k->panel_bytes(k, &g);
	if (cfg->act == MR_ACT_GELU)
		mr_saved_add(&out->aux_i, k ? k->gelu_aux : "", bytes);
	if (cfg->act != MR_ACT_NONE)
		mr_saved_add(&out->kept, "dz", bytes);
}

static mr_status linear_forward(const mr_layer_call *c)
{
	mr_gemm g = product(c->cfg, c->in, c->samples);

	g.addend = c->addend;
	g.packed = c->panels;
	g.packs = c->packs;
	if (mr_layer_is_next_row(c) && g.tb)
		return c->k->row_product(c->kc, &(mr_row_product_args){.g = &g, .a = c->x[0], .b = c->w[0],
								       .bias = g.bias ? c->w[1] : NULL,
								       .c = c->y[0]});
	return c->k->gemm(c->kc, &(mr_gemm_args){.g = &g, .a = c->x[0], .b = c->w[0], .bias = g.bias ? c->w[1] : NULL,
						 .c = c->y[0], .aux = g.act == MR_ACT_GELU ? c->aux_i : NULL});
}

static bool linear_decodes(const mr_layer_cfg *cfg)
{
	return !cfg->flat;
}

static bool linear_adds(const mr_layer_cfg *cfg)
{
	return cfg->act == MR_ACT_NONE;
}

static mr_status linear_backward_input(const mr_layer_call *c)
{
	mr_act act = c->cfg->act;
	const void *dz = c->dy[0];
	mr_gemm g = {
		.m = rows_of(c->cfg, c->in, c->samples),
		.n = columns(c->cfg, c->in),
		.k = c->out->cols,
		.tb = !c->cfg->transposed,
		.add = c->dx_add[0],
		.fuse_act_backward = c->fuse_act_backward,
		.fuse_act_backward_aux = c->fuse_act_backward_aux,
	};

	if (c->dy_is_pre_activation) {
		assert(c->kept == c->dy[0]);
	} else if (act != MR_ACT_NONE) {
		MR_TRY(c->k->act_backward(c->kc, &(mr_act_backward_args){.act = act, .n = g.m * g.k,
									 .aux = act == MR_ACT_GELU ? c->aux_i : c->y[0],
									 .dy = c->dy[0], .dz = c->kept}));
		dz = c->kept;
	}
	return c->dx[0] ? c->k->gemm(c->kc, &(mr_gemm_args){.g = &g, .a = dz, .b = c->w[0], .c = c->dx[0]}) : MR_OK;
}

static const void *dz_of(const mr_layer_call *c)
{
	return c->cfg->act != MR_ACT_NONE ? c->kept : c->dy[0];
}

/* dW = x^T dz, or dz^T x where the weight is stored transposed, and db. */
static mr_gemm weight_gemm(const mr_layer_call *c)
{
	bool swap = c->cfg->transposed;
	void *db = c->cfg->no_bias ? NULL : c->dw[1];

	return (mr_gemm){
		.of = MR_GEMM_GRADIENTS,
		.m = swap ? c->out->cols : columns(c->cfg, c->in),
		.n = swap ? columns(c->cfg, c->in) : c->out->cols,
		.k = rows_of(c->cfg, c->in, c->samples),
		.ta = true,
		.add = c->dw_add,
		.colsum_a = swap ? db : NULL,
		.colsum_b = swap ? NULL : db,
	};
}

static mr_status linear_backward_weights(const mr_layer_call *c, uint32_t n)
{
	const void *x[MR_LAYER_SPAN], *dz[MR_LAYER_SPAN];
	const mr_step *step = mr_layer_step_of(&c[n - 1], 0);
	bool swap = c->cfg->transposed;
	mr_gemm g = weight_gemm(c);

	for (uint32_t j = 0; j < n; j++) {
		x[j] = c[j].x[0];
		dz[j] = dz_of(&c[j]);
	}
	return c->k->gemm_sum(c->kc, &(mr_gemm_sum_args){.g = &g, .n = n, .a = swap ? dz : x, .b = swap ? x : dz,
							 .c = c->dw[0], .s = step});
}

static mr_status linear_backward_weight(const mr_layer_call *c)
{
	const void *a = c->cfg->transposed ? dz_of(c) : c->x[0], *b = c->cfg->transposed ? c->x[0] : dz_of(c);
	mr_gemm g = weight_gemm(c);

	return c->sparse_rows && !c->sparse_rows->whole
		       ? mr_sparse_rows_product(c->sparse_rows, c->k, c->kc, &g, a, b, c->dw[0],
						mr_layer_step_of(c, 0))
		       : mr_layer_weight_product(c, 0, &g, a, b);
}

const mr_layer_ops mr_layer_linear = {
	.name = "linear",
	.summary = "y = act(x W + b)",
	.n_in = 1,
	.shape = linear_shape,
	.params = linear_params,
	.needs = linear_needs,
	.forward = linear_forward,
	.decodes = linear_decodes,
	.produces_dz = true,
	.adds = linear_adds,
	.backward_input = linear_backward_input,
	.backward_weight = linear_backward_weight,
	.backward_weights = linear_backward_weights,
	.steps = 1, /* the weight; the bias is small */
	.sparse_rows = MR_SPARSE_ROWS_FIRST,
};
