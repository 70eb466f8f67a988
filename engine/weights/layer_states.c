#include "weights/layer_states.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "nn/element.h"
#include "weights/replica_links.h"

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
	mr_layer_states *x = b->layer_states;

	for (uint32_t i = 0; x->lists && i < b->n_shards * b->n_shards; i++) {
		mr_channel_close(&x->lists[i].channel);
		free(x->lists[i].copy);
	}
	free(x->lists);
	free(x->list);
}

/* Bytes of a list with room for @room. */
static size_t list_bytes(const mr_stage_weights *b, uint32_t room)
{
	return sizeof(uint64_t) + room * (sizeof(uint64_t) + state_bytes(b));
}

static uint8_t *seen_at(const mr_stage_weights *b, const mr_seen_list *l, uint64_t k)
{
	return (uint8_t *)(l->n + 1 + l->room) + k * state_bytes(b);
}

void mr_layer_states_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	mr_seen_list *l = &b->layer_states->list[shard];

	if (shard == 0)
		b->layer_states->state = mr_arena_take(a, state_bytes(b), MR_CACHE_LINE);
	l->n = mr_arena_take(a, list_bytes(b, l->room), MR_CACHE_LINE);
}

uint64_t mr_layer_states_bytes(const mr_stage_weights *b)
{
	return b->layer_states ? state_bytes(b) : 0;
}

uint64_t mr_layer_states_list_bytes(const mr_stage_weights *b, uint8_t shard)
{
	return b->layer_states ? list_bytes(b, b->layer_states->list[shard].room) : 0;
}

void mr_layer_states_init(mr_stage_weights *b)
{
	if (b->layer_states)
		mr_stage_init_layer_state(b->stage, b->layer_states->state);
}

void mr_layer_states_reset(mr_stage_weights *b)
{
	for (uint32_t i = 0; b->layer_states && i < b->n_shards; i++)
		*b->layer_states->list[i].n = 0;
}

mr_status mr_layer_states_note(mr_stage_weights *b, uint8_t shard, uint64_t micro, const void *slot)
{
	mr_seen_list *l = &b->layer_states->list[shard];

	if (*l->n == l->room)
		return mr_fail(MR_EINVAL, "the gradient of micro-batch %llu is one more than the %u of a commit",
			       (unsigned long long)micro, l->room);
	l->n[1 + *l->n] = micro;
	memcpy(seen_at(b, l, *l->n), mr_stage_seen(b->stage, slot), state_bytes(b));
	++*l->n;
	return MR_OK;
}

/* The list of shard @i as @shard's worker has it. */
static mr_seen_list list_of(const mr_stage_weights *b, uint32_t i, uint32_t shard)
{
	mr_seen_list l = b->layer_states->list[i];
	const mr_range *range = b->layer_states->lists ? &b->layer_states->lists[i * b->n_shards + shard] : NULL;

	if (range && range->channel.kind)
		l.n = (uint64_t *)mr_range_copy(range);
	return l;
}

/* The contribution of the lowest micro-batch from *@least on, in any list; *@least moves behind it. NULL: none. */
static const uint8_t *find_next(const mr_stage_weights *b, uint32_t shard, uint64_t *least)
{
	const uint8_t *seen = NULL;
	uint64_t lowest = UINT64_MAX;

	for (uint32_t i = 0; i < b->n_shards; i++) {
		mr_seen_list l = list_of(b, i, shard);

		for (uint64_t k = 0; k < *l.n; k++)
			if (l.n[1 + k] >= *least && l.n[1 + k] < lowest) {
				lowest = l.n[1 + k];
				seen = seen_at(b, &l, k);
			}
	}
	*least = lowest + 1;
	return seen;
}

void mr_layer_states_fold(mr_stage_weights *b, uint32_t shard)
{
	uint64_t least = 0;
	const uint8_t *seen;

	while ((seen = find_next(b, shard, &least)))
		mr_stage_fold(b->stage, seen, b->layer_states->state);
	mr_layer_states_reset(b);
}

mr_status mr_layer_states_choose(mr_stage_weights *b, uint16_t stage, const uint16_t *worker,
				 const mr_link_kind *const *kinds)
{
	mr_layer_states *x = b->layer_states;
	uint32_t n = b->n_shards;

	if (!x || !b->apart)
		return MR_OK;
	x->lists = calloc((size_t)n * n, sizeof(*x->lists));
	if (!x->lists)
		return mr_fail(MR_ERESOURCE, "no memory for the links of layers' states");
	for (uint32_t i = 0; i < n * n; i++) {
		mr_edge e = {.kind = MR_EDGE_GRADIENTS, .from = worker[i / n], .to = worker[i % n], .stage = stage};

		if (e.from == e.to)
			continue;
		x->lists[i].channel = (mr_channel){.edge = e, .n = 2};
		MR_TRY(mr_link_kind_of(kinds, &e, &x->lists[i].channel.kind));
		if (mr_link_kind_shares(x->lists[i].channel.kind))
			x->lists[i].channel.kind = NULL;
	}
	return MR_OK;
}

mr_status mr_layer_states_open_links(mr_stage_weights *b)
{
	mr_layer_states *x = b->layer_states;

	for (uint32_t i = 0; x && x->lists && i < b->n_shards * b->n_shards; i++) {
		const mr_seen_list *l = &x->list[i / b->n_shards];

		if (x->lists[i].channel.kind)
			MR_TRY(mr_range_open_copies(&x->lists[i], (mr_range_span){0, list_bytes(b, l->room)},
						    (const uint8_t *)l->n));
	}
	return MR_OK;
}

void mr_layer_states_reset_links(mr_stage_weights *b, mr_parker *const *parker)
{
	mr_layer_states *x = b->layer_states;

	for (uint32_t i = 0; x && x->lists && i < b->n_shards * b->n_shards; i++)
		mr_range_reset(&x->lists[i], b->latest, parker[i % b->n_shards]);
}

void mr_layer_states_send(mr_stage_weights *b, uint32_t shard, uint64_t commit)
{
	mr_layer_states *x = b->layer_states;

	for (uint32_t j = 0; x && x->lists && j < b->n_shards; j++)
		if (x->lists[shard * b->n_shards + j].channel.kind)
			mr_channel_post(&x->lists[shard * b->n_shards + j].channel, commit);
}

bool mr_layer_states_have(mr_stage_weights *b, uint32_t shard, uint64_t commit)
{
	mr_layer_states *x = b->layer_states;

	for (uint32_t i = 0; x && x->lists && i < b->n_shards; i++)
		if (b->shard[i].need && !mr_range_has(&x->lists[i * b->n_shards + shard], commit))
			return false;
	return true;
}

/* The states of replica @r, as the owner of range @part has them. */
static const uint8_t *states_of(const mr_replicas *g, uint32_t part, uint32_t r, uint64_t version)
{
	const uint8_t *copy = mr_replica_links_at(g, MR_REPLICA_LAYERS, part, r, version);

	return copy ? copy : mr_replicas_block(g, r)->layer_states->state;
}

void mr_layer_states_average(const mr_replicas *g, uint32_t part, uint64_t version)
{
	mr_dtype t = g->first->k->types.compute;
	uint32_t first, end;

	mr_stage_layer_states(g->first->stage, &first, &end);
	for (uint32_t i = first; i < end; i++) {
		size_t at = mr_stage_layer_state_at(g->first->stage, i);

		for (int64_t k = 0; k < mr_stage_graph(g->first->stage)->states[i].n; k++) {
			double sum = 0;

			for (uint32_t r = 0; r < g->n; r++)
				sum += mr_element(t, states_of(g, part, r, version) + at, k);
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
