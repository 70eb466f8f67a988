/*
 * check_internal.h - the parts of the checker; each looks at one unrolled graph. For files of the checker only.
 */
#ifndef MR_LOWER_CHECK_INTERNAL_H
#define MR_LOWER_CHECK_INTERNAL_H

#include "ir/unroll.h"

/** Micro-batches below this number must be complete in @g: all of a finite list, else those of its iterations. */
uint64_t mr_check_full(const mr_unroll *g);

/** Coverage: every micro-batch exactly once, in one pipe, at every stage. */
mr_status mr_check_coverage(const mr_unroll *g) MR_MUST_USE;

/** Sums and commits: counts complete and unmixed, flags, order, one commit each, AR and N where the contract has them.
 */
mr_status mr_check_commits(const mr_unroll *g) MR_MUST_USE;

/**
 * Pause points (ir/pause.h) of a plan that repeats without a flush: at each, all stages have the same version, and
 * nothing before it waits for anything behind it.
 */
mr_status mr_check_pauses(const mr_unroll *g) MR_MUST_USE;

/** Versions: every read follows the rule, exists, is still stored, and is no staler than claimed. */
mr_status mr_check_versions(const mr_unroll *g) MR_MUST_USE;

/** Slots never overlap; readers name the boundary buffer that was written; boundaries between workers are FIFO where
 * the plan is MR_MODULO. */
mr_status mr_check_storage(const mr_unroll *g) MR_MUST_USE;

#endif
