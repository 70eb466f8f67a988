#include "weights/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "weights/owned.h"
#include "weights/tied_sum.h"

static mr_range *gradients_of(const mr_ranges *r, uint32_t from, uint32_t to)
{
	return &r->gradients[from * r->n + to];
}

static mr_range *weights_of(const mr_ranges *r, uint32_t from, uint32_t to)
{
	return &r->weights[from * r->n + to];
}

static mr_range *total_of(const mr_ranges *r, uint32_t from, uint32_t to)
{
	return &r->totals[from * r->n_whole + to];
}

static size_t bytes_of(mr_range_span s)
{
	return s.end - s.begin;
}

/* From one copy of what comes to the next. */
static size_t stride_of(mr_range_span s)
{
	return mr_align_up(bytes_of(s) + 1, MR_CACHE_LINE);
}

static uint64_t kept_of(const mr_range *range)
{
	return range->channel.kind ? mr_channel_kept_bytes(&range->channel) : 0;
}

/* --- building --- */

void mr_range_span_widen(mr_range_span *s, size_t at, size_t bytes)
{
	s->begin = s->end && s->begin < at ? s->begin : at;
	s->end = s->end > at + bytes ? s->end : at + bytes;
}

/* From the first to the last byte that shard @i owns. */
static void find_spans(const mr_stage_weights *b, mr_ranges *r, uint32_t i)
{
	size_t weight = mr_dtype_bytes(b->k->types.weights), gradient = mr_dtype_bytes(b->k->types.gradients);
	uint32_t begin, end;
	int64_t first, n;

	mr_stage_params(b->stage, &begin, &end);
	for (uint32_t p = begin; p < end; p++) {
		if (b->sharded ? mr_weights_range(b, (uint8_t)i, p, &first, &n)
			       : mr_weights_part(b, (uint8_t)i, p, &first, &n))
			mr_range_span_widen(&r->of_weights[i], mr_stage_weight_at(b->stage, p) + (size_t)first * weight,
					    (size_t)n * weight);
		if (!mr_weights_part(b, (uint8_t)i, p, &first, &n))
			continue;
		mr_range_span_widen(&r->of_gradients[i], mr_stage_grad_at(b->stage, p) + (size_t)first * gradient,
				    (size_t)n * gradient);
	}
	r->of_sums[i] = r->of_gradients[i];
	mr_tied_sum_widen(b, (uint8_t)i, &r->of_sums[i]);
}

static mr_status create(mr_stage_weights *b, const mr_ranges_wanted *wanted)
{
	uint32_t n = b->n_shards, n_whole = wanted->n_whole;
	mr_ranges *r = b->ranges = calloc(1, sizeof(*r));

	if (!r)
		return mr_fail(MR_ERESOURCE, "no memory for the ranges of %u shards", n);
	r->n = n;
	r->n_whole = n_whole;
	r->lockstep = wanted->lockstep && b->n_parts == n;
	r->released = wanted->released;
	r->gradients = calloc((size_t)n * n, sizeof(*r->gradients));
	r->weights = calloc((size_t)n * n, sizeof(*r->weights));
	r->totals = calloc((size_t)n * n_whole + 1, sizeof(*r->totals));
	r->of_gradients = calloc(n, sizeof(*r->of_gradients));
	r->of_sums = calloc(n, sizeof(*r->of_sums));
	r->of_weights = calloc(n, sizeof(*r->of_weights));
	r->of_kept = calloc(n, sizeof(*r->of_kept));
	r->n_sums = calloc(n, sizeof(*r->n_sums));
	r->room = calloc(n, sizeof(*r->room));
	if (!r->gradients || !r->weights || !r->totals || !r->of_gradients || !r->of_sums || !r->of_weights ||
	    !r->of_kept || !r->n_sums || !r->room)
		return mr_fail(MR_ERESOURCE, "no memory for the ranges of %u shards", n);
	MR_TRY(mr_owned_create(b));
	b->apart = true;
	b->sharded = b->one_copy = wanted->sharded;
	b->n_groups = wanted->groups;
	b->private_weights = !wanted->sharded;
	for (uint32_t i = 0; i < n; i++)
		find_spans(b, r, i);
	for (uint32_t i = 0; i < n * n; i++)
		if (b->sharded && mr_weights_peers(b, i / n, i % n) && bytes_of(r->of_weights[i % n]))
			mr_range_span_widen(&r->of_kept[i / n], r->of_weights[i % n].begin,
					    bytes_of(r->of_weights[i % n]));
	for (uint32_t i = 0; i < n; i++)
		r->room[i] = stride_of(r->of_sums[i]);
	return MR_OK;
}

