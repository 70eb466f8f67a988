/*
 * profile_commit.h - the cost of commits that workers make together: steps on weights that several pipes share, and
 * averages of replicas.
 *
 * A worker whose pipe shares its weights with others steps a range of them (stage_weights.h), at the same time as the
 * others, and with caches full of all the weights, another gradient and the others' activations: an optimizer
 * step measured alone takes half as long. So a plan runs in which each worker has a pipe with all stages, and the time
 * of its U is measured (profile_live.h). Its AR give the time for adding a gradient that another worker has written.
 * Its F and B give the slowdown of a worker that goes through all weights and gradients instead of its share of them,
 * when caches that were large enough for a stage no longer are.
 *
 * A plan without replicas has no average either: all workers carry out averages of the largest stage, each after
 * reading its weights, writing a gradient and stepping, as its micro-batches do.
 */
#ifndef MR_PROFILE_PROFILE_COMMIT_H
#define MR_PROFILE_PROFILE_COMMIT_H

#include "exec/run.h"

typedef struct mr_commit_rates {
	double shared_s;  /* seconds a byte of weights that pipes step together, all ranges */
	double reduce_s;  /* seconds a byte of one gradient that is added to another, all ranges */
	double forward_s; /* seconds of a micro-batch through all stages if each worker has all of them; 0: not
	                     measured */
	double back_s;    /* likewise, backwards */
	double average_s; /* seconds a byte that an average loads or stores (mr_replicas_passes), all ranges */
} mr_commit_rates;

/**
 * Measure with all workers of @c, which has a plan, for about @seconds each, and at least 5 times. All zeros for a
 * single worker; only average_s if the memory does not hold a pipe for each. Errors: MR_ERESOURCE, MR_EDNN,
 * those of an engine.
 */
mr_status mr_profile_commits(const mr_run_config *c, double seconds, mr_commit_rates *out) MR_MUST_USE;

#endif
