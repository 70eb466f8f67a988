#include "nn/old_rows.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"

size_t mr_old_rows_layout(mr_old_rows *x, mr_arena *a)
{
	size_t before = a->used, places = (size_t)x->commits * (size_t)x->most;

	x->head = mr_arena_take(a, MR_CACHE_LINE, MR_CACHE_LINE);
	x->newest = mr_arena_take(a, (size_t)x->rows * sizeof(*x->newest), MR_CACHE_LINE);
	x->copy = mr_arena_take(a, places * sizeof(*x->copy), MR_CACHE_LINE);
	x->value = mr_arena_take(a, places * x->row_bytes, MR_CACHE_LINE);
	return a->used - before;
}

void mr_old_rows_init(mr_old_rows *x)
{
	size_t places = (size_t)x->commits * (size_t)x->most;

	memset(x->newest, 0, (size_t)x->rows * sizeof(*x->newest));
	memset(x->copy, 0, places * sizeof(*x->copy));
	memset(x->value, 0, places * x->row_bytes);
	x->head->filling = UINT64_MAX;
	x->head->n = 0;
}

void mr_old_rows_save(mr_old_rows *x, int32_t row, const void *from)
{
	uint64_t latest = *x->latest;
	const mr_old_row *older = x->newest[row] ? &x->copy[x->newest[row] - 1] : NULL;
	mr_old_row c = {.last = latest, .row = row};
	size_t at;

	if (x->head->filling != latest) {
		x->head->filling = latest;
		x->head->n = 0;
	}
	assert(x->head->n < x->most);
	at = (size_t)(latest % x->commits) * (size_t)x->most + (size_t)x->head->n++;
	if (older && older->row == row && older->last < latest) {
		c.next = x->newest[row];
		c.next_last = older->last;
	}
	x->copy[at] = c;
	x->newest[row] = (int32_t)at + 1;
	memcpy(x->value + at * x->row_bytes, from, x->row_bytes);
}
