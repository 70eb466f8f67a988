/*
 * zb_v_greedy.h - the search behind zb_v with order = greedy: what each worker of a V does next, for given costs.
 *
 * Like zb_greedy.h: the plan is built together with the times of its steps, and a weight gradient is put where a worker
 * would wait. Four rules of choice are tried; each is repeated with the waits of its last trial, which are then
 * allowed; the best order is kept. A worker holds at most 2 D chunks (D micro-batches of its share); of each, I frees
 * one half and W the other.
 */
#ifndef MR_SCHEDULES_ZB_V_GREEDY_H
#define MR_SCHEDULES_ZB_V_GREEDY_H

#include "schedules/common/vee.h"

/**
 * Find for each worker of @plan, a V without instructions, its 6 T steps (mr_vee_step): those of worker w from *@out +
 * w * 6 T on; the caller frees *@out. @cost is the cost of every chunk; if the chunks had different costs a step could
 * be placed before a step that it needs. Time: O(D T) per trial. Errors: MR_ERESOURCE.
 */
mr_status mr_zb_v_greedy(const mr_plan *plan, mr_stage_cost cost, uint8_t **out) MR_MUST_USE;

#endif
