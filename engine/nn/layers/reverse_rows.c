/*
 * reverse_rows.c - a padded sequence backwards, without its padding.
 *
 *	x [n, T, C]   tokens [n, T, 1] -> y [n, T, C]      y_r = x_(l-1-r) for r < l, 0 for the padding behind
 *
 * l is the length of the sample's sequence: the tokens in front of the first MR_PADDING (nn/tensor.h). Applied
 * twice, it gives the sequence back. A recurrent layer between two of them reads the sequence from its last token to
 * its first, whatever the padding, and has outputs of 0 at the padding, as on PyTorch's packed sequences. The gradient
 * of x is that of y, reversed in the same way. Reads nothing of the configuration.
 */
#include "nn/layers/shared.h"

#include <string.h>

static mr_status reverse_rows_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	(void)cfg;
	MR_TRY(mr_layer_check_numbers("reverse_rows", in[0]));
	MR_TRY(mr_layer_check_tokens("reverse_rows", in[1], in[0].rows));
	*out = in[0];
	return MR_OK;
}

/* Scratch: a gradient that is then added to dx (dx_add). */
static void reverse_rows_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			       mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.x_i = true, .scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

typedef struct reversal {
	const mr_layer_call *c;
	const char *from;
	char *to;
	size_t row; /* bytes */
} reversal;

static void reverse(const void *args, int64_t lo, int64_t hi)
{
	const reversal *r = args;
	int64_t t = r->c->in->rows;

	for (int64_t s = lo; s < hi; s++) {
		int64_t length = mr_layer_length((const int32_t *)r->c->x[1] + s * t, t);
		const char *from = r->from + (size_t)(s * t) * r->row;
		char *to = r->to + (size_t)(s * t) * r->row;

		for (int64_t i = 0; i < length; i++)
			memcpy(to + (size_t)i * r->row, from + (size_t)(length - 1 - i) * r->row, r->row);
		memset(to + (size_t)length * r->row, 0, (size_t)(t - length) * r->row);
	}
}

static mr_status reverse_all(const mr_layer_call *c, const void *from, void *to)
{
	reversal r = {.c = c, .from = from, .to = to, .row = mr_layer_bytes(c->k, c->in->cols)};

	return c->k->ranges(c->kc, &(mr_ranges_args){.n = c->samples, .fn = reverse, .args = &r});
}

static mr_status reverse_rows_forward(const mr_layer_call *c)
{
	return reverse_all(c, c->x[0], c->y[0]);
}

static mr_status reverse_rows_backward_input(const mr_layer_call *c)
{
	if (!c->dx[0])
		return MR_OK;
	MR_TRY(reverse_all(c, c->dy[0], mr_layer_made(c, 0)));
	return mr_layer_add_made(c, 0, mr_layer_made(c, 0));
}

const mr_layer_ops mr_layer_reverse_rows = {
	.name = "reverse_rows",
	.summary = "a padded sequence backwards, without its padding",
	.n_in = 2,
	.shape = reverse_rows_shape,
	.needs = reverse_rows_needs,
	.forward = reverse_rows_forward,
	.backward_input = reverse_rows_backward_input,
};
