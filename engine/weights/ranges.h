/*
 * ranges.h - the gradients and weights of one stage between shards whose workers share no memory.
 *
 * If all workers share memory, the stage has no mr_ranges: the owner of a range adds the shards' sums in place, and all
 * shards read the weights that it steps (stage_weights.h). Otherwise each shard has its own copy of the weights, and
 * for each commit
 *
 *	shard i --[gradients]--> owner q    the part of i's sum in q's range, once it is complete
 *	owner q --[total]------> shard j    the sum of all shards in q's range: to shard 0 if the plan has an N, which
 *	                                    reads the whole sum; to each shard if each clips by itself
 *	owner q --[weights]----> shard i    q's range of the next version
 *
 * A shard that is done with its part of a commit may send the sum of the next one while the owner still adds up this
 * one, and not the one behind it, since its own range needs all sums of a commit: so an owner keeps two of each shard.
 *
 * In lockstep: every shard takes part in each commit, and each of its F reads what the commit before has made, so it
 * has all ranges of that version, whose owners had all sums of that commit. Then an owner keeps one sum of each shard,
 * and nothing that was sent is overwritten before it has arrived: sums by the next backward passes, a version by the
 * step that needs all sums of passes that read it. So links send both from their places, without a copy; but not the
 * sums of a shard that gets the whole one in the same memory.
 *
 * Released sums (ir/plan.h): the copies of what comes lie in the same memory for all stages whose sums do. A shard sums
 * the gradients of such a stage behind the weights of the one before it, so the owner lets its sums come before it
 * sends those weights, when it has added up and stepped what came before. So there, too, an owner keeps one sum of each
 * shard, which is sent from its place.
 *
 * Sharded weights (ir/plan.h): an owner sends its range when a reader has room for it, and asks (exec/features/
 * sharded.c); nothing is sent behind a step. In groups, who keeps a range of another group's owner gets it behind its
 * step, which needs the sums of all who read the version before; and a reader asks the shards of its group alone.
 *
 * The owner adds the shards in ascending order, as with shared memory, so the bits are the same. An edge between two
 * workers that share memory is read and written in place, even in a stage in which others send.
 *
 * Thread: a shard's functions are called by its worker. The caller waits until data have arrived (`have_`), after the
 * counters of stage_weights.h.
 */
#ifndef MR_WEIGHTS_RANGES_H
#define MR_WEIGHTS_RANGES_H

#include "link/channel.h"
#include "weights/stage_weights.h"

/* One range on its way from one shard to another. */
typedef struct mr_range {
	mr_channel channel; /* kind NULL: the two share memory */
	uint64_t arrived;   /* the highest commit or version that has come; written by the receiver */
	size_t room;        /* gradients: bytes from one copy to the next; 0: as many as it carries */
	uint8_t *copy;      /* [n of the channel] gradients: the data that came, owned unless lent; else NULL */
} mr_range;

/* The bytes of a stage that one shard owns, as offsets into all of them. */
typedef struct mr_range_span mr_range_span;
struct mr_range_span {
	size_t begin, end;
};

/** Widen @s to cover the @bytes bytes at @at, too; {0, 0} covers nothing. */
void mr_range_span_widen(mr_range_span *s, size_t at, size_t bytes);

/** Open @range, whose kind is set: it carries @span of the data at @from to @to; messages are @stride bytes apart.
 * Errors: the kind's. */
mr_status mr_range_open(mr_range *range, mr_range_span span, size_t stride, const uint8_t *from,
			uint8_t *to) MR_MUST_USE;

/** Open @range, whose kind and n are set: it carries @span of the data at @from to range->copy (NULL: to copies of its
 * own), one a number modulo n; from one to the next the data are from_stride apart. Errors: MR_ERESOURCE, the
 * kind's. */
mr_status mr_range_open_copies(mr_range *range, mr_range_span span, const uint8_t *from) MR_MUST_USE;

/** The copy of what has arrived last. */
uint8_t *mr_range_copy(const mr_range *range);

/** Nothing is under way, and @arrived has come; messages wake @receiver from now on. Workers idle. */
void mr_range_reset(mr_range *range, uint64_t arrived, mr_parker *receiver);

/** Has @number come through @range? Always true if its ends share memory. */
bool mr_range_has(mr_range *range, uint64_t number);

typedef struct mr_ranges {
	uint32_t n;                               /* shards */
	bool lockstep;                             /* see above */
	bool released;                             /* likewise */
	mr_ranges *lender;                         /* whose copies of gradients this stage uses; NULL: its own */
	mr_ranges *next;                           /* the stage whose sums may come when this one has stepped */
	size_t *room;                              /* [n] bytes of a copy, by owner, for all stages that use it */
	mr_range *gradients, *weights;            /* [n][n] by sender, then receiver */
	uint32_t n_whole;                         /* shards 0 .. n_whole - 1 get the sum of all shards in all ranges */
	mr_range *totals;                         /* [n][n_whole] by sender, then receiver */
	mr_range_span *of_gradients, *of_weights; /* [n] */
	mr_range_span *of_kept; /* [n] sharded: all that a shard keeps, for its group */
	mr_range_span *of_sums; /* [n] of_gradients, and the further uses of its parameters in the stage */
	uint64_t *n_sums;                         /* [n] commits whose sum each shard has sent; written by the shard */
} mr_ranges;

