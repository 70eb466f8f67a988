#include "weights/owned.h"

#include <stdlib.h>
#include <string.h>

#include "weights/factors.h"
#include "weights/stored_states.h"

void mr_owned_layout(mr_stage_weights *b, mr_arena *a)
{
	const mr_stage_sizes *z = mr_stage_size(b->stage);

	if (b->sharded)
		b->shard[0].version = mr_arena_take(a, mr_stagger(z->weight_bytes), MR_CACHE_LINE);
	for (uint32_t i = 1; b->sharded && i < b->n_shards; i++)
		b->shard[i].version = b->shard[0].version;
	for (uint32_t i = 0; i < b->optim.ops->n_states; i++)
		b->state[i] = mr_arena_take(a, mr_stagger(mr_states_bytes(b)), MR_CACHE_LINE);
	if (mr_weights_factor_bytes(b))
		b->factors = mr_arena_take(a, mr_weights_factor_bytes(b), MR_CACHE_LINE);
	if (z->rest_bytes)
		b->rest = mr_arena_take(a, mr_stagger(z->rest_bytes), MR_CACHE_LINE);
}

mr_status mr_owned_create(mr_stage_weights *b)
{
	b->owned = calloc(1, sizeof(*b->owned));
	return b->owned ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the ranges of %u shards", b->n_shards);
}

/* Bytes of a state in the range of @shard, with its scales; of its factors; and of the rest of its masters. */
typedef struct stretches {
	uint64_t state, factors, rest;
} stretches;

static stretches stretches_of(const mr_stage_weights *b, uint32_t shard)
{
	bool scaled = b->optim.form && b->optim.form->scaled;
	stretches out = {0};
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; mr_states_bytes(b) && p < end; p++) {
		if (!mr_weights_part(b, (uint8_t)shard, p, &first, &n))
			continue;
		out.state += (uint64_t)n * mr_states_each(b);
		out.state += scaled ? (uint64_t)mr_states_blocks(b, p, n) * sizeof(float) : 0;
		out.rest += mr_stage_size(b->stage)->rest_bytes ? (uint64_t)n * sizeof(*b->rest) : 0;
		out.factors += mr_factors_bytes_of(b->stage, &b->optim, b->k->types.state, p);
	}
	return out;
}

uint64_t mr_owned_weight_bytes(const mr_stage_weights *b, uint32_t shard)
{
	uint32_t begin, end;
	int64_t first, n;
	uint64_t sum = 0;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; b->sharded && p < end; p++)
		for (uint32_t i = 0; i < b->n_shards; i++)
			if (mr_weights_peers(b, i, shard) && mr_weights_range(b, (uint8_t)i, p, &first, &n))
				sum += (uint64_t)n * mr_dtype_bytes(b->k->types.weights);
	return mr_region_round_stretch(sum);
}

uint64_t mr_owned_bytes(const mr_stage_weights *b, uint32_t shard)
{
	stretches s = stretches_of(b, shard);

	if (!b->owned)
		return shard ? 0 : b->optim.ops->n_states * (uint64_t)mr_states_bytes(b) +
					   mr_stage_size(b->stage)->rest_bytes + mr_weights_factor_bytes(b);
	return b->optim.ops->n_states * mr_region_round_stretch(s.state) + mr_region_round_stretch(s.factors) +
	       mr_region_round_stretch(s.rest);
}

mr_status mr_owned_map(mr_stage_weights *b)
{
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	mr_owned_layout(b, &a);
	if (!a.used)
		return MR_OK;
	MR_TRY(mr_region_map_sparse(&b->owned->region, a.used, stretches_of(b, b->first_here).state));
	mr_arena_init(&a, b->owned->region.base, b->owned->region.bytes);
	mr_owned_layout(b, &a);
	return MR_OK;
}

void mr_owned_close(mr_stage_weights *b)
{
	if (b->owned)
		mr_region_unmap(&b->owned->region);
	free(b->owned);
	b->owned = NULL;
}

/* The factors of @p belong to the shard that steps all of it. */
static void clear_factors(mr_stage_weights *b, uint32_t p)
{
	mr_factor factor[MR_OPTIM_FACTORS];

	mr_factors_show(b->stage, &b->optim, b->k->types.state, p, b->factors, factor);
	for (uint32_t i = 0; i < b->optim.ops->n_factors; i++)
		if (factor[i].at)
			memset(factor[i].at, 0, (size_t)(factor[i].side * factor[i].side) *
							mr_dtype_bytes(b->k->types.state));
}

void mr_owned_clear(mr_stage_weights *b, uint32_t shard)
{
	uint32_t begin, end;
	int64_t first, n, all;

	for (uint32_t i = 0; !b->owned && shard == b->first_here && i < b->optim.ops->n_states; i++)
		memset(b->state[i], 0, mr_states_bytes(b));
	if (!b->owned && shard == b->first_here && b->factors)
		memset(b->factors, 0, mr_weights_factor_bytes(b));
	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; b->owned && mr_states_bytes(b) && p < end; p++) {
		if (!mr_weights_part(b, (uint8_t)shard, p, &first, &n))
			continue;
		for (uint32_t i = 0; i < b->optim.ops->n_states; i++) {
			float *scale = mr_states_scale(b, i, p, &all);

			memset(mr_states_at(b, i, p, first), 0, (size_t)n * mr_states_each(b));
			if (scale)
				memset(scale + mr_states_blocks(b, p, first), 0,
				       (size_t)mr_states_blocks(b, p, n) * sizeof(*scale));
		}
		if (b->factors)
			clear_factors(b, p);
	}
}

static bool is_kept(const mr_stage_weights *b, uint32_t shard)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		if (b->shard[i].here && mr_weights_peers(b, i, shard))
			return true;
	return false;
}

bool mr_owned_here(const mr_stage_weights *b, uint32_t p, int64_t first, int64_t end, bool kept)
{
	int64_t from, n;

	for (uint32_t i = 0; i < b->n_shards; i++)
		if ((kept ? is_kept(b, i) : b->shard[i].here) &&
		    mr_weights_range(b, (uint8_t)i, p, &from, &n) && from < end && from + n > first)
			return true;
	return false;
}
