/*
 * window.h - the window that convolutions and pools slide over images, and their shapes.
 *
 * Images are [samples, height, width, channels], row-major, in every backend and type: values are not reordered between
 * layers, and the matrix view of a value has one row per pixel. Output pixel (i, j) reads pixels
 * (i stride_h - pad_h + r dilation_h, j stride_w - pad_w + s dilation_w), 0 <= r < kernel_h, 0 <= s < kernel_w; those
 * outside of the image are padding.
 */
#ifndef MR_NN_WINDOW_H
#define MR_NN_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mr_window {
	int64_t samples, h, w, c; /* of the images it goes over */
	int64_t out_h, out_w;
	int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
} mr_window;

/* Weights are [kernel_h, kernel_w, c / groups, out]: output channel o belongs to group o / (out / groups) and reads
 * only the input channels of that group. The bias, if any, has one number per output channel. */
typedef struct mr_conv {
	mr_window window;
	int64_t out, groups; /* groups divides c and out */
	bool bias, relu;
} mr_conv;

/* What a convolution is computed for. */
typedef enum mr_conv_pass { MR_CONV_FORWARD, MR_CONV_INPUT, MR_CONV_WEIGHT } mr_conv_pass;

typedef enum mr_pool_kind {
	MR_POOL_MAX,         /* padding is -infinity */
	MR_POOL_MEAN,        /* of the pixels of the image */
	MR_POOL_MEAN_PADDED, /* padding counts as zeros */
	MR_POOL_ADAPTIVE,    /* mean of windows whose number is given: see mr_window_adaptive; kernel, stride and
	                        padding are not read */
} mr_pool_kind;

/* Kinds for which oneDNN has no primitive. */
static inline bool mr_pool_is_ours(mr_pool_kind kind)
{
	return kind == MR_POOL_MAX || kind == MR_POOL_ADAPTIVE;
}

/* The most positions of a max pool's window: all their indices are exact in every activation type. */
#define MR_POOL_POSITIONS 256

/* Local response normalisation over the @c channels of each pixel: y_c = x_c s_c^-beta with s_c = k + alpha / size *
 * the sum of squares of channels c - size / 2 to c + (size - 1) / 2 that exist. */
typedef struct mr_lrn {
	int64_t pixels, c, size; /* size: up to MR_LRN_MOST */
	double alpha, beta, k;
} mr_lrn;

#define MR_LRN_MOST 64

/* Extent of the window along one side in pixels, from the first pixel that it reads to the last. */
static inline int64_t mr_window_span(int64_t kernel, int64_t dilation)
{
	return (kernel - 1) * dilation + 1;
}

/* Outputs along one side of @n pixels; below 1: the window is larger than the padded image. */
static inline int64_t mr_window_out(int64_t n, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation)
{
	int64_t left = n + 2 * pad - mr_window_span(kernel, dilation);

	return left < 0 ? 0 : left / stride + 1;
}

static inline int64_t mr_window_in_pixels(const mr_window *w)
{
	return w->samples * w->h * w->w;
}

static inline int64_t mr_window_out_pixels(const mr_window *w)
{
	return w->samples * w->out_h * w->out_w;
}

/* Numbers of the weights, of the input and of the output. */
static inline int64_t mr_conv_weights(const mr_conv *g)
{
	return g->window.kernel_h * g->window.kernel_w * (g->window.c / g->groups) * g->out;
}

static inline int64_t mr_conv_in(const mr_conv *g)
{
	return mr_window_in_pixels(&g->window) * g->window.c;
}

static inline int64_t mr_conv_out(const mr_conv *g)
{
	return mr_window_out_pixels(&g->window) * g->out;
}

/* Pixel that output @i sees at position @r along one side of @n pixels; -1: padding. */
static inline int64_t mr_window_pixel(int64_t i, int64_t r, int64_t stride, int64_t pad, int64_t dilation, int64_t n)
{
	int64_t at = i * stride - pad + r * dilation;

	return at < n ? (at < 0 ? -1 : at) : -1;
}

/* Output that sees pixel @at at position @r along one side of @out outputs; -1: none. */
static inline int64_t mr_window_seen(int64_t at, int64_t r, int64_t stride, int64_t pad, int64_t dilation, int64_t out)
{
	int64_t i = at + pad - r * dilation;

	return i < 0 || i % stride || i / stride >= out ? -1 : i / stride;
}

/* Pixels *@from to *@to, the last one excluded, of the @i-th of @out windows along one side of @n pixels that cover all
 * of them: windows overlap where @out does not divide @n. The windows that contain pixel p are in turn
 * mr_window_adaptive(p, n, out). */
static inline void mr_window_adaptive(int64_t i, int64_t out, int64_t n, int64_t *from, int64_t *to)
{
	*from = i * n / out;
	*to = ((i + 1) * n + out - 1) / out;
}

/* Positions of output @i along one side of @n pixels that are in the image. */
static inline int64_t mr_window_inside(int64_t i, int64_t kernel, int64_t stride, int64_t pad, int64_t n)
{
	int64_t from = i * stride - pad, to = from + kernel;

	return (to < n ? to : n) - (from > 0 ? from : 0);
}

#endif
