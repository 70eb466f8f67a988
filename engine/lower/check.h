/*
 * check.h - the proof that a lowered plan keeps its contract and can be carried out.
 *
 * The checker is total (any bytes in the instructions get an answer, never a crash) and does not rely on what the
 * lowering noted: it unrolls the lists and recomputes coverage, placement, versions, sums, slots, buffers and the edges
 * of deps.h. A repeating plan is unrolled until every number in it has left its first iterations; as all edges lead to
 * the same or a later iteration (checked), what holds there holds for ever.
 */
#ifndef MR_LOWER_CHECK_H
#define MR_LOWER_CHECK_H

#include "ir/plan.h"

/**
 * Errors: MR_EINVAL the plan is not lowered; MR_ECONFIG one message that names the instruction as `w0 F m3 s1 p0`, and
 * for a deadlock the whole cycle; MR_ERESOURCE no memory, or too large to be unrolled.
 */
mr_status mr_plan_check(const mr_plan *plan) MR_MUST_USE;

/**
 * Whether a run of the finite, lowered and checked @plan, which never flushes, can stop after each of its versions
 * (ir/pause.h); for a repeating plan mr_plan_check proves it. Errors: MR_ECONFIG with a message; MR_ERESOURCE.
 */
mr_status mr_plan_check_pauses(const mr_plan *plan) MR_MUST_USE;

#endif
