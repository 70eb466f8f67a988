/*
 * lenet.c - LeNet in its two common forms.
 *
 *	lenet5   conv1 (5 x 5, padding 2, tanh)  A  conv2 (5 x 5, tanh)  A  fc1, fc2 (tanh)  fc3   A: average pool 2 x 2
 *	caffe    conv1 (5 x 5)  M  conv2 (5 x 5)  M  fc1 (ReLU)  fc2                               M: max pool 2 x 2
 *
 * lenet5 is the network of LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document recognition",
 * 1998, as it is built today: pools have no parameters, every channel of conv2 reads all channels of conv1, and the
 * loss is softmax cross-entropy. For images of 28 x 28 x 1 and 10 classes the two have 61,706 and 431,080 parameters.
 */
#include "models/images.h"

#include <string.h>

static const mr_option options[] = {
	{"form", MR_OPT_ENUM, "lenet5", 0, 0, "lenet5|caffe", NULL, "lenet5: tanh and means; caffe: ReLU and maxima"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

static mr_shape lenet_image(const mr_values *values)
{
	(void)values;
	return mr_shape_of(3, (const int64_t[]){28, 28, 1}, false);
}

static uint16_t add_lenet5(mr_compose *m, uint16_t x)
{
	mr_layer_cfg tanh_cfg = {.act = MR_ACT_TANH}, pool = mr_images_window(2, 2, 0);
	mr_layer_cfg conv = mr_images_window(5, 1, 2);

	conv.out = 6;
	x = mr_compose_add(m, "conv", "conv1", &conv, x);
	x = mr_compose_add(m, "activation", "tanh1", &tanh_cfg, x);
	x = mr_compose_add(m, "avg_pool", "pool1", &pool, x);
	conv = mr_images_window(5, 1, 0);
	conv.out = 16;
	x = mr_compose_add(m, "conv", "conv2", &conv, x);
	x = mr_compose_add(m, "activation", "tanh2", &tanh_cfg, x);
	x = mr_compose_add(m, "avg_pool", "pool2", &pool, x);
	x = mr_compose_add(m, "linear", "fc1", &(mr_layer_cfg){.out = 120, .flat = true}, x);
	x = mr_compose_add(m, "activation", "tanh3", &tanh_cfg, x);
	x = mr_compose_add(m, "linear", "fc2", &(mr_layer_cfg){.out = 84}, x);
	return mr_compose_add(m, "activation", "tanh4", &tanh_cfg, x);
}

static uint16_t add_caffe(mr_compose *m, uint16_t x)
{
	mr_layer_cfg pool = mr_images_window(2, 2, 0), conv = mr_images_window(5, 1, 0);

	conv.out = 20;
	x = mr_compose_add(m, "conv", "conv1", &conv, x);
	x = mr_compose_add(m, "max_pool", "pool1", &pool, x);
	conv.out = 50;
	x = mr_compose_add(m, "conv", "conv2", &conv, x);
	x = mr_compose_add(m, "max_pool", "pool2", &pool, x);
	return mr_compose_add(m, "linear", "fc1", &(mr_layer_cfg){.out = 500, .flat = true, .act = MR_ACT_RELU}, x);
}

static mr_status lenet_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	bool caffe = !strcmp(mr_values_string(values, "form"), "caffe");
	mr_layer_cfg last = {.out = data->classes};
	mr_compose m;
	uint16_t x;

	*out = NULL;
	MR_TRY(mr_images_begin(&m, data));
	x = caffe ? add_caffe(&m, 0) : add_lenet5(&m, 0);
	x = mr_compose_add(&m, "linear", caffe ? "fc2" : "fc3", &last, x);
	mr_compose_classify(&m, values, &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_lenet = {
	.name = "lenet",
	.summary = "LeNet-5, or the form of Caffe; images and classes",
	.options = options,
	.image = lenet_image,
	.build = lenet_build,
};
