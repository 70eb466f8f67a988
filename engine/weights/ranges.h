/*
 * ranges.h - the gradients and weights of one stage between shards whose workers share no memory.
 *
 * Where they share it there is nothing here: the owner of a range adds the shards' sums where these lie, and what it
 * steps all read (stage_weights.h). Otherwise each shard has its own copy of the weights, and for each commit
 *
 *	shard i --[gradients]--> owner q    i's sum, as far as it lies in q's range, once it is complete
 *	owner q --[total]------> shard j    the sum of all shards in q's range: to shard 0 where the plan has an N,
 *	                                    which reads all of the sum; to each shard where each clips by itself
 *	owner q --[weights]----> shard i    q's range of the next version
 *
 * The owner adds the shards in ascending order, as where memory is shared, so the bits are the same. An edge between
 * two workers that do share memory is read, or written, where the data lie, in the same stage as others that are sent.
 *
 * Thread: a shard's functions are its worker's. What may not be done before something has come (`have_`) is waited for
 * by the caller, behind the counters of stage_weights.h.
 */
#ifndef MR_WEIGHTS_RANGES_H
#define MR_WEIGHTS_RANGES_H

#include "link/channel.h"
#include "weights/stage_weights.h"

/* One range on its way from one shard to another. */
typedef struct mr_range {
	mr_channel channel; /* kind NULL: the two share memory */
	uint64_t arrived;   /* the highest commit or version that has come; the receiver's */
	uint8_t *copy;      /* gradients: what has come, owned; else NULL */
} mr_range;

/* The bytes of a stage that one shard owns, as offsets into all of them. */
typedef struct mr_range_span {
	size_t begin, end;
} mr_range_span;

/** Make @s reach over the @bytes bytes at @at too; {0, 0} reaches nowhere. */
void mr_range_span_widen(mr_range_span *s, size_t at, size_t bytes);

/** Let @range, whose kind is set, carry @span of what lies at @from to @to, one message each @stride bytes. Errors: the
 * kind's. */
mr_status mr_range_open(mr_range *range, mr_range_span span, size_t stride, const uint8_t *from,
			uint8_t *to) MR_MUST_USE;

/** Nothing under way, and @arrived has come; wake @receiver from now on. Workers idle. */
void mr_range_reset(mr_range *range, uint64_t arrived, mr_parker *receiver);

/** Has @number come through @range? Always, where its ends share memory. */
bool mr_range_has(mr_range *range, uint64_t number);

typedef struct mr_ranges {
	uint32_t n;                               /* shards */
	mr_range *gradients, *weights;            /* [n][n] by sender, then receiver */
	uint32_t n_whole;                         /* shards 0 .. n_whole - 1 get the sum of all shards in all ranges */
	mr_range *totals;                         /* [n][n_whole] by sender, then receiver */
	mr_range_span *of_gradients, *of_weights; /* [n] */
	uint64_t *n_sums;                         /* [n] commits whose sum each shard has sent; the shard's */
} mr_ranges;

/**
 * Before the layout of @b, which is @stage's, and whose shards are cut: take a kind of link for each pair of shards,
 * @worker[i] having shard i, and make b->ranges where one of them shares no memory. The first @n_whole shards get the
 * whole sum of each commit. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_ranges_choose(mr_stage_weights *b, uint16_t stage, const uint16_t *worker, uint32_t n_whole,
			   const mr_link_kind *const *kinds) MR_MUST_USE;

/** After the layout: open the channels. Nothing without b->ranges, as all below. Errors: MR_ERESOURCE, the kind's. */
mr_status mr_ranges_open(mr_stage_weights *b) MR_MUST_USE;

/** Free all. */
void mr_ranges_close(mr_stage_weights *b);

/** Nothing under way, and all shards at version b->latest. @parker[i] is shard i's worker's. Workers idle. */
void mr_ranges_reset(mr_stage_weights *b, mr_parker *const *parker);

/** The sum of @shard for its next commit is complete. */
void mr_ranges_send_sum(mr_stage_weights *b, uint32_t shard);

/** Have all sums of @commit come that the owner of range @owner adds? */
bool mr_ranges_have_sums(mr_stage_weights *b, uint32_t owner, uint64_t commit);

/** Add @n elements from byte @at of the gradients, which lie in range @owner, into that shard's own. */
void mr_ranges_sum(mr_stage_weights *b, uint32_t owner, mr_kctx *kc, size_t at, int64_t n);

/** Range @owner of @commit's gradients is added up: the shards that get the whole sum get it. */
void mr_ranges_send_total(mr_stage_weights *b, uint32_t owner, uint64_t commit);

/** Has all of the sum of @commit's gradients come to @shard, which gets it? */
bool mr_ranges_have_totals(mr_stage_weights *b, uint32_t shard, uint64_t commit);

/** Range @owner of version @version is made: all shards are to have it. */
void mr_ranges_send_weights(mr_stage_weights *b, uint32_t owner, uint64_t version);

/** Has all of version @version come to @shard? */
bool mr_ranges_have_weights(mr_stage_weights *b, uint32_t shard, uint64_t version);

#endif
