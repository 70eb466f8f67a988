#include "weights/version_count.h"

#include <assert.h>

#include "base/size.h"

void mr_version_count_layout(mr_version_count *t, mr_arena *a, uint32_t cap)
{
	t->cap = cap;
	t->seen = mr_arena_take(a, cap * sizeof(*t->seen), MR_CACHE_LINE);
	t->with = mr_arena_take(a, cap * sizeof(*t->with), MR_CACHE_LINE);
}

static void put(mr_version_count *t, uint64_t v)
{
	uint32_t i = (uint32_t)(v % t->cap);

	t->seen[i] = v;
	t->with[i] = 1;
	if (i >= t->n_buffers)
		t->n_buffers = i + 1;
}

void mr_version_count_begin(mr_version_count *t, uint64_t latest)
{
	t->live = 1;
	t->n_buffers = 0;
	for (uint64_t v = latest >= t->cap ? latest - t->cap + 1 : 0; v <= latest; v++)
		put(t, v);
	t->latest = latest;
}

void mr_version_count_made(mr_version_count *t, uint64_t v)
{
	if (v == t->latest)
		return;
	put(t, v);
	t->latest = v;
}

void mr_version_count_old(mr_version_count *t, uint64_t u)
{
	uint64_t *seen = &t->seen[u % t->cap];

	assert(u < t->latest && t->latest - u < t->cap);
	for (uint64_t v = *seen + 1; v <= t->latest; v++) {
		uint32_t n = ++t->with[v % t->cap];

		t->live = n > t->live ? n : t->live;
	}
	*seen = t->latest;
}
