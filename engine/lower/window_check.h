/* window_check.h - the proof that a window of an endless plan may follow the one before. */
#ifndef MR_LOWER_WINDOW_CHECK_H
#define MR_LOWER_WINDOW_CHECK_H

#include "ir/endless.h"

/**
 * Prove that window @n can be carried out where window n - 1 has ended, by workers that wait only for each
 * other, and that it obeys the contract: all its instructions end, every version read is stored, every
 * slot and buffer is empty when it is taken, and one stage a step is active. @before: window n - 1; NULL for window 0.
 * By induction a run that has come to a seam goes on: if one order of all instructions is possible, every other ends as
 * well, since an instruction that is done never keeps another from being done. Errors: MR_ECONFIG with the instruction,
 * MR_ERESOURCE.
 */
mr_status mr_window_check(const mr_plan *plan, const mr_plan *before, uint64_t n, const mr_plan *window) MR_MUST_USE;

#endif
