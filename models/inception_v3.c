/*
 * inception_v3.c - Inception-v3: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: "Rethinking the Inception architecture for
 * computer vision", CVPR 2016, in the form of torchvision without the auxiliary head.
 *
 *	stem             32 (3x3, stride 2)  32  64 (padding 1)  P  80 (1x1)  192  P
 *	Mixed_5b to 5d   64 | 48, 64 (5x5) | 64, 96, 96 (3x3) | A, 32 or 64                                     block A
 *	Mixed_6a         384 (3x3, stride 2) | 64, 96, 96 (the last 3x3, stride 2) | P                          block B
 *	Mixed_6b to 6e   192 | c, c (1x7), 192 (7x1) | c, c (7x1), c (1x7), c (7x1), 192 (1x7) | A, 192         block C
 *	Mixed_7a         192, 320 (3x3, stride 2) | 192, 192 (1x7), 192 (7x1), 192 (3x3, stride 2) | P          block D
 *	Mixed_7b, 7c     320 | 384, then 384 (1x3) and 384 (3x1) | 448, 384 (3x3), then the same two | A, 192   block E
 *	head             global average, dropout, fc
 *
 * Convolutions of the stem are 3x3 without padding unless said otherwise; P is a max pool of 3x3 pixels with stride 2.
 * Every convolution has no bias and is followed by batch normalisation (eps 0.001) and ReLU. A is an average pool of
 * 3x3 pixels with stride 1, in which padding counts; c is 128, 160, 160 and 192. The branches of a block are
 * concatenated in the order listed. For 299 x 299 x 3 and 1000 classes it has 23,834,568 parameters. Names are those of
 * torchvision. Weights start normal with a deviation of 0.1, gains at 1, and all biases at 0.
 */
#include "models/images.h"

#include <math.h>
#include <stdio.h>

#define STD 0.1

