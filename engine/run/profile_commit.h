/*
 * profile_commit.h - what commits cost that workers make together: steps on weights that several pipes share, and averages of replicas.
 *
 * A worker whose pipe shares its weights with others steps a range of them (block.h) and later reads what the others have stepped, and all
 * of them do so at once: an optimizer step measured alone knows nothing of it. Neither has a plan without replicas an average. So all workers carry
 * out such commits on the largest stage: each reads the weights and writes a gradient, as its micro-batches do, then all reduce and step
 * their ranges, and read the weights again. What the first reading takes longer than a second one is booked on the step.
 */
#ifndef MR_RUN_PROFILE_COMMIT_H
#define MR_RUN_PROFILE_COMMIT_H

#include "run/run.h"

typedef struct mr_commit_rates {
	double shared_s;  /* seconds a byte of weights that pipes step together, all ranges */
	double average_s; /* seconds a byte that an average loads or stores (mr_replicas_passes), all ranges */
} mr_commit_rates;

/** Measure with all workers of @c for about @seconds, and 5 times at least; zeros for a single one. Errors: MR_ERESOURCE, MR_EDNN. */
mr_status mr_profile_commits(const mr_run_config *c, double seconds, mr_commit_rates *out) MR_MUST_USE;

#endif
