/*
 * make_plan.h - the one author of plans: the order of a system, the terms that a training adds to its contract,
 * lowering, check and identity.
 *
 * Sessions, commands, profiles, records and benchmarks all use it, so the same question has the same plan everywhere.
 * Only this folder lowers plans that are carried out, drawn or timed.
 *
 * Two steps, because a model is cut into as many stages as the order has, and costs are those of its stages:
 *
 *	mr_plan_draft     the system's order, or the order in a file
 *	mr_plan_finish    that order, or the system's order for the costs known now, made ready to be carried out
 *
 * A system that chooses among plans (search) and has no model to judge them by is given each one's time when it is
 * finished, so what it takes is never slower than what it leaves.
 *
 * mr_plan_make does both. All on the caller's thread.
 */
#ifndef MR_PLANNER_MAKE_PLAN_H
#define MR_PLANNER_MAKE_PLAN_H

#include "ir/sched.h"
#include "planner/plan_terms.h"

/* The costs of stages. An order that follows from costs is made for them, and boundary buffers do not slow it down. */
typedef struct mr_plan_costs {
	/* Fill @out [plan->n_stages] with the costs of the stages of @plan on their workers. NULL: costs are unknown.
	 */
	mr_status (*of)(void *arg, const mr_plan *plan, mr_stage_cost *out);
	void *arg;
	bool nominal;         /* estimated, not measured: used only if the order follows from costs */
	const uint16_t *node; /* [workers] NUMA node of each; NULL: all handoffs take the same time. Borrowed */
	double far;           /* time of a handoff between two nodes */
} mr_plan_costs;

typedef struct mr_plan_question {
	const mr_sched_ops *system; /* NULL: the order is given, and `args` are not used */
	mr_sched_args args;         /* args.costs: the costs for which the order is made, if known before the stages;
	                               else mr_plan_finish calls `costs` */
	mr_plan_costs costs;
	bool trains;                /* a training adds `terms` to the contract; else the contract is the order's */
	mr_plan_terms terms;
	const bool *merges;         /* [stages] whose W come late, those of several micro-batches at once (merge_w.h);
	                               NULL: of none. Of a plan that is not lowered. Borrowed */
	bool steps_inside;          /* a step may be carried out inside the B or W that completes its gradient */
	const mr_plan *room;        /* of the lowering (lower/lower.h); NULL: none. Borrowed */
} mr_plan_question;

/* Every worker's forward, input gradient and weight gradient take the same time: for callers that choose equal costs.
 */
extern const mr_cost mr_plan_equal_costs;

/** The order that the system of @q emits. The caller destroys *@out. Errors: those of mr_schedule_emit. */
mr_status mr_plan_draft(const mr_plan_question *q, mr_plan **out) MR_MUST_USE;

/**
 * Make *@plan, a draft, the plan that answers @q; a plan that is already lowered stands as it is, and its contract must
 * agree with the terms.
 * The caller owns *@plan even after an error; if @q has a system it may be another plan than before. *@identity:
 * mr_plan_identity of it, and where W are merged of the plan without, which has the same weights; may be NULL.
 * Errors: MR_ECONFIG the terms, the lowering or the checker refuse it; MR_EINVAL the order follows from costs and @q
 * has none; MR_ERESOURCE; those of `costs`.
 */
mr_status mr_plan_finish(const mr_plan_question *q, mr_plan **plan, uint64_t *identity) MR_MUST_USE;

/** Draft and finish. The caller destroys *@out, which is NULL after an error. */
mr_status mr_plan_make(const mr_plan_question *q, mr_plan **out, uint64_t *identity) MR_MUST_USE;

#endif
