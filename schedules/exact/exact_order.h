/*
 * exact_order.h - an order of a problem (exact_job.h), when each pass of it begins, and a search for shorter ones.
 *
 * The search changes places of two passes that follow each other on a worker and on the longest path, which never
 * makes a circle unless passes take no time (another way from one to the other would be longer than the path); such a
 * swap is taken back. Which swap looks best is estimated
 * from heads and tails around the two; one that was made is not undone for some steps, unless that gives a new best
 * order (tabu search: Nowicki and Smutnicki 1996, Taillard's estimate). Nothing depends on a clock.
 */
#ifndef MR_SCHEDULES_EXACT_ORDER_H
#define MR_SCHEDULES_EXACT_ORDER_H

#include "schedules/exact/exact_job.h"

typedef struct mr_exact_order {
	uint32_t *pass;    /* [n_passes] worker after worker; worker w begins at first[w] * n_micro */
	int64_t makespan;
} mr_exact_order;

mr_status mr_exact_order_init(const mr_exact_job *job, mr_exact_order *out) MR_MUST_USE;
void mr_exact_order_fini(mr_exact_order *o);

/** Put into @o all passes in the order of @begin [n_passes], but for those that must wait for others. Errors: MR_EINVAL
 * workers run out of room for activations; MR_ERESOURCE. */
mr_status mr_exact_order_by(const mr_exact_job *job, const int64_t *begin, mr_exact_order *o) MR_MUST_USE;

/** Shorten @o in @steps swaps, or until its makespan is @enough; @o is the best order seen. Errors: MR_EINVAL its
 * passes wait for each other; MR_ERESOURCE. */
mr_status mr_exact_improve(const mr_exact_job *job, mr_exact_order *o, int64_t enough, uint64_t steps) MR_MUST_USE;

#endif
