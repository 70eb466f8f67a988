#include "nn/sparse_rows.h"

#include <string.h>

#include "base/size.h"

/* Rows of the parameter for each token, from which it pays: with fewer, the rows that are made and stepped twice cost
 * what is saved. */
#define ROWS_PER_TOKEN 4

bool mr_sparse_rows_pays(int64_t tokens, int64_t rows)
{
	return tokens <= rows / ROWS_PER_TOKEN;
}

static void *take(mr_arena *a, int64_t n, size_t each)
{
	return mr_arena_take(a, (size_t)n * each, MR_CACHE_LINE);
}

void mr_sparse_rows_layout(mr_sparse_rows *f, mr_arena *a, mr_dtype dtype, int64_t tokens, int64_t rows, int64_t cols,
			   int64_t batch)
{
	size_t each = mr_dtype_bytes(dtype);

	*f = (mr_sparse_rows){
		.cols = cols,
		.row = take(a, tokens, sizeof(int32_t)),
		.placed = take(a, tokens, sizeof(int32_t)),
		.place = take(a, rows, sizeof(int32_t)),
		.w = take(a, tokens * cols, each),
		.m = take(a, tokens * cols, each),
		.v = take(a, tokens * cols, each),
		.first = take(a, tokens * cols, each),
		.last = take(a, tokens * cols, each),
		.room = take(a, tokens * batch, each),
	};
}

void mr_sparse_rows_find(mr_sparse_rows *f, const int32_t *token, int64_t tokens, int64_t rows)
{
	memset(f->place, 0, (size_t)rows * sizeof(int32_t));
	f->n = 0;
	for (int64_t i = 0; i < tokens; i++) {
		int32_t *place = &f->place[token[i]];

		if (!*place) {
			f->row[f->n] = token[i];
			*place = (int32_t)++f->n;
		}
		f->placed[i] = *place - 1;
	}
}

/* Rows from one place to another, the rows of one of the two side by side; a row belongs to the range where its first
 * number lies. */
typedef struct moving {
	const mr_sparse_rows *f;
	const char *from[3]; /* NULL: there is none */
	char *to[3];
	bool back;           /* @from is what was put aside */
	size_t bytes;        /* of a row */
} moving;

static void move_rows(const void *args, int64_t lo, int64_t hi)
{
	const moving *m = args;
	int64_t cols = m->f->cols;

	for (int64_t i = (lo + cols - 1) / cols; i * cols < hi; i++) {
		size_t aside = (size_t)i * m->bytes, home = (size_t)m->f->row[i] * m->bytes;

		for (int t = 0; t < 3; t++)
			if (m->from[t])
				memcpy(m->to[t] + (m->back ? home : aside), m->from[t] + (m->back ? aside : home),
				       m->bytes);
	}
}

mr_status mr_sparse_rows_product(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_gemm *g,
				 const void *a, const void *b, void *c, const mr_step *s)
{
	moving m = {.f = f,
		    .from = {s->src, s->m, s->v},
		    .to = {f->w, f->m, f->v},
		    .bytes = (size_t)f->cols * mr_dtype_bytes(k->dtype)};
	mr_gemm_rows r = {.n = f->n, .row = f->row, .out = f->first, .room = f->room};

	k->ranges(kc, f->n * f->cols, move_rows, &m);
	return k->gemm_step_rows(kc, g, a, b, c, s, &r);
}

void mr_sparse_rows_add(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc)
{
	moving out = {
		.f = f, .from = {f->whole}, .to = {f->first}, .bytes = (size_t)f->cols * mr_dtype_bytes(k->dtype)};
	moving back = {.f = f, .from = {f->last}, .to = {f->whole}, .back = true, .bytes = out.bytes};

	k->ranges(kc, f->n * f->cols, move_rows, &out);
	k->sum(kc, f->n * f->cols, f->first, f->last, f->last);
	k->ranges(kc, f->n * f->cols, move_rows, &back);
}

void mr_sparse_rows_step(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_step *s)
{
	mr_step aside = *s;
	moving m = {
		.f = f, .to = {s->dst, s->m, s->v}, .back = true, .bytes = (size_t)f->cols * mr_dtype_bytes(k->dtype)};

	m.from[0] = aside.src = aside.dst = f->w;
	m.from[1] = aside.m = s->m ? f->m : NULL;
	m.from[2] = aside.v = s->v ? f->v : NULL;
	k->sum(kc, f->n * f->cols, f->last, f->first, f->last);
	k->step(kc, f->n * f->cols, &aside, f->last);
	k->ranges(kc, f->n * f->cols, move_rows, &m);
}
