/*
 * list_schedule.h - a greedy list scheduler: makes an order from a placement, costs and a memory limit.
 *
 * Whenever a worker is free and at least one instruction of its stages could begin, it begins the most urgent of those.
 * Most orders of the literature follow from a placement, a limit and a rule of urgency; a search makes up its own rule.
 *
 * Within one stage of one pipe each kind of instruction goes through the micro-batches in ascending order: the outputs
 * of a stage arrive in the order in which the next one takes them, and gradients are summed in the order 0..T-1.
 *
 * Memory. A worker keeps an activation for each (micro-batch, stage) from its F to its B, or W where backwards are
 * split. With a limit the workers could deadlock: all room taken by micro-batches that wait for a later
 * stage, whose worker has no room either. Therefore an F is begun only if afterwards room is left for one activation of
 * each later stage that the worker hosts. Then there is no deadlock: take the unfinished micro-batch that is furthest
 * on. All activations that its next worker keeps belong to earlier stages, so the last of these left room for this one,
 * and it goes on to the last stage and back.
 *
 * Time is virtual and nothing is random: the same job gives the same order. A step costs the stages of the one or two
 * workers it touches and the logarithm of the number of workers: 10^4 instructions take a few milliseconds. Any thread;
 * jobs share nothing.
 */
#ifndef MR_SCHEDULES_LIST_SCHEDULE_H
#define MR_SCHEDULES_LIST_SCHEDULE_H

#include "ir/cost.h"
#include "ir/plan.h"

typedef struct mr_list_job {
	uint16_t n_workers, n_stages;
	uint8_t n_pipes;
	uint32_t n_micro;
	const uint16_t *worker_of;  /* [n_pipes][n_stages], each below n_workers */
	const uint8_t *pipe_of;     /* [n_micro] pipe of each micro-batch; NULL: all in pipe 0 */
	const mr_stage_cost *cost;  /* [n_stages] f, i, w, c, o, b of each; u is not used; none negative */
	const uint32_t *cap;        /* [n_workers] most activations of a worker (mr_list_job_floor is the least); NULL:
	                               no limit */
	bool split;                 /* I and W in place of B */
	bool patient;               /* a worker begins no W that would still run when an F or I whose input is on its
	                               way could begin: it waits for that instead */
	const uint32_t *rank;       /* [3][n_stages][n_micro] of F, of B or I, of W: the lowest goes first; equals go as
	                               with NULL: B and I before F before W, then older micro-batches, then later stages
	                               */
} mr_list_job;

typedef struct mr_list_step {
	double begin, end;
	uint32_t micro;
	uint16_t stage;
	uint8_t op; /* mr_op: F, B or F, I, W */
	uint8_t pipe;
} mr_list_step;

/* The order found. */
typedef struct mr_list_order {
	uint16_t n_workers;
	mr_list_step *at; /* worker after worker */
	size_t *first;    /* [n_workers + 1] where worker w begins in at */
	double makespan;  /* first begin to last end */
	double span;      /* the longest of a worker's own last end - first begin */
} mr_list_order;

/** The index of the rank of @op (F, B, I or W) of micro-batch @micro at @stage. */
static inline size_t mr_list_rank_at(const mr_list_job *job, mr_op op, uint16_t stage, uint32_t micro)
{
	size_t kind = op == MR_OP_F ? 0 : op == MR_OP_W ? 2 : 1;

	return (kind * job->n_stages + stage) * job->n_micro + micro;
}

/** The smallest limit that @worker can work with: one activation of each stage it hosts; two pipes' equal stages count
 * once. */
uint32_t mr_list_job_floor(const mr_list_job *job, uint16_t worker);

/**
 * Schedule @job. The caller destroys *@out. Errors: MR_EINVAL a table with a number out of range; MR_ECONFIG a limit
 * below the floor; MR_ERESOURCE.
 */
mr_status mr_list_order_create(const mr_list_job *job, mr_list_order **out) MR_MUST_USE;
void mr_list_order_destroy(mr_list_order *order);

/** Append @order to the bodies of @plan, which has its placement. */
mr_status mr_list_order_emit(const mr_list_order *order, mr_plan *plan) MR_MUST_USE;

#endif
