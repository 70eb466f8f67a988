#include "profile/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"

#define TURNED ((int64_t)1 << 20) /* elements of weights through which calls cycle, like the layers of a network */
#define BURST_S 4e-4            /* of each candidate, in turns */
#define COMPANY_ROWS 32         /* rows of the product called between calls of an operation that is no product */
#define COMPANY_WIDTH 64
#define LARGEST ((int64_t)1 << 24)
#define MOST_FLOPS 1.2e10       /* largest call that is measured */
#define MAX_ROUNDS 101

/* One candidate. */
typedef struct side {
	mr_kernels kernels;
	mr_kctx *kc;
} side;

typedef struct bench {
	const mr_tune *t;
	uint32_t n_threads;
	side side[2];           /* fused, oneDNN */
	mr_step_kind step;      /* of gemm_tn */
	int64_t turn, turns;    /* the part of the weights that the next call reads */
	int64_t rows, size, width; /* of the present point: @size elements of weights, or of the tensor; its columns */
	int64_t room;           /* floats in each buffer */
	float *x, *y, *w, *c, *m, *v, *bias;
	int32_t *targets;
	mr_status failed;
} bench;

/* --- the operations ----------------------------------------------------------------------------------------------- */

static mr_status run_gemm(const bench *b, const side *s, const mr_gemm *g, void *aux)
{
	return s->kernels.gemm(s->kc, g, b->x, b->w + b->turn * b->size, g->bias ? b->bias : NULL, b->y, aux);
}

