/*
 * profile_commit.h - what commits cost that workers make together: steps on weights that several pipes share, and
 * averages of replicas.
 *
 * A worker whose pipe shares its weights with others steps a range of them (stage_weights.h), at the same time as the
 * others and with caches that held all the weights, another gradient and the others' activations before: an optimizer
 * step measured alone takes half as long. So a plan runs in which each worker has a pipe with all stages, and its U
 * tell (profile_live.h). Its AR tell what it takes to add what another worker has written, and its F and B how much
 * longer they take where a worker goes through all weights and gradients instead of its share of them: the caches that
 * were enough for a stage are not.
 *
 * Nor has a plan without replicas an average: all workers carry out averages of the largest stage, each after reading
 * its weights, writing a gradient and stepping, as its micro-batches do.
 */
#ifndef MR_PROFILE_PROFILE_COMMIT_H
#define MR_PROFILE_PROFILE_COMMIT_H

#include "exec/run.h"

typedef struct mr_commit_rates {
	double shared_s;  /* seconds a byte of weights that pipes step together, all ranges */
	double reduce_s;  /* seconds a byte of one gradient that is added to another, all ranges */
	double forward_s; /* seconds of a micro-batch through all stages where each worker has all of them; 0: not
	                     measured */
	double back_s;    /* likewise, backwards */
	double average_s; /* seconds a byte that an average loads or stores (mr_replicas_passes), all ranges */
} mr_commit_rates;

/**
 * Measure with all workers of @c, which has a plan, for about @seconds each, and 5 times at least; zeros for a single
 * worker, and nothing but average_s where the memory does not hold a pipe for each. Errors: MR_ERESOURCE, MR_EDNN,
 * those of an engine.
 */
mr_status mr_profile_commits(const mr_run_config *c, double seconds, mr_commit_rates *out) MR_MUST_USE;

#endif
