/*
 * steal.h - who took which W of a plan whose W are placed ANY (plan.h, "Stealing"), and the plan that says so.
 *
 * The plan itself leaves it open which worker carries out the W of a tail. What an executor found out, by the clock or
 * in virtual time, is a list of moves, and with these the same iterations are a finite plan in which every W stands
 * with the worker that did it. It is checked, walked, drawn and carried out as any other, and gives the same bits: the
 * order in which a stage adds up is that of the plan before the moves.
 */
#ifndef MR_LOWER_STEAL_H
#define MR_LOWER_STEAL_H

#include "ir/plan.h"

/* In iteration @n, @thief carried out instruction @from of @owner's body (an ANY) before instruction @to of its own;
 * @to: the length of its body, behind all of it. @thief may be @owner, which had to wait at @to and took a W that
 * stands further behind. */
typedef struct mr_steal {
	uint32_t n;
	uint16_t owner, thief;
	uint32_t from, to;
} mr_steal;

/**
 * @n_bodies iterations of @plan (lowered, a body alone) as a finite plan with the moves @steal [@n]; those of one thief
 * in the order in which it carried them out. The caller destroys @out. Errors: MR_EINVAL a move that the plan does not
 * allow; MR_ERESOURCE.
 */
mr_status mr_steal_plan(const mr_plan *plan, uint32_t n_bodies, const mr_steal *steal, size_t n,
			mr_plan **out) MR_MUST_USE;

/** How many instructions any worker may take in an iteration of @worker's body. */
uint32_t mr_steal_count(const mr_plan *plan, uint16_t worker);

#endif
