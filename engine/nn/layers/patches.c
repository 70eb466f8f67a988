/*
 * patches.c - an image as a sequence: one row of numbers for each of its square patches.
 *
 *	x [height, width, channels] -> y [height/P width/P, P P channels]
 *
 * Patches are in row-major order, and so are the pixels of a patch. The layer only copies: the gradient of a number
 * goes back to its place in the image. Followed by a linear layer it is a convolution with a window and a stride of P.
 * Reads of the configuration: patch (P).
 */
#include "nn/layers/shared.h"

#include <string.h>

static mr_status patches_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	int64_t height = mr_shape_dim(in[0], 0), width = mr_shape_dim(in[0], 1), p = cfg->patch;

	MR_TRY(mr_layer_check_numbers("patches", in[0]));
	if (mr_shape_dims(in[0]) != 3)
		return mr_fail(MR_ECONFIG, "patches takes images of height, width and channels, got %u dimensions",
			       mr_shape_dims(in[0]));
	if (p < 1 || height % p != 0 || width % p != 0)
		return mr_fail(MR_ECONFIG, "patches cannot cut images of %lld x %lld into squares of %lld",
			       (long long)height, (long long)width, (long long)p);
	*out = (mr_shape){.rows = height / p * (width / p), .cols = p * p * in[0].cols};
	return MR_OK;
}

/* Scratch: a gradient in the image's order that is then added to dx (dx_add). */
static void patches_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			  mr_layer_needs *out)
{
	(void)cfg;
	*out = (mr_layer_needs){.scratch = mr_layer_bytes(k, mr_layer_count(in[0], samples))};
}

/* A copy between images and patches, or between their gradients. */
typedef struct copying {
	size_t size;          /* of an element */
	int64_t width, run;   /* patches in a row of the image; elements of a run, contiguous in both */
	int64_t patch;
	char *to;
	const char *from;
	bool back;            /* from the patches to the images */
} copying;

/* Copy runs @lo to @hi - 1, in the order of the patches. */
static void copy_runs(const void *args, int64_t lo, int64_t hi)
{
	const copying *c = args;
	size_t bytes = (size_t)c->run * c->size;

	for (int64_t i = lo; i < hi; i++) {
		int64_t row = i % c->patch, patch = i / c->patch, x = patch % c->width, band = patch / c->width;
		size_t in_image = (size_t)((band * c->patch + row) * c->width + x) * bytes;
		size_t in_patches = (size_t)i * bytes;

		memcpy(c->to + (c->back ? in_image : in_patches), c->from + (c->back ? in_patches : in_image), bytes);
	}
}

static mr_status copy_all(const mr_layer_call *c, const void *from, void *to, bool back)
{
	int64_t p = c->cfg->patch, width = mr_shape_dim(c->in[0], 1) / p;
	copying a = {.size = mr_dtype_bytes(c->k->types.activations), .width = width, .run = p * c->in->cols,
		     .patch = p, .to = to, .from = from, .back = back};

	return c->k->ranges(c->kc, &(mr_ranges_args){.n = c->samples * c->out->rows * p, .fn = copy_runs, .args = &a});
}

static mr_status patches_forward(const mr_layer_call *c)
{
	return copy_all(c, c->x[0], c->y[0], false);
}

static mr_status patches_backward_input(const mr_layer_call *c)
{
	if (!c->dx[0])
		return MR_OK;
	MR_TRY(copy_all(c, c->dy[0], mr_layer_made(c, 0), true));
	return mr_layer_add_made(c, 0, mr_layer_made(c, 0));
}

const mr_layer_ops mr_layer_patches = {
	.name = "patches",
	.summary = "an image as a sequence of its square patches",
	.n_in = 1,
	.shape = patches_shape,
	.needs = patches_needs,
	.forward = patches_forward,
	.backward_input = patches_backward_input,
};
