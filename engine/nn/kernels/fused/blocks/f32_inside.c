#include "nn/kernels/fused/blocks/f32_inside.h"

#include <stdlib.h>
#include <string.h>

#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/blocks/products_bf16.h"
#include "nn/kernels/fused/vec/team.h"

/* Floats of a strip: of weights, or of the gradient of some. With what a kernel packs they stay in an L2 of 1 MiB. */
#define STRIP_FLOATS ((int64_t)32 * 1024)
/* Columns of a strip, and rows of a gradient's, are at least these, and a multiple of them. */
#define STRIP_COLS 32
#define STRIP_ROWS 8

typedef struct place {
	mr_gemm_scratch gemm;
	mr_scratch room;      /* a strip of an operand, then one of the result */
	bool failed;
} place;

struct mr_f32_inside {
	mr_scratch whole;     /* the operand that all strips need */
	uint32_t n_threads;
	place place[];        /* [n_threads] */
};

typedef struct work {
	const mr_kctx *kc;
	const mr_gemm *g;     /* of one piece; without anything behind the product */
	const void *const *a, *const *b;
	uint32_t n;           /* pieces */
	const mr_block_out *out;
	int64_t strip;        /* rows or columns of one */
} work;

mr_status mr_f32_inside_create(uint32_t n_threads, mr_f32_inside **out)
{
	*out = calloc(1, sizeof(**out) + n_threads * sizeof(place));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory for a kernel context");
	(*out)->n_threads = n_threads;
	return MR_OK;
}

void mr_f32_inside_destroy(mr_f32_inside *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n_threads; i++) {
		free(f->place[i].gemm.room.at);
		free(f->place[i].room.at);
	}
	free(f->whole.at);
	free(f);
}

size_t mr_f32_inside_bytes(const mr_f32_inside *f)
{
	size_t bytes = f ? f->whole.bytes : 0;

	for (uint32_t i = 0; f && i < f->n_threads; i++)
		bytes += f->place[i].room.bytes + f->place[i].gemm.room.bytes;
	return bytes;
}

bool mr_f32_inside_has(const mr_gemm *g)
{
	return g->of == (g->ta ? MR_GEMM_GRADIENTS : MR_GEMM_ACTIVATIONS) && mr_gemm_has_kernel(g, 1, false);
}

/* Room for @floats at @p; NULL: no memory. */
static float *reserve(place *p, int64_t floats)
{
	p->failed = mr_scratch_grow(&p->room, (size_t)floats * sizeof(float)) != MR_OK;
	return p->room.at;
}

/* --- strips ------------------------------------------------------------------------------------------------------- */

static mr_block_masters widening(const void *from, int64_t at, float *to)
{
	return (mr_block_masters){.from = (const uint16_t *)from + at, .wide = to};
}

static void widen(const mr_kctx *kc, const void *from, int64_t n, float *to)
{
	mr_block_masters m = widening(from, 0, to);

	mr_team_run(kc->n_threads, kc->blocks->join, &m, n, 64, 1);
}

/* @cols columns from @at on of a matrix whose rows are @pitch long, by the calling thread. */
static void widen_cols(const mr_kctx *kc, const void *from, int64_t rows, int64_t pitch, int64_t at, int64_t cols,
		       float *to)
{
	for (int64_t r = 0; r < rows; r++) {
		mr_block_masters m = widening(from, r * pitch + at, to + r * cols);

		kc->blocks->join(&m, 0, cols, 0);
	}
}

static bool product(const work *w, place *p, const mr_gemm *g, const float *a, const float *b, float *c)
{
	if (mr_gemm_run(w->kc->vec, 1, &p->gemm, g, a, b, NULL, c, NULL, NULL) == MR_OK)
		return true;
	p->failed = true;
	return false;
}

/* Columns @lo to @hi of C. */
static void columns(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;
	const float *whole = w->kc->inside->whole.at;
	place *p = &w->kc->inside->place[worker];
	mr_gemm g = *w->g;
	float *room = reserve(p, w->strip * (g.k + g.m));

	for (int64_t j = lo; j < hi && !p->failed; j += g.n) {
		float *c = room + w->strip * g.k;

		g.n = hi - j < w->strip ? hi - j : w->strip;
		if (g.tb)
			widen_cols(w->kc, w->b[0], 1, 0, j * g.k, g.n * g.k, room);
		else
			widen_cols(w->kc, w->b[0], g.k, w->g->n, j, g.n, room);
		if (product(w, p, &g, whole, room, c))
			w->kc->blocks->finish(w->out, c, g.n, MR_BLOCK, 0, j, g.m, g.n);
	}
}

/* Rows @lo to @hi of a gradient: into C, or into a strip that the step consumes. */
static void rows(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const work *w = args;
	const float *whole = w->kc->inside->whole.at;
	place *p = &w->kc->inside->place[worker];
	const mr_block_out *o = w->out;
	mr_gemm g = *w->g;
	float *room = reserve(p, w->strip * (g.k + g.n));

	for (int64_t i = lo; i < hi && !p->failed; i += g.m) {
		float *stored = (float *)o->c + i * g.n, *c = o->step ? room + w->strip * g.k : stored;

		g.m = hi - i < w->strip ? hi - i : w->strip;
		g.add = o->add;
		if (g.add && c != stored)
			memcpy(c, stored, (size_t)(g.m * g.n) * sizeof(*c));
		for (uint32_t j = 0; j < w->n && !p->failed; j++, g.add = true) {
			widen_cols(w->kc, w->a[j], g.k, w->g->m, i, g.m, room);
			(void)product(w, p, &g, room, whole + j * g.k * g.n, c);
		}
		if (o->step && !p->failed)
			w->kc->blocks->finish(o, c, g.n, MR_BLOCK, i, 0, g.m, g.n);
	}
}

