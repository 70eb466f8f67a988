/*
 * zb_v_greedy.h - the search behind zb_v with order = greedy: what each worker of a V does next, for given costs.
 *
 * Like zb_greedy.h: the plan is put together while a clock runs on every worker, and a weight gradient is put where a
 * worker would wait. Four ways of choosing are tried, each again with what it has learnt about where waits cannot be
 * helped; the best is kept. A worker holds at most 2 D chunks (D micro-batches of its share), of each of which I gives
 * back one half and W the other.
 */
#ifndef MR_SCHEDULES_ZB_V_GREEDY_H
#define MR_SCHEDULES_ZB_V_GREEDY_H

#include "schedules/common/vee.h"

/**
 * Find for each worker of @plan, a V without instructions, its 6 T steps (mr_vee_step): those of worker w from *@out +
 * w * 6 T on; the caller frees *@out. @cost: of one chunk, the same for all: with others a step may be placed before
 * what it waits for. Time: O(D T) a trial. Errors: MR_ERESOURCE.
 */
mr_status mr_zb_v_greedy(const mr_plan *plan, mr_stage_cost cost, uint8_t **out) MR_MUST_USE;

#endif
