/*
 * steal_queue.h - the state of a run with stealing (ir/plan.h, "Stealing"): for each worker the W that it offers and a
 * log of those that it took, for each stage the order in which the W of a sum are added. exec/features/stealing.c uses
 * it.
 */
#ifndef MR_WEIGHTS_STEAL_QUEUE_H
#define MR_WEIGHTS_STEAL_QUEUE_H

#include <stdatomic.h>

#include "ir/steal.h"
#include "weights/stage_weights.h"

/* The queue of one worker. */
typedef struct mr_steal_queue {
	_Alignas(64) _Atomic uint64_t taken; /* of its own tail: iteration + 1 in the upper half; in the lower
						the number of its W that any worker has taken; 0: none is
						begun */
	_Alignas(64) uint32_t *any; /* [n_any] their places in its body */
	uint32_t n_any;
	const mr_sum_order_hook *order; /* of the W that it carries out; valid as long as that */
	uint32_t from;     /* from this place in its body on it takes other workers' W instead of waiting */
	mr_steal *log;     /* [room] the W that it took out of order or from others; NULL: they are not recorded */
	uint64_t n_log;    /* W to record so far, also those without room */
	uint64_t room;
	uint64_t n_stolen; /* W of other workers that it has carried out; written by the worker */
} mr_steal_queue;

/*
 * The order of a stage's sum. A W adds to a layer after the W before it (R2 of its turn), so the sum has one writer
 * at a time, and it is finished when its last W is.
 */
struct mr_steal_sum {
	mr_event opened;   /* commit number: all I of the count are done, so any worker may take its W, and no other
			      instruction needs a slot of it before U */
	uint32_t need;     /* micro-batches in a sum */
	uint32_t n_layers; /* layers with parameters, at least 1 */
	uint32_t n_grads;  /* I done of the current count; written by the owner */
	mr_event turn[];   /* [need] layers to which the W of the i-th micro-batch of a count has added, as
			      n_layers * version + layers */
};

/** Make the queue of @worker of @plan; it records up to @record_micro micro-batches. Errors: MR_ERESOURCE. */
mr_status mr_steal_queue_create(const mr_plan *plan, uint16_t worker, uint64_t record_micro,
				mr_steal_queue **out) MR_MUST_USE;
void mr_steal_queue_destroy(mr_steal_queue *q); /* accepts NULL */

/** No W is taken. While no worker runs. */
void mr_steal_queue_reset(mr_steal_queue *q);

/** Record @s, which its worker has carried out, if moves are recorded. Thread: the worker. */
void mr_steal_queue_note(mr_steal_queue *q, const mr_steal *s);

/** Give @b, whose stage is set, the order of sums of @need micro-batches. Errors: MR_ERESOURCE. */
mr_status mr_steal_queue_open_sum(mr_stage_weights *b, uint32_t need) MR_MUST_USE;

/** All W of the versions so far are done; the events wake @n_workers @parkers. While no worker runs. */
void mr_steal_queue_reset_sum(mr_stage_weights *b, mr_parker *const *parkers, uint32_t n_workers);

#endif
