/*
 * looped.h - shared by the systems that lay the stages round and round the workers: stage s on worker s mod D, so that
 * worker w hosts the chunks w, w + D, w + 2D, ... and a micro-batch passes all workers v times.
 *
 *	D = 3, v = 2:   w0  s0 s3      w1  s1 s4      w2  s2 s5
 *
 * Two tables give the order in which a worker takes its vT pieces of work. They are the same for all workers; systems
 * differ in how far a worker runs ahead. Micro-batches go in groups of G: the first chunk for all of the group, then
 * the second for all of it, and so on, then the next group; backwards with the chunks from last to first. The last
 * group may be smaller.
 *
 *	v = 2, G = 3, T = 5, worker 0:   F0s0 F1s0 F2s0  F0s3 F1s3 F2s3  F3s0 F4s0  F3s3 F4s3
 */
#ifndef MR_SCHEDULES_LOOPED_H
#define MR_SCHEDULES_LOOPED_H

#include "ir/sched.h"

/**
 * Make an empty plan called @name with S = v D stages, each worker of which will see at most @per_micro instructions a
 * micro-batch and stage. Errors: MR_ECONFIG for more than a plan may hold.
 */
mr_status mr_looped_create(const mr_sched_args *args, const char *name, uint32_t per_micro, mr_plan **out) MR_MUST_USE;

/* The row of an option table with the group size. */
#define MR_LOOPED_GROUP \
	{ \
		"group", MR_OPT_INT, "0", 0, 1000000, NULL, NULL, \
			"micro-batches that pass a stage before the worker's next one; 0: as many as workers; the " \
			"nearest possible is taken" \
	}

/**
 * The group size for @args, whose option `group` gives the requested size (0: D). A group must hold at least D
 * micro-batches, or a worker waits for its second chunk; so must the last one, unless all are equal. The requested size
 * is replaced by the nearest size in [D, T] that satisfies this, the smaller of two equally near. With T < D no size
 * does: then all T are one group, which is a legal order with waits in it.
 */
uint32_t mr_looped_group(const mr_sched_args *args);

/** Add "+group<G>" to the plan's name if the group size is not the requested one. */
void mr_looped_name_group(mr_plan *plan, const mr_sched_args *args);

/* One entry of the tables. */
typedef struct mr_looped_step {
	uint32_t micro;
	uint16_t stage;
} mr_looped_step;

/* The row of an option table for the waits of a step when gradients are clipped. */
#define MR_LOOPED_OPTIMIZER \
	{"optimizer", MR_OPT_ENUM, "barrier", 0, 0, "barrier|validated", NULL, \
	 "where gradients are clipped: all steps wait for the global norm, or step at once and are validated later"}

/** Is the option `optimizer` "validated"? */
bool mr_looped_validates(const mr_sched_args *args);

/** Step @k of [0, vT) of @worker, forward or backward, in groups of @group. */
mr_looped_step mr_looped_at(const mr_plan *plan, uint16_t worker, uint32_t group, bool forward, uint32_t k);

/** Append step @k as @op to the list of @worker, from the backward table unless @op is F. */
mr_status mr_looped_emit(mr_plan *plan, uint16_t worker, uint32_t group, mr_op op, uint32_t k) MR_MUST_USE;

/**
 * Append all steps of @worker with split backwards: @first forwards (at most all), then in turn the next I, the W of
 * @lag steps before it, and the next forward; at last the W that are left.
 */
mr_status mr_looped_emit_split(mr_plan *plan, uint16_t worker, uint32_t group, uint64_t first,
			       uint32_t lag) MR_MUST_USE;

/**
 * The bubble of interleaved and looped_bfs for any f, i, w of a worker's whole share: (D - 1)(f + i + w) / v; with T <
 * D, where every round but the last lasts D pieces instead of T, (D - T + (T - 1) / v)(f + i + w). With and without a
 * barrier.
 */
double mr_looped_bubble(const mr_sched_args *args, double f, double i, double w);

#endif
