#include "nn/row_index.h"

#include <string.h>

size_t mr_row_index_bytes(int64_t places)
{
	return ((size_t)places * 4 + mr_row_slots(places)) * sizeof(int32_t);
}

void mr_row_index_begin(mr_row_index *x, int64_t places, void *memory)
{
	int32_t *at = memory;

	*x = (mr_row_index){.row = at, .first = at + places, .last = at + 2 * places, .next = at + 3 * places,
			    .slot = at + 4 * places, .slots = mr_row_slots(places)};
	memset(x->slot, 0, x->slots * sizeof(*x->slot));
}

void mr_row_index_meet(mr_row_index *x, int32_t row, int32_t place)
{
	int32_t *slot = mr_row_slot(x->slot, x->slots, x->row, row), i = *slot;

	x->next[place] = -1;
	if (i) {
		x->next[x->last[i - 1]] = place;
		x->last[i - 1] = place;
		return;
	}
	x->row[x->n] = row;
	x->first[x->n] = x->last[x->n] = place;
	*slot = ++x->n;
}
