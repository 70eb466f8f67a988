#include "nn/saved.h"

#include <string.h>

#include "base/stats.h"

uint64_t mr_saved_hash(const mr_saved *s, uint64_t h)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t bytes = s->piece[i].bytes;

		h = mr_hash64(h, s->piece[i].what, strlen(s->piece[i].what));
		h = mr_hash64(h, &bytes, sizeof(bytes));
	}
	return h;
}
