#include "nn/kernels/fused/images/columns.h"

#include <string.h>

#include "nn/kernels/fused/vec/team.h"

/* Channels of an operand below which a product's columns, or its chains, are too short: packing takes most of the time.
 * Forward over 8 x 8 pixels 48 to 64 channels take 2.2 times as long as by oneDNN. */
#define LEAST_CHANNELS 64

/* oneDNN's tiles are pieces of a row of outputs: of 4 it takes 1.3 to 10 times as long, of 7 and 8 as long as many
 * weights are there to be read, and of more it is faster forward. Backward it is slower up to 14, with strides up to 5
 * times, and its gradient of weights goes through formats of its own, which takes 1.4 to 9 times as long for windows of
 * one pixel and up to 6 for others (one thread of a Xeon, 45 shapes; perf/README.md). */
#define NARROWEST 4
#define NARROW 8
#define NARROW_BACKWARD 14
#define NARROW_WEIGHT 17
#define MANY_WEIGHTS (256 * 1024)
#define MANY_BACKWARD (128 * 1024)

static bool is_faster(const mr_conv *g, mr_conv_pass pass)
{
	const mr_window *w = &g->window;
	int64_t weights = mr_conv_weights(g);
	bool strides = w->stride_h > 1 || w->stride_w > 1;

	if (pass == MR_CONV_WEIGHT)
		return strides || (w->kernel_h == 1 && w->kernel_w == 1) || w->out_w <= NARROW ||
		       (w->out_w <= NARROW_WEIGHT && weights >= MANY_BACKWARD);
	if (w->c < LEAST_CHANNELS || g->out < LEAST_CHANNELS)
		return false;
	if (pass == MR_CONV_INPUT)
		return strides || w->w <= NARROWEST || (w->w <= NARROW_BACKWARD && weights >= MANY_BACKWARD);
	return w->out_w <= NARROWEST || (w->out_w <= NARROW && weights >= MANY_WEIGHTS);
}

bool mr_columns_takes(const mr_conv *g, const char *engine, mr_conv_pass pass)
{
	const mr_window *w = &g->window;

	return engine && (!strcmp(engine, "amx") || !strcmp(engine, "model")) && g->groups == 1 && w->c >= MR_BLOCK &&
	       g->out >= MR_BLOCK && w->c <= MR_GATHER_CHANNELS && g->out <= MR_GATHER_CHANNELS &&
	       w->kernel_h * w->kernel_w <= MR_GATHER_PIECES && is_faster(g, pass);
}

static mr_block_gemm product(const mr_kctx *kc, const mr_gather *a)
{
	return (mr_block_gemm){.vec = kc->blocks, .engine = &kc->engine, .pieces = 1, .gather = a};
}

/* The rows of all outputs. */
static mr_gather windows(const mr_window *w, const void *const *images)
{
	mr_gather g = {.images = images, .h = w->h, .w = w->w, .c = w->c, .grid_h = w->out_h, .grid_w = w->out_w,
		       .step_h = w->stride_h, .step_w = w->stride_w};

	for (int64_t y = 0, p = 0; y < w->kernel_h; y++)
		for (int64_t x = 0; x < w->kernel_w; x++, p++) {
			g.at[p].h = y * w->dilation_h - w->pad_h;
			g.at[p].w = x * w->dilation_w - w->pad_w;
		}
	return g;
}

mr_status mr_columns_conv(mr_kctx *kc, const mr_conv_args *o)
{
	const mr_window *w = &o->g->window;
	mr_gather a = windows(w, &o->x);
	mr_block_gemm p = product(kc, &a);
	const uint16_t *bs[MR_GATHER_PIECES];

	p.m = mr_window_out_pixels(w), p.n = o->g->out, p.k = w->c;
	p.pieces = (uint32_t)(w->kernel_h * w->kernel_w);
	for (uint32_t i = 0; i < p.pieces; i++)
		bs[i] = (const uint16_t *)o->w + i * p.k * p.n;
	p.bs = bs;
	p.out = (mr_block_out){.n = p.n, .c = o->y, .bias = o->g->bias ? o->bias : NULL,
			       .act = o->g->relu ? MR_ACT_RELU : MR_ACT_NONE};
	return mr_block_gemm_run(&p, kc->n_threads, &kc->block);
}

mr_status mr_columns_sum(mr_kctx *kc, const mr_conv_sum_args *o, const mr_block_step *step)
{
	const mr_window *w = &o->g->window;
	mr_gather a = windows(w, o->x);
	mr_block_gemm p = product(kc, &a);

	p.m = w->kernel_h * w->kernel_w * w->c, p.n = o->g->out, p.k = mr_window_out_pixels(w);
	p.ta = true;
	p.pieces = o->n;
	p.bs = (const uint16_t *const *)o->dy;
	p.out = (mr_block_out){.n = p.n, .c = o->dw, .gradient = true, .add = o->add, .step = step};
	return mr_block_gemm_run(&p, kc->n_threads, &kc->block);
}

