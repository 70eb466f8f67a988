#include "weights/carried.h"

#include <string.h>

#include "base/size.h"

static size_t n_entries(const mr_carried *c)
{
	return (size_t)c->depth * c->n_micro;
}

static size_t place_of(const mr_carried *c, uint64_t micro)
{
	uint64_t window = micro / c->n_micro - c->first;

	return (size_t)(window % c->depth * c->n_micro + micro % c->n_micro);
}

static bool begins_epoch(const mr_carried *c, uint64_t micro)
{
	return micro / c->n_micro % c->n_windows == 0;
}

void mr_carried_layout(mr_carried *c, mr_arena *a)
{
	c->entry = mr_arena_take(a, n_entries(c) * c->bytes, MR_CACHE_LINE);
	c->micro = mr_arena_take(a, n_entries(c) * sizeof(*c->micro), MR_CACHE_LINE);
}

uint64_t mr_carried_bytes(const mr_carried *c)
{
	return n_entries(c) * c->bytes + mr_align_up(n_entries(c) * sizeof(*c->micro), MR_CACHE_LINE);
}

void mr_carried_init(mr_carried *c)
{
	c->first = 0;
	memset(c->entry, 0, n_entries(c) * c->bytes);
	memset(c->micro, 0xff, n_entries(c) * sizeof(*c->micro));
}

void mr_carried_stand(mr_carried *c, uint64_t window, bool drained)
{
	if (!drained)
		return;
	c->first = window;
	for (size_t i = 0; i < n_entries(c); i++)
		c->micro[i] = i < c->n_micro ? window * c->n_micro + i : UINT64_MAX;
}

const void *mr_carried_begin(const mr_carried *c, uint64_t micro)
{
	return begins_epoch(c, micro) ? NULL : c->entry + place_of(c, micro) * c->bytes;
}

mr_status mr_carried_check(const mr_carried *c, uint64_t micro, uint32_t stage)
{
	if (!c->bytes || begins_epoch(c, micro) || c->micro[place_of(c, micro)] == micro)
		return MR_OK;
	return mr_fail(MR_EINVAL,
		       "stage %u: the values with which micro-batch %llu begins are not there: its order is not that "
		       "of the windows of a column",
		       stage, (unsigned long long)micro);
}

void *mr_carried_end(mr_carried *c, uint64_t micro)
{
	size_t place = place_of(c, micro + c->n_micro);

	c->micro[place] = micro + c->n_micro;
	return c->entry + place * c->bytes;
}

uint8_t *mr_carried_next(const mr_carried *c, uint64_t window, uint32_t place)
{
	return c->entry + place_of(c, window * c->n_micro + place) * c->bytes;
}

bool mr_carried_is_in(const mr_graph *g)
{
	mr_layer_carried spec[MR_LAYER_CARRIED];
	bool carries = false;

	for (uint32_t i = 0; i < g->n_nodes; i++)
		carries = carries || mr_layer_n_carried(g->nodes[i].ops, &g->nodes[i].cfg, spec);
	return carries;
}
