#include "profile/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "host/memory.h"
#include "nn/element.h"
#include "nn/recorder.h"
#include "profile/tune_recurrent.h"

#define WEIGHT_BYTES 8          /* of one and what momentum keeps of it, in f32 and in bf16 */
#define USUAL_CACHE ((uint64_t)32 << 20)
#define CACHES 2                /* times the last level of cache that weights and state take */
#define MOST_BYTES ((uint64_t)1 << 30)
#define BURST_S 4e-4            /* of each candidate, in turns */
#define ALONE_S 2e-3            /* a call that takes longer leaves nothing in caches: it is measured by itself */
#define COMPANY_ROWS 32         /* a product beside what is none */
#define COMPANY_WIDTH 64
#define LARGEST ((int64_t)1 << 24)
#define SHAPED 65536            /* weights from which a product is measured in several shapes */
#define MOST_FLOPS 9e9          /* of a call that is measured: larger ones go by the next smaller class */
#define MOST_NUMBERS ((int64_t)1 << 20) /* of an operation that is no product */
#define GAP ((size_t)9 * 64)     /* bytes between two tensors beyond whole pages */
#define MAX_ROUNDS 101
#define LEAST_RATIO 0.1         /* a difference of two times, which noise may make negative */

/* One candidate. */
typedef struct side {
	mr_choice_by by;
	mr_choices *table;      /* which names it for everything */
	mr_kernels kernels;
	mr_kctx *kc;
	mr_tune_recurrent *layer; /* during a point of one */
} side;

typedef struct bench {
	const mr_tune *t;
	mr_dtype dtype;
	uint32_t n_threads, n_sides;
	side side[MR_N_CHOICE_BY]; /* fused is the first */
	mr_step_kind step;      /* of gemm_tn */
	int64_t turn, turns;    /* which of the weights the next call reads */
	int64_t rows, size, width; /* of the present point: @size elements of weights, or of the tensor; its columns */
	int64_t room, room_w;   /* elements in each tensor, and in those of weights */
	void *x, *y, *w, *bias; /* bias: with room for what norms save */
	float *c, *m, *v, *sums;
	int16_t *rest;          /* of bf16 */
	int32_t *targets;
	mr_region memory;
	size_t taken;           /* of it */
	mr_status failed;
} bench;

/* --- the operations ----------------------------------------------------------------------------------------------- */

static void *element(const bench *b, void *tensor, int64_t i)
{
	return (char *)tensor + (size_t)i * mr_dtype_bytes(b->dtype);
}

static mr_status run_gemm(const bench *b, const side *s, const mr_gemm *g, void *aux)
{
	const void *w = element(b, b->w, b->turn * b->size);

	return s->kernels.gemm(s->kc, &(mr_gemm_args){.g = g, .a = b->x, .b = w, .bias = g->bias ? b->bias : NULL,
						      .c = b->y, .aux = aux});
}

static mr_status run_step(const bench *b, const side *s)
{
	mr_gemm g = {.of = MR_GEMM_GRADIENTS, .m = b->size / b->width, .n = b->width, .k = b->rows, .ta = true,
		     .colsum_b = b->sums};
	int64_t at = b->turn * b->size;
	void *w = element(b, b->w, at);
	mr_step step = {.kind = b->step, .src = w, .dst = w, .m = b->m + at, .v = b->v + at,
			.gscale = 1, .lr = 1e-30, .mu = 0.9, .b1 = 0.9, .b2 = 0.999, .eps = 1e-8, .c1 = 0.5, .c2 = 0.5};

	step.src_rest = step.dst_rest = b->rest ? b->rest + at : NULL;
	return s->kernels.gemm_step(s->kc, &(mr_gemm_step_args){.g = &g, .a = b->x, .b = b->y, .c = b->c, .s = &step});
}

/* Forward and backward, with ReLU. */
static mr_status run_batch_norm(const bench *b, const side *s)
{
	mr_batch_norm n = {.rows = b->rows, .cols = b->width, .eps = 1e-5, .act = MR_ACT_RELU};
	float *mean = b->sums, *variance = b->sums + b->width;

	MR_TRY(s->kernels.batch_norm(s->kc, &(mr_batch_norm_args){.b = &n, .x = b->x, .gain = b->m, .shift = b->m,
								  .y = b->y, .mean = mean, .variance = variance}));
	return s->kernels.batch_norm_backward(
		s->kc, &(mr_batch_norm_backward_args){.b = &n, .x = b->x, .y = b->y, .gain = b->m, .mean = mean,
						      .variance = variance, .dy = b->w, .dx = b->c,
						      .dgain = (float *)b->bias,
						      .dshift = (float *)b->bias + b->width});
}

