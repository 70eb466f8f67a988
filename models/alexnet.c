/*
 * alexnet.c - AlexNet.
 *
 *	imagenet   64 (11 x 11, stride 4, padding 2)  P  192 (5 x 5, padding 2)  P  384  256  256 (3 x 3, padding 1)  P
 *	           classifier: dropout 4096  dropout 4096  classes       P: max pool 3 x 3, stride 2
 *	paper      96 (11 x 11, stride 4)  N  P  256 (5 x 5, padding 2, two groups)  N  P  384  384 (two groups)
 *	           256 (two groups)  P; classifier as imagenet       N: local response normalisation
 *	cifar      64  P  192  P  384  256  256  P (all 3 x 3, padding 1)
 *	           classifier: dropout 1024  dropout 1024  classes       P: max pool 2 x 2
 *
 * A ReLU follows every convolution and hidden layer. paper is the network of Krizhevsky, Sutskever, Hinton, "ImageNet
 * classification with deep convolutional neural networks", 2012, whose weights start normal with a deviation of 0.01,
 * and the biases of the second, fourth and fifth convolution and of the hidden layers at 1; for 227 x 227 x 3 and 1000
 * classes it has 60,965,224 parameters. imagenet is the form of Krizhevsky, "One weird trick
 * for parallelizing convolutional neural networks", 2014, with torchvision's names; for 224 x 224 x 3 and 1000 classes
 * it has 61,100,840 parameters. cifar is a form for images of 32 x 32 x 3; for 10 classes it has 7,506,762 parameters.
 * Its weights and those of imagenet start as in nn/layers/conv.c and linear.c; all other biases start at 0.
 */
#include "models/images.h"

#include <string.h>

static const mr_option options[] = {
	{"form", MR_OPT_ENUM, "cifar", 0, 0, "imagenet|paper|cifar", NULL,
	 "for images of 224 x 224; the same as first published, for 227 x 227; for images of 32 x 32"},
	{"dropout", MR_OPT_FLOAT, "0.5", 0, 0.99, NULL, NULL, "rate of dropout in front of each hidden layer"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

static bool is_form(const mr_values *values, const char *form)
{
	return !strcmp(mr_values_string(values, "form"), form);
}

static mr_shape alexnet_image(const mr_values *values)
{
	int64_t side = is_form(values, "cifar") ? 32 : is_form(values, "paper") ? 227 : 224;

	return mr_shape_of(3, (const int64_t[]){side, side, 3}, false);
}

static uint16_t conv(mr_compose *m, int at, int64_t out, int64_t kernel, int64_t pad, uint16_t x)
{
	mr_layer_cfg cfg = mr_images_window(kernel, 1, pad);

	cfg.out = out;
	return mr_images_conv(m, at, cfg, x);
}

static uint16_t first(mr_compose *m, int64_t out, int64_t pad, double std, uint16_t x)
{
	mr_layer_cfg cfg = mr_images_window(11, 4, pad);

	cfg.out = out;
	cfg.std = std;
	return mr_images_conv(m, 0, cfg, x);
}

static uint16_t add_features(mr_compose *m, bool cifar, uint16_t x)
{
	int64_t pool = cifar ? 2 : 3;

	x = cifar ? conv(m, 0, 64, 3, 1, x) : first(m, 64, 2, 0, x);
	x = mr_images_max_pool(m, 2, pool, 2, x);
	x = cifar ? conv(m, 3, 192, 3, 1, x) : conv(m, 3, 192, 5, 2, x);
	x = mr_images_max_pool(m, 5, pool, 2, x);
	x = conv(m, 6, 384, 3, 1, x);
	x = conv(m, 8, 256, 3, 1, x);
	x = conv(m, 10, 256, 3, 1, x);
	return mr_images_max_pool(m, 12, pool, 2, x);
}

static uint16_t add_paper(mr_compose *m, uint16_t x)
{
	mr_layer_cfg lrn = {.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2}, cfg = mr_images_window(5, 1, 2);

	x = first(m, 96, 0, 0.01, x);
	x = mr_images_feature(m, 2, "lrn", &lrn, x);
	x = mr_images_max_pool(m, 3, 3, 2, x);
	cfg.std = 0.01, cfg.groups = 2, cfg.out = 256, cfg.bias = 1;
	x = mr_images_conv(m, 4, cfg, x);
	x = mr_images_feature(m, 6, "lrn", &lrn, x);
	x = mr_images_max_pool(m, 7, 3, 2, x);
	cfg.kernel_h = cfg.kernel_w = 3, cfg.pad_h = cfg.pad_w = 1, cfg.groups = 1, cfg.out = 384, cfg.bias = 0;
	x = mr_images_conv(m, 8, cfg, x);
	cfg.groups = 2, cfg.bias = 1;
	x = mr_images_conv(m, 10, cfg, x);
	cfg.out = 256;
	x = mr_images_conv(m, 12, cfg, x);
	return mr_images_max_pool(m, 14, 3, 2, x);
}

static mr_status alexnet_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	double dropout = mr_values_float(values, "dropout"), std = is_form(values, "paper") ? 0.01 : 0;
	mr_layer_cfg hidden = {.out = is_form(values, "cifar") ? 1024 : 4096, .act = MR_ACT_RELU, .flat = true,
			       .std = std, .bias = is_form(values, "paper")};
	mr_compose m;
	uint16_t x;

	*out = NULL;
	MR_TRY(mr_images_begin(&m, data));
	x = is_form(values, "paper") ? add_paper(&m, 0) : add_features(&m, is_form(values, "cifar"), 0);
	x = mr_images_dropout(&m, 0, dropout, x);
	x = mr_images_linear(&m, 1, &hidden, x);
	x = mr_images_dropout(&m, 3, dropout, x);
	hidden.flat = false;
	x = mr_images_linear(&m, 4, &hidden, x);
	x = mr_images_linear(&m, 6, &(mr_layer_cfg){.out = data->classes, .std = std}, x);
	mr_compose_classify(&m, values, &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_alexnet = {
	.name = "alexnet",
	.summary = "AlexNet; images and classes",
	.options = options,
	.image = alexnet_image,
	.build = alexnet_build,
};
