#include "weights/layer_states.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/element.h"
#include "weights/replicas.h"

static size_t state_bytes(const mr_stage_weights *b)
{
	return mr_stage_size(b->stage)->layer_state_bytes;
}

mr_status mr_layer_states_open(mr_stage_weights *b)
{
	mr_layer_states *x;

	if (!state_bytes(b))
		return MR_OK;
	x = calloc(1, sizeof(*x));
	if (x)
		x->list = calloc(b->n_shards, sizeof(*x->list));
	if (!x || !x->list) {
		free(x);
		return mr_fail(MR_ERESOURCE, "no memory for the states of a stage's layers");
	}
	for (uint32_t i = 0; i < b->n_shards; i++)
		x->list[i].room = b->shard[i].need;
	b->layer_states = x;
	return MR_OK;
}

void mr_layer_states_close(mr_stage_weights *b)
{
	free(b->layer_states->list);
}

void mr_layer_states_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	mr_seen_list *l = &b->layer_states->list[shard];

	if (shard == 0)
		b->layer_states->state = mr_arena_take(a, state_bytes(b), MR_CACHE_LINE);
	l->seen = mr_arena_take(a, l->room * state_bytes(b), MR_CACHE_LINE);
	l->micro = mr_arena_take(a, l->room * sizeof(*l->micro), MR_CACHE_LINE);
}

uint64_t mr_layer_states_bytes(const mr_stage_weights *b)
{
	return b->layer_states ? state_bytes(b) : 0;
}

uint64_t mr_layer_states_list_bytes(const mr_stage_weights *b, uint8_t shard)
{
	return b->layer_states ? b->layer_states->list[shard].room * (state_bytes(b) + sizeof(uint64_t)) : 0;
}

void mr_layer_states_init(mr_stage_weights *b)
{
	if (b->layer_states)
		mr_stage_init_layer_state(b->stage, b->layer_states->state);
}

void mr_layer_states_reset(mr_stage_weights *b)
{
	for (uint32_t i = 0; b->layer_states && i < b->n_shards; i++)
		b->layer_states->list[i].n = 0;
}

mr_status mr_layer_states_note(mr_stage_weights *b, uint8_t shard, uint64_t micro, const void *slot)
{
	mr_seen_list *l = &b->layer_states->list[shard];

	if (l->n == l->room)
		return mr_fail(MR_EINVAL, "the gradient of micro-batch %llu is one more than the %u of a commit",
			       (unsigned long long)micro, l->room);
	l->micro[l->n] = micro;
	memcpy(l->seen + l->n * state_bytes(b), mr_stage_seen(b->stage, slot), state_bytes(b));
	l->n++;
	return MR_OK;
}

/* The contribution of the lowest micro-batch from *@least on, in any list; *@least moves behind it. NULL: none. */
static const uint8_t *find_next(const mr_stage_weights *b, uint64_t *least)
{
	const uint8_t *seen = NULL;
	uint64_t lowest = UINT64_MAX;

	for (uint32_t i = 0; i < b->n_shards; i++) {
		const mr_seen_list *l = &b->layer_states->list[i];

		for (uint32_t k = 0; k < l->n; k++)
			if (l->micro[k] >= *least && l->micro[k] < lowest) {
				lowest = l->micro[k];
				seen = l->seen + k * state_bytes(b);
			}
	}
	*least = lowest + 1;
	return seen;
}

void mr_layer_states_fold(mr_stage_weights *b)
{
	uint64_t least = 0;
	const uint8_t *seen;

	while ((seen = find_next(b, &least)))
		mr_stage_fold(b->stage, seen, b->layer_states->state);
	mr_layer_states_reset(b);
}

void mr_layer_states_average(const mr_replicas *g)
{
	mr_dtype t = g->first->k->types.compute;
	uint32_t first, end;

	mr_stage_layer_states(g->first->stage, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		size_t at = mr_stage_layer_state_at(g->first->stage, i);

		for (int64_t k = 0; k < mr_stage_graph(g->first->stage)->states[i].n; k++) {
			double sum = 0;

			for (uint32_t r = 0; r < g->n; r++)
				sum += mr_element(t, mr_replicas_block(g, r)->layer_states->state + at, k);
			mr_element_put(t, g->first->layer_states->state + at, k, sum / g->n);
		}
	}
	mr_layer_states_spread(g);
}

void mr_layer_states_spread(const mr_replicas *g)
{
	for (uint32_t r = 1; r < g->n && g->first->layer_states; r++)
		memcpy(mr_replicas_block(g, r)->layer_states->state, g->first->layer_states->state,
		       state_bytes(g->first));
}
