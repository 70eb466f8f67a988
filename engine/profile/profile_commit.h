/*
 * profile_commit.h - what commits cost that workers make together: steps on weights that several pipes share, and averages of replicas.
 *
 * A worker whose pipe shares its weights with others steps a range of them (block.h), at the same time as the others and with
 * caches that held all the weights, another gradient and the others' activations before: an optimizer step measured alone takes half as long. So a plan
 * runs in which each worker has a pipe with all stages, and its U tell (profile_live.h).
 *
 * Nor has a plan without replicas an average: all workers carry out averages of the largest stage, each after reading its
 * weights, writing a gradient and stepping, as its micro-batches do.
 */
#ifndef MR_PROFILE_PROFILE_COMMIT_H
#define MR_PROFILE_PROFILE_COMMIT_H

#include "exec/run.h"

typedef struct mr_commit_rates {
	double shared_s;  /* seconds a byte of weights that pipes step together, all ranges */
	double average_s; /* seconds a byte that an average loads or stores (mr_replicas_passes), all ranges */
} mr_commit_rates;

/**
 * Measure with all workers of @c, which has a plan, for about @seconds each, and 5 times at least; zeros for a single worker, and no
 * shared_s where the memory does not hold a pipe for each. Errors: MR_ERESOURCE, MR_EDNN, those of an engine.
 */
mr_status mr_profile_commits(const mr_run_config *c, double seconds, mr_commit_rates *out) MR_MUST_USE;

#endif
