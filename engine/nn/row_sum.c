#include "nn/row_sum.h"

#include <string.h>

#include "base/size.h"
#include "nn/row_index.h"
#include "nn/squares.h"

/* Rows of the table for each that a step can meet, from which it pays. */
#define ROWS_PER_MET 4

/* Kernels add the squares of elements that are as many apart as a vector has lanes, a divisor of this. */
#define MOST_LANES 16

bool mr_row_sum_pays(int64_t most, int64_t rows)
{
	return most <= rows / ROWS_PER_MET;
}

/* Numbers of a row with the zeros that put it into the lanes that it has in the table, at most. */
static int64_t padded(int64_t cols)
{
	return (cols + 2 * MOST_LANES - 2) / MOST_LANES * MOST_LANES;
}

static void *place(uint8_t *memory, size_t at)
{
	return memory ? memory + at : NULL;
}

/* Lay out @x from @memory on (NULL: only count); returns the bytes. */
static size_t lay_out(mr_row_sum *x, uint8_t *memory)
{
	size_t list = mr_align_up((size_t)x->most * sizeof(int32_t), MR_CACHE_LINE), at = MR_CACHE_LINE;
	size_t number = x->row_bytes / (size_t)x->cols;

	x->n = place(memory, 0);
	x->row = place(memory, at);
	x->order = place(memory, at += list);
	x->slot = place(memory, at += list);
	x->value = place(memory, at += mr_align_up(x->slots * sizeof(int32_t), MR_CACHE_LINE));
	x->room = place(memory, at += mr_align_up((size_t)x->most * x->row_bytes, MR_CACHE_LINE));
	return at + mr_align_up((size_t)(x->most * padded(x->cols)) * number, MR_CACHE_LINE);
}

static mr_row_sum view_of(int64_t most, int64_t cols, mr_dtype t)
{
	return (mr_row_sum){
		.cols = cols, .most = most, .row_bytes = (size_t)cols * mr_dtype_bytes(t), .slots = mr_row_slots(most)};
}

size_t mr_row_sum_bytes(int64_t most, int64_t cols, mr_dtype t)
{
	mr_row_sum x = view_of(most, cols, t);

	return lay_out(&x, (uint8_t *)NULL);
}

mr_row_sum mr_row_sum_at(void *memory, int64_t most, int64_t cols, mr_dtype t)
{
	mr_row_sum x = view_of(most, cols, t);

	lay_out(&x, memory);
	return x;
}

void mr_row_sum_clear(mr_row_sum *x)
{
	*x->n = 0;
	memset(x->slot, 0, x->slots * sizeof(*x->slot));
}

int32_t mr_row_sum_place(mr_row_sum *x, int32_t row, bool zero)
{
	int32_t *slot = mr_row_slot(x->slot, x->slots, x->row, row);

	if (*slot)
		return *slot - 1;
	x->row[*x->n] = row;
	if (zero)
		memset(x->value + (size_t)*x->n * x->row_bytes, 0, x->row_bytes);
	*slot = ++*x->n;
	return *slot - 1;
}

int32_t mr_row_sum_find(const mr_row_sum *x, int32_t row)
{
	return *mr_row_slot(x->slot, x->slots, x->row, row) - 1;
}

/* Let the number at @at sink in the heap of the first @n. */
static void sink(int32_t *heap, int32_t at, int32_t n)
{
	int32_t number = heap[at];

	for (int32_t below; (below = 2 * at + 1) < n; at = below) {
		below += below + 1 < n && heap[below + 1] > heap[below];
		if (heap[below] <= number)
			break;
		heap[at] = heap[below];
	}
	heap[at] = number;
}

/* A heap sort: it allocates nothing, and is never much slower than usual. */
void mr_row_sum_sort(mr_row_sum *x)
{
	int32_t n = *x->n;

	memcpy(x->order, x->row, (size_t)n * sizeof(*x->order));
	for (int32_t i = n / 2; i-- > 0;)
		sink(x->order, i, n);
	for (int32_t i = n; i-- > 1;) {
		int32_t largest = x->order[0];

		x->order[0] = x->order[i];
		x->order[i] = largest;
		sink(x->order, 0, i);
	}
}

/* Each row stands behind as many zeros as numbers of its first vector belong to the row before it, and before as many
 * as fill its last one. A row goes on in the next block of mr_squares where it crosses a border, which no vector does.
 */
mr_status mr_row_sum_squares(mr_row_sum *x, const mr_kernels *k, mr_kctx *kc, double *sum)
{
	size_t number = x->row_bytes / (size_t)x->cols;
	int64_t at = 0, block = 0;
	double some;

	*sum = 0;
	mr_row_sum_sort(x);
	for (int32_t i = 0; i < *x->n; i++) {
		const uint8_t *from = x->value + (size_t)mr_row_sum_find(x, x->order[i]) * x->row_bytes;
		int64_t first = x->order[i] * x->cols, end = first + x->cols;

		while (first < end) {
			int64_t border = (first / MR_SQUARES_BLOCK + 1) * MR_SQUARES_BLOCK;
			int64_t n = (end < border ? end : border) - first, before = first % MOST_LANES;
			int64_t all = (before + n + MOST_LANES - 1) / MOST_LANES * MOST_LANES;
			uint8_t *to;

			if (first / MR_SQUARES_BLOCK != block) {
				MR_TRY(k->sumsq(kc, &(mr_sumsq_args){.n = at, .x = x->room, .sum = &some}));
				*sum += some;
				block = first / MR_SQUARES_BLOCK;
				at = 0;
			}
			to = x->room + (size_t)at * number;
			memset(to, 0, (size_t)before * number);
			memcpy(to + (size_t)before * number, from, (size_t)n * number);
			memset(to + (size_t)(before + n) * number, 0, (size_t)(all - before - n) * number);
			at += all;
			first += n;
			from += (size_t)n * number;
		}
	}
	MR_TRY(k->sumsq(kc, &(mr_sumsq_args){.n = at, .x = x->room, .sum = &some}));
	*sum += some;
	return MR_OK;
}
