#include "nn/row_index.h"

#include <string.h>

/* At least half of the slots stay free, so that few are looked at. */
static uint32_t slots_for(int64_t places)
{
	uint32_t slots = 4;

	while ((int64_t)slots < 2 * places)
		slots *= 2;
	return slots;
}

size_t mr_row_index_bytes(int64_t places)
{
	return ((size_t)places * 4 + slots_for(places)) * sizeof(int32_t);
}

void mr_row_index_begin(mr_row_index *x, int64_t places, void *memory)
{
	int32_t *at = memory;

	*x = (mr_row_index){.row = at, .first = at + places, .last = at + 2 * places, .next = at + 3 * places,
			    .slot = at + 4 * places, .slots = slots_for(places)};
	memset(x->slot, 0, x->slots * sizeof(*x->slot));
}

void mr_row_index_meet(mr_row_index *x, int32_t row, int32_t place)
{
	uint32_t at = (uint32_t)row * 0x9e3779b1u;
	int32_t i;

	for (at = (at ^ at >> 15) & (x->slots - 1); (i = x->slot[at]) && x->row[i - 1] != row;)
		at = (at + 1) & (x->slots - 1);
	x->next[place] = -1;
	if (i) {
		x->next[x->last[i - 1]] = place;
		x->last[i - 1] = place;
		return;
	}
	x->row[x->n] = row;
	x->first[x->n] = x->last[x->n] = place;
	x->slot[at] = ++x->n;
}
