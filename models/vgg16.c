/*
 * vgg16.c - VGG with 16 weight layers: configuration D of Simonyan, Zisserman, "Very deep convolutional
 * networks for large-scale image recognition", 2015.
 *
 *	features     13 convolutions of 3 x 3 with padding 1 and ReLU, of 64 64 P 128 128 P 256 256 256 P 512 512 512 P
 *	             512 512 512 P channels; P: max pool 2 x 2
 *	classifier   imagenet     4096 (ReLU, dropout)  4096 (ReLU, dropout)  classes
 *	             torchvision  the same behind an adaptive average pool to 7 x 7, so for images of any size
 *	             cifar        classes
 *	             cifar_deep   512 (ReLU, dropout)  512 (ReLU, dropout)  classes
 *
 * For 224 x 224 x 3 and 1000 classes imagenet has 138,357,544 parameters; for 32 x 32 x 3 and 10 classes cifar has
 * 14,719,818, cifar_deep 15,245,130 and torchvision 134,301,514. With batch_norm batch normalisation stands between
 * each convolution and its ReLU, which adds 8,448. Names and initial weights are those of torchvision: convolutions
 * normal with variance 2 / (9 output channels), linear layers normal with a deviation of 0.01, biases 0.
 */
#include "models/images.h"

#include <math.h>
#include <string.h>

static const mr_option options[] = {
	{"form", MR_OPT_ENUM, "cifar", 0, 0, "imagenet|cifar|cifar_deep|torchvision", NULL,
	 "what is behind the convolutions: two layers of 4096; none; two of 512; an average pool to 7 x 7 and two of "
	 "4096"},
	{"dropout", MR_OPT_FLOAT, "0.5", 0, 0.99, NULL, NULL, "rate of dropout behind each hidden layer"},
	{"hidden", MR_OPT_INT, "0", 0, 65536, NULL, NULL,
	 "units of each layer between the convolutions and the last layer; 0: as the form says"},
	{"batch_norm", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "batch normalisation between each convolution and its ReLU"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

static bool is_form(const mr_values *values, const char *form)
{
	return !strcmp(mr_values_string(values, "form"), form);
}

static mr_shape vgg16_image(const mr_values *values)
{
	int64_t side = is_form(values, "imagenet") ? 224 : 32;

	return mr_shape_of(3, (const int64_t[]){side, side, 3}, false);
}

static uint16_t add_features(mr_compose *m, bool norm, uint16_t x)
{
	static const int64_t channels[] = {64,	64,  0,	  128, 128, 0,	 256, 256, 256,
					   0,	512, 512, 512, 0,   512, 512, 512, 0};
	int at = 0;

	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		mr_layer_cfg conv = mr_images_window(3, 1, 1);

		conv.out = channels[i];
		conv.std = conv.out ? sqrt(2.0 / (9.0 * (double)conv.out)) : 0;
		if (!conv.out)
			x = mr_images_max_pool(m, at, 2, 2, x);
		else
			x = norm ? mr_images_conv_norm(m, at, &conv, x) : mr_images_conv(m, at, conv, x);
		at += conv.out ? norm ? 3 : 2 : 1; /* torchvision counts the ReLU as a layer */
	}
	return x;
}

static mr_status vgg16_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	double dropout = mr_values_float(values, "dropout");
	bool whole = is_form(values, "torchvision");
	mr_layer_cfg hidden = {.out = whole || is_form(values, "imagenet") ? 4096 : 512, .act = MR_ACT_RELU,
			       .std = 0.01, .flat = true};
	mr_layer_cfg last = {.out = data->classes, .std = 0.01, .flat = is_form(values, "cifar")};
	int at = 0;
	mr_compose m;
	uint16_t x;

	*out = NULL;
	if (mr_values_int(values, "hidden"))
		hidden.out = mr_values_int(values, "hidden");
	MR_TRY(mr_images_begin(&m, data));
	x = add_features(&m, mr_values_bool(values, "batch_norm"), 0);
	if (whole)
		x = mr_compose_add(&m, "adaptive_avg_pool", "avgpool", &(mr_layer_cfg){.out_h = 7, .out_w = 7}, x);
	for (; at < 6 && !is_form(values, "cifar"); at += 3) {
		x = mr_images_linear(&m, at, &hidden, x);
		x = mr_images_dropout(&m, at + 2, dropout, x);
		hidden.flat = false;
	}
	x = mr_images_linear(&m, at, &last, x);
	mr_compose_classify(&m, values, &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_vgg16 = {
	.name = "vgg16",
	.summary = "VGG-16; images and classes",
	.options = options,
	.image = vgg16_image,
	.build = vgg16_build,
};
