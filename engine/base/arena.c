#include "base/arena.h"

#include <assert.h>

#include "base/size.h"

void mr_arena_init(mr_arena *a, void *mem, size_t bytes)
{
	*a = (mr_arena){.base = mem, .size = mem ? bytes : SIZE_MAX};
}

void *mr_arena_take(mr_arena *a, size_t bytes, size_t align)
{
	size_t start = SIZE_MAX, end = SIZE_MAX;
	bool fits;

	assert(align && !(align & (align - 1)));
	assert((uintptr_t)a->base % align == 0);
	fits = mr_size_add(a->used, align - 1, &start);
	start &= ~(align - 1);
	fits = fits && mr_size_add(start, bytes, &end) && end <= a->size;
	if (!a->base) {
		a->used = fits ? end : SIZE_MAX;
		return NULL;
	}
	if (!fits)
		return NULL;
	a->used = end;
	return a->base + start;
}
