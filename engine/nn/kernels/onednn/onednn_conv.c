/*
 * onednn_conv.c - convolutions by the convolution primitive, over images [samples, h, w, c].
 *
 * Images keep their plain format: in bf16 the library uses its fastest kernels only for it. The caller's weights are in
 * the plain format, too, but the primitive chooses its own (plain weights would halve the speed), and a reorder runs
 * before the primitive. A gradient of weights is left in the primitive's format, and who reads it next, a sum or an
 * optimizer's step, reads it there; a reorder runs where that format is an unusual one. Primitives are created on the
 * first call with a shape.
 */
#include "nn/kernels/fused/vec/team.h"
#include "nn/kernels/onednn/onednn_context.h"

#include <stdlib.h>
#include <string.h>

typedef enum direction { FORWARD, INPUT, WEIGHT } direction;

/* The key of a cached primitive; without padding, since it is compared as bytes. */
typedef struct conv_key {
	mr_window window;
	int64_t out, groups;
	uint32_t direction;
	uint16_t bias;
	uint8_t bf16, wide; /* wide: the gradient of the input is f32 nevertheless */
} conv_key;

/* Weights in squares of TURNED outputs by as many inputs, the inputs innermost, as backward convolutions want them. In
 * bf16 two outputs are one word, which stays together. */
typedef struct turned_format {
	int64_t row_step, col_step, in_step, out_step; /* words from a kernel row, column or square to the next */
} turned_format;

/* Weights in bf16 whose inputs go by twos: of @width outputs the two numbers of each lie together, then those of the
 * next two inputs, @depth times. */
typedef struct paired_format {
	int64_t row_step, col_step, in_step, out_step; /* numbers from a kernel row, column or block to the next */
	int64_t depth, width;
} paired_format;

enum { TURNED = 16, PAIRED = 8 };

struct onednn_conv {
	conv_key key;
	onednn_primitive conv, reorder; /* no reorder: the primitive wants plain weights */
	size_t bytes;                   /* of the weights in its format */
	mr_onednn_blocked blocked;      /* its format, of a gradient; width 0: mr_onednn_blocked cannot describe it */
	turned_format turned;           /* the same of weights whose blocks are turned; in_step 0: they are not */
	paired_format paired;           /* the same of weights in pairs; width 0: they are not */
};

/* --- descriptions, in both interfaces ----------------------------------------------------------------------------- */

typedef struct conv_mds {
	md_t x, w, bias, y, plain; /* w: any format */
	md_t hint_x, hint_w;       /* of the forward primitive that hints at this one */
	dnnl_dims_t strides, dilates, pads;
} conv_mds;

/* The library's gradient of weights of one pixel with stride (2.6.3, "jit_1x1") writes beyond its scratchpad, or never
 * ends, where the image has fewer channels than a vector has numbers. What else it has is taken then. */
static bool may_overrun(const conv_key *k)
{
	const mr_window *w = &k->window;

	return k->direction == WEIGHT && w->kernel_h == 1 && w->kernel_w == 1 && (w->stride_h > 1 || w->stride_w > 1) &&
	       w->c / k->groups % 16;
}

static bool is_1x1(const_dnnl_primitive_desc_t pd)
{
	const char *name = NULL;

	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success && name &&
	       strstr(name, "1x1");
}

#if DNNL_VERSION_MAJOR >= 3

static dnnl_status_t without_1x1(dnnl_primitive_desc_t *pd)
{
	dnnl_status_t st = dnnl_success;

	while (st == dnnl_success && is_1x1(*pd))
		st = dnnl_primitive_desc_next_impl(*pd);
	return st;
}

static dnnl_status_t forward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const conv_mds *m, bool bias,
				dnnl_primitive_attr_t attr)
{
	return dnnl_convolution_forward_primitive_desc_create(
		pd, engine, dnnl_forward_training, dnnl_convolution_direct, m->hint_x, m->hint_w, bias ? m->bias : NULL,
		m->y, m->strides, m->dilates, m->pads, m->pads, attr);
}

static dnnl_status_t backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const conv_mds *m, const conv_key *k,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_status_t st =
		k->direction == INPUT
			? dnnl_convolution_backward_data_primitive_desc_create(
				  pd, engine, dnnl_convolution_direct, m->x, m->w, m->y, m->strides, m->dilates,
				  m->pads, m->pads, hint, attr)
			: dnnl_convolution_backward_weights_primitive_desc_create(
				  pd, engine, dnnl_convolution_direct, m->x, m->w, NULL, m->y, m->strides, m->dilates,
				  m->pads, m->pads, hint, attr);

	return st == dnnl_success && may_overrun(k) ? without_1x1(pd) : st;
}