/* --- the gradient of the input ------------------------------------------------------------------------------------ */

/* Pixels y0, y0 + stride, ... along one side, and likewise x0 along the other: they are seen at the same positions. */
typedef struct class {
	const mr_window *w;
	int64_t y0, x0, n_h, n_w;
	uint16_t *dx, *some; /* all pixels; those of the class, one after the other */
} class;

/* Do outputs see the pixel @first from the border at position @r? *@out is the first of them, which may lie outside. */
static bool seen(int64_t first, int64_t r, int64_t stride, int64_t pad, int64_t dilation, int64_t *out)
{
	int64_t at = first + pad - r * dilation;

	*out = at / stride;
	return at % stride == 0;
}

static uint16_t *pixel(const class *c, int64_t i)
{
	int64_t x = c->x0 + i % c->n_w * c->w->stride_w, y = c->y0 + i / c->n_w % c->n_h * c->w->stride_h;

	return c->dx + ((i / c->n_w / c->n_h * c->w->h + y) * c->w->w + x) * c->w->c;
}

static void take_pixels(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const class *c = args;

	(void)worker;
	for (int64_t i = lo; i < hi; i++)
		memcpy(c->some + i * c->w->c, pixel(c, i), (size_t)c->w->c * sizeof(*c->some));
}

static void put_pixels(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const class *c = args;
	size_t bytes = (size_t)c->w->c * sizeof(*c->some);

	(void)worker;
	for (int64_t i = lo; i < hi; i++)
		if (c->some)
			memcpy(pixel(c, i), c->some + i * c->w->c, bytes);
		else
			memset(pixel(c, i), 0, bytes);
}

/* The gradient of one class of pixels. */
static mr_status one_class(mr_kctx *kc, const mr_conv_backward_input_args *o, class *c)
{
	const mr_window *w = c->w;
	int64_t n = w->samples * c->n_h * c->n_w;
	bool whole = w->stride_h == 1 && w->stride_w == 1;
	mr_gather a = {.images = &o->dy, .h = w->out_h, .w = w->out_w, .c = o->g->out, .grid_h = c->n_h,
		       .grid_w = c->n_w, .step_h = 1, .step_w = 1};
	mr_block_gemm p = product(kc, &a);
	const uint16_t *bs[MR_GATHER_PIECES];
	float *room;

	p.m = n, p.n = w->c, p.k = o->g->out;
	p.tb = true;
	p.pieces = 0;
	for (int64_t y = 0; y < w->kernel_h; y++)
		for (int64_t x = 0; x < w->kernel_w; x++) {
			int64_t h, v;

			if (!seen(c->y0, y, w->stride_h, w->pad_h, w->dilation_h, &h) ||
			    !seen(c->x0, x, w->stride_w, w->pad_w, w->dilation_w, &v))
				continue;
			a.at[p.pieces].h = h, a.at[p.pieces].w = v;
			bs[p.pieces++] = (const uint16_t *)o->w + (y * w->kernel_w + x) * p.n * p.k;
		}
	p.bs = bs;
	c->some = NULL;
	if (p.pieces) {
		if (!whole) {
			MR_TRY(mr_fused_room(kc, (n * w->c + 1) / 2, &room));
			c->some = (uint16_t *)(void *)room;
		}
		if (!whole && o->add)
			mr_team_run(kc->n_threads, take_pixels, c, n, 1, w->c);
		p.out = (mr_block_out){.n = p.n, .c = whole ? c->dx : c->some, .add = o->add};
		MR_TRY(mr_block_gemm_run(&p, kc->n_threads, &kc->block));
	}
	if (!whole && (p.pieces || !o->add))
		mr_team_run(kc->n_threads, put_pixels, c, n, 1, w->c);
	return MR_OK;
}

mr_status mr_columns_backward_input(mr_kctx *kc, const mr_conv_backward_input_args *o)
{
	const mr_window *w = &o->g->window;
	class c = {.w = w, .dx = o->dx};

	for (c.y0 = 0; c.y0 < w->stride_h && c.y0 < w->h; c.y0++)
		for (c.x0 = 0; c.x0 < w->stride_w && c.x0 < w->w; c.x0++) {
			c.n_h = (w->h - c.y0 + w->stride_h - 1) / w->stride_h;
			c.n_w = (w->w - c.x0 + w->stride_w - 1) / w->stride_w;
			MR_TRY(one_class(kc, o, &c));
		}
	return MR_OK;
}