/* 3 x 3 pixels with padding, of images of 4 x 4. */
static mr_status run_pool(const bench *b, const side *s)
{
	mr_window w = {.samples = b->rows / 16, .h = 4, .w = 4, .c = b->width, .out_h = 4, .out_w = 4,
		       .kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
		       .dilation_h = 1, .dilation_w = 1};

	MR_TRY(s->kernels.pool(s->kc, &(mr_pool_args){.w = &w, .kind = MR_POOL_MEAN_PADDED, .x = b->x, .y = b->y}));
	return s->kernels.pool_backward(s->kc, &(mr_pool_backward_args){.w = &w, .kind = MR_POOL_MEAN_PADDED,
									.dy = b->w, .dx = b->c});
}

static mr_status run_lrn(const bench *b, const side *s)
{
	mr_lrn l = {.pixels = b->rows, .c = b->width, .size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2};

	MR_TRY(s->kernels.lrn(s->kc, &(mr_lrn_args){.l = &l, .x = b->x, .y = b->y}));
	return s->kernels.lrn_backward(s->kc, &(mr_lrn_backward_args){.l = &l, .x = b->x, .dy = b->w, .dx = b->c});
}

/* 3 x 3 pixels with padding, the only windows of which `fused` has kernels of its own, over images that are larger
 * where there are more pixels. */
static mr_conv conv_of(const bench *b)
{
	int64_t h = b->rows < 256 ? 4 : b->rows < 2048 ? 8 : 16, images = b->rows / (h * h);

	return (mr_conv){.window = {.samples = images, .h = h, .w = h, .c = b->width, .out_h = h, .out_w = h,
				    .kernel_h = 3, .kernel_w = 3, .stride_h = 1, .stride_w = 1, .pad_h = 1, .pad_w = 1,
				    .dilation_h = 1, .dilation_w = 1},
			 .out = b->width, .groups = 1};
}

static mr_status run_conv(const bench *b, const side *s, mr_choice_kind kind)
{
	mr_step step = {.kind = b->step, .src = b->w, .dst = b->w, .m = b->m, .v = b->v, .gscale = 1, .lr = 1e-30,
			.mu = 0.9};
	mr_conv g = conv_of(b);

	if (kind == MR_CHOICE_conv)
		return s->kernels.conv(s->kc, &(mr_conv_args){.g = &g, .x = b->x, .w = b->w, .y = b->y});
	if (kind == MR_CHOICE_conv_input)
		return s->kernels.conv_backward_input(s->kc, &(mr_conv_backward_input_args){.g = &g, .dy = b->y,
											    .w = b->w, .dx = b->c});
	return s->kernels.conv_step(s->kc, &(mr_conv_step_args){.g = &g, .x = b->x, .dy = b->y, .dw = b->c,
								.s = &step});
}

/* One call of @kind. */
static mr_status call(const bench *b, const side *s, mr_choice_kind kind)
{
	int64_t cols = b->width, depth = b->size / b->width;
	mr_gemm nn = {.m = b->rows, .n = cols, .k = depth, .bias = true};
	mr_gemm nt = {.m = b->rows, .n = cols, .k = depth, .tb = true};
	float *mean = (float *)b->bias + cols, *rstd = mean + b->rows;
	double loss;

	switch (kind) {
	case MR_CHOICE_gemm_nn: return run_gemm(b, s, &nn, NULL);
	case MR_CHOICE_gemm_nn_relu: nn.act = MR_ACT_RELU; return run_gemm(b, s, &nn, NULL);
	case MR_CHOICE_gemm_nn_gelu: nn.act = MR_ACT_GELU; return run_gemm(b, s, &nn, b->c);
	case MR_CHOICE_gemm_nt: return run_gemm(b, s, &nt, NULL);
	case MR_CHOICE_gemm_tn: return run_step(b, s);
	case MR_CHOICE_sum:
		return s->kernels.sum(s->kc, &(mr_sum_args){.n = b->size, .a = b->x, .b = b->w, .y = b->y});
	case MR_CHOICE_norm:
		return s->kernels.norm(s->kc, &(mr_norm_args){.rows = b->rows, .cols = cols, .eps = 1e-5, .x = b->x,
							      .gain = b->m, .shift = b->v, .y = b->y, .mean = mean,
							      .rstd = rstd});
	case MR_CHOICE_norm_backward:
		return s->kernels.norm_backward(
			s->kc, &(mr_norm_backward_args){.rows = b->rows, .cols = cols, .x = b->x, .gain = b->m,
							.mean = mean, .rstd = rstd, .dy = b->w, .dx = b->y, .add = true,
							.dgain = b->c, .dshift = b->v});
	case MR_CHOICE_xent:
		return s->kernels.xent(s->kc, &(mr_xent_args){.rows = b->rows, .classes = cols, .logits = b->y,
							      .targets = b->targets, .loss = &loss});
	case MR_CHOICE_batch_norm: return run_batch_norm(b, s);
	case MR_CHOICE_pool: return run_pool(b, s);
	case MR_CHOICE_lrn: return run_lrn(b, s);
	case MR_CHOICE_conv:
	case MR_CHOICE_conv_input:
	case MR_CHOICE_conv_weight: return run_conv(b, s, kind);
	case MR_CHOICE_lstm:
	case MR_CHOICE_gru: return mr_tune_recurrent_run(s->layer);
	case MR_N_CHOICES: break;
	}
	return MR_OK;
}