static dnnl_status_t md_any(md_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type)
{
	return dnnl_memory_desc_create_with_tag(md, n, dims, type, dnnl_format_tag_any);
}

static dnnl_status_t md_plain(md_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_create_with_strides(md, n, dims, type, strides);
}

#else

static dnnl_status_t forward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const conv_mds *m, bool bias,
				dnnl_primitive_attr_t attr)
{
	dnnl_convolution_desc_t desc;
	dnnl_status_t st = dnnl_dilated_convolution_forward_desc_init(
		&desc, dnnl_forward_training, dnnl_convolution_direct, &m->hint_x, &m->hint_w,
		bias ? &m->bias : NULL, &m->y, m->strides, m->dilates, m->pads, m->pads);

	return st == dnnl_success ? dnnl_primitive_desc_create(pd, &desc, attr, engine, NULL) : st;
}

/* The first implementation of @desc that is not one of 1x1. */
static dnnl_status_t without_1x1(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const dnnl_convolution_desc_t *desc,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_primitive_desc_iterator_t all;
	dnnl_status_t st = dnnl_primitive_desc_iterator_create(&all, desc, attr, engine, hint);

	if (st != dnnl_success)
		return st;
	*pd = dnnl_primitive_desc_iterator_fetch(all);
	while (st == dnnl_success && is_1x1(*pd)) {
		(void)dnnl_primitive_desc_destroy(*pd);
		*pd = NULL;
		st = dnnl_primitive_desc_iterator_next(all);
		if (st == dnnl_success)
			*pd = dnnl_primitive_desc_iterator_fetch(all);
	}
	(void)dnnl_primitive_desc_iterator_destroy(all);
	return st;
}

static dnnl_status_t backward_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const conv_mds *m, const conv_key *k,
				 dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
	dnnl_convolution_desc_t desc;
	dnnl_status_t st = k->direction == INPUT ? dnnl_dilated_convolution_backward_data_desc_init(
						 &desc, dnnl_convolution_direct, &m->x, &m->w, &m->y, m->strides,
						 m->dilates, m->pads, m->pads)
				       : dnnl_dilated_convolution_backward_weights_desc_init(
						 &desc, dnnl_convolution_direct, &m->x, &m->w, NULL, &m->y, m->strides,
						 m->dilates, m->pads, m->pads);

	if (st == dnnl_success)
		st = may_overrun(k) ? without_1x1(pd, engine, &desc, hint, attr)
				    : dnnl_primitive_desc_create(pd, &desc, attr, engine, hint);
	return st;
}

static dnnl_status_t md_any(md_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type)
{
	return dnnl_memory_desc_init_by_tag(md, n, dims, type, dnnl_format_tag_any);
}

