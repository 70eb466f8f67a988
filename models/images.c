#include "models/images.h"

#include <stdio.h>

mr_status mr_images_check(const mr_model_data *data)
{
	if (data->image.n_dims != 3)
		return mr_fail(MR_ECONFIG, "takes images, the data has %lld x %lld %s", (long long)data->input.rows,
			       (long long)data->input.cols, data->input.tokens ? "tokens" : "numbers");
	if (!data->classes)
		return mr_fail(MR_ECONFIG, "takes classes as targets, the data has numbers");
	return MR_OK;
}

mr_status mr_images_begin(mr_compose *m, const mr_model_data *data)
{
	mr_model_data images = *data;

	MR_TRY(mr_images_check(data));
	images.input = data->image;
	mr_compose_init(m, &images);
	return MR_OK;
}

mr_layer_cfg mr_images_window(int64_t kernel, int64_t stride, int64_t pad)
{
	return (mr_layer_cfg){.kernel_h = kernel, .kernel_w = kernel, .stride_h = stride, .stride_w = stride,
			      .pad_h = pad, .pad_w = pad};
}

static uint16_t add(mr_compose *m, const char *layer, const char *part, int at, const mr_layer_cfg *cfg, uint16_t x)
{
	char name[32];

	snprintf(name, sizeof(name), "%s.%d", part, at);
	return mr_compose_add(m, layer, name, cfg, x);
}

uint16_t mr_images_feature(mr_compose *m, int at, const char *layer, const mr_layer_cfg *cfg, uint16_t x)
{
	return add(m, layer, "features", at, cfg, x);
}

uint16_t mr_images_conv(mr_compose *m, int at, mr_layer_cfg cfg, uint16_t x)
{
	cfg.act = MR_ACT_RELU;
	return mr_images_feature(m, at, "conv", &cfg, x);
}

uint16_t mr_images_conv_norm(mr_compose *m, int at, const mr_layer_cfg *cfg, uint16_t x)
{
	x = mr_images_feature(m, at, "conv", cfg, x);
	return mr_images_feature(m, at + 1, "batch_norm", &(mr_layer_cfg){.act = MR_ACT_RELU}, x);
}

uint16_t mr_images_max_pool(mr_compose *m, int at, int64_t kernel, int64_t stride, uint16_t x)
{
	mr_layer_cfg cfg = mr_images_window(kernel, stride, 0);

	return mr_images_feature(m, at, "max_pool", &cfg, x);
}

uint16_t mr_images_dropout(mr_compose *m, int at, double rate, uint16_t x)
{
	return rate > 0 ? add(m, "dropout", "classifier", at, &(mr_layer_cfg){.rate = rate}, x) : x;
}

uint16_t mr_images_linear(mr_compose *m, int at, const mr_layer_cfg *cfg, uint16_t x)
{
	return add(m, "linear", "classifier", at, cfg, x);
}
