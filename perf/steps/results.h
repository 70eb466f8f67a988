/*
 * results.h - the table of a case, and the same figures as JSON.
 *
 *	system  type  w x t  place  n  out  ms/step  quartile  quartile  samples/s  GFLOP/s  of f32  of bf16  A/this ...
 *
 * w x t: workers times threads of each. One row for each placement that a contender was timed in, medians. n: bursts
 * that count; out: those that do not, because others used CPU meanwhile (load.h); where more than two thirds of a row
 * are such, they count, the others do not, and n bears a "!". "of f32" and "of bf16" are shares of the two peaks
 * (peak.h).
 *
 * A/this and PEER/this are ratios of medians of the same placement: above 1, this row is faster. Where a case is timed
 * in two precisions there is one such column for each. "of plan" is the median of measured time / what the measured
 * durations of the burst's instructions allow (allowed.h); only plans have it.
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
	unsigned precisions;     /* a bit for each that is timed */
	double flops;            /* of a step */
	mr_peak peak;
	mr_use rest;             /* of those that stood still */
	double seconds;          /* that the case took */
} mr_results;

/** Median in ms a step of @x in placement @place; NaN without samples. */
double mr_results_ms(const mr_contender *x, int place);

/** The contender that is system @system (MR_A, ...) of ours in @precision; NULL: it takes no part. */
const mr_contender *mr_results_ours(const mr_results *r, int system, mr_bench_precision precision);

/** The contender that is @peer in @precision; NULL: it takes no part. */
const mr_contender *mr_results_peer(const mr_results *r, int peer, mr_bench_precision precision);

/** Percent of the peak of @precision that @ms a step are; NaN: there is no such peak. */
double mr_results_percent(const mr_results *r, double ms, mr_bench_precision precision);

/** Print the table; where @json is not NULL, put the case's keys into its open object. Errors: MR_EIO, MR_ERESOURCE. */
mr_status mr_results_put(const mr_results *r, mr_json_writer *json) MR_MUST_USE;

#endif