/* The kind of link that carries edge @e, in *@out, if its workers share no memory. */
static mr_status choose(mr_stage_weights *b, mr_edge e, const mr_ranges_wanted *wanted, const mr_link_kind **out)
{
	*out = NULL;
	if (e.from == e.to)
		return MR_OK;
	MR_TRY(mr_link_kind_of(wanted->kinds, &e, out));
	if (mr_link_kind_shares(*out))
		*out = NULL;
	return *out && !b->ranges ? create(b, wanted) : MR_OK;
}

/* Do readers ask for what goes from @i to @j? */
static bool is_fetched(const mr_stage_weights *b, uint32_t i, uint32_t j)
{
	return b->sharded && mr_weights_group(b, i, j);
}

/* The weights that go from @i to @j. */
static mr_range_span weights_span(const mr_stage_weights *b, uint32_t i, uint32_t j)
{
	return is_fetched(b, i, j) ? b->ranges->of_kept[i] : b->ranges->of_weights[i];
}

static mr_status choose_pair(mr_stage_weights *b, uint32_t i, uint32_t j, const mr_ranges_wanted *wanted)
{
	mr_edge e = {.kind = MR_EDGE_GRADIENTS, .from = wanted->worker[i], .to = wanted->worker[j],
		     .stage = wanted->stage};
	const mr_link_kind *k;
	mr_ranges *r;

	MR_TRY(choose(b, e, wanted, &k));
	r = b->ranges;
	if (k)
		gradients_of(r, i, j)->channel =
			(mr_channel){.kind = k, .edge = e, .n = r->lockstep || r->released ? 1 : 2,
				     .bytes = bytes_of(r->of_sums[j]), .on_demand = r->released,
				     .stays = r->released || (r->lockstep && i >= wanted->n_whole)};
	if (k && j < wanted->n_whole)
		total_of(r, i, j)->channel = (mr_channel){.kind = k, .edge = e, .n = 1,
							  .bytes = bytes_of(r->of_gradients[i])};
	e.kind = MR_EDGE_WEIGHTS;
	MR_TRY(choose(b, e, wanted, &k));
	r = b->ranges;
	if (k && (!b->sharded || mr_weights_group(b, i, j) || mr_weights_peers(b, i, j)))
		weights_of(r, i, j)->channel =
			(mr_channel){.kind = k, .edge = e, .n = b->cap, .stays = r->lockstep || b->sharded,
				     .on_demand = is_fetched(b, i, j), .bytes = bytes_of(weights_span(b, i, j))};
	return MR_OK;
}

mr_status mr_ranges_choose(mr_stage_weights *b, const mr_ranges_wanted *wanted)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		for (uint32_t j = 0; j < b->n_shards; j++)
			MR_TRY(choose_pair(b, i, j, wanted));
	return MR_OK;
}

void mr_ranges_lend(mr_stage_weights *lender, mr_stage_weights *b)
{
	mr_ranges *r = b->ranges, *to = lender->ranges;

	r->lender = to;
	for (uint32_t i = 0; i < r->n; i++)
		to->room[i] = r->room[i] > to->room[i] ? r->room[i] : to->room[i];
}

void mr_ranges_follow(mr_stage_weights *b, mr_stage_weights *next)
{
	b->ranges->next = next->ranges;
}

uint64_t mr_ranges_bytes(const mr_stage_weights *b, uint32_t shard)
{
	const mr_ranges *r = b->ranges;
	uint64_t sum = 0;

	for (uint32_t i = 0; r && i < r->n; i++) {
		const mr_channel *c = &gradients_of(r, i, shard)->channel;

		sum += c->kind && !r->lender ? c->n * r->room[shard] : 0;
		sum += kept_of(gradients_of(r, shard, i)) + kept_of(weights_of(r, shard, i));
		sum += i < r->n_whole ? kept_of(total_of(r, shard, i)) : 0;
	}
	return sum;
}

mr_status mr_range_open(mr_range *range, mr_range_span span, size_t stride, const uint8_t *from, uint8_t *to)
{
	mr_channel *c = &range->channel;

	c->bytes = bytes_of(span);
	c->from_stride = c->to_stride = stride;
	c->from = from + span.begin;
	c->to = to;
	return mr_channel_open(c);
}