/* One call of @kind, with the next part of the weights. */
static mr_status call(bench *b, const side *s, mr_choice_kind kind)
{
	int64_t cols = b->width, depth = b->size / b->width;
	mr_gemm nn = {.m = b->rows, .n = cols, .k = depth, .bias = true};
	mr_gemm nt = {.m = b->rows, .n = cols, .k = depth, .tb = true};
	mr_gemm tn = {.m = depth, .n = cols, .k = b->rows, .ta = true, .colsum_b = b->bias};
	int64_t at = b->turn * b->size;
	mr_step step = {.kind = b->step, .src = b->w + at, .dst = b->w + at, .m = b->m + at, .v = b->v + at,
			.gscale = 1, .lr = 1e-30, .mu = 0.9, .b1 = 0.9, .b2 = 0.999, .eps = 1e-8, .c1 = 0.5, .c2 = 0.5};
	float *mean = b->bias + cols, *rstd = mean + b->rows;

	b->turn = (b->turn + 1) % b->turns;

	switch (kind) {
	case MR_CHOICE_gemm_nn: return run_gemm(b, s, &nn, NULL);
	case MR_CHOICE_gemm_nn_relu: nn.act = MR_ACT_RELU; return run_gemm(b, s, &nn, NULL);
	case MR_CHOICE_gemm_nn_gelu: nn.act = MR_ACT_GELU; return run_gemm(b, s, &nn, b->c);
	case MR_CHOICE_gemm_nt: return run_gemm(b, s, &nt, NULL);
	case MR_CHOICE_gemm_tn: return s->kernels.gemm_step(s->kc, &tn, b->x, b->y, b->c, &step);
	case MR_CHOICE_sum: s->kernels.sum(s->kc, b->size, b->x, b->w, b->y); break;
	case MR_CHOICE_norm:
		s->kernels.norm(s->kc, b->rows, cols, 1e-5, b->x, b->m, b->v, b->y, mean, rstd);
		break;
	case MR_CHOICE_norm_backward:
		s->kernels.norm_backward(s->kc, b->rows, cols, b->x, b->m, mean, rstd, b->w, b->y, true, b->c, b->v,
					 false);
		break;
	case MR_CHOICE_xent: (void)s->kernels.xent(s->kc, b->rows, cols, b->y, b->targets); break;
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

static bool is_gemm(mr_choice_kind kind)
{
	return kind <= MR_CHOICE_gemm_tn;
}

/* The work of a step between two calls of @kind, by `fused`: the other products of a linear layer, which fill the
 * caches of data and of instructions. */
static mr_status company(bench *b, mr_choice_kind kind)
{
	static const mr_choice_kind products[] = {MR_CHOICE_gemm_nn, MR_CHOICE_gemm_nt, MR_CHOICE_gemm_tn};
	bool forward = kind == MR_CHOICE_gemm_nn_relu || kind == MR_CHOICE_gemm_nn_gelu;
	bench small = *b;

	for (size_t i = 0; is_gemm(kind) && i < sizeof(products) / sizeof(products[0]); i++)
		if (products[i] != (forward ? MR_CHOICE_gemm_nn : kind))
			MR_TRY(call(b, &b->side[0], products[i]));
	if (is_gemm(kind))
		return MR_OK;
	small.rows = COMPANY_ROWS;
	small.width = COMPANY_WIDTH;
	small.size = COMPANY_WIDTH * COMPANY_WIDTH;
	small.turn = 0;
	return call(&small, &b->side[0], MR_CHOICE_gemm_nn);
}

/* Seconds a call, over @n calls; @among: with a step's other work between them. */
static double burst(bench *b, const side *s, mr_choice_kind kind, bool among, uint64_t n)
{
	double begin = now(b);

	for (uint64_t i = 0; i < n; i++) {
		mr_status st = call(b, s, kind);

		st = st == MR_OK && among ? company(b, kind) : st;
		b->failed = b->failed == MR_OK ? st : b->failed;
	}
	return (now(b) - begin) / (double)n;
}

/* The ratio of oneDNN's time to that of fused, among a step's other work: from the median of the
 * differences, since all else takes equally long. A call of fused alone takes @fused_s. */
static double compare(bench *b, mr_choice_kind kind, double *fused_s)
{
	int64_t many = is_gemm(kind) ? TURNED / b->size : 1;
	double more[MAX_ROUNDS], time[MAX_ROUNDS], once;
	uint32_t rounds = b->t->rounds < MAX_ROUNDS ? b->t->rounds : MAX_ROUNDS;
	uint64_t n[2];

	b->turn = 0;
	b->turns = many > 1 ? many : 1;
	for (int i = 0; i < 2; i++) {
		(void)burst(b, &b->side[i], kind, true, 2); /* allocates, builds, warms */
		once = burst(b, &b->side[i], kind, true, 1);
		n[i] = once > 0 && once < BURST_S ? (uint64_t)ceil(BURST_S / once) : 1;
	}
	for (uint32_t r = 0; r < rounds; r++) {
		int first = r & 1;
		double t[2];

		t[first] = burst(b, &b->side[first], kind, true, n[first]);
		t[!first] = burst(b, &b->side[!first], kind, true, n[!first]);
		more[r] = t[1] - t[0];
		time[r] = burst(b, &b->side[0], kind, false, n[0]);
	}
	*fused_s = mr_median(time, rounds);
	return 1 + mr_median(more, rounds) / *fused_s;
}

/* The gradient of a weight goes to oneDNN only where that is faster with little state and with much. */
static void measure(bench *b, mr_choice_kind kind, mr_tune_point *p)
{
	double ratio, fused_s;

	b->step = MR_STEP_MOMENTUM;
	p->ratio = compare(b, kind, &p->fused_s);
	if (kind == MR_CHOICE_gemm_tn) {
		b->step = MR_STEP_ADAM;
		ratio = compare(b, kind, &fused_s);
		p->ratio = ratio > p->ratio ? ratio : p->ratio;
	}
	p->onednn = kind == MR_CHOICE_gemm_tn ? p->ratio < 1 - MR_TUNE_MARGIN_STEP : p->ratio <= 1 + MR_TUNE_MARGIN;
}

/* The shape that represents a class: its bounds; twice or four times the last bound if it has none. False: it is not
 * measured. */
static bool shape_of(bench *b, mr_choice_kind kind, uint32_t r, uint32_t s)
{
	int64_t largest = b->t->largest ? b->t->largest : LARGEST;

	b->rows = mr_choice_most_rows(r) ? mr_choice_most_rows(r) : 2 * mr_choice_most_rows(r - 1);
	b->size = mr_choice_most_size(s) ? mr_choice_most_size(s) : 4 * mr_choice_most_size(s - 1);
	if (kind == MR_CHOICE_sum)
		b->rows = 1;
	b->width = is_gemm(kind) ? (int64_t)1 << (mr_choice_bits(b->size) / 2) : b->size / b->rows;
	if (b->size > largest || (is_gemm(kind) && b->rows * b->width > largest))
		return false;
	return is_gemm(kind) ? 2.0 * (double)b->rows * (double)b->size <= MOST_FLOPS : b->width >= 1;
}

/* A class that is not measured gets the choice of the next smaller one. */
static bool like_smaller(const mr_chosen *c, mr_choice_kind kind, uint32_t r, uint32_t s)
{
	if (s > 0)
		return c->by[kind][r][s - 1] == MR_CHOICE_ONEDNN;
	return r > 0 && c->by[kind][r - 1][s] == MR_CHOICE_ONEDNN;
}

static mr_status measure_kind(bench *b, mr_choice_kind kind, mr_chosen *out)
{
	for (uint32_t r = 0; r < MR_CHOICE_ROWS; r++)
		for (uint32_t s = 0; s < MR_CHOICE_SIZES; s++) {
			mr_tune_point p = {.kind = kind, .n_threads = b->n_threads, .rows = mr_choice_most_rows(r),
					   .size = mr_choice_most_size(s)};

			if (kind == MR_CHOICE_sum && r > 0) {
				out->by[kind][r][s] = out->by[kind][0][s];
				continue;
			}
			if (shape_of(b, kind, r, s))
				measure(b, kind, &p);
			else
				p.onednn = like_smaller(out, kind, r, s);
			out->by[kind][r][s] = p.onednn;
			if (b->t->tell)
				b->t->tell(b->t->arg, &p);
			if (b->failed != MR_OK)
				return b->failed;
		}
	return MR_OK;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static float *numbers(int64_t n)
{
	float *p = aligned_alloc(64, ((size_t)n * sizeof(*p) + 63) / 64 * 64);

	for (int64_t i = 0; p && i < n; i++)
		p[i] = (float)((uint64_t)i * 2654435761u >> 8 & 1023) * 1e-3f;
	return p;
}

static void close_bench(bench *b)
{
	for (int i = 0; i < 2; i++)
		if (b->side[i].kc)
			b->side[i].kernels.ctx_destroy(b->side[i].kc);
	free(b->x), free(b->y), free(b->w), free(b->c), free(b->m), free(b->v), free(b->bias), free(b->targets);
}

/* Opens both candidates as `auto`, each with a table of its own. */
static mr_status open_sides(bench *b, const mr_kernels *chooses, mr_choices *const table[2])
{
	for (int i = 0; i < 2; i++) {
		b->side[i].kernels = *chooses;
		b->side[i].kernels.choices = table[i];
		MR_TRY(chooses->ctx_create(&b->side[i].kernels, b->n_threads, &b->side[i].kc));
	}
	return MR_OK;
}

static mr_status open_bench(bench *b)
{
	int64_t largest = b->t->largest ? b->t->largest : LARGEST, rows = 2 * mr_choice_most_rows(MR_CHOICE_ROWS - 2);

	b->room = largest > TURNED ? largest : TURNED;
	b->x = numbers(b->room), b->y = numbers(b->room), b->w = numbers(b->room), b->c = numbers(b->room);
	b->m = numbers(b->room), b->v = numbers(b->room), b->bias = numbers(b->room + 2 * rows);
	b->targets = calloc((size_t)rows, sizeof(*b->targets));
	if (b->x && b->y && b->w && b->c && b->m && b->v && b->bias && b->targets)
		return MR_OK;
	return mr_fail(MR_ERESOURCE, "no memory for seven tensors of %lld numbers", (long long)b->room);
}

/* A table that chooses one of the two for everything. */
static mr_status uniform(uint32_t n_threads, bool onednn, mr_choices **out)
{
	const mr_choices none = {.source = "none"};
	mr_chosen all;

	memset(&all, onednn, sizeof(all));
	return mr_choices_with(&none, mr_kernels_isa(MR_F32), MR_F32, n_threads, &all, out);
}

mr_status mr_tune_run(const mr_tune *t, const mr_choices *base, uint32_t n_threads, mr_choices **out)
{
	const mr_kernels *chooses = mr_kernels_find("auto", MR_F32);
	bench b = {.t = t, .n_threads = n_threads};
	mr_choices *table[2] = {NULL, NULL};
	mr_chosen chosen = {0};
	mr_status st;

	*out = NULL;
	if (!chooses)
		return mr_fail_in(MR_ECONFIG, "there is nothing to choose");
	st = open_bench(&b);
	for (int i = 0; st == MR_OK && i < 2; i++)
		st = uniform(n_threads, i == 1, &table[i]);
	if (st == MR_OK)
		st = open_sides(&b, chooses, table);
	for (int k = 0; st == MR_OK && k < MR_N_CHOICES; k++)
		st = measure_kind(&b, (mr_choice_kind)k, &chosen);
	if (st == MR_OK)
		st = mr_choices_with(base, mr_kernels_isa(MR_F32), MR_F32, n_threads, &chosen, out);
	close_bench(&b);
	mr_choices_destroy(table[0]), mr_choices_destroy(table[1]);
	return st;
}