static int64_t strip_of(int64_t length, int64_t least)
{
	int64_t n = STRIP_FLOATS / length / least * least;

	return n > least ? n : least;
}

/* @n products that add to each other: gradients; or one of activations. */
static mr_status run(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b,
		     const mr_block_out *out)
{
	mr_gemm plain = {.of = g->of, .m = g->m, .n = g->n, .k = g->k, .ta = g->ta, .tb = g->tb};
	mr_f32_inside *f = kc->inside;
	work w = {.kc = kc, .g = &plain, .a = a, .b = b, .n = n, .out = out};
	float *whole;

	MR_TRY(mr_scratch_grow(&f->whole, (size_t)(g->ta ? n * g->k * g->n : g->m * g->k) * sizeof(*whole)));
	whole = f->whole.at;
	for (uint32_t i = 0; i < f->n_threads; i++)
		f->place[i].failed = false;
	if (g->ta) {
		w.strip = strip_of(g->n, STRIP_ROWS);
		for (uint32_t j = 0; j < n; j++)
			widen(kc, b[j], g->k * g->n, whole + j * g->k * g->n);
		mr_team_run(kc->n_threads, rows, &w, g->m, STRIP_ROWS, g->n * g->k * n / 8);
	} else {
		w.strip = strip_of(g->k, STRIP_COLS);
		widen(kc, a[0], g->m * g->k, whole);
		mr_team_run(kc->n_threads, columns, &w, g->n, STRIP_COLS, g->m * g->k / 8);
	}
	for (uint32_t i = 0; i < f->n_threads; i++)
		if (f->place[i].failed)
			return mr_fail(MR_ERESOURCE, "no memory for strips of a product in f32");
	return MR_OK;
}

/* --- the operations ----------------------------------------------------------------------------------------------- */

static mr_status column_sums(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, bool add)
{
	mr_colsum_args of_a = {.rows = g->k, .cols = g->m, .x = a, .y = g->colsum_a, .add = add};
	mr_colsum_args of_b = {.rows = g->k, .cols = g->n, .x = b, .y = g->colsum_b, .add = add};

	if (of_a.y)
		MR_TRY(mr_fused_colsum(kc, &of_a));
	return of_b.y ? mr_fused_colsum(kc, &of_b) : MR_OK;
}

mr_status mr_f32_inside_gemm(mr_kctx *kc, const mr_gemm_args *o)
{
	const mr_gemm *g = o->g;
	mr_block_out out = {.n = g->n,
			    .c = o->c,
			    .add = g->add,
			    .bias = g->bias ? o->bias : NULL,
			    .act = g->act,
			    .aux = o->aux,
			    .addend = g->addend,
			    .through = g->fuse_act_backward,
			    .through_aux = g->fuse_act_backward_aux};

	if (g->of == MR_GEMM_GRADIENTS)
		return mr_f32_inside_gemm_sum(kc, &(mr_gemm_sum_args){.g = g, .n = 1, .a = &o->a, .b = &o->b,
								      .c = o->c});
	return run(kc, g, 1, &o->a, &o->b, &out);
}

mr_status mr_f32_inside_gemm_sum(mr_kctx *kc, const mr_gemm_sum_args *o)
{
	const mr_gemm *g = o->g;
	const mr_step *s = o->s;
	mr_block_out out = {.n = g->n, .c = o->c, .gradient = true, .add = g->add};
	mr_block_step step;

	if (s) {
		step = (mr_block_step){.rule = mr_fused_vec_step(s),
				       .src = s->src,
				       .dst = s->dst,
				       .src_rest = s->src_rest,
				       .dst_rest = s->dst_rest};
		out.step = &step;
	}
	MR_TRY(run(kc, g, o->n, o->a, o->b, &out));
	for (uint32_t j = 0; j < o->n; j++)
		MR_TRY(column_sums(kc, g, o->a[j], o->b[j], g->add || j > 0));
	return MR_OK;
}

mr_status mr_f32_inside_gemm_step_rows(mr_kctx *kc, const mr_gemm_step_rows_args *o)
{
	const mr_gemm *g = o->g;
	const mr_gemm_rows *r = o->r;

	MR_TRY(mr_f32_inside_gemm(kc, &(mr_gemm_args){.g = g, .a = o->a, .b = o->b, .c = o->c}));
	for (int64_t i = 0; i < r->n; i++)
		memcpy((float *)r->out + i * g->n, (const float *)o->c + r->row[i] * g->n,
		       (size_t)g->n * sizeof(float));
	return mr_bf16_step(kc, &(mr_step_args){.n = g->m * g->n, .s = o->s, .g = o->c});
}