mr_status mr_range_open_copies(mr_range *range, mr_range_span span, const uint8_t *from)
{
	size_t stride = range->room ? range->room : stride_of(span);

	if (!range->copy)
		range->copy = aligned_alloc(MR_CACHE_LINE, range->channel.n * stride);
	if (!range->copy)
		return mr_fail(MR_ERESOURCE, "no memory for %zu bytes of gradients", range->channel.n * stride);
	range->channel.to_stride = stride;
	range->channel.bytes = bytes_of(span);
	range->channel.from = from + span.begin;
	range->channel.to = range->copy;
	return mr_channel_open(&range->channel);
}

uint8_t *mr_range_copy(const mr_range *range)
{
	return range->copy + range->arrived % range->channel.n * range->channel.to_stride;
}

mr_status mr_ranges_open(mr_stage_weights *b)
{
	mr_ranges *r = b->ranges;
	size_t stride = mr_stage_size(b->stage)->weight_bytes;

	if (r)
		MR_TRY(mr_owned_map(b));
	for (uint32_t i = 0; r && i < r->n; i++)
		for (uint32_t j = 0; j < r->n; j++) {
			mr_range *g = gradients_of(r, i, j), *w = weights_of(r, i, j);

			g->room = r->lender ? r->lender->room[j] : r->room[j];
			g->copy = r->lender ? gradients_of(r->lender, i, j)->copy : NULL;
			if (g->channel.kind)
				MR_TRY(mr_range_open_copies(g, r->of_sums[j], b->shard[i].grads));
			if (g->channel.kind && j < r->n_whole)
				MR_TRY(mr_range_open(total_of(r, i, j), r->of_gradients[i], 0, b->shard[i].grads,
						  b->shard[j].grads + r->of_gradients[i].begin));
			if (w->channel.kind)
				MR_TRY(mr_range_open(w, weights_span(b, i, j), stride, b->shard[i].version,
						  (is_fetched(b, i, j) ? b->shard[j].room : b->shard[j].version) +
							  weights_span(b, i, j).begin));
		}
	for (uint32_t i = 0; r && r->released && !r->lender && i < r->n; i++)
		mr_ranges_arm(b, i);
	return MR_OK;
}

void mr_ranges_close(mr_stage_weights *b)
{
	mr_ranges *r = b->ranges;

	for (uint32_t i = 0; r->gradients && i < r->n * r->n; i++) {
		mr_channel_close(&r->gradients[i].channel);
		if (!r->lender)
			free(r->gradients[i].copy);
	}
	for (uint32_t i = 0; r->weights && i < r->n * r->n; i++)
		mr_channel_close(&r->weights[i].channel);
	for (uint32_t i = 0; r->totals && i < r->n * r->n_whole; i++)
		mr_channel_close(&r->totals[i].channel);
	free(r->gradients);
	free(r->weights);
	free(r->totals);
	free(r->of_gradients);
	free(r->of_sums);
	free(r->of_weights);
	free(r->of_kept);
	free(r->n_sums);
	free(r->room);
}

void mr_range_reset(mr_range *range, uint64_t arrived, mr_parker *receiver)
{
	range->arrived = arrived;
	if (range->channel.kind)
		mr_channel_reset(&range->channel, receiver);
}

void mr_ranges_reset(mr_stage_weights *b, mr_parker *const *parker)
{
	mr_ranges *r = b->ranges;

	for (uint32_t i = 0; r && i < r->n; i++) {
		for (uint32_t j = 0; j < r->n; j++) {
			mr_range_reset(gradients_of(r, i, j), b->latest, parker[j]);
			mr_range_reset(weights_of(r, i, j), is_fetched(b, i, j) ? 0 : b->latest, parker[j]);
		}
		for (uint32_t j = 0; j < r->n_whole; j++)
			mr_range_reset(total_of(r, i, j), b->latest, parker[j]);
		r->n_sums[i] = b->latest;
	}
}

/* --- on the step path --- */

bool mr_range_has(mr_range *range, uint64_t number)
{
	uint64_t got;

	while (range->channel.kind && range->arrived < number && mr_channel_poll(&range->channel, &got))
		range->arrived = got > range->arrived ? got : range->arrived;
	return !range->channel.kind || range->arrived >= number;
}

static void arm(mr_ranges *r, uint32_t owner)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (gradients_of(r, i, owner)->channel.kind)
			mr_channel_arm(&gradients_of(r, i, owner)->channel);
}

void mr_ranges_arm(mr_stage_weights *b, uint32_t owner)
{
	arm(b->ranges, owner);
}

