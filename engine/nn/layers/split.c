/*
 * split.c - the columns of a value as several values: parts of equal width, side by side.
 *
 *	x [n, parts * C] -> y_0 [n, C], ..., y_{parts-1} [n, C]      y_j = columns j C to (j + 1) C of x
 *
 * For what computes several things of one row by one product: the halves of a gated unit, or queries, keys and values.
 * The last dimension is split, the others stay. Nothing is saved: the gradient of x is those of its parts side by side.
 * Reads of the configuration: parts.
 */
#include "nn/layers/shared.h"

#include <string.h>

static uint32_t split_outputs(const mr_layer_cfg *cfg)
{
	return (uint32_t)cfg->parts;
}

static mr_status split_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("split", in[0]));
	if (cfg->parts < 2 || cfg->parts > MR_LAYER_OUTPUTS)
		return mr_fail(MR_ECONFIG, "split makes 2 to %d parts, got %lld", MR_LAYER_OUTPUTS,
			       (long long)cfg->parts);
	if (in[0].cols % cfg->parts != 0)
		return mr_fail(MR_ECONFIG, "split cannot make %lld equal parts of %lld columns", (long long)cfg->parts,
			       (long long)in[0].cols);
	for (int64_t j = 0; j < cfg->parts; j++)
		out[j] = mr_shape_with_cols(in[0], in[0].cols / cfg->parts);
	return MR_OK;
}

/* Gradients that are added to come side by side first. */
static void split_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

/* Elements of the whole, between it and its parts: from it where @to_part is set, else to it. */
typedef struct copying {
	size_t size;   /* of an element */
	int64_t parts, cols; /* of a part */
	const void *whole_from;
	void *whole_to;
	void *const *to_part;
	const void *const *from_part;
} copying;

static void copy_range(const void *args, int64_t lo, int64_t hi)
{
	const copying *c = args;
	int64_t wide = c->parts * c->cols;

	while (lo < hi) {
		int64_t row = lo / wide, part = lo % wide / c->cols, col = lo % c->cols;
		int64_t n = c->cols - col < hi - lo ? c->cols - col : hi - lo;
		size_t whole = (size_t)lo * c->size, of_part = (size_t)(row * c->cols + col) * c->size;
		size_t bytes = (size_t)n * c->size;

		if (c->to_part)
			memcpy((char *)c->to_part[part] + of_part, (const char *)c->whole_from + whole, bytes);
		else
			memcpy((char *)c->whole_to + whole, (const char *)c->from_part[part] + of_part, bytes);
		lo += n;
	}
}

static copying of_call(const mr_layer_call *c)
{
	return (copying){.size = mr_dtype_bytes(c->k->types.activations), .parts = c->cfg->parts, .cols = c->out->cols};
}

static mr_status split_forward(const mr_layer_call *c)
{
	copying a = of_call(c);

	a.whole_from = c->x[0];
	a.to_part = c->y;
	return c->k->ranges(c->kc, &(mr_ranges_args){.n = mr_layer_count(c->in[0], c->samples), .fn = copy_range,
						     .args = &a});
}

static mr_status split_backward_input(const mr_layer_call *c)
{
	int64_t n = mr_layer_count(c->in[0], c->samples);
	copying a = of_call(c);

	if (!c->dx[0])
		return MR_OK;
	a.whole_to = mr_layer_made(c, 0);
	a.from_part = c->dy;
	MR_TRY(c->k->ranges(c->kc, &(mr_ranges_args){.n = n, .fn = copy_range, .args = &a}));
	return mr_layer_add_made(c, 0, a.whole_to);
}

const mr_layer_ops mr_layer_split = {
	.name = "split",
	.summary = "the columns as several values of equal width",
	.n_in = 1,
	.outputs = split_outputs,
	.shape = split_shape,
	.needs = split_needs,
	.forward = split_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = split_backward_input,
};
