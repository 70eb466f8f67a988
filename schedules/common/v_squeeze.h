/*
 * v_squeeze.h - make a plan from the building block of v_half or v_min: repeat it on a board, squeeze front and back,
 * fill in W.
 */
#ifndef MR_SCHEDULES_V_SQUEEZE_H
#define MR_SCHEDULES_V_SQUEEZE_H

#include "schedules/common/board.h"

/**
 * Emit the plan called @name from the building block @start. Time: O(D^2) steps are tried in O(D) slots each.
 * Errors: those of mr_vee_create and mr_board_create.
 */
mr_status mr_v_squeeze(const mr_sched_args *args, const char *name, mr_board_start *start, mr_plan **out) MR_MUST_USE;

#endif
