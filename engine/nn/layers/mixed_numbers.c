/*
 * mixed_numbers.c - the numbers among the columns of a sample that has numbers and categories.
 *
 *	in [n, W] int32, of which columns 0 .. C - 1 are the bits of f32 numbers      y [n, C]: those numbers
 *
 * A sample of numbers and categories is one value of 32-bit words (data/dataset.h): a category is an integer that bf16,
 * and from 2^24 on f32, could not hold. Layers behind read the columns that they need. Nothing has a gradient. Reads of
 * the configuration: out (C).
 */
#include <string.h>

#include "nn/element.h"
#include "nn/layers/shared.h"

static mr_status mixed_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	if (!in[0].tokens)
		return mr_fail(MR_ECONFIG, "mixed_numbers takes numbers and categories as 32-bit words, got numbers");
	if (cfg->out < 1 || cfg->out > in[0].cols)
		return mr_fail(MR_ECONFIG, "mixed_numbers reads 1 to %lld columns, got %lld", (long long)in[0].cols,
			       (long long)cfg->out);
	*out = (mr_shape){.rows = in[0].rows, .cols = cfg->out};
	return MR_OK;
}

static mr_status mixed_forward(const mr_layer_call *c)
{
	const int32_t *x = c->x[0];
	int64_t cols = c->cfg->out;

	for (int64_t r = 0; r < mr_layer_rows(c) && !c->k->recorded; r++) {
		for (int64_t j = 0; j < cols; j++) {
			float number;

			memcpy(&number, &x[r * c->in->cols + j], sizeof(number));
			mr_element_put(c->k->types.activations, c->y[0], r * cols + j, number);
		}
	}
	return MR_OK;
}

const mr_layer_ops mr_layer_mixed_numbers = {
	.name = "mixed_numbers",
	.summary = "the numbers of a sample that has numbers and categories",
	.n_in = 1,
	.shape = mixed_shape,
	.needs = mr_layer_needs_nothing,
	.forward = mixed_forward,
	.backward_input = mr_layer_pass,
};