static dnnl_status_t md_plain(md_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
{
	return dnnl_memory_desc_init_by_strides(md, n, dims, type, strides);
}

#endif

static dnnl_status_t md_images(md_t *md, dnnl_data_type_t type, int64_t n, int64_t h, int64_t w, int64_t c)
{
	dnnl_dims_t dims = {n, c, h, w}, strides = {h * w * c, 1, w * c, c};

	return md_plain(md, 4, dims, type, strides);
}

/* Logical order of the library: groups (if there are several), outputs, inputs, rows, columns. */
static dnnl_status_t md_weights(conv_mds *m, const conv_key *k)
{
	int64_t in = k->window.c / k->groups, out = k->out / k->groups;
	dnnl_dims_t all = {k->groups, out, in, k->window.kernel_h, k->window.kernel_w};
	dnnl_dims_t steps = {out, 1, k->out, k->window.kernel_w * in * k->out, in * k->out}, dims = {0}, strides = {0};
	int skip = k->groups == 1, n = 5 - skip;
	dnnl_data_type_t type = k->bf16 ? dnnl_bf16 : dnnl_f32, own = k->direction == WEIGHT ? dnnl_f32 : type;
	dnnl_status_t st;

	for (int i = 0; i < n; i++) {
		dims[i] = all[i + skip];
		strides[i] = steps[i + skip];
	}
	st = md_any(&m->w, n, dims, own);
	if (st == dnnl_success)
		st = md_any(&m->hint_w, n, dims, type);
	return st == dnnl_success ? md_plain(&m->plain, n, dims, own, strides) : st;
}

static mr_status describe(conv_mds *m, const conv_key *k)
{
	const mr_window *v = &k->window;
	dnnl_data_type_t type = k->bf16 ? dnnl_bf16 : dnnl_f32;
	dnnl_dims_t bias = {k->out}, one = {1};
	dnnl_status_t st = md_images(&m->x, k->wide ? dnnl_f32 : type, v->samples, v->h, v->w, v->c);

	if (st == dnnl_success)
		st = md_images(&m->hint_x, type, v->samples, v->h, v->w, v->c);

	if (st == dnnl_success)
		st = md_images(&m->y, type, v->samples, v->out_h, v->out_w, k->out);
	if (st == dnnl_success)
		st = md_plain(&m->bias, 1, bias, type, one);
	if (st == dnnl_success)
		st = md_weights(m, k);
	m->strides[0] = v->stride_h, m->strides[1] = v->stride_w;
	m->dilates[0] = v->dilation_h - 1, m->dilates[1] = v->dilation_w - 1;
	m->pads[0] = v->pad_h, m->pads[1] = v->pad_w;
	return mr_onednn_check(st, "memory_desc");
}

/* --- the format of a gradient ------------------------------------------------------------------------------------- */

typedef struct blocking {
	int n;                     /* inner blocks, the last one innermost */
	dnnl_dim_t size[DNNL_MAX_NDIMS], dim[DNNL_MAX_NDIMS], stride[DNNL_MAX_NDIMS];
} blocking;

#if DNNL_VERSION_MAJOR >= 3

static bool blocking_of(md_arg md, blocking *b)
{
	dnnl_format_kind_t kind;
	dnnl_dims_t *size, *dim, *stride;
	int n;

	if (dnnl_memory_desc_query(md, dnnl_query_format_kind, &kind) != dnnl_success || kind != dnnl_blocked ||
	    dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &n) != dnnl_success ||
	    dnnl_memory_desc_query(md, dnnl_query_inner_blks, &size) != dnnl_success ||
	    dnnl_memory_desc_query(md, dnnl_query_inner_idxs, &dim) != dnnl_success ||
	    dnnl_memory_desc_query(md, dnnl_query_strides, &stride) != dnnl_success)
		return false;
	b->n = n;
	memcpy(b->size, *size, sizeof(b->size));
	memcpy(b->dim, *dim, sizeof(b->dim));
	memcpy(b->stride, *stride, sizeof(b->stride));
	return true;
}

#else

static bool blocking_of(md_arg md, blocking *b)
{
	const dnnl_blocking_desc_t *f = &md->format_desc.blocking;

	if (md->format_kind != dnnl_blocked || md->extra.flags)
		return false;
	b->n = f->inner_nblks;
	memcpy(b->size, f->inner_blks, sizeof(b->size));
	memcpy(b->dim, f->inner_idxs, sizeof(b->dim));
	memcpy(b->stride, f->strides, sizeof(b->stride));
	return true;
}

#endif

/* Blocks of outputs, in which there may be blocks of inputs; without groups. */
static void describe_blocked(struct onednn_conv *c, md_arg md)
{
	enum { OUT, IN, ROW, COL };
	blocking b;
	int64_t depth;

	if (c->key.groups != 1 || !blocking_of(md, &b) || b.n < 1 || b.n > 2 || b.dim[b.n - 1] != OUT ||
	    (b.n == 2 && b.dim[0] != IN))
		return;
	depth = b.n == 2 ? b.size[0] : 1;
	c->blocked = (mr_onednn_blocked){.row = b.stride[ROW], .col = b.stride[COL], .in = b.stride[IN],
					 .out = b.stride[OUT], .depth = depth, .width = b.size[b.n - 1]};
}

static void describe_turned(struct onednn_conv *c, md_arg md)
{
	enum { OUT, IN, ROW, COL };
	int64_t word = 1 + c->key.bf16; /* numbers of one */
	blocking b;

	if (c->key.groups != 1 || c->key.out % TURNED || c->key.window.c % TURNED || !blocking_of(md, &b) ||
	    b.n != 2 + c->key.bf16 || b.dim[0] != OUT || b.dim[1] != IN || b.size[0] != TURNED / word ||
	    b.size[1] != TURNED || (c->key.bf16 && (b.dim[2] != OUT || b.size[2] != word)))
		return;
	c->turned = (turned_format){.row_step = b.stride[ROW] / word, .col_step = b.stride[COL] / word,
				    .in_step = b.stride[IN] / word, .out_step = b.stride[OUT] / word};
}

