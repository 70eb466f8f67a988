#include "stage/lifetime.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/grown.h"
#include "base/size.h"

static bool clash(const mr_lifetime_item *a, const mr_lifetime_item *b)
{
	return a->born <= b->dies && b->born <= a->dies && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

mr_status mr_lifetime_add(mr_lifetime *l, uint32_t born, uint32_t dies, size_t bytes, size_t *offset)
{
	mr_lifetime_item it = {born, dies, 0, mr_align_up(bytes, MR_CACHE_LINE)};
	mr_lifetime_item *grown = mr_grown(l->item, l->n, sizeof(*grown));
	bool moved = it.bytes > 0;

	if (!grown)
		return mr_fail(MR_ERESOURCE, "no memory for %u tensor lifetimes", l->n + 1);
	l->item = grown;
	while (moved) { /* every clash lifts the offset past an item, so this ends */
		moved = false;
		for (uint32_t i = 0; i < l->n; i++)
			if (clash(&l->item[i], &it)) {
				it.offset = l->item[i].offset + l->item[i].bytes;
				moved = true;
			}
	}
	l->item[l->n++] = it;
	if (it.offset + it.bytes > l->bytes)
		l->bytes = it.offset + it.bytes;
	*offset = it.offset;
	return MR_OK;
}

void mr_lifetime_fini(mr_lifetime *l)
{
	free(l->item);
	*l = (mr_lifetime){0};
}
