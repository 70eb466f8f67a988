/*
 * reduction.h - a gradient sum to which several workers add: pipes (or stage replicas) that share weights, W that any
 * worker may take, uses of a tied parameter in another stage.
 *
 * Each shard sums into a buffer of its own. AR adds these in the order of the pipes into the first one that has any
 * micro-batches (mr_weights_total), then the tied uses (tied_sum.h). The shards' ranges divide it between the workers
 * (stage_weights.h); elementwise sums have the same bits however they are cut.
 *
 * Where nothing but an elementwise step reads the sum, AR only waits for the shards' sums, and U adds them up, a piece
 * that stays in the caches at a time (mr_reduction_step): the sum is not written to memory and read again, 8 bytes a
 * parameter in f32 where two pipes' commit moves 32 with momentum.
 *
 * Joint W (ir/plan.h): the shards have no sums. A W notes its call in `left`, AR carries out all of them for the layers
 * of its range, steps inside, and U commits when all AR have ended.
 *
 * Stage replicas (ir/plan.h): their step may be clipped by the stage's norm, which the worker that reduces the last
 * range computes before it publishes `reduced`.
 *
 * Thread: the worker that does the last part publishes, by a counter that all parts raise (mr_weights_last_of). With
 * stealing the sum has one writer at a time (steal_queue.h), and the last W publishes `finished`.
 */
#ifndef MR_WEIGHTS_REDUCTION_H
#define MR_WEIGHTS_REDUCTION_H

#include "weights/stage_weights.h"

struct mr_reduction {
	mr_counter finished; /* commit number: the gradient sums of all shards are complete */
	mr_counter reduced;  /* commit number: all ranges of their sum are reduced */
	mr_parts n_finished, n_reduced;
	bool by_turn;        /* W of several workers add to one sum, and the last publishes it (steal_queue.h) */
	mr_stage_io *left;   /* joint: [sum] what the W of a commit have left, by micro-batch modulo; the worker of a W
	                        writes it, all read it after `finished` */
};

/** Give @b a reduction, unless it has one. Errors: MR_ERESOURCE. */
mr_status mr_reduction_open(mr_stage_weights *b) MR_MUST_USE;
void mr_reduction_close(mr_stage_weights *b);

/* The workers that wait for an event: the first @n of @parker. */
typedef struct mr_waiters {
	mr_parker *const *parker;
	uint32_t n;
} mr_waiters;

/** Joint W: take (or measure) what they need in @shard, in all of them the same; shard 0's includes `left`. */
void mr_reduction_layout(mr_stage_weights *b, mr_arena *a, uint8_t shard);

/**
 * Joint W: compute the gradients of @shard's layers from all that the W have left, in the context @kc with @scratch,
 * and carry out their steps (mr_weights_steps), into all copies. @sumsq: see mr_stage_io. Errors: those of the layers.
 */
mr_status mr_reduction_joint(mr_stage_weights *b, uint8_t shard, mr_kctx *kc, void *scratch, const mr_step *step,
			     double *sumsq) MR_MUST_USE;

/** Mark all versions up to the latest as reduced. @parkers: all workers'. While no worker runs. */
void mr_reduction_reset(mr_stage_weights *b, mr_waiters finished, mr_waiters reduced, mr_parker *const *parkers);

/** The sum of one more pipe is complete; the last of a count publishes `finished`. Thread: worker @worker. */
void mr_reduction_finish(mr_stage_weights *b, uint16_t worker);

/** Add the gradients of all shards in @pipe's range into mr_weights_total, pipe by pipe, then those of tied uses. */
mr_status mr_reduction_range(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc) MR_MUST_USE;

/**
 * mr_weights_step with the sum of all shards, which is not written: the bits of mr_reduction_range and mr_weights_step.
 * For a shard with a `piece`, where all shards share memory and no parameter is tied. Errors: as mr_weights_step.
 */
mr_status mr_reduction_step(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, double lr, double gscale) MR_MUST_USE;

#endif
