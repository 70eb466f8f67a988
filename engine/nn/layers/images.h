/*
 * images.h - shared by layers over images, whose inputs are numbers with three dimensions, [height, width, channels].
 * Private to this folder.
 */
#ifndef MR_NN_LAYERS_IMAGES_H
#define MR_NN_LAYERS_IMAGES_H

#include "nn/layers/shared.h"

/* Input @in of @layer must be images. */
static inline mr_status mr_layer_check_images(const char *layer, mr_shape in)
{
	MR_TRY(mr_layer_check_numbers(layer, in));
	if (mr_shape_dims(in) != 3 || in.n_dims == 0)
		return mr_fail(MR_ECONFIG, "%s takes images of three dimensions, height, width and channels, got %u",
			       layer, mr_shape_dims(in));
	return MR_OK;
}

/* The window that @cfg describes over @samples images of shape @in, after mr_layer_check_window accepted it. @stride_h
 * and @stride_w: strides if the configuration has none. */
static inline mr_window mr_layer_window(const mr_layer_cfg *cfg, mr_shape in, int64_t samples, int64_t stride_h,
					int64_t stride_w)
{
	mr_window w = {
		.samples = samples,
		.h = in.dim[0],
		.w = in.dim[1],
		.c = in.dim[2],
		.kernel_h = cfg->kernel_h,
		.kernel_w = cfg->kernel_w,
		.stride_h = cfg->stride_h ? cfg->stride_h : stride_h,
		.stride_w = cfg->stride_w ? cfg->stride_w : stride_w,
		.pad_h = cfg->pad_h,
		.pad_w = cfg->pad_w,
		.dilation_h = cfg->dilation_h ? cfg->dilation_h : 1,
		.dilation_w = cfg->dilation_w ? cfg->dilation_w : 1,
	};

	w.out_h = mr_window_out(w.h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h);
	w.out_w = mr_window_out(w.w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w);
	return w;
}

/* MR_OK if @in are images and the window of @cfg fits into them with their padding; else MR_ECONFIG with a message. */
static inline mr_status mr_layer_check_window(const char *layer, const mr_layer_cfg *cfg, mr_shape in)
{
	const int64_t most = INT32_MAX;
	mr_window w;

	MR_TRY(mr_layer_check_images(layer, in));
	if (cfg->kernel_h < 1 || cfg->kernel_w < 1 || cfg->kernel_h > most || cfg->kernel_w > most)
		return mr_fail(MR_ECONFIG, "%s needs a window of at least 1 x 1 pixels, got %lld x %lld", layer,
			       (long long)cfg->kernel_h, (long long)cfg->kernel_w);
	if (cfg->stride_h < 0 || cfg->stride_w < 0 || cfg->stride_h > most || cfg->stride_w > most)
		return mr_fail(MR_ECONFIG, "%s needs strides of at least 1, got %lld and %lld", layer,
			       (long long)cfg->stride_h, (long long)cfg->stride_w);
	if (cfg->pad_h < 0 || cfg->pad_w < 0 || cfg->pad_h > most || cfg->pad_w > most)
		return mr_fail(MR_ECONFIG, "%s needs a padding of at least 0, got %lld and %lld", layer,
			       (long long)cfg->pad_h, (long long)cfg->pad_w);
	if (cfg->dilation_h < 0 || cfg->dilation_w < 0 || cfg->dilation_h > most || cfg->dilation_w > most)
		return mr_fail(MR_ECONFIG, "%s needs dilations of at least 1, got %lld and %lld", layer,
			       (long long)cfg->dilation_h, (long long)cfg->dilation_w);
	w = mr_layer_window(cfg, in, 1, 1, 1);
	if (w.out_h < 1 || w.out_w < 1)
		return mr_fail(MR_ECONFIG,
			       "%s: a window over %lld x %lld pixels is larger than the padded image of %lld x %lld",
			       layer, (long long)mr_window_span(w.kernel_h, w.dilation_h),
			       (long long)mr_window_span(w.kernel_w, w.dilation_w), (long long)(w.h + 2 * w.pad_h),
			       (long long)(w.w + 2 * w.pad_w));
	return MR_OK;
}

static inline mr_shape mr_layer_images(int64_t h, int64_t w, int64_t c)
{
	return mr_shape_of(3, (const int64_t[]){h, w, c}, false);
}

#endif
