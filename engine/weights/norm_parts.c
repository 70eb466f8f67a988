#include "weights/norm_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/zeroed.h"
#include "nn/squares.h"
#include "weights/norms.h"

/* What a shard has of a parameter: numbers [first, end), of which [from, to) are whole blocks. */
typedef struct range {
	int64_t first, from, to, end, all;
} range;

static bool range_of(const mr_stage_weights *b, uint8_t shard, uint32_t p, range *r)
{
	int64_t n;

	if (!mr_weights_part(b, shard, p, &r->first, &n))
		return false;
	r->all = mr_stage_graph(b->stage)->params[p].n;
	r->end = r->first + n;
	r->from = mr_squares_n_blocks(r->first) * MR_SQUARES_BLOCK;
	r->to = r->end == r->all ? r->all : r->end / MR_SQUARES_BLOCK * MR_SQUARES_BLOCK;
	if (r->from > r->to)
		r->from = r->to = r->end; /* all of it in one block that is cut */
	return true;
}

static size_t each(const mr_stage_weights *b)
{
	return mr_dtype_bytes(b->k->types.gradients);
}

/* Blocks of @shard that are whole, and numbers of those that are not. */
static void count(const mr_stage_weights *b, uint8_t shard, int64_t *blocks, int64_t *numbers)
{
	uint32_t p, end;
	range r;

	*blocks = *numbers = 0;
	mr_stage_params(b->stage, &p, &end);
	for (; p < end; p++) {
		if (!range_of(b, shard, p, &r))
			continue;
		*blocks += mr_squares_n_blocks(r.to - r.from);
		*numbers += r.from - r.first + r.end - r.to;
	}
}

mr_status mr_norm_parts_open(mr_stage_weights *b, uint32_t n, uint64_t every)
{
	mr_norm_parts *x = b->norms->parts = mr_zeroed(sizeof(*x));
	int64_t blocks, numbers;
	uint32_t first, end;

	if (!x || !(x->at = calloc(b->n_shards + 1u, sizeof(*x->at))))
		return mr_fail(MR_ERESOURCE, "no memory for the gradient norms of a stage");
	x->every = every;
	x->n = n;
	mr_stage_params(b->stage, &first, &end);
	for (uint32_t i = 0; i < b->n_shards; i++) {
		count(b, (uint8_t)i, &blocks, &numbers);
		if (!b->apart) {
			blocks = i ? 0 : end - first;
			numbers = 0;
		}
		x->at[i + 1] = x->at[i] + (size_t)blocks * sizeof(double) +
			       ((size_t)numbers * each(b) + sizeof(double) - 1) / sizeof(double) * sizeof(double);
	}
	x->kept = calloc(n, x->at[b->n_shards] + 1);
	return x->kept ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the gradient norms of a stage");
}

void mr_norm_parts_close(mr_norm_parts *x)
{
	if (!x)
		return;
	free(x->at);
	free(x->kept);
	free(x);
}

void *mr_norm_parts_at(const mr_stage_weights *b, uint8_t shard, uint64_t step, size_t *bytes)
{
	const mr_norm_parts *x = b->norms->parts;

	*bytes = x->at[shard + 1] - x->at[shard];
	return x->kept + step / x->every % x->n * x->at[b->n_shards] + x->at[shard];
}

/* Numbers [@first, @end) of parameter @p's gradient in the range of @shard; returns where they end in @to. */
static uint8_t *copy(const mr_stage_weights *b, uint8_t shard, uint32_t p, int64_t first, int64_t end, uint8_t *to)
{
	const uint8_t *grads = mr_weights_total_of(b, shard);
	size_t bytes = (size_t)(end - first) * each(b);

	if (bytes)
		memcpy(to, grads + mr_stage_grad_at(b->stage, p) + (size_t)first * each(b), bytes);
	return to + bytes;
}

