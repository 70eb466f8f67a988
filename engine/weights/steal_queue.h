/*
 * steal_queue.h - what a run keeps where any worker may take W (ir/plan.h, "Stealing"): of each worker the W that it
 * offers and a log of those that it took, of each stage the order in which the W of a sum add up. exec_steal.c says
 * what is done with it.
 */
#ifndef MR_WEIGHTS_STEAL_QUEUE_H
#define MR_WEIGHTS_STEAL_QUEUE_H

#include <stdatomic.h>

#include "lower/steal.h"
#include "weights/stage_weights.h"

/* Of a worker. */
typedef struct mr_steal_queue {
	_Alignas(64) _Atomic uint64_t taken; /* of the W at the end of its own list: iteration + 1 in the upper half,
						W of it that are taken in the lower, by any worker; 0: none is begun */
	_Alignas(64) uint32_t *any; /* [n_any] their places in its body */
	uint32_t n_any;
	uint32_t from;     /* place in its body from which on it takes other workers' W where it would wait */
	mr_steal *log;     /* [room] the W that it took out of turn or from others; NULL: they are not recorded */
	uint64_t n_log;    /* W to record so far, also those without room */
	uint64_t room;
	uint64_t n_stolen; /* W of other workers that it has carried out; the worker's own */
} mr_steal_queue;

/*
 * Of a stage's weights. A W adds to a layer behind the W before it (R2 of its turn), so the sum itself has one writer
 * at a time, and it is finished when its last W is.
 */
struct mr_steal_sum {
	mr_event opened;   /* commit number: all I of the count are done, so any worker may take its W, and nothing
			      needs a slot of it again before U */
	uint32_t need;     /* micro-batches in a sum */
	uint32_t n_layers; /* layers with parameters, at least 1 */
	uint32_t n_grads;  /* I done of the current count; the owner's */
	mr_event turn[];   /* [need] layers to which the W of the i-th micro-batch of a count has added:
			      n_layers * version + layers */
};

/** For @worker of @plan; with @record_micro > 0 with room to record this many micro-batches. Errors: MR_ERESOURCE. */
mr_status mr_steal_queue_create(const mr_plan *plan, uint16_t worker, uint64_t record_micro,
				mr_steal_queue **out) MR_MUST_USE;
void mr_steal_queue_destroy(mr_steal_queue *q); /* accepts NULL */

/** Nothing is taken. While no worker runs. */
void mr_steal_queue_reset(mr_steal_queue *q);

/** Record @s, which its worker has carried out, if that is asked for. Thread: the worker. */
void mr_steal_queue_note(mr_steal_queue *q, const mr_steal *s);

/** Give @b, whose stage is there, the order of sums of @need micro-batches. Errors: MR_ERESOURCE. */
mr_status mr_steal_queue_open_sum(mr_stage_weights *b, uint32_t need) MR_MUST_USE;
void mr_steal_queue_close_sum(mr_stage_weights *b);

/** All W of the versions so far are done; the events wake @n_workers @parkers. While no worker runs. */
void mr_steal_queue_reset_sum(mr_stage_weights *b, mr_parker *const *parkers, uint32_t n_workers);

#endif
