/*
 * vit.c - a vision transformer: an image as a class token and a sequence of patches; only the token is classified.
 *
 *	patches -> conv_proj -> encoder (class token, positions) -> [layer 0] -> ... -> [layer L-1] -> token 0
 *		-> encoder.ln -> heads.head -> loss
 *
 *	block:  h = x + self_attention.out_proj(attention(self_attention.in_proj(ln_1(x))))
 *	        y = h + mlp.3(gelu(mlp.0(ln_2(h))))
 *
 * Dosovitskiy et al.: "An image is worth 16x16 words", 2021. The network computes what torchvision's VisionTransformer
 * computes without dropout. Parameters have its names, except that encoder.layers.0 replaces
 * encoder.layers.encoder_layer_0, in_proj.weight replaces in_proj_weight, and the class token belongs to encoder.
 * Matrices are [out, in]. A row of conv_proj.weight is one patch, pixel by pixel with the channels innermost, as in
 * images. The last norm acts on each row separately, so it is computed for token 0 only.
 *
 * Initial weights: normal with deviation init_std, biases and the class token 0, gains 1. A stage may begin at any
 * layer; in front of each norm a single value crosses the boundary.
 */
#include "models/images.h"

#include <stdio.h>

static const mr_option options[] = {
	{"layers", MR_OPT_INT, "6", 1, 1000, NULL, NULL, "number of blocks"},
	{"width", MR_OPT_INT, "192", 1, 1000000, NULL, NULL, "width of the residual stream"},
	{"heads", MR_OPT_INT, "3", 1, 1000000, NULL, NULL, "attention heads; must divide the width"},
	{"hidden", MR_OPT_INT, "0", 0, 10000000, NULL, NULL, "width between the two products of a block; 0: 4 widths"},
	{"patch", MR_OPT_INT, "4", 1, 10000, NULL, NULL,
	 "height and width of a patch; must divide those of the images"},
	{"eps", MR_OPT_FLOAT, "1e-6", 1e-12, 1, NULL, NULL, "what norms add to the variance"},
	{"init_std", MR_OPT_FLOAT, "0.02", 1e-6, 10, NULL, NULL, "standard deviation of initial weights"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

typedef struct mr_vit {
	mr_compose m;
	int64_t layers, width, heads, hidden, patch;
	double eps, std;
} mr_vit;

static mr_shape vit_image(const mr_values *values)
{
	int64_t patch = mr_values_int(values, "patch");

	return mr_shape_of(3, (const int64_t[]){2 * patch, 2 * patch, 3}, false);
}

static uint16_t norm(mr_vit *v, const char *name, uint16_t x)
{
	return mr_compose_add(&v->m, "layer_norm", name, &(mr_layer_cfg){.eps = v->eps}, x);
}

static uint16_t linear(mr_vit *v, const char *name, int64_t out, uint16_t x)
{
	return mr_compose_add(&v->m, "linear", name, &(mr_layer_cfg){.out = out, .transposed = true, .std = v->std}, x);
}

static uint16_t block(mr_vit *v, uint16_t x)
{
	mr_layer_cfg heads = {.heads = v->heads, .bidirectional = true};
	uint16_t h = norm(v, "ln_1", x);

	h = linear(v, "self_attention.in_proj", 3 * v->width, h);
	h = mr_compose_add(&v->m, "attention", "self_attention.core", &heads, h);
	h = linear(v, "self_attention.out_proj", v->width, h);
	x = mr_compose_join(&v->m, "residual", "self_attention.add", x, h);

	h = norm(v, "ln_2", x);
	h = linear(v, "mlp.0", v->hidden, h);
	h = mr_compose_add(&v->m, "gelu", "mlp.1", &(mr_layer_cfg){0}, h);
	h = linear(v, "mlp.3", v->width, h);
	return mr_compose_join(&v->m, "residual", "mlp.add", x, h);
}

static mr_status check(const mr_vit *v, const mr_model_data *data)
{
	const mr_shape *in = &data->image;

	if (mr_shape_dim(*in, 0) % v->patch != 0 || mr_shape_dim(*in, 1) % v->patch != 0)
		return mr_fail(MR_ECONFIG, "patch: images of %lld x %lld cannot be cut into squares of %lld",
			       (long long)mr_shape_dim(*in, 0), (long long)mr_shape_dim(*in, 1), (long long)v->patch);
	if (v->width % v->heads != 0)
		return mr_fail(MR_ECONFIG, "heads: %lld heads cannot share a width of %lld evenly", (long long)v->heads,
			       (long long)v->width);
	return MR_OK;
}

static mr_status vit_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t hidden = mr_values_int(values, "hidden");
	mr_vit v = {
		.layers = mr_values_int(values, "layers"),
		.width = mr_values_int(values, "width"),
		.heads = mr_values_int(values, "heads"),
		.patch = mr_values_int(values, "patch"),
		.eps = mr_values_float(values, "eps"),
		.std = mr_values_float(values, "init_std"),
	};
	char stem[64];
	uint16_t x;

	*out = NULL;
	v.hidden = hidden ? hidden : 4 * v.width;
	MR_TRY(mr_images_check(data));
	MR_TRY(check(&v, data));
	MR_TRY(mr_images_begin(&v.m, data));
	x = mr_compose_add(&v.m, "patches", "patches", &(mr_layer_cfg){.patch = v.patch}, 0);
	x = linear(&v, "conv_proj", v.width, x);
	x = mr_compose_add(&v.m, "class_token", "encoder", &(mr_layer_cfg){.std = v.std}, x);
	for (int64_t i = 0; i < v.layers; i++) {
		snprintf(stem, sizeof(stem), "encoder.layers.%lld", (long long)i);
		v.m.stem = stem;
		x = block(&v, x);
	}
	v.m.stem = NULL;
	x = mr_compose_add(&v.m, "first_row", "token", &(mr_layer_cfg){0}, x);
	x = linear(&v, "heads.head", data->classes, norm(&v, "encoder.ln", x));
	mr_compose_classify(&v.m, values, &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&v.m, out);
}

const mr_model_ops mr_model_vit = {
	.name = "vit",
	.summary = "vision transformer over images",
	.options = options,
	.image = vit_image,
	.build = vit_build,
};
