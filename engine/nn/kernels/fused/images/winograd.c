#include "nn/kernels/fused/images/winograd.h"

#include <string.h>

#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/vec/team.h"
#include "nn/kernels/fused/vec/vec_neon.h"

/* With fewer channels a transform is too much of the work: 32 channels are level with oneDNN, 16 take 1.3 times as
 * long. With fewer tiles that of the weights is: of 512 channels, 4 tiles take 0.3 to 0.8 of oneDNN's time; of 64, 1 to
 * 1.2 forward and 0.7 in the gradient of the weights, and 1 tile 1.5 forward (one thread of a Xeon). */
#define LEAST_CHANNELS 64
#define LEAST_TILES 4
#define SMALL 4    /* pixels along both sides */
#define WHOLE 16   /* channels come in multiples of it: the lanes of a vector */

static bool has_channels(int64_t n)
{
	return n >= LEAST_CHANNELS && n % WHOLE == 0;
}

bool mr_winograd_takes(const mr_conv *g)
{
	const mr_window *w = &g->window;

	return w->kernel_h == 3 && w->kernel_w == 3 && w->stride_h == 1 && w->stride_w == 1 && w->dilation_h == 1 &&
	       w->dilation_w == 1 && w->pad_h <= 2 && w->pad_w <= 2 && g->groups == 1 && has_channels(w->c) &&
	       has_channels(g->out) && w->samples * ((w->out_h + 1) / 2) * ((w->out_w + 1) / 2) >= LEAST_TILES;
}

bool mr_winograd_takes_bf16(const mr_conv *g, const char *engine, mr_conv_pass pass)
{
	int64_t side = g->window.out_h > g->window.out_w ? g->window.out_h : g->window.out_w;

	if (!engine || !mr_winograd_takes(g))
		return false;
	if (!strcmp(engine, "f32"))
		return true;
	return !strcmp(engine, "avx512_bf16") &&
	       (pass == MR_CONV_WEIGHT || (pass == MR_CONV_FORWARD && side <= SMALL));
}

const mr_vec_winograds *mr_winograd_kernels(const mr_vec *vec, const mr_vec_ops *ops)
{
#ifdef __x86_64__
	return ops == &mr_vec_avx512.ops ? &mr_vec_winograds_avx512
	       : ops == &mr_vec_avx2.ops ? &mr_vec_winograds_avx2
	       : ops == &mr_vec_ops_bf16_avx512_bf16 ? &mr_vec_winograds_bf16_avx512_bf16
	       : vec == &mr_vec_avx512 ? &mr_vec_winograds_bf16_avx512
				       : &mr_vec_winograds_bf16_avx2;
#elif defined(__aarch64__)
	return ops == &vec->ops ? &mr_vec_winograds_neon : &mr_vec_winograds_bf16_neon;
#else
	(void)vec, (void)ops;
	return NULL; /* there is no context without vectors */
#endif
}

/* Room for @each floats a thread, and in front of them for @first; a thread's begin on cache lines. */
static mr_status reserve(const mr_winograd *by, mr_vec_winograd *a, size_t first, size_t each)
{
	first = (first + 15) & ~(size_t)15, each = (each + 15) & ~(size_t)15;
	MR_TRY(mr_scratch_grow(by->room, (first + by->n_threads * each) * sizeof(float)));
	a->transformed = by->room->at;
	a->scratch = a->transformed + first;
	a->scratch_floats = each;
	return MR_OK;
}

static mr_status images(const mr_winograd *by, mr_vec_winograd *a)
{
	const mr_vec_winograds *k = by->kernels;
	int64_t units = k->images_units(a), pixels = a->samples * a->out_h * a->out_w;

	if (k->few_takes(a, by->n_threads)) { /* one block of tiles: units are blocks of outputs */
		MR_TRY(reserve(by, a, 0, k->few_floats(a)));
		mr_team_run(by->n_threads, k->few, a, units, 1, pixels * a->out * a->c / units);
		return MR_OK;
	}
	MR_TRY(reserve(by, a, k->transformed_floats(a), k->images_floats(a)));
	mr_team_run(by->n_threads, k->weights, a, a->c, k->lanes, 9 * a->out);
	mr_team_run(by->n_threads, k->images, a, units, 1, pixels * a->out * a->c / units);
	return MR_OK;
}

mr_status mr_winograd_conv(const mr_winograd *by, const mr_conv *g, const void *x, const void *w, const void *bias,
			   void *y)
{
	const mr_window *v = &g->window;
	mr_vec_winograd a = {.samples = v->samples, .h = v->h, .w = v->w, .c = v->c, .out_h = v->out_h,
			     .out_w = v->out_w, .out = g->out, .pad_h = v->pad_h, .pad_w = v->pad_w, .x = x,
			     .weights = w, .bias = g->bias ? bias : NULL, .relu = g->relu, .y = y};

	return images(by, &a);
}

mr_status mr_winograd_backward_input(const mr_winograd *by, const mr_conv *g, const void *dy, const void *w, void *dx,
				     bool add)
{
	const mr_window *v = &g->window;
	mr_vec_winograd a = {.samples = v->samples, .h = v->out_h, .w = v->out_w, .c = g->out, .out_h = v->h,
			     .out_w = v->w, .out = v->c, .pad_h = 2 - v->pad_h, .pad_w = 2 - v->pad_w, .x = dy,
			     .weights = w, .turned = true, .add = add, .y = dx};

	return images(by, &a);
}

mr_status mr_winograd_backward_weight(const mr_winograd *by, const mr_conv *g, const void *x, const void *dy, float *dw,
				      bool add)
{
	const mr_window *v = &g->window;
	mr_vec_winograd a = {.samples = v->samples, .h = v->h, .w = v->w, .c = v->c, .out_h = v->out_h,
			     .out_w = v->out_w, .out = g->out, .pad_h = v->pad_h, .pad_w = v->pad_w, .x = x,
			     .dy = dy, .add = add, .dw = dw};

	MR_TRY(reserve(by, &a, 0, by->kernels->gradient_floats(&a)));
	mr_team_run(by->n_threads, by->kernels->gradient, &a, a.c, by->kernels->lanes,
		    9 * a.out * a.samples * a.out_h * a.out_w / 64);
	return MR_OK;
}
