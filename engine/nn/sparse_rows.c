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

void mr_sparse_rows_layout(mr_sparse_rows *f, mr_arena *a, const mr_types *t, int64_t tokens, int64_t rows,
			   int64_t cols, int64_t batch)
{
	size_t state = mr_dtype_bytes(t->state), gradient = mr_dtype_bytes(t->gradients), rest = mr_types_rest_bytes(t);

	*f = (mr_sparse_rows){
		.cols = cols,
		.row = take(a, tokens, sizeof(int32_t)),
		.placed = take(a, tokens, sizeof(int32_t)),
		.place = take(a, rows, sizeof(int32_t)),
		.w = take(a, tokens * cols, mr_dtype_bytes(t->weights)),
		.m = take(a, tokens * cols, state),
		.v = take(a, tokens * cols, state),
		.rest = rest ? take(a, tokens * cols, rest) : NULL,
		.first = take(a, tokens * cols, gradient),
		.last = take(a, tokens * cols, gradient),
		.room = take(a, tokens * batch, mr_dtype_bytes(t->activations)),
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
	const void *from[4]; /* NULL: there is none */
	void *to[4];
	size_t bytes[4];     /* of a row */
	bool back;           /* @from is what was put aside */
} moving;

/* A step's weights, state and rest. */
static moving of_step(const mr_sparse_rows *f, const mr_kernels *k)
{
	size_t cols = (size_t)f->cols, state = cols * mr_dtype_bytes(k->types.state);

	return (moving){.f = f,
			.bytes = {cols * mr_dtype_bytes(k->types.weights), state, state,
				  cols * mr_types_rest_bytes(&k->types)}};
}

static void move_rows(const void *args, int64_t lo, int64_t hi)
{
	const moving *m = args;
	int64_t cols = m->f->cols;

	for (int64_t i = (lo + cols - 1) / cols; i * cols < hi; i++) {
		for (int t = 0; t < 4; t++) {
			size_t aside = (size_t)i * m->bytes[t], home = (size_t)m->f->row[i] * m->bytes[t];

			if (m->from[t])
				memcpy((char *)m->to[t] + (m->back ? home : aside),
				       (const char *)m->from[t] + (m->back ? aside : home), m->bytes[t]);
		}
	}
}

mr_status mr_sparse_rows_product(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_gemm *g,
				 const void *a, const void *b, void *c, const mr_step *s)
{
	mr_gemm_rows r = {.n = f->n, .row = f->row, .out = f->first, .room = f->room};
	const void *from[4] = {s->src, s->m, s->v, s->src_rest};
	void *to[4] = {f->w, f->m, f->v, f->rest};
	moving m = of_step(f, k);

	memcpy(m.from, from, sizeof(from));
	memcpy(m.to, to, sizeof(to));
	MR_TRY(k->ranges(kc, &(mr_ranges_args){.n = f->n * f->cols, .fn = move_rows, .args = &m}));
	return k->gemm_step_rows(kc, &(mr_gemm_step_rows_args){.g = g, .a = a, .b = b, .c = c, .s = s, .r = &r});
}

mr_status mr_sparse_rows_add(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc)
{
	size_t bytes = (size_t)f->cols * mr_dtype_bytes(k->types.gradients);
	moving out = {.f = f, .from = {f->whole}, .to = {f->first}, .bytes = {bytes}};
	moving back = {.f = f, .from = {f->last}, .to = {f->whole}, .back = true, .bytes = {bytes}};

	MR_TRY(k->ranges(kc, &(mr_ranges_args){.n = f->n * f->cols, .fn = move_rows, .args = &out}));
	MR_TRY(k->sum_gradients(kc, &(mr_sum_gradients_args){.n = f->n * f->cols, .a = f->first, .b = f->last,
							     .y = f->last}));
	return k->ranges(kc, &(mr_ranges_args){.n = f->n * f->cols, .fn = move_rows, .args = &back});
}

/* @s of what was put aside, row by row: the random words of its rounding follow from where a row comes from. */
static mr_status step_each(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_step *s)
{
	size_t weight = (size_t)f->cols * mr_dtype_bytes(k->types.weights);
	size_t state = (size_t)f->cols * mr_dtype_bytes(k->types.state);
	size_t gradient = (size_t)f->cols * mr_dtype_bytes(k->types.gradients);

	for (int64_t i = 0; i < f->n; i++) {
		mr_step row = *s;

		row.rounding = mr_rounding_shifted(s->rounding, f->row[i] * f->cols);
		row.src = row.dst = (char *)f->w + (size_t)i * weight;
		row.m = s->m ? (char *)s->m + (size_t)i * state : NULL;
		row.v = s->v ? (char *)s->v + (size_t)i * state : NULL;
		MR_TRY(k->step(kc, &(mr_step_args){.n = f->cols, .s = &row,
						   .g = (const char *)f->last + (size_t)i * gradient}));
	}
	return MR_OK;
}

mr_status mr_sparse_rows_step(const mr_sparse_rows *f, const mr_kernels *k, mr_kctx *kc, const mr_step *s)
{
	mr_step aside = *s;
	void *to[4] = {s->dst, s->m, s->v, s->dst_rest};
	moving m = of_step(f, k);

	memcpy(m.to, to, sizeof(to));
	m.back = true;
	m.from[0] = aside.src = aside.dst = f->w;
	m.from[1] = aside.m = s->m ? f->m : NULL;
	m.from[2] = aside.v = s->v ? f->v : NULL;
	m.from[3] = aside.src_rest = aside.dst_rest = s->dst_rest ? f->rest : NULL;
	MR_TRY(k->sum_gradients(kc, &(mr_sum_gradients_args){.n = f->n * f->cols, .a = f->last, .b = f->first,
							     .y = f->last}));
	if (mr_types_pure(&k->types))
		MR_TRY(step_each(f, k, kc, &aside));
	else
		MR_TRY(k->step(kc, &(mr_step_args){.n = f->n * f->cols, .s = &aside, .g = f->last}));
	return k->ranges(kc, &(mr_ranges_args){.n = f->n * f->cols, .fn = move_rows, .args = &m});
}