static const mr_option options[] = {
	{"dropout", MR_OPT_FLOAT, "0.5", 0, 0.99, NULL, NULL, "rate of dropout in front of the last layer"},
	{"width", MR_OPT_FLOAT, "1", 0.01, 16, NULL, NULL,
	 "channels of every convolution, as a multiple of those of the paper"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

typedef struct net {
	mr_compose m;
	double width;
} net;

typedef struct window {
	int64_t h, w, stride, pad_h, pad_w;
} window;

static const window k1 = {1, 1, 1, 0, 0}, k3 = {3, 3, 1, 0, 0}, k3_padded = {3, 3, 1, 1, 1},
		    k3_stride = {3, 3, 2, 0, 0}, k5_padded = {5, 5, 1, 2, 2}, k1x3 = {1, 3, 1, 0, 1},
		    k3x1 = {3, 1, 1, 1, 0}, k1x7 = {1, 7, 1, 0, 3}, k7x1 = {7, 1, 1, 3, 0};

/* A convolution with batch normalisation and ReLU, after value @x. */
static uint16_t unit(net *n, const char *name, uint16_t x, int64_t out, const window *w)
{
	mr_layer_cfg conv = {.out = (int64_t)fmax(1, floor((double)out * n->width + 0.5)), .no_bias = true, .std = STD,
			     .kernel_h = w->h, .kernel_w = w->w, .stride_h = w->stride, .stride_w = w->stride,
			     .pad_h = w->pad_h, .pad_w = w->pad_w};
	char full[32];

	snprintf(full, sizeof(full), "%s.conv", name);
	x = mr_compose_add(&n->m, "conv", full, &conv, x);
	snprintf(full, sizeof(full), "%s.bn", name);
	return mr_compose_add(&n->m, "batch_norm", full, &(mr_layer_cfg){.act = MR_ACT_RELU, .eps = 1e-3}, x);
}

static uint16_t max_pool(net *n, const char *name, uint16_t x)
{
	mr_layer_cfg cfg = mr_images_window(3, 2, 0);

	return mr_compose_add(&n->m, "max_pool", name, &cfg, x);
}

/* The last branch of a block that keeps the size: an average pool and a convolution. */
static uint16_t pooled(net *n, uint16_t x, int64_t out)
{
	mr_layer_cfg cfg = mr_images_window(3, 1, 1);

	cfg.count_pad = true;
	return unit(n, "branch_pool", mr_compose_add(&n->m, "avg_pool", "pool", &cfg, x), out, &k1);
}

static uint16_t concat(net *n, const uint16_t *branch, uint32_t count)
{
	return mr_compose_gather(&n->m, "concat", "cat", &(mr_layer_cfg){.parts = count}, branch, count);
}

static uint16_t stem(net *n)
{
	uint16_t x = unit(n, "Conv2d_1a_3x3", 0, 32, &k3_stride);

	x = unit(n, "Conv2d_2a_3x3", x, 32, &k3);
	x = unit(n, "Conv2d_2b_3x3", x, 64, &k3_padded);
	x = max_pool(n, "maxpool1", x);
	x = unit(n, "Conv2d_3b_1x1", x, 80, &k1);
	x = unit(n, "Conv2d_4a_3x3", x, 192, &k3);
	return max_pool(n, "maxpool2", x);
}

static uint16_t block_a(net *n, const char *name, uint16_t x, int64_t pool)
{
	uint16_t y[4];

	n->m.stem = name;
	y[0] = unit(n, "branch1x1", x, 64, &k1);
	y[1] = unit(n, "branch5x5_1", x, 48, &k1);
	y[1] = unit(n, "branch5x5_2", y[1], 64, &k5_padded);
	y[2] = unit(n, "branch3x3dbl_1", x, 64, &k1);
	y[2] = unit(n, "branch3x3dbl_2", y[2], 96, &k3_padded);
	y[2] = unit(n, "branch3x3dbl_3", y[2], 96, &k3_padded);
	y[3] = pooled(n, x, pool);
	return concat(n, y, 4);
}

static uint16_t block_b(net *n, const char *name, uint16_t x)
{
	uint16_t y[3];

	n->m.stem = name;
	y[0] = unit(n, "branch3x3", x, 384, &k3_stride);
	y[1] = unit(n, "branch3x3dbl_1", x, 64, &k1);
	y[1] = unit(n, "branch3x3dbl_2", y[1], 96, &k3_padded);
	y[1] = unit(n, "branch3x3dbl_3", y[1], 96, &k3_stride);
	y[2] = max_pool(n, "pool", x);
	return concat(n, y, 3);
}

static uint16_t block_c(net *n, const char *name, uint16_t x, int64_t c)
{
	uint16_t y[4];

	n->m.stem = name;
	y[0] = unit(n, "branch1x1", x, 192, &k1);
	y[1] = unit(n, "branch7x7_1", x, c, &k1);
	y[1] = unit(n, "branch7x7_2", y[1], c, &k1x7);
	y[1] = unit(n, "branch7x7_3", y[1], 192, &k7x1);
	y[2] = unit(n, "branch7x7dbl_1", x, c, &k1);
	y[2] = unit(n, "branch7x7dbl_2", y[2], c, &k7x1);
	y[2] = unit(n, "branch7x7dbl_3", y[2], c, &k1x7);
	y[2] = unit(n, "branch7x7dbl_4", y[2], c, &k7x1);
	y[2] = unit(n, "branch7x7dbl_5", y[2], 192, &k1x7);
	y[3] = pooled(n, x, 192);
	return concat(n, y, 4);
}

static uint16_t block_d(net *n, const char *name, uint16_t x)
{
	uint16_t y[3];

	n->m.stem = name;
	y[0] = unit(n, "branch3x3_1", x, 192, &k1);
	y[0] = unit(n, "branch3x3_2", y[0], 320, &k3_stride);
	y[1] = unit(n, "branch7x7x3_1", x, 192, &k1);
	y[1] = unit(n, "branch7x7x3_2", y[1], 192, &k1x7);
	y[1] = unit(n, "branch7x7x3_3", y[1], 192, &k7x1);
	y[1] = unit(n, "branch7x7x3_4", y[1], 192, &k3_stride);
	y[2] = max_pool(n, "pool", x);
	return concat(n, y, 3);
}

static uint16_t block_e(net *n, const char *name, uint16_t x)
{
	uint16_t y[6], t;

	n->m.stem = name;
	y[0] = unit(n, "branch1x1", x, 320, &k1);
	t = unit(n, "branch3x3_1", x, 384, &k1);
	y[1] = unit(n, "branch3x3_2a", t, 384, &k1x3);
	y[2] = unit(n, "branch3x3_2b", t, 384, &k3x1);
	t = unit(n, "branch3x3dbl_1", x, 448, &k1);
	t = unit(n, "branch3x3dbl_2", t, 384, &k3_padded);
	y[3] = unit(n, "branch3x3dbl_3a", t, 384, &k1x3);
	y[4] = unit(n, "branch3x3dbl_3b", t, 384, &k3x1);
	y[5] = pooled(n, x, 192);
	return concat(n, y, 6);
}

static uint16_t blocks(net *n, uint16_t x)
{
	x = block_a(n, "Mixed_5b", x, 32);
	x = block_a(n, "Mixed_5c", x, 64);
	x = block_a(n, "Mixed_5d", x, 64);
	x = block_b(n, "Mixed_6a", x);
	x = block_c(n, "Mixed_6b", x, 128);
	x = block_c(n, "Mixed_6c", x, 160);
	x = block_c(n, "Mixed_6d", x, 160);
	x = block_c(n, "Mixed_6e", x, 192);
	x = block_d(n, "Mixed_7a", x);
	x = block_e(n, "Mixed_7b", x);
	x = block_e(n, "Mixed_7c", x);
	n->m.stem = NULL;
	return x;
}

static mr_shape inception_image(const mr_values *values)
{
	(void)values;
	return mr_shape_of(3, (const int64_t[]){299, 299, 3}, false);
}

static mr_status inception_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	double dropout = mr_values_float(values, "dropout");
	net n = {.width = mr_values_float(values, "width")};
	uint16_t x;

	*out = NULL;
	MR_TRY(mr_images_begin(&n.m, data));
	x = blocks(&n, stem(&n));
	x = mr_compose_add(&n.m, "global_avg_pool", "avgpool", &(mr_layer_cfg){0}, x);
	if (dropout > 0)
		x = mr_compose_add(&n.m, "dropout", "dropout", &(mr_layer_cfg){.rate = dropout}, x);
	x = mr_compose_add(&n.m, "linear", "fc", &(mr_layer_cfg){.out = data->classes, .std = STD, .flat = true}, x);
	mr_compose_classify(&n.m, values, &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&n.m, out);
}

const mr_model_ops mr_model_inception_v3 = {
	.name = "inception_v3",
	.summary = "Inception-v3; images and classes",
	.options = options,
	.image = inception_image,
	.build = inception_build,
};
