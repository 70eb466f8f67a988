/*
 * peak.h - what the cores that a case may use can do at once: percent of peak divides by it.
 *
 * Each core runs the probe of one (host/probe.h) at the same time as the others, because two CPUs of a virtual
 * machine may be one core, and cores may clock lower together. Twice the rate of one alone says that they are what
 * they seem. There are two peaks, of f32 and of products of bf16; a CPU may lack the second.
 */
#ifndef PERF_STEPS_PEAK_H
#define PERF_STEPS_PEAK_H

#include "host/topo.h"
#include "perf/steps/cases.h"

enum { MR_PEAK_CORES = 2, MR_PEAK_SAMPLES = 64 };

typedef struct mr_peak_samples {
	double one[MR_PEAK_SAMPLES], all[MR_PEAK_SAMPLES]; /* GFLOP/s */
	const char *isa;                                   /* NULL: the CPU has no instruction for it */
} mr_peak_samples;

/* Zero at first. */
typedef struct mr_peak {
	mr_peak_samples of[MR_N_BENCH_PRECISIONS];
	size_t n;
	int cores;
} mr_peak;

/** Measure both once more, about 0.4 s. Errors: MR_ERESOURCE. */
mr_status mr_peak_measure(const mr_topo *t, mr_peak *p) MR_MUST_USE;

/** Median in GFLOP/s of one core alone; of MR_PEAK_CORES, or as many as there are, at once. Clocks drift by a fifth
 * within minutes, so the best would be of another moment than the steps' medians. At least one measurement. 0: there is
 * no such instruction. */
double mr_peak_one(const mr_peak *p, mr_bench_precision precision);
double mr_peak_all(const mr_peak *p, mr_bench_precision precision);

#endif
