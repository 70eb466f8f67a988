#include "weights/tied_sum.h"

#include <stdlib.h>

#include "nn/squares.h"
#include "weights/reduction.h"
#include "weights/tied_links.h"

/* Is a parameter used more than once in the stage of @b? */
static bool uses_again(const mr_stage_weights *b)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	uint32_t first, end;

	mr_stage_params(b->stage, &first, &end);
	for (uint32_t p = first; p < end; p++)
		if (g->params[p].tied_to >= (int32_t)first && g->params[p].tied_to < (int32_t)end)
			return true;
	return false;
}

mr_status mr_tied_sum_open(mr_stage_weights *b, mr_stage_weights *user)
{
	if (!user && !uses_again(b))
		return MR_OK;
	b->tied = malloc(sizeof(*b->tied));
	b->whole_sums = true;
	if (!b->tied)
		return mr_fail(MR_ERESOURCE, "no memory for a sum of tied gradients");
	*b->tied = (mr_tied_sum){.user = user};
	return MR_OK;
}

void mr_tied_sum_close(mr_stage_weights *b)
{
	mr_tied_links_close(b->tied);
}

mr_status mr_tied_sum_within(mr_stage_weights *b, mr_kctx *kc)
{
	if (!b->tied->summed)
		MR_TRY(mr_stage_sum_tied(b->stage, kc, b->summed ? b->summed : b->shard[0].grads));
	b->tied->summed = true;
	return MR_OK;
}

/* Is @p stepped here behind a pass whose other steps are inside? */
static bool steps_behind(const mr_stage_weights *b, uint32_t p)
{
	uint32_t user;

	return mr_stage_steps(b->stage, p) && mr_graph_tied(mr_stage_graph(b->stage), p) &&
	       !mr_stage_steps_rows(b->stage, p, &user);
}

mr_status mr_tied_sum_step(mr_stage_weights *b, mr_kctx *kc, double lr, double gscale, double *sumsq)
{
	const uint8_t *total = mr_weights_total_of(b, 0);
	uint32_t begin, end;

	MR_TRY(mr_tied_sum_within(b, kc));
	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; p < end; p++) {
		const uint8_t *g = total + mr_stage_grad_at(b->stage, p);
		int64_t n = mr_stage_graph(b->stage)->params[p].n;

		if (!steps_behind(b, p))
			continue;
		if (sumsq)
			MR_TRY(mr_squares(b->k, kc, n, g, &sumsq[p - begin]));
		MR_TRY(mr_weights_step_part(b, 0, kc, lr, gscale, p, 0, n, g));
	}
	return MR_OK;
}

void mr_tied_sum_widen(const mr_stage_weights *b, uint8_t shard, mr_range_span *s)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	size_t each = mr_dtype_bytes(b->k->types.gradients);
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t u = begin; u < end; u++) {
		int32_t p = g->params[u].tied_to;

		if (p >= (int32_t)begin && mr_weights_part(b, shard, (uint32_t)p, &first, &n))
			mr_range_span_widen(s, mr_stage_grad_at(b->stage, u) + (size_t)first * each, (size_t)n * each);
	}
}

/* The address of byte @at of the gradient sum of shard @j of @user, whose stage uses parameters of @b's, for @shard. */
static uint8_t *sum_of(const mr_stage_weights *b, const mr_stage_weights *user, uint32_t j, uint8_t shard, size_t at)
{
	if (user == b->tied->user)
		return mr_tied_links_sum_of(b, j, shard, at);
	return b->ranges ? mr_ranges_sum_of(b, j, shard, at) : user->shard[j].grads + at;
}

/* Add the uses in @user's stage of parameter @p of @b, elements @first to @first + @n: the shards that have any are
 * added up in the first of them, and that sum to the sum of the parameter. */
static mr_status sum_uses(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, uint32_t p, int64_t first, int64_t n,
			  mr_stage_weights *user)
{
	const mr_graph *g = mr_stage_graph(b->stage);
	size_t off = (size_t)first * mr_dtype_bytes(b->k->types.gradients);
	uint8_t *to = (uint8_t *)mr_weights_total_of(b, shard) + mr_stage_grad_at(b->stage, p) + off;
	uint32_t begin, end;

	mr_stage_params(user->stage, &begin, &end);
	for (uint32_t u = begin; u < end; u++) {
		size_t at = mr_stage_grad_at(user->stage, u) + off;
		uint8_t *sum = NULL;

		if (g->params[u].tied_to != (int32_t)p)
			continue;
		for (uint32_t j = 0; j < user->n_shards; j++) {
			if (!user->shard[j].need)
				continue;
			if (sum)
				MR_TRY(b->k->sum_gradients(
					kc, &(mr_sum_gradients_args){.n = n, .a = sum,
								     .b = sum_of(b, user, j, shard, at), .y = sum}));
			else
				sum = sum_of(b, user, j, shard, at);
		}
		MR_TRY(b->k->sum_gradients(kc, &(mr_sum_gradients_args){.n = n, .a = to, .b = sum, .y = to}));
	}
	return MR_OK;
}

mr_status mr_tied_sum_range(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, uint32_t p, int64_t first, int64_t n)
{
	MR_TRY(sum_uses(b, shard, kc, p, first, n, b));
	if (b->tied->user)
		MR_TRY(sum_uses(b, shard, kc, p, first, n, b->tied->user));
	return MR_OK;
}
