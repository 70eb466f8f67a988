/*
 * concat.c - concatenation along the last dimension: the output has the columns of all inputs, in their order.
 *
 *	x_0 [n, C_0], ..., x_{parts-1} -> y [n, C_0 + ... + C_{parts-1}]      images: along the channels
 *
 * The last dimensions may differ, the others must be equal. Nothing is saved: the gradient of an input consists of its
 * columns of dy. Reads of the configuration: parts.
 */
#include "nn/layers/shared.h"

#include <string.h>

static uint32_t concat_inputs(const mr_layer_cfg *cfg)
{
	return (uint32_t)cfg->parts;
}

static mr_status concat_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	int64_t cols = 0;

	if (cfg->parts < 2 || cfg->parts > MR_LAYER_INPUTS)
		return mr_fail(MR_ECONFIG, "concat takes 2 to %d inputs, got %lld", MR_LAYER_INPUTS,
			       (long long)cfg->parts);
	for (int64_t j = 0; j < cfg->parts; j++) {
		MR_TRY(mr_layer_check_numbers("concat", in[j]));
		if (!mr_shape_same(in[0], mr_shape_with_cols(in[j], in[0].cols)))
			return mr_fail(MR_ECONFIG, "concat takes values that differ in their last dimension alone");
		cols += in[j].cols;
	}
	*out = mr_shape_with_cols(in[0], cols);
	return MR_OK;
}

/* Scratch: a gradient that is then added to dx (dx_add). */
static void concat_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			 mr_layer_needs *out)
{
	int64_t most = 0;

	for (int64_t j = 0; j < cfg->parts; j++)
		most = in[j].cols > most ? in[j].cols : most;
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, samples * in[0].rows * most)};
}

/* A copy of one input's columns, between the input ("part") and the output ("whole"), or between their gradients. */
typedef struct copying {
	size_t part, whole, first; /* bytes of a row of each; byte of the whole's row where the part begins */
	const char *from;
	char *to;
	bool to_whole;
} copying;

static void copy_rows(const void *args, int64_t lo, int64_t hi)
{
	const copying *c = args;

	for (int64_t i = lo; i < hi; i++) {
		size_t in_part = (size_t)i * c->part, in_whole = (size_t)i * c->whole + c->first;

		memcpy(c->to + (c->to_whole ? in_whole : in_part), c->from + (c->to_whole ? in_part : in_whole),
		       c->part);
	}
}

/* The sizes and the place of input @j; the caller fills in the rest. */
static copying of_input(const mr_layer_call *c, int64_t j)
{
	size_t size = mr_dtype_bytes(c->k->types.activations);
	copying a = {.part = (size_t)c->in[j].cols * size, .whole = (size_t)c->out->cols * size};

	for (int64_t i = 0; i < j; i++)
		a.first += (size_t)c->in[i].cols * size;
	return a;
}

static mr_status concat_forward(const mr_layer_call *c)
{
	for (int64_t j = 0; j < c->cfg->parts; j++) {
		copying a = of_input(c, j);

		a.from = c->x[j];
		a.to = c->y[0];
		a.to_whole = true;
		MR_TRY(c->k->ranges(c->kc, &(mr_ranges_args){.n = mr_layer_rows(c), .fn = copy_rows, .args = &a}));
	}
	return MR_OK;
}

static mr_status concat_backward_input(const mr_layer_call *c)
{
	for (int64_t j = 0; j < c->cfg->parts; j++) {
		copying a = of_input(c, j);

		if (!c->dx[j])
			continue;
		a.from = c->dy[0];
		a.to = mr_layer_made(c, (int)j);
		MR_TRY(c->k->ranges(c->kc, &(mr_ranges_args){.n = mr_layer_rows(c), .fn = copy_rows, .args = &a}));
		MR_TRY(mr_layer_add_made(c, (int)j, a.to));
	}
	return MR_OK;
}

const mr_layer_ops mr_layer_concat = {
	.name = "concat",
	.summary = "several values side by side",
	.inputs = concat_inputs,
	.shape = concat_shape,
	.needs = concat_needs,
	.forward = concat_forward,
	.decodes = mr_layer_by_rows,
	.backward_input = concat_backward_input,
};