/* --- one point ---------------------------------------------------------------------------------------------------- */

static double now(const bench *b)
{
	struct timespec t;

	clock_gettime(b->n_threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What a step does besides a call of @kind, by `fused`: the other products of a linear layer, which take the caches of
 * data and of instructions. */
static mr_status company(const bench *b, mr_choice_kind kind)
{
	static const mr_choice_kind products[] = {MR_CHOICE_gemm_nn, MR_CHOICE_gemm_nt, MR_CHOICE_gemm_tn};
	bool forward = kind == MR_CHOICE_gemm_nn_relu || kind == MR_CHOICE_gemm_nn_gelu;
	bench small = *b;

	for (size_t i = 0; mr_choice_is_gemm(kind) && i < sizeof(products) / sizeof(products[0]); i++)
		if (products[i] != (forward ? MR_CHOICE_gemm_nn : kind))
			MR_TRY(call(b, &b->side[0], products[i]));
	if (mr_choice_is_gemm(kind))
		return MR_OK;
	small.rows = COMPANY_ROWS;
	small.width = COMPANY_WIDTH;
	small.size = COMPANY_WIDTH * COMPANY_WIDTH;
	small.turn = 0;
	return call(&small, &b->side[0], MR_CHOICE_gemm_nn);
}

/* One layer's: a gradient of weights comes after what has read them, all else is the first to read them. */
static mr_status visit(bench *b, const side *s, mr_choice_kind kind, bool among)
{
	bool last = kind == MR_CHOICE_gemm_tn;

	b->turn = (b->turn + 1) % b->turns;
	if (among && last)
		MR_TRY(company(b, kind));
	MR_TRY(call(b, s, kind));
	return among && !last ? company(b, kind) : MR_OK;
}

/* Seconds of one of @n calls; @among: with what a step does besides. */
static double burst(bench *b, const side *s, mr_choice_kind kind, bool among, uint64_t n)
{
	double begin = now(b);

	for (uint64_t i = 0; i < n; i++) {
		mr_status st = visit(b, s, kind, among);

		b->failed = b->failed == MR_OK ? st : b->failed;
	}
	return (now(b) - begin) / (double)n;
}

/* Layers whose weights calls go through. */
static int64_t layers_of(const bench *b, mr_choice_kind kind)
{
	int64_t n = mr_choice_is_gemm(kind) ? (b->room_w + b->size - 1) / b->size : 1;

	n = n > MR_TUNE_LAYERS ? MR_TUNE_LAYERS : n;
	return n * b->size > b->room_w ? b->room_w / b->size : n;
}

/* How many visits a burst has, after some in which memory is allocated and primitives are built. */
static uint64_t warm(bench *b, const side *s, mr_choice_kind kind, bool among)
{
	double once;

	(void)burst(b, s, kind, among, 2);
	once = burst(b, s, kind, among, 1);
	return once > 0 && once < BURST_S ? (uint64_t)ceil(BURST_S / once) : 1;
}

/* What each candidate's calls take of the time of those of fused, among what a step does besides: by the median of the
 * differences, since all else takes equally long. A call of fused alone takes @fused_s. */
static void compare(bench *b, mr_choice_kind kind, double *ratio, double *fused_s)
{
	static double more[MR_N_CHOICE_BY][MAX_ROUNDS], time[MAX_ROUNDS];
	uint32_t rounds = b->t->rounds < MAX_ROUNDS ? b->t->rounds : MAX_ROUNDS;
	uint64_t n[MR_N_CHOICE_BY], alone;
	bool among;

	b->turn = 0;
	b->turns = layers_of(b, kind);
	(void)burst(b, &b->side[0], kind, false, 1);
	among = burst(b, &b->side[0], kind, false, 1) < ALONE_S;
	alone = warm(b, &b->side[0], kind, false);
	for (uint32_t i = 0; i < b->n_sides; i++)
		n[i] = warm(b, &b->side[i], kind, among);
	for (uint32_t r = 0; r < rounds; r++) {
		double t[MR_N_CHOICE_BY];

		for (uint32_t i = 0; i < b->n_sides; i++) {
			uint32_t now = (r + i) % b->n_sides;

			t[now] = burst(b, &b->side[now], kind, among, n[now]);
		}
		for (uint32_t i = 0; i < b->n_sides; i++)
			more[i][r] = t[i] - t[0];
		time[r] = among ? burst(b, &b->side[0], kind, false, alone) : t[0];
	}
	*fused_s = mr_median(time, rounds);
	for (uint32_t i = 0; i < b->n_sides; i++)
		ratio[b->side[i].by] = fmax(LEAST_RATIO, 1 + mr_median(more[i], rounds) / *fused_s);
}

/* Make @ratio the worse of itself and of what @step behind the gradient of a weight gives. */
static void worsen(bench *b, mr_choice_kind kind, mr_step_kind step, double *ratio)
{
	double other[MR_N_CHOICE_BY] = {0}, fused_s;

	b->step = step;
	compare(b, kind, other, &fused_s);
	for (int i = 0; i < MR_N_CHOICE_BY; i++)
		ratio[i] = fmax(ratio[i], other[i]);
}

/* The same of a product of as many weights in @width columns, where it fits. */
static void worsen_by(bench *b, mr_choice_kind kind, int64_t width, int64_t largest, double *ratio)
{
	int64_t square = b->width, size = b->size, depth = size / width & ~(int64_t)15;

	b->width = width;
	b->size = depth * width;
	if (depth > 0 && b->rows * width <= largest && b->rows * depth <= largest)
		worsen(b, kind, MR_STEP_MOMENTUM, ratio);
	b->width = square;
	b->size = size;
}

/*
 * Of the gradient of a weight the worse of the times with little state and with much. Of a product of many weights the
 * worst of three shapes, square and half as wide or as deep again: a library's way through a product can fit one width
 * and not another (oneDNN 2.6 on a Xeon with AVX-512, one thread, 256 rows, 768 to 3080 and 3072 columns: 119 and 65
 * GFLOP/s).
 */
static void measure(bench *b, mr_choice_kind kind, mr_tune_point *p)
{
	int64_t largest = b->t->largest ? b->t->largest : LARGEST;

	b->step = MR_STEP_MOMENTUM;
	compare(b, kind, p->ratio, &p->fused_s);
	if (kind == MR_CHOICE_gemm_tn)
		worsen(b, kind, MR_STEP_ADAM, p->ratio);
	if (!mr_choice_is_gemm(kind) || b->size < SHAPED)
		return;
	worsen_by(b, kind, b->width / 2 * 3, largest, p->ratio);
	worsen_by(b, kind, (b->size / (b->width / 2 * 3)) & ~(int64_t)15, largest, p->ratio);
}

static bool is_conv(mr_choice_kind kind)
{
	return kind == MR_CHOICE_conv || kind == MR_CHOICE_conv_input || kind == MR_CHOICE_conv_weight;
}

static bool is_recurrent(mr_choice_kind kind)
{
	return kind == MR_CHOICE_lstm || kind == MR_CHOICE_gru;
}

/* Columns of a square matrix of @b->size elements, of a convolution or of both matrices of a recurrence. */
static int64_t width_of(const bench *b, mr_choice_kind kind)
{
	if (is_conv(kind))
		return (int64_t)sqrt((double)b->size / 9) & ~(int64_t)15;
	if (is_recurrent(kind))
		return (int64_t)sqrt((double)b->size / (kind == MR_CHOICE_lstm ? 8 : 6));
	return mr_choice_is_gemm(kind) ? (int64_t)1 << (mr_choice_bits(b->size) / 2) : b->size / b->rows;
}

/* Which convolutions have two candidates is what the kernels say of them. */
static bool conv_is_measured(const bench *b, int64_t largest)
{
	mr_conv g = conv_of(b);
	mr_kernel_call c = {.id = MR_KERNEL_conv, .is_conv = true, .conv = g};
	const mr_kernels *k = &b->side[0].kernels;

	return b->width > 0 && mr_conv_in(&g) <= largest && k->executor(k, b->n_threads, &c) == MR_BY_FUSED &&
	       2.0 * (double)mr_window_out_pixels(&g.window) * (double)b->size <= MOST_FLOPS;
}

/* The shape that stands for a class: its bounds; twice or four times the last one where it has none. False: it is not
 * measured. */
static bool shape_of(bench *b, mr_choice_kind kind, uint32_t r, uint32_t s)
{
	int64_t largest = b->t->largest ? b->t->largest : LARGEST;

	b->rows = mr_choice_most_rows(r) ? mr_choice_most_rows(r) : 2 * mr_choice_most_rows(r - 1);
	b->size = mr_choice_most_size(s) ? mr_choice_most_size(s) : 4 * mr_choice_most_size(s - 1);
	if (kind == MR_CHOICE_sum)
		b->rows = 1;
	b->width = width_of(b, kind);
	if (b->size > largest || (mr_choice_is_gemm(kind) && b->rows * b->width > largest))
		return false;
	if (is_conv(kind))
		return conv_is_measured(b, largest);
	return mr_choice_is_gemm(kind) || is_recurrent(kind) ? 2.0 * (double)b->rows * (double)b->size <= MOST_FLOPS
				       : b->width >= 1 && b->size <= MOST_NUMBERS;
}

static void close_layers(bench *b)
{
	for (uint32_t i = 0; i < b->n_sides; i++) {
		mr_tune_recurrent_destroy(b->side[i].layer);
		b->side[i].layer = NULL;
	}
}

/* Of a recurrence each candidate has a layer of its own, since what it saves has its own form. */
static mr_status open_layers(bench *b, mr_choice_kind kind)
{
	const char *name = kind == MR_CHOICE_lstm ? "lstm" : "gru";
	mr_status st = MR_OK;

	for (uint32_t i = 0; is_recurrent(kind) && st == MR_OK && i < b->n_sides; i++)
		st = mr_tune_recurrent_create(name, &b->side[i].kernels, b->side[i].kc, b->rows, b->width,
					      &b->side[i].layer);
	if (st != MR_OK)
		close_layers(b);
	return st;
}

static mr_status measure_kind(bench *b, mr_choice_kind kind, mr_tune_points *out)
{
	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++) {
			mr_tune_point p = {.kind = kind, .dtype = b->dtype, .team = b->n_threads > 1,
					   .row = r, .size = s};

			if ((kind == MR_CHOICE_sum && r > 0) || !shape_of(b, kind, r, s))
				continue;
			snprintf(p.isa, sizeof(p.isa), "%s", mr_kernels_isa(b->dtype));
			MR_TRY(open_layers(b, kind));
			measure(b, kind, &p);
			close_layers(b);
			MR_TRY(b->failed);
			MR_TRY(mr_tune_points_add(out, &p));
			if (b->t->tell)
				b->t->tell(b->t->arg, &p);
		}
	return MR_OK;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* Small numbers, of many values. */
static void fill(void *tensor, int64_t n, mr_dtype dtype)
{
	for (int64_t i = 0; i < n; i++)
		mr_element_put(dtype, tensor, i, (double)((float)((uint64_t)i * 2654435761u >> 8 & 1023) * 1e-3f));
}

static void close_bench(bench *b)
{
	for (uint32_t i = 0; i < b->n_sides; i++) {
		if (b->side[i].kc)
			b->side[i].kernels.ctx_destroy(b->side[i].kc);
		mr_choices_destroy(b->side[i].table);
	}
	mr_region_unmap(&b->memory);
}

/* `auto` with a table that gives everything to @by. */
static mr_status add_side(bench *b, const mr_kernels *chooses, mr_choice_by by)
{
	const mr_choices none = {.source = "none"};
	side *s = &b->side[b->n_sides++];
	mr_chosen all;

	memset(&all, by, sizeof(all));
	*s = (side){.by = by, .kernels = *chooses};
	MR_TRY(mr_choices_with(&none, mr_kernels_isa(b->dtype), b->dtype, b->n_threads, &all, &s->table));
	s->kernels.choices = s->table;
	s->kernels.l2_bytes = b->t->l2_bytes;
	return chooses->ctx_create(&s->kernels, b->n_threads, &s->kc);
}

static mr_status add_sides(bench *b, const mr_kernels *chooses)
{
	MR_TRY(add_side(b, chooses, MR_CHOICE_FUSED));
	if (mr_kernels_find("onednn", b->dtype))
		MR_TRY(add_side(b, chooses, MR_CHOICE_ONEDNN));
	return mr_dtype_is_narrow(b->dtype) ? add_side(b, chooses, MR_CHOICE_F32) : MR_OK;
}

/* Elements of weights that, with their state, no cache holds. */
static int64_t uncached(const mr_tune *t)
{
	uint64_t bytes = CACHES * (t->cache_bytes ? t->cache_bytes : USUAL_CACHE);

	return (int64_t)((bytes < MOST_BYTES ? bytes : MOST_BYTES) / WEIGHT_BYTES);
}

/* The next @n elements of the memory, @bytes each; before there is memory they are only counted. The gaps keep the same
 * elements of two tensors from places that are the same but for their upper bits, as those of a stage rarely are:
 * caches and the CPU's buffers of stores take such places for one another. (With 32 rows and 2^20 weights the gradient
 * of a weight and its step took 650 us without gaps; 435 of a stage.) */
static void *take(bench *b, int64_t n, size_t bytes)
{
	void *at = b->memory.base ? (char *)b->memory.base + b->taken : NULL;

	b->taken += (((size_t)n * bytes + 4095) & ~(size_t)4095) + GAP;
	return at;
}

static void lay_out(bench *b)
{
	int64_t rows = 2 * mr_choice_most_rows(MR_CHOICE_ROWS - 2);
	size_t bytes = mr_dtype_bytes(b->dtype);

	b->taken = 0;
	b->x = take(b, b->room, bytes);
	b->y = take(b, b->room, bytes);
	b->bias = take(b, b->room + 4 * rows, bytes);
	b->w = take(b, b->room_w, bytes);
	b->c = take(b, b->room, sizeof(float));
	b->m = take(b, b->room_w, sizeof(float));
	b->v = take(b, b->room_w, sizeof(float));
	b->sums = take(b, b->room, sizeof(float));
	b->rest = mr_dtype_is_narrow(b->dtype) ? take(b, b->room_w, sizeof(*b->rest)) : NULL;
	b->targets = take(b, rows, sizeof(*b->targets));
}

/* Memory of the kind that training has. */
static mr_status open_bench(bench *b)
{
	int64_t most = uncached(b->t);

	b->room = b->t->largest ? b->t->largest : LARGEST;
	most = most < MR_TUNE_LAYERS * b->room ? most : MR_TUNE_LAYERS * b->room;
	b->room_w = most > b->room ? most : b->room;
	lay_out(b);
	MR_TRY(mr_region_map(&b->memory, b->taken, NULL));
	lay_out(b);
	mr_region_prefault(&b->memory, 0, b->taken);
	fill(b->x, b->room, b->dtype);
	fill(b->y, b->room, b->dtype);
	fill(b->bias, b->room, b->dtype);
	fill(b->w, b->room_w, b->dtype);
	fill(b->m, b->room_w, MR_F32);
	fill(b->v, b->room_w, MR_F32);
	return MR_OK;
}

mr_status mr_tune_run(const mr_tune *t, mr_dtype dtype, uint32_t n_threads, mr_tune_points *out)
{
	const mr_kernels *chooses = mr_kernels_find("auto", dtype);
	bench b = {.t = t, .dtype = dtype, .n_threads = n_threads};
	mr_status st;

	if (!chooses)
		return mr_fail_in(MR_ECONFIG, "there is nothing to choose");
	st = open_bench(&b);
	if (st == MR_OK)
		st = add_sides(&b, chooses);
	for (int k = 0; st == MR_OK && k < MR_N_CHOICES; k++)
		if ((!mr_dtype_is_narrow(dtype) || mr_choice_is_gemm((mr_choice_kind)k)) &&
		    (n_threads == 1 || !mr_choice_is_for_any_threads((mr_choice_kind)k)) &&
		    (!t->only || t->only & 1u << k))
			st = measure_kind(&b, (mr_choice_kind)k, out);
	close_bench(&b);
	return st;
}