/* Of the ranges of a stage. */
typedef struct mr_ranges_wanted {
	uint16_t stage;
	const uint16_t *worker; /* [shards] where each is */
	uint32_t n_whole;       /* shards 0 .. n_whole - 1 get the whole sum of each commit */
	bool lockstep;           /* F read what the last commit has made */
	bool released;           /* the contract has release_sums */
	bool sharded;            /* and weight_rooms */
	uint32_t groups;         /* and weight_groups; at least 1 */
	const mr_link_kind *const *kinds;
} mr_ranges_wanted;

/**
 * Choose a kind of link for each pair of shards of @b. Makes b->ranges if some pair shares no memory. Call it after the
 * shards are cut and before the layout of @b. Errors: MR_ECONFIG, MR_ERESOURCE.
 */
mr_status mr_ranges_choose(mr_stage_weights *b, const mr_ranges_wanted *wanted) MR_MUST_USE;

/** Of sharded weights: what @owner keeps on its way into the room of @reader, by numbers that count its messages; NULL:
 * the two share memory, or are in different groups. */
mr_range *mr_ranges_fetched(const mr_stage_weights *b, uint32_t owner, uint32_t reader);

/** Has @shard all ranges of version @version that it keeps for its group, as far as they come by messages? */
bool mr_ranges_kept(mr_stage_weights *b, uint32_t shard, uint64_t version);

/** What mr_ranges_fetched brings, where they share memory: copy it. Thread: @reader's worker. */
void mr_ranges_take(const mr_stage_weights *b, uint32_t owner, uint32_t reader);

/** Let what comes to @b be where it comes to for @lender, whose sums use the same buffers. After mr_ranges_choose of
 * both; @lender is opened before and closed after. */
void mr_ranges_lend(mr_stage_weights *lender, mr_stage_weights *b);

/** The sums of @next may come when @b has stepped. */
void mr_ranges_follow(mr_stage_weights *b, mr_stage_weights *next);

/** Released sums: let those of the shards come to @owner, for one commit. */
void mr_ranges_arm(mr_stage_weights *b, uint32_t owner);

/** Bytes of this process that links need for the sums and weights of @shard: what they keep of those that it sends, and
 * sums of others that come. After mr_ranges_choose. */
uint64_t mr_ranges_bytes(const mr_stage_weights *b, uint32_t shard);

/** Open the channels, after the layout. Does nothing without b->ranges, like all functions below. Errors:
 * MR_ERESOURCE, the kind's. */
mr_status mr_ranges_open(mr_stage_weights *b) MR_MUST_USE;

/** Free all. */
void mr_ranges_close(mr_stage_weights *b);

/** Nothing is under way, and all shards are at version b->latest. @parker[i] is of shard i's worker. Workers idle. */
void mr_ranges_reset(mr_stage_weights *b, mr_parker *const *parker);

/** Send the sum of @shard for its next commit, which is complete, to the owners. */
void mr_ranges_send_sum(mr_stage_weights *b, uint32_t shard);

/** Have all sums of @commit arrived that the owner of range @owner adds? */
bool mr_ranges_have_sums(mr_stage_weights *b, uint32_t owner, uint64_t commit);

/** Where the owner of range @owner reads byte @at of @shard's gradients, which lies in r->of_sums[@owner]. */
uint8_t *mr_ranges_sum_of(const mr_stage_weights *b, uint32_t shard, uint32_t owner, size_t at);

/** Add @n elements from byte @at of the gradients, which lie in range @owner, into that shard's own. */
mr_status mr_ranges_sum(mr_stage_weights *b, uint32_t owner, mr_kctx *kc, size_t at, int64_t n) MR_MUST_USE;

/** Send the sum over all shards of @commit in range @owner to the shards that get the whole sum. */
void mr_ranges_send_total(mr_stage_weights *b, uint32_t owner, uint64_t commit);

/** Has the whole sum of @commit's gradients arrived at @shard, which is one that gets it? */
bool mr_ranges_have_totals(mr_stage_weights *b, uint32_t shard, uint64_t commit);

/** Send range @owner of version @version, which is made, to all shards; of sharded weights to those that keep it.
 * Released sums: before that, let the next ones come. */
void mr_ranges_send_weights(mr_stage_weights *b, uint32_t owner, uint64_t version);

/** Has the whole of version @version arrived at @shard? */
bool mr_ranges_have_weights(mr_stage_weights *b, uint32_t shard, uint64_t version);

#endif
