/*
 * peak.h - what the cores that a case may use can do at once: percent of peak divides by it.
 *
 * Each core runs the probe of one (host/probe.h) at the same time as the others, because two CPUs of a virtual
 * machine may be one core, and cores may clock lower together. Twice the rate of one alone says that they are what
 * they seem. There are two peaks, of f32 and of products of bf16; a CPU may lack the second.
 *
 * A peak is the best of all its measurements, which stand before, between and after the rounds of cases: clocks fall
 * and neighbours take CPU time for some of them, and a median would then be less than what the steps reached.
 */
#ifndef PERF_STEPS_PEAK_H
#define PERF_STEPS_PEAK_H

#include "host/topo.h"
#include "perf/steps/cases.h"

enum { MR_PEAK_CORES = 2 };

typedef struct mr_peak_best {
	double one, all; /* GFLOP/s of one core alone; of MR_PEAK_CORES, or as many as there are, at once */
	const char *isa; /* NULL: the CPU has no instruction for it */
} mr_peak_best;

/* Zero at first. */
typedef struct mr_peak {
	mr_peak_best of[MR_N_BENCH_PRECISIONS];
	int cores;
} mr_peak;

/** Measure both once more, about 0.4 s, and keep what is better. Errors: MR_ERESOURCE. */
mr_status mr_peak_measure(const mr_topo *t, mr_peak *p) MR_MUST_USE;

/** @gflops over the peak of all cores at once, at most 1. NaN: there is no such instruction, or the steps were faster,
 * which says that each measurement of the peak was disturbed. */
double mr_peak_share(const mr_peak *p, mr_bench_precision precision, double gflops);

#endif
