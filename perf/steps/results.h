/*
 * results.h - the table of a case, and the same figures as JSON.
 *
 *	system  w x t  place  n  ms/step  quartile  quartile  samples/s  GFLOP/s  of peak  A/this  PyTorch/this  of plan
 *
 * w x t: workers times threads of each. One row for each placement that a contender was timed in, medians. A/this and
 * PEER/this are ratios of medians of the same placement: above 1, this row is faster. "of plan" is the median of
 * measured time / what the measured durations of the burst's instructions allow (allowed.h); only plans have it.
 */
#ifndef PERF_STEPS_RESULTS_H
#define PERF_STEPS_RESULTS_H

#include "perf/steps/contender.h"
#include "perf/steps/peak.h"

typedef struct mr_results {
	const mr_case *c;
	const mr_contender *all; /* [n] */
	size_t n;
	const mr_peer *peers;    /* [MR_N_PEERS], also those that take no part */
	double flops;            /* of a step */
	mr_peak peak;
	mr_rest rest;
} mr_results;

/** Print the table; where @json is not NULL, put the case's keys into its open object. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_results_put(const mr_results *r, mr_json_writer *json) MR_MUST_USE;

#endif
