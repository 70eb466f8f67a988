#include "nn/kernels/embed_rounded.h"

#include <string.h>

#include "nn/bf16.h"
#include "nn/sparse_rows.h"

/* Rows of a gradient's table, and the same side by side in f32; @row NULL: all of them. */
typedef struct table_rows {
	int64_t cols;
	const int32_t *row;
	uint16_t *table;
	float *wide;
} table_rows;

static uint16_t *place_of(const table_rows *r, int64_t i)
{
	return r->table + (r->row ? r->row[i / r->cols] * r->cols + i % r->cols : i);
}

static void widen_rows(const void *args, int64_t lo, int64_t hi)
{
	const table_rows *r = args;

	for (int64_t i = lo; i < hi; i++)
		r->wide[i] = mr_bf16_widen(*place_of(r, i));
}

static void round_rows(const void *args, int64_t lo, int64_t hi)
{
	const table_rows *r = args;

	for (int64_t i = lo; i < hi; i++)
		*place_of(r, i) = mr_bf16_round(r->wide[i]);
}

mr_status mr_embed_backward_rounded(const mr_embed_rounded *e)
{
	const mr_embed_backward_args *o = e->o;
	mr_sparse_rows f = {.place = e->numbers};
	table_rows wte = {.cols = o->cols, .table = o->dwte, .wide = e->wide};
	table_rows wpe = {.cols = o->cols, .table = o->dwpe, .wide = e->wide_wpe};
	mr_embed_backward_args wide = *o;
	mr_ranges_args tokens = {.args = &wte}, positions = {.n = o->dwpe ? o->t * o->cols : 0, .args = &wpe};

	f.row = f.place + o->vocab;
	f.placed = f.row + o->rows;
	mr_sparse_rows_find(&f, o->tokens, o->rows, o->vocab);
	wte.row = f.row;
	tokens.n = f.n * o->cols;
	if (!o->add) {
		memset(o->dwte, 0, (size_t)(o->vocab * o->cols) * sizeof(*wte.table));
		if (o->dwpe)
			memset(o->dwpe, 0, (size_t)positions.n * sizeof(*wpe.table));
	}
	wide.vocab = f.n;
	wide.tokens = f.placed;
	wide.dwte = e->wide;
	wide.dwpe = e->wide_wpe;
	wide.add = true;
	tokens.fn = positions.fn = widen_rows;
	MR_TRY(e->base->ranges(e->kc, &tokens));
	MR_TRY(e->base->ranges(e->kc, &positions));
	MR_TRY(e->base->embed_backward(e->kc, &wide));
	tokens.fn = positions.fn = round_rows;
	MR_TRY(e->base->ranges(e->kc, &tokens));
	return e->base->ranges(e->kc, &positions);
}
