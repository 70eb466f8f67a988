/*
 * make_plan.h - the one author of plans: the order of a system, what a training adds to its contract, lowering, check
 * and identity.
 *
 * Sessions, commands, profiles, records and benchmarks ask here, and so the same question has the same plan wherever it
 * is asked. Nothing but this folder lowers a plan that is carried out, drawn or timed.
 *
 * Two steps, because a model is cut into as many stages as the order has, and costs are those of its stages:
 *
 *	mr_plan_draft     the system's order, or one that a file has
 *	mr_plan_finish    that order, or the system's for the costs that are known now, made ready to be carried out
 *
 * mr_plan_make does both. All on the caller's thread.
 */
#ifndef MR_PLANNER_MAKE_PLAN_H
#define MR_PLANNER_MAKE_PLAN_H

#include "ir/sched.h"
#include "planner/plan_terms.h"

/* What stages take. An order that follows from costs is made for them, and boundary buffers do not slow it down. */
typedef struct mr_plan_costs {
	/* Of the stages of @plan where it places them, [plan->n_stages]. NULL: nothing is known. */
	mr_status (*of)(void *arg, const mr_plan *plan, mr_stage_cost *out);
	void *arg;
	bool nominal;         /* estimated, not measured: used where the order follows from costs, and nowhere else */
	const uint16_t *node; /* [workers] NUMA node of each; NULL: a handoff takes as long everywhere. Borrowed */
	double far;           /* how long one between two nodes takes */
} mr_plan_costs;

typedef struct mr_plan_question {
	const mr_sched_ops *system; /* NULL: the order is given, and `args` do not count */
	mr_sched_args args;         /* args.costs: what the order is for, where that is known before the stages are;
	                               else mr_plan_finish asks `costs` */
	mr_plan_costs costs;
	bool trains;                /* a training adds `terms` to the contract; else it stays as the order states it */
	mr_plan_terms terms;
	bool steps_inside;          /* a step may be carried out inside the B or W that completes its gradient */
	const mr_plan *room;        /* of the lowering (lower/lower.h); NULL: none. Borrowed */
} mr_plan_question;

/* Every worker's forward, input gradient and weight gradient take the same time: for callers that mean just that. */
extern const mr_cost mr_plan_equal_costs;

/** What the system of @q emits. The caller destroys *@out. Errors: those of mr_schedule_emit. */
mr_status mr_plan_draft(const mr_plan_question *q, mr_plan **out) MR_MUST_USE;

/**
 * The order of @given as a draft, in its place: what a lowering added is taken away, and the one iteration of a plan
 * that flushes repeats. Also after an error *@given is the caller's; it may be another one than before. Errors:
 * MR_ECONFIG for several steps that do not repeat, MR_ERESOURCE.
 */
mr_status mr_plan_draft_of(mr_plan **given) MR_MUST_USE;

/**
 * Make *@plan, a draft, the plan that answers @q; one that is lowered already keeps its numbers, and gets the terms.
 * Also after an error *@plan is the caller's; where @q has a system it may be another one than before. *@identity:
 * mr_plan_identity of it; may be NULL. Errors: MR_ECONFIG what the terms, the lowering and the checker refuse;
 * MR_EINVAL the order follows from costs and @q has none; MR_ERESOURCE; those of `costs`.
 */
mr_status mr_plan_finish(const mr_plan_question *q, mr_plan **plan, uint64_t *identity) MR_MUST_USE;

/** Draft and finish. The caller destroys *@out, which is NULL after an error. */
mr_status mr_plan_make(const mr_plan_question *q, mr_plan **out, uint64_t *identity) MR_MUST_USE;

#endif