static void describe_paired(struct onednn_conv *c, md_arg md)
{
	enum { OUT, IN, ROW, COL };
	blocking b;
	int64_t depth, width;

	if (c->key.groups != 1 || !c->key.bf16 || !blocking_of(md, &b) || b.n < 2 || b.n > 3 ||
	    (b.n == 3 && b.dim[0] != IN) || b.dim[b.n - 2] != OUT || b.dim[b.n - 1] != IN || b.size[b.n - 1] != 2)
		return;
	depth = b.n == 3 ? b.size[0] : 1, width = b.size[b.n - 2];
	if (c->key.window.c % (2 * depth) || c->key.out % width || width % PAIRED)
		return;
	c->paired = (paired_format){.row_step = b.stride[ROW], .col_step = b.stride[COL], .in_step = b.stride[IN],
				    .out_step = b.stride[OUT], .depth = depth, .width = width};
}

typedef float quad __attribute__((vector_size(16), aligned(4)));

/* The transpose of 4 x 4 numbers, whose rows lie @step apart, to rows TURNED apart. */
static inline void turn_quads(const float *from, int64_t step, float *to)
{
	quad a = *(const quad *)from, b = *(const quad *)(from + step), c = *(const quad *)(from + 2 * step),
	     d = *(const quad *)(from + 3 * step);
	quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
	quad AB = __builtin_shufflevector(a, b, 2, 6, 3, 7), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);

	*(quad *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
	*(quad *)(to + TURNED) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	*(quad *)(to + 2 * TURNED) = __builtin_shufflevector(AB, CD, 0, 1, 4, 5);
	*(quad *)(to + 3 * TURNED) = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
}

typedef struct turning {
	const struct onednn_conv *c;
	const void *from;
	void *to;
} turning;

/* Squares of inputs @lo to @hi, counted over all kernel positions: the numbers of the library's reorder, which takes
 * several times as long. */
static void turn_squares(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const turning *t = args;
	const turned_format *f = &t->c->turned;
	const mr_window *w = &t->c->key.window;
	int64_t word = 1 + t->c->key.bf16, across = w->c / TURNED, out = t->c->key.out / word, side = TURNED / word;

	(void)worker;
	for (int64_t p = lo; p < hi; p++) {
		int64_t at = p / across, i = p % across;
		const float *from = (const float *)t->from + (at * w->c + i * TURNED) * out;
		float *to = (float *)t->to + at / w->kernel_w * f->row_step + at % w->kernel_w * f->col_step +
			    i * f->in_step;

		for (int64_t o = 0; o < out; o += side)
			for (int64_t j = 0; j < TURNED; j += 4)
				for (int64_t k = 0; k < side; k += 4)
					turn_quads(from + j * out + o + k, out,
						   to + o / side * f->out_step + k * TURNED + j);
	}
}

typedef uint16_t eight __attribute__((vector_size(16), aligned(2)));

/* Pairs of inputs @lo to @hi, likewise. */
static void pair_rows(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const turning *t = args;
	const paired_format *f = &t->c->paired;
	const mr_window *w = &t->c->key.window;
	int64_t across = w->c / 2, out = t->c->key.out;

	(void)worker;
	for (int64_t p = lo; p < hi; p++) {
		int64_t at = p / across, i = p % across;
		const uint16_t *from = (const uint16_t *)t->from + (at * w->c + 2 * i) * out;
		uint16_t *to = (uint16_t *)t->to + at / w->kernel_w * f->row_step + at % w->kernel_w * f->col_step +
			       i / f->depth * f->in_step + i % f->depth * 2 * f->width;

		for (int64_t o = 0; o < out; o += PAIRED) {
			eight a = *(const eight *)(from + o), b = *(const eight *)(from + out + o);
			uint16_t *pair = to + o / f->width * f->out_step + o % f->width * 2;

			*(eight *)pair = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
			*(eight *)(pair + PAIRED) = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
		}
	}
}

