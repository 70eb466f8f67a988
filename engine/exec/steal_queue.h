/*
 * steal_queue.h - what a run keeps where W are placed on any worker (ir/plan.h, "Stealing"): of each worker the W that
 * it gives to whoever asks and a log of those that it took, of each block the turns of its sum. exec_steal.c says what
 * is done with it.
 */
#ifndef MR_EXEC_STEAL_QUEUE_H
#define MR_EXEC_STEAL_QUEUE_H

#include <stdatomic.h>

#include "lower/steal.h"
#include "exec/stage_weights.h"

typedef struct mr_steal_queue {
	_Alignas(64) _Atomic uint64_t taken; /* of its own tail: iteration + 1 in the upper half, in the lower how many
	                                        W of it are taken, by whomever; 0: none is begun */
	_Alignas(64) uint32_t *any;          /* [n_any] their places in its body */
	uint32_t n_any;
	uint32_t from;                       /* place in its body from which on it takes what others have left where it
	                                        would wait */
	mr_steal *log;                       /* [room] what it took out of turn or from others, or NULL; the worker's
	                                        own */
	uint64_t n_log, room;
	uint64_t n_stolen;                   /* W of other workers carried out so far; the worker's own */
} mr_steal_queue;

/** For @worker of @plan; with @record_micro > 0 with room for the log of so many micro-batches. Errors: MR_ERESOURCE.
 */
mr_status mr_steal_queue_create(const mr_plan *plan, uint16_t worker, uint64_t record_micro,
				mr_steal_queue *out) MR_MUST_USE;
void mr_steal_queue_fini(mr_steal_queue *t);

/** Nothing taken yet. While nobody runs. */
void mr_steal_queue_reset(mr_steal_queue *t);

/** Turns for sums of @need micro-batches in @b, whose stage is there. Errors: MR_ERESOURCE. */
mr_status mr_steal_queue_open_sum(mr_stage_weights *b, uint32_t need) MR_MUST_USE;
void mr_steal_queue_close_sum(mr_stage_weights *b);

/** All turns of the versions so far are done; their events wake @n_workers @parkers. @need 0: the block has none. */
void mr_steal_queue_reset_sum(mr_stage_weights *b, uint32_t need, mr_parker *const *parkers, uint32_t n_workers);

#endif
