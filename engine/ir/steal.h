/*
 * steal.h - records of which worker took which W of a plan with stealing (plan.h), and the finite plan they make.
 *
 * The plan itself does not fix which worker carries out the W of a tail. An executor records its choices, made by the
 * clock or in virtual time, as a list of moves; with these the same iterations are a finite plan in which every W
 * stands with the worker that did it. That plan is checked, walked, drawn and carried out as any other, and gives the
 * same bits: each stage adds its gradients in the order of the original plan.
 */
#ifndef MR_IR_STEAL_H
#define MR_IR_STEAL_H

#include "ir/plan.h"

/* In iteration @n, @thief carried out instruction @from of @owner's body (an ANY) before instruction @to of its own
 * body; @to is the length of that body for a W after all of it. @thief may be @owner, which had to wait at @to and took
 * a W that stands further behind. */
typedef struct mr_steal {
	uint32_t n;
	uint16_t owner, thief;
	uint32_t from, to;
} mr_steal;

/**
 * @n_bodies iterations of @plan (lowered, a body alone) as a finite plan with the moves @steal [@n]; the moves of each
 * thief stand in the order in which it made them. The caller destroys @out. Errors: MR_EINVAL a move that the plan does
 * not
 * allow; MR_ERESOURCE.
 */
mr_status mr_steal_plan(const mr_plan *plan, uint32_t n_bodies, const mr_steal *steal, size_t n,
			mr_plan **out) MR_MUST_USE;

/** The number of instructions in @worker's body that any worker may take. */
uint32_t mr_steal_count(const mr_plan *plan, uint16_t worker);

#endif