mr_status mr_norm_parts_of_shard(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, uint64_t step)
{
	size_t bytes;
	double *block = mr_norm_parts_at(b, shard, step, &bytes);
	int64_t blocks, numbers;
	uint8_t *number;
	uint32_t p, end;
	range r;

	if (b->unchanged) {
		memset(block, 0, bytes);
		return MR_OK;
	}
	count(b, shard, &blocks, &numbers);
	number = (uint8_t *)(block + blocks);
	mr_stage_params(b->stage, &p, &end);
	for (; p < end; p++) {
		if (!range_of(b, shard, p, &r))
			continue;
		number = copy(b, shard, p, r.first, r.from, number);
		number = copy(b, shard, p, r.to, r.end, number);
		if (r.from == r.to)
			continue;
		MR_TRY(mr_squares_blocks(b->k, kc, r.to - r.from,
					 (const uint8_t *)mr_weights_total_of(b, shard) +
						 mr_stage_grad_at(b->stage, p) + (size_t)r.from * each(b), block));
		block += mr_squares_n_blocks(r.to - r.from);
	}
	return MR_OK;
}

void mr_norm_parts_of_stage(mr_stage_weights *b, uint64_t version, uint64_t step)
{
	size_t bytes;
	void *to = mr_norm_parts_at(b, 0, step, &bytes);

	memcpy(to, mr_norms_sumsq(b, version), bytes);
}

/* --- adding up --- */

/* Where the reading of a shard's part stands. */
typedef struct cursor {
	const double *block;
	const uint8_t *number;
} cursor;

/* A block that borders cut, as far as its numbers have been found. */
typedef struct cut_block {
	uint8_t *room;
	int64_t n;
} cut_block;

/* Numbers up to @end of the parameter come to @cut; where its block ends there, its squares come to *@sum. */
static mr_status add_numbers(const mr_stage_weights *b, mr_kctx *kc, cut_block *cut, cursor *c, const range *r,
			     int64_t first, int64_t end, double *sum)
{
	size_t bytes = (size_t)(end - first) * each(b);
	double squares;

	if (!bytes)
		return MR_OK;
	memcpy(cut->room + (size_t)cut->n * each(b), c->number, bytes);
	c->number += bytes;
	cut->n += end - first;
	if (end % MR_SQUARES_BLOCK && end != r->all)
		return MR_OK;
	MR_TRY(mr_squares_blocks(b->k, kc, cut->n, cut->room, &squares));
	cut->n = 0;
	*sum += squares;
	return MR_OK;
}

static mr_status add_range(const mr_stage_weights *b, mr_kctx *kc, cut_block *cut, cursor *c, const range *r,
			   double *sum)
{
	MR_TRY(add_numbers(b, kc, cut, c, r, r->first, r->from, sum));
	for (int64_t i = mr_squares_n_blocks(r->to - r->from); i > 0; i--)
		*sum += *c->block++;
	return add_numbers(b, kc, cut, c, r, r->to, r->end, sum);
}

/* The shard whose range is number @place of all. */
static uint8_t shard_at(const mr_stage_weights *b, uint32_t place)
{
	uint32_t i = 0;

	while (i + 1 < b->n_shards && b->shard[i].place != place)
		i++;
	return (uint8_t)i;
}

static mr_status add_apart(const mr_stage_weights *b, uint64_t step, mr_kctx *kc, uint8_t *room, double *out)
{
	cut_block cut = {.room = room};
	cursor c[UINT8_MAX + 1];
	int64_t blocks, numbers;
	uint32_t p, end;
	size_t bytes;
	range r;

	for (uint32_t i = 0; i < b->n_shards; i++) {
		c[i].block = mr_norm_parts_at(b, (uint8_t)i, step, &bytes);
		count(b, (uint8_t)i, &blocks, &numbers);
		c[i].number = (const uint8_t *)(c[i].block + blocks);
	}
	mr_stage_params(b->stage, &p, &end);
	for (; p < end; p++, out++) {
		*out = 0;
		for (uint32_t place = 0; place < b->n_shards; place++) {
			uint8_t i = shard_at(b, place);

			if (range_of(b, i, p, &r))
				MR_TRY(add_range(b, kc, &cut, &c[i], &r, out));
		}
	}
	return MR_OK;
}

mr_status mr_norm_parts_add(const mr_stage_weights *b, uint64_t step, mr_kctx *kc, uint8_t *room, double *out)
{
	size_t bytes;
	const void *kept;

	if (b->apart)
		return add_apart(b, step, kc, room, out);
	kept = mr_norm_parts_at(b, 0, step, &bytes);
	memcpy(out, kept, bytes);
	return MR_OK;
}
