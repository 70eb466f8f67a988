#include "blend.h"

static mr_status blend_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	*out = in[0];
	if (mr_shape_same(in[0], in[1]) && mr_shape_same(in[0], in[2]))
		return MR_OK;
	return mr_fail(MR_ECONFIG, "blend takes three values of one shape");
}

static uint32_t blend_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)cfg;
	spec[0] = (mr_param_spec){
		.suffix = "p", .rank = mr_shape_dims(in[0]), .init = MR_INIT_NORMAL, .std = 0.5, .decay = true};
	for (uint32_t i = 0; i < spec[0].rank; i++)
		spec[0].dim[i] = mr_shape_dim(in[0], i);
	spec[1] = (mr_param_spec){
		.suffix = "q", .rank = 3, .dim = {1, in[1].rows, in[1].cols}, .init = MR_INIT_NORMAL, .std = 0.5};
	spec[2] = (mr_param_spec){
		.suffix = "g", .rank = 2, .dim = {in[2].cols, in[0].cols}, .init = MR_INIT_NORMAL, .std = 0.5};
	spec[3] = (mr_param_spec){.suffix = "h", .rank = 1, .dim = {in[0].cols}, .init = MR_INIT_ONE};
	return 4;
}

static void blend_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			mr_layer_needs *out)
{
	double flops = 2.0 * (double)(samples * in->rows * in->cols * in->cols);

	(void)cfg;
	(void)k;
	*out = (mr_layer_needs){.x_w = true, .dy_w = true, .flops_f = flops, .flops_i = flops, .flops_w = flops};
}

static double at(const mr_layer_call *c, const void *x, int64_t i)
{
	return c->k->types.weights == MR_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void keep(const mr_layer_call *c, void *x, int64_t i, double value, bool adds)
{
	value += adds ? at(c, x, i) : 0;
	if (c->k->types.weights == MR_F64)
		((double *)x)[i] = value;
	else
		((float *)x)[i] = (float)value;
}

static mr_status blend_forward(const mr_layer_call *c)
{
	int64_t one = mr_shape_count(c->in[0]), cols = c->in->cols;

	for (int64_t i = 0; i < c->samples * one; i++) {
		int64_t row = i / cols * cols, e = i % cols;
		double sum = at(c, c->w[3], e);

		for (int x = 0; x < 2; x++)
			sum += at(c, c->x[x], i) * at(c, c->w[x], i % one);
		for (int64_t j = 0; j < cols; j++)
			sum += at(c, c->x[2], row + j) * at(c, c->w[2], j * cols + e);
		keep(c, c->y[0], i, sum, false);
	}
	return MR_OK;
}

static mr_status blend_backward_input(const mr_layer_call *c)
{
	int64_t one = mr_shape_count(c->in[0]), cols = c->in->cols;

	for (uint32_t x = 0; x < 3; x++)
		for (int64_t i = 0; c->dx[x] && i < c->samples * one; i++) {
			int64_t row = i / cols * cols, e = i % cols;
			double sum = x < 2 ? at(c, c->dy[0], i) * at(c, c->w[x], i % one) : 0;

			for (int64_t j = 0; x == 2 && j < cols; j++)
				sum += at(c, c->dy[0], row + j) * at(c, c->w[2], e * cols + j);
			keep(c, c->dx[x], i, sum, c->dx_add[x]);
		}
	return MR_OK;
}

static mr_status blend_backward_weight(const mr_layer_call *c)
{
	int64_t one = mr_shape_count(c->in[0]), cols = c->in->cols;

	for (int64_t i = 0; i < c->samples * one; i++) {
		int64_t row = i / cols * cols, e = i % cols;
		double dy = at(c, c->dy[0], i);

		for (int x = 0; x < 2; x++)
			keep(c, c->dw[x], i % one, dy * at(c, c->x[x], i), c->dw_add || i >= one);
		for (int64_t j = 0; j < cols; j++)
			keep(c, c->dw[2], j * cols + e, dy * at(c, c->x[2], row + j), c->dw_add || i >= cols);
		keep(c, c->dw[3], e, dy, c->dw_add || i >= cols);
	}
	return MR_OK;
}

const mr_layer_ops blend = {
	.name = "blend",
	.n_in = 3,
	.shape = blend_shape,
	.params = blend_params,
	.needs = blend_needs,
	.forward = blend_forward,
	.backward_input = blend_backward_input,
	.backward_weight = blend_backward_weight,
};
