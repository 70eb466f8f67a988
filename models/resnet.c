/*
 * resnet.c - residual networks of images: ResNet-18 and ResNet-50.
 *
 *	conv1 bn1 relu [max pool]   layer1.0 layer1.1 ...   layer2.0 ...   layer4.1   global average   fc   loss
 *
 *	block of 18   conv 3x3, bn, relu, conv 3x3, bn                        + shortcut, relu
 *	block of 50   conv 1x1, bn, relu, conv 3x3, bn, relu, conv 1x1, bn    + shortcut, relu
 *
 * He, Zhang, Ren, Sun: "Deep residual learning for image recognition", CVPR 2016; in a block of 50 the 3x3
 * convolution has the stride (v1.5). The first block of groups 2 to 4 has stride 2. The shortcut is the block's input
 * or, where the shape changes, a 1x1 convolution of it with bn. The last convolution of a block of 50 has four times as
 * many planes as the others. Groups 1 to 4 have `width` planes, and 2, 4 and 8 times as many.
 *
 * Two forms: for ImageNet conv1 is 7x7 with stride 2, followed by a 3x3 max pool with stride 2; for small images
 * (CIFAR) conv1 is 3x3 with stride 1, without a pool. No convolution has a bias. Convolutions start normal with
 * variance 2 / (kernel pixels x output planes), gains at 1, and fc normal with variance 1 / (3 inputs). Names are those
 * of torchvision.
 */
#include "models/images.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_WIDTH 4096
#define GROUPS 4

static const mr_option options[] = {
	{"form", MR_OPT_ENUM, "cifar", 0, 0, "imagenet|cifar", NULL,
	 "imagenet: the first convolution is 7x7 with stride 2, and a pool follows; cifar: it is 3x3 without either"},
	{"width", MR_OPT_INT, "64", 1, MAX_WIDTH, NULL, NULL,
	 "planes of the first group; the others have 2, 4 and 8 times as many"},
	{"blocks", MR_OPT_FLOATS, "[]", 1, 1000, NULL, NULL,
	 "blocks of each group, for one to four groups; empty: those of the paper"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

/* Differences between ResNet-18 and ResNet-50. */
typedef struct resnet {
	bool bottleneck;
	int64_t blocks[GROUPS];
} resnet;

static uint16_t conv(mr_compose *m, const char *name, uint16_t x, int64_t out, int64_t kernel, int64_t stride)
{
	mr_layer_cfg cfg = mr_images_window(kernel, stride, kernel / 2);

	cfg.out = out;
	cfg.no_bias = true;
	cfg.std = sqrt(2 / (double)(kernel * kernel * out));
	return mr_compose_add(m, "conv", name, &cfg, x);
}

static uint16_t bn(mr_compose *m, const char *name, uint16_t x, mr_act act)
{
	return mr_compose_add(m, "batch_norm", name, &(mr_layer_cfg){.act = act}, x);
}

/* Append a block with @planes planes and @stride to @x; @project: its shortcut is a convolution. */
static uint16_t block(mr_compose *m, const resnet *r, uint16_t x, int64_t planes, int64_t stride, bool project)
{
	int64_t out = r->bottleneck ? 4 * planes : planes;
	uint16_t shortcut = x, y;

	y = conv(m, "conv1", x, planes, r->bottleneck ? 1 : 3, r->bottleneck ? 1 : stride);
	y = bn(m, "bn1", y, MR_ACT_RELU);
	y = conv(m, "conv2", y, planes, 3, r->bottleneck ? stride : 1);
	y = bn(m, "bn2", y, r->bottleneck ? MR_ACT_RELU : MR_ACT_NONE);
	if (r->bottleneck) {
		y = conv(m, "conv3", y, out, 1, 1);
		y = bn(m, "bn3", y, MR_ACT_NONE);
	}
	if (project) {
		shortcut = conv(m, "downsample.0", x, out, 1, stride);
		shortcut = bn(m, "downsample.1", shortcut, MR_ACT_NONE);
	}
	return mr_compose_join(m, "add_relu", "relu", y, shortcut);
}

static bool is_small(const mr_values *values)
{
	return !strcmp(mr_values_string(values, "form"), "cifar");
}

static mr_shape image(const mr_values *values)
{
	int64_t side = is_small(values) ? 32 : 224;

	return mr_shape_of(3, (const int64_t[]){side, side, 3}, false);
}

static mr_status check(const mr_values *values)
{
	size_t n;
	const double *blocks = mr_values_floats(values, "blocks", &n);

	if (n > GROUPS)
		return mr_fail(MR_ECONFIG, "blocks: at most %d groups, got %zu", GROUPS, n);
	for (size_t i = 0; i < n; i++)
		if (blocks[i] != floor(blocks[i]))
			return mr_fail(MR_ECONFIG, "blocks: a number of blocks is a whole number, got %g", blocks[i]);
	return MR_OK;
}

/* The layers before the first group. */
static uint16_t stem(mr_compose *m, bool small, int64_t width)
{
	mr_layer_cfg pool = mr_images_window(3, 2, 1);
	uint16_t x = conv(m, "conv1", 0, width, small ? 3 : 7, small ? 1 : 2);

	x = bn(m, "bn1", x, MR_ACT_RELU);
	return small ? x : mr_compose_add(m, "max_pool", "maxpool", &pool, x);
}

static mr_status build(const resnet *paper, const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t width = mr_values_int(values, "width");
	mr_layer_cfg fc = {.out = data->classes, .flat = true};
	const double *blocks;
	char name[64];
	size_t groups;
	mr_compose m;
	uint16_t x;

	*out = NULL;
	MR_TRY(check(values));
	MR_TRY(mr_images_begin(&m, data));
	blocks = mr_values_floats(values, "blocks", &groups);
	x = stem(&m, is_small(values), width);
	for (size_t g = 0; g < (groups ? groups : GROUPS); g++)
		for (int64_t i = 0; i < (groups ? (int64_t)blocks[g] : paper->blocks[g]); i++) {
			snprintf(name, sizeof(name), "layer%zu.%lld", g + 1, (long long)i);
			m.stem = name;
			x = block(&m, paper, x, width << g, g && !i ? 2 : 1, !i && (g || paper->bottleneck));
		}
	m.stem = NULL;
	x = mr_compose_add(&m, "global_avg_pool", "avgpool", &(mr_layer_cfg){0}, x);
	width = (width << ((groups ? groups : GROUPS) - 1)) * (paper->bottleneck ? 4 : 1);
	fc.std = 1 / sqrt(3 * (double)width);
	x = mr_compose_add(&m, "linear", "fc", &fc, x);
	mr_compose_classify(&m, values, &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

static mr_status resnet18_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	return build(&(resnet){.blocks = {2, 2, 2, 2}}, values, data, out);
}

static mr_status resnet50_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	return build(&(resnet){.bottleneck = true, .blocks = {3, 4, 6, 3}}, values, data, out);
}

const mr_model_ops mr_model_resnet18 = {
	.name = "resnet18",
	.summary = "ResNet-18; images and classes",
	.options = options,
	.image = image,
	.build = resnet18_build,
};

const mr_model_ops mr_model_resnet50 = {
	.name = "resnet50",
	.summary = "ResNet-50 (v1.5); images and classes",
	.options = options,
	.image = image,
	.build = resnet50_build,
};
