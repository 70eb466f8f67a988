/*
 * search_prove.h - the last part of `search`: how much shorter than the plan found an order of the same placement could
 * be, and such an order where there is one (exact.h).
 */
#ifndef MR_SCHEDULES_SEARCH_PROVE_H
#define MR_SCHEDULES_SEARCH_PROVE_H

#include "schedules/common/search_judge.h"

/**
 * Bound the makespan of the orders of @plan's stages on its workers that keep at most the cap of @j, in at most about
 * @nodes nodes; 0: 200, or as many as take some hundredths of a second, and in a very large plan none: the bound is
 * then that of timing/bound.h. @swaps: to shorten the order; 0: four for each node. *@shorter is a shorter order found
 * on the way, or NULL; the caller destroys it. The makespan in @proof is not set. Errors: MR_ERESOURCE; those of the
 * judge.
 */
mr_status mr_search_prove(const mr_search_judge *j, const mr_plan *plan, uint64_t nodes, uint64_t swaps,
			  mr_plan **shorter, mr_sched_proof *proof) MR_MUST_USE;

#endif