void mr_ranges_send_sum(mr_stage_weights *b, uint32_t shard)
{
	mr_ranges *r = b->ranges;

	r->n_sums[shard]++;
	for (uint32_t owner = 0; owner < r->n; owner++)
		if (gradients_of(r, shard, owner)->channel.kind)
			mr_channel_post(&gradients_of(r, shard, owner)->channel, r->n_sums[shard]);
}

bool mr_ranges_have_sums(mr_stage_weights *b, uint32_t owner, uint64_t commit)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		if (b->shard[i].need && !mr_range_has(gradients_of(b->ranges, i, owner), commit))
			return false;
	return true;
}

uint8_t *mr_ranges_sum_of(const mr_stage_weights *b, uint32_t shard, uint32_t owner, size_t at)
{
	const mr_range *range = gradients_of(b->ranges, shard, owner);

	if (!range->channel.kind)
		return b->shard[shard].grads + at;
	return mr_range_copy(range) + (at - b->ranges->of_sums[owner].begin);
}

mr_status mr_ranges_sum(mr_stage_weights *b, uint32_t owner, mr_kctx *kc, size_t at, int64_t n)
{
	uint8_t *own = b->shard[owner].grads + at, *sum = NULL;

	for (uint32_t i = 0; i < b->n_shards; i++) {
		if (!b->shard[i].need)
			continue;
		if (!sum)
			sum = mr_ranges_sum_of(b, i, owner, at); /* no other shard reads this range of it */
		else
			MR_TRY(b->k->sum_gradients(kc, &(mr_sum_gradients_args){.n = n, .a = sum,
										.b = mr_ranges_sum_of(b, i, owner, at),
										.y = sum}));
	}
	if (sum && sum != own)
		memcpy(own, sum, (size_t)n * mr_dtype_bytes(b->k->types.gradients));
	return MR_OK;
}

void mr_ranges_send_total(mr_stage_weights *b, uint32_t owner, uint64_t commit)
{
	mr_range_span s = b->ranges->of_gradients[owner];

	for (uint32_t i = 0; i < b->ranges->n_whole; i++) {
		mr_range *range = total_of(b->ranges, owner, i);

		if (range->channel.kind)
			mr_channel_post(&range->channel, commit);
		else if (i != owner)
			memcpy(b->shard[i].grads + s.begin, b->shard[owner].grads + s.begin, bytes_of(s));
	}
}

bool mr_ranges_have_totals(mr_stage_weights *b, uint32_t shard, uint64_t commit)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		if (!mr_range_has(total_of(b->ranges, i, shard), commit))
			return false;
	return true;
}

void mr_ranges_send_weights(mr_stage_weights *b, uint32_t owner, uint64_t version)
{
	mr_range_span s = b->ranges->of_weights[owner];

	if (b->ranges->next)
		arm(b->ranges->next, owner);
	for (uint32_t i = 0; i < b->n_shards; i++) {
		mr_range *range = weights_of(b->ranges, owner, i);

		if (range->channel.kind && !is_fetched(b, owner, i))
			mr_channel_post(&range->channel, version);
		else if (i != owner && !b->sharded)
			memcpy((uint8_t *)mr_weights_at(b, (uint8_t)i, version) + s.begin,
			       (uint8_t *)mr_weights_at(b, (uint8_t)owner, version) + s.begin, bytes_of(s));
	}
}

bool mr_ranges_have_weights(mr_stage_weights *b, uint32_t shard, uint64_t version)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		if (!mr_range_has(weights_of(b->ranges, i, shard), version))
			return false;
	return true;
}

/* --- sharded weights --- */

mr_range *mr_ranges_fetched(const mr_stage_weights *b, uint32_t owner, uint32_t reader)
{
	mr_range *range = b->ranges ? weights_of(b->ranges, owner, reader) : NULL;

	return range && range->channel.kind && is_fetched(b, owner, reader) ? range : NULL;
}

bool mr_ranges_kept(mr_stage_weights *b, uint32_t shard, uint64_t version)
{
	for (uint32_t i = 0; i < b->n_shards; i++)
		if (!is_fetched(b, i, shard) && !mr_range_has(weights_of(b->ranges, i, shard), version))
			return false;
	return true;
}

void mr_ranges_take(const mr_stage_weights *b, uint32_t owner, uint32_t reader)
{
	mr_range_span s = b->ranges->of_kept[owner];

	memcpy(b->shard[reader].room + s.begin, b->shard[owner].version + s.begin, bytes_of(s));
}
