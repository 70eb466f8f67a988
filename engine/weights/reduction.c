#include "weights/reduction.h"

#include "base/zeroed.h"
#include "weights/ranges.h"
#include "weights/tied_sum.h"

mr_status mr_reduction_open(mr_stage_weights *b)
{
	if (!b->reduction)
		b->reduction = mr_zeroed(sizeof(*b->reduction));
	return b->reduction ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the reduction of a stage");
}

void mr_reduction_close(mr_stage_weights *b)
{
	free(b->reduction);
	b->reduction = NULL;
}

void mr_reduction_reset(mr_stage_weights *b, mr_waiters finished, mr_waiters reduced, mr_parker *const *parkers)
{
	mr_reduction *r = b->reduction;

	mr_counter_reset(&r->finished, (uint32_t)b->latest, finished.parker, finished.n, parkers);
	mr_counter_reset(&r->reduced, (uint32_t)b->latest, reduced.parker, reduced.n, parkers);
	mr_weights_no_parts(&r->n_finished);
	mr_weights_no_parts(&r->n_reduced);
}

void mr_reduction_finish(mr_stage_weights *b, uint16_t worker)
{
	if (mr_weights_last_of(&b->reduction->n_finished, b->parts_here))
		mr_counter_raise(&b->reduction->finished, worker, (uint32_t)(b->latest + 1));
}

void mr_reduction_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard)
{
	if (shard == 0)
		b->reduction->left = mr_arena_take(a, b->sum * sizeof(*b->reduction->left), MR_CACHE_LINE);
	b->shard[shard].io = mr_arena_take(a, b->sum * sizeof(*b->shard->io), MR_CACHE_LINE);
	b->shard[shard].call = mr_arena_take(a, b->sum * sizeof(*b->shard->call), MR_CACHE_LINE);
}

static void copy_parameter(mr_stage_weights *b, uint8_t shard, uint32_t p)
{
	size_t at = mr_stage_weight_at(b->stage, p);

	mr_weights_copy(b, shard, at,
			at + (size_t)mr_stage_graph(b->stage)->params[p].n * mr_dtype_bytes(b->k->types.weights));
}

mr_status mr_reduction_joint(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, void *scratch, const mr_step *step,
			     double *sumsq)
{
	mr_shard *s = &b->shard[shard];
	uint32_t first, end, from;

	mr_stage_params(b->stage, &first, &end);
	while (first < end && mr_stage_weight_at(b->stage, first) < s->begin)
		first++;
	for (from = first; first < end && mr_stage_weight_at(b->stage, first) < s->end;)
		first++;
	for (uint32_t j = 0; j < b->sum; j++) {
		s->io[j] = b->reduction->left[j];
		s->io[j].kc = kc;
		s->io[j].scratch = scratch;
		s->io[j].grads = s->grads;
		s->io[j].add_grads = false;
	}
	s->io[b->sum - 1].step = step;
	s->io[b->sum - 1].sumsq = sumsq;
	MR_TRY(mr_stage_backward_layers(b->stage, s->io, b->sum, s->call, from, first));
	for (; from < first; from++) /* tables lie behind all others, so the layers may lie apart */
		if (mr_stage_weight_at(b->stage, from) != SIZE_MAX)
			copy_parameter(b, shard, from);
	return MR_OK;
}

/* Add @n elements from byte @at of the gradients of all shards into the total, @block at a time: the total stays in the
 * caches while the shards are added, each element in their order. */
static mr_status add_shards(mr_stage_weights *b, mr_kctx *kc, size_t at, int64_t n, int64_t block)
{
	size_t each = mr_dtype_bytes(b->k->types.gradients);
	uint8_t *total = mr_weights_total(b);

	for (; n > 0; n -= block, at += (size_t)block * each)
		for (uint32_t i = 0; i < b->n_shards; i++)
			if (b->shard[i].need && b->shard[i].grads != total)
				MR_TRY(b->k->sum_gradients(
					kc, &(mr_sum_gradients_args){.n = n < block ? n : block, .a = total + at,
								     .b = b->shard[i].grads + at, .y = total + at}));
	return MR_OK;
}

mr_status mr_reduction_range(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc)
{
	size_t bytes = mr_dtype_bytes(b->k->types.gradients);
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; p < end; p++) {
		if (!mr_weights_part(b, pipe, p, &first, &n))
			continue;
		if (b->apart)
			MR_TRY(mr_ranges_sum(b, pipe, kc, mr_stage_grad_at(b->stage, p) + (size_t)first * bytes, n));
		else
			MR_TRY(add_shards(b, kc, mr_stage_grad_at(b->stage, p) + (size_t)first * bytes, n,
					  b->shard[pipe].block));
		if (b->tied)
			MR_TRY(mr_tied_sum_range(b, pipe, kc, p, first, n));
	}
	return MR_OK;
}

/* To @out the sum of all shards of @n elements from byte @at of the gradients: in @room, or of one shard where it
 * lies. */
static mr_status sum_piece(const mr_stage_weights *b, mr_kctx *kc, size_t at, int64_t n, void *room, const void **out)
{
	*out = (uint8_t *)mr_weights_total(b) + at;
	for (uint32_t i = 0; i < b->n_shards; i++) {
		const uint8_t *part = b->shard[i].grads + at;

		if (!b->shard[i].need || part == (uint8_t *)mr_weights_total(b) + at)
			continue;
		MR_TRY(b->k->sum_gradients(kc, &(mr_sum_gradients_args){.n = n, .a = *out, .b = part, .y = room}));
		*out = room;
	}
	return MR_OK;
}

mr_status mr_reduction_step(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, double lr, double gscale)
{
	const mr_shard *s = &b->shard[pipe];
	size_t bytes = mr_dtype_bytes(b->k->types.gradients);
	uint32_t begin, end;
	int64_t first, n;
	const void *sum;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; p < end; p++) {
		int64_t piece = mr_weights_whole_rows(b, p, s->piece);

		if (!mr_weights_part(b, pipe, p, &first, &n))
			continue;
		for (int64_t i = 0; i < n; i += piece) {
			int64_t len = n - i < piece ? n - i : piece;
			size_t at = mr_stage_grad_at(b->stage, p) + (size_t)(first + i) * bytes;

			MR_TRY(sum_piece(b, kc, at, len, s->work, &sum));
			MR_TRY(mr_weights_step_part(b, pipe, kc, lr, gscale, p, first + i, len, sum));
		}
	}
	return MR_OK;
}
