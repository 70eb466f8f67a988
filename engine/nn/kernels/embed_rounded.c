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

void mr_embed_backward_rounded(const mr_embed_rounded *e)
{
	mr_sparse_rows f = {.place = e->numbers};
	table_rows wte = {.cols = e->cols, .table = e->dwte, .wide = e->wide};
	table_rows wpe = {.cols = e->cols, .table = e->dwpe, .wide = e->wide_wpe};
	int64_t n, positions = e->dwpe ? e->t * e->cols : 0;

	f.row = f.place + e->vocab;
	f.placed = f.row + e->rows;
	mr_sparse_rows_find(&f, e->tokens, e->rows, e->vocab);
	wte.row = f.row;
	n = f.n * e->cols;
	if (!e->add) {
		memset(e->dwte, 0, (size_t)(e->vocab * e->cols) * sizeof(*e->dwte));
		if (e->dwpe)
			memset(e->dwpe, 0, (size_t)positions * sizeof(*e->dwpe));
	}
	e->base->ranges(e->kc, n, widen_rows, &wte);
	e->base->ranges(e->kc, positions, widen_rows, &wpe);
	e->base->embed_backward(e->kc, e->rows, e->t, e->cols, f.n, f.placed, e->dy, e->wide, e->wide_wpe, true);
	e->base->ranges(e->kc, n, round_rows, &wte);
	e->base->ranges(e->kc, positions, round_rows, &wpe);
}