/* Weights from the plain format to that of the primitive. */
static mr_status reorder_weights(mr_onednn *d, struct onednn_conv *c, const void *from, void *to)
{
	int64_t positions = c->key.window.kernel_h * c->key.window.kernel_w, in = c->key.window.c;
	uint32_t threads = (uint32_t)d->n_threads;
	turning t = {.c = c, .from = from, .to = to};

	if (c->turned.in_step)
		mr_team_run(threads, turn_squares, &t, positions * in / TURNED, 1, TURNED * c->key.out);
	else if (c->paired.width)
		mr_team_run(threads, pair_rows, &t, positions * in / 2, 1, 2 * c->key.out);
	else
		return mr_onednn_execute(d, &c->reorder, (const void *[]){from, to});
	return MR_OK;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static mr_status make_reorder(mr_onednn *d, struct onednn_conv *c, md_arg plain, md_arg blocked,
			      dnnl_primitive_attr_t attr)
{
	bool back = c->key.direction == WEIGHT;
	md_arg from = back ? blocked : plain, to = back ? plain : blocked;
	const onednn_arg arg[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
	dnnl_primitive_desc_t pd = NULL;
	mr_status st;

	c->bytes = dnnl_memory_desc_get_size(blocked);
	if (back)
		describe_blocked(c, blocked);
	else
		describe_turned(c, blocked), describe_paired(c, blocked);
	if (dnnl_memory_desc_equal(plain, blocked))
		return MR_OK;
	MR_TRY(mr_onednn_check(dnnl_reorder_primitive_desc_create(&pd, from, d->engine, to, d->engine, attr),
			       "reorder description"));
	st = mr_onednn_finish(d, &c->reorder, pd, arg, 2);
	(void)dnnl_primitive_desc_destroy(pd);
	return st;
}

static mr_status make_conv(mr_onednn *d, struct onednn_conv *c, const conv_mds *m, dnnl_primitive_desc_t pd,
			   dnnl_primitive_attr_t attr)
{
	bool back = c->key.direction == WEIGHT;
	md_arg w = dnnl_primitive_desc_query_md(pd, back ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
	md_arg x = mr_onednn_md(&m->x), y = mr_onednn_md(&m->y);
	const onednn_arg arg[3][4] = {
		{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}, {DNNL_ARG_BIAS, mr_onednn_md(&m->bias)}},
		{{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, y}},
		{{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, y}},
	};

	MR_TRY(mr_onednn_finish(d, &c->conv, pd, arg[c->key.direction], c->key.bias ? 4 : 3));
	return make_reorder(d, c, mr_onednn_md(&m->plain), w, attr);
}

static mr_status make_all(mr_onednn *d, struct onednn_conv *c, const conv_mds *m, dnnl_primitive_attr_t attr)
{
	dnnl_primitive_desc_t hint = NULL, pd = NULL;
	mr_status st = mr_onednn_check(forward_pd(&hint, d->engine, m, c->key.bias, attr), "convolution description");

	if (st == MR_OK && c->key.direction != FORWARD)
		st = mr_onednn_check(backward_pd(&pd, d->engine, m, &c->key, hint, attr),
				     "convolution description");
	if (st == MR_OK)
		st = make_conv(d, c, m, pd ? pd : hint, attr);
	if (pd)
		(void)dnnl_primitive_desc_destroy(pd);
	if (hint)
		(void)dnnl_primitive_desc_destroy(hint);
	return st;
}

static void mds_free(conv_mds *m)
{
	mr_onednn_md_free(&m->x), mr_onednn_md_free(&m->w), mr_onednn_md_free(&m->bias), mr_onednn_md_free(&m->y);
	mr_onednn_md_free(&m->plain), mr_onednn_md_free(&m->hint_w), mr_onednn_md_free(&m->hint_x);
}

static mr_status make(mr_onednn *d, struct onednn_conv *c)
{
	dnnl_primitive_attr_t attr = NULL;
	conv_mds m;
	mr_status st;

	memset(&m, 0, sizeof(m));
	st = describe(&m, &c->key);
	if (st == MR_OK)
		st = mr_onednn_attr(&(onednn_post_ops){0}, &attr);
	if (st == MR_OK)
		st = make_all(d, c, &m, attr);
	mds_free(&m);
	if (attr)
		(void)dnnl_primitive_attr_destroy(attr);
	return st == MR_OK ? st
			   : mr_fail_in(st, "convolution %lld x %lld of %lld to %lld channels",
					(long long)c->key.window.kernel_h, (long long)c->key.window.kernel_w,
					(long long)c->key.window.c, (long long)c->key.out);
}

/* --- finding and running ------------------------------------------------------------------------------------------ */

void mr_onednn_convs_free(mr_onednn *d)
{
	for (uint32_t i = 0; i < d->n_convs; i++) {
		mr_onednn_primitive_free(&d->convs[i].conv);
		mr_onednn_primitive_free(&d->convs[i].reorder);
	}
	free(d->convs);
	free(d->weights.at);
}

static mr_status add(mr_onednn *d, const conv_key *key, struct onednn_conv **out)
{
	struct onednn_conv *more, *c;
	mr_status st;

	if ((d->n_convs & (d->n_convs - 1)) == 0) {
		more = realloc(d->convs, (d->n_convs ? 2 * d->n_convs : 1) * sizeof(*more));
		if (!more)
			return mr_fail(MR_ERESOURCE, "no memory for a table of convolutions");
		d->convs = more;
	}
	c = &d->convs[d->n_convs];
	memset(c, 0, sizeof(*c));
	c->key = *key;
	mr_onednn_set_threads(d);
	st = make(d, c);
	if (st != MR_OK) {
		mr_onednn_primitive_free(&c->conv);
		mr_onednn_primitive_free(&c->reorder);
		return st;
	}
	d->n_convs++;
	*out = c;
	return MR_OK;
}

static mr_status find(mr_onednn *d, const conv_key *key, struct onednn_conv **out)
{
	for (uint32_t i = 0; i < d->n_convs; i++)
		if (!memcmp(&d->convs[i].key, key, sizeof(*key))) {
			*out = &d->convs[i];
			return MR_OK;
		}
	return add(d, key, out);
}

static mr_status find_for(mr_onednn *d, direction to, const mr_conv *g, mr_onednn_conv_types types,
			  struct onednn_conv **out)
{
	conv_key key;

	memset(&key, 0, sizeof(key));
	key.window = g->window;
	key.out = g->out, key.groups = g->groups;
	key.direction = to;
	key.bias = to == FORWARD && g->bias;
	key.bf16 = types != MR_ONEDNN_CONV_F32, key.wide = types == MR_ONEDNN_CONV_WIDE;
	return find(d, &key, out);
}

static mr_status run(mr_onednn *d, direction to, const mr_conv *g, mr_onednn_conv_types types, const void *x,
		     const void *w, const void *bias, const void *y)
{
	struct onednn_conv *c;

	MR_TRY(find_for(d, to, g, types, &c));
	if (c->reorder.primitive) {
		MR_TRY(mr_scratch_grow(&d->weights, c->bytes));
		MR_TRY(reorder_weights(d, c, w, d->weights.at));
		w = d->weights.at;
	}
	return mr_onednn_execute(d, &c->conv, (const void *[]){x, w, y, bias});
}

mr_status mr_onednn_conv(mr_onednn *d, const mr_conv *g, mr_onednn_conv_types types, const void *x, const void *w,
			 const void *bias, void *y)
{
	return run(d, FORWARD, g, types, x, w, bias, y);
}

mr_status mr_onednn_conv_backward_input(mr_onednn *d, const mr_conv *g, mr_onednn_conv_types types, const void *dy,
					const void *w, void *dx)
{
	return run(d, INPUT, g, types, dx, w, NULL, dy);
}

mr_status mr_onednn_conv_gradient(mr_onednn *d, const mr_conv *g, mr_onednn_conv_types types, const void *x,
				  const void *dy, float *dw, mr_onednn_blocked *out)
{
	struct onednn_conv *c;

	*out = (mr_onednn_blocked){0};
	MR_TRY(find_for(d, WEIGHT, g, types, &c));
	if (!c->reorder.primitive)
		return mr_onednn_execute(d, &c->conv, (const void *[]){x, dw, dy});
	MR_TRY(mr_scratch_grow(&d->weights, c->bytes));
	MR_TRY(mr_onednn_execute(d, &c->conv, (const void *[]){x, d->weights.at, dy}));
	if (!c->blocked.width)
		return mr_onednn_execute(d, &c->reorder, (const void *[]){d->weights.at, dw});
	*out = c->blocked;
	out->at = d->weights.at;
	return MR_OK;
}
