/*
 * peak.h - what the cores that a case may use can do at once: percent of peak divides by it.
 *
 * Each core runs the probe of one (host/probe.h) at the same time as the others, because two CPUs of a virtual
 * machine may be one core, and cores may clock lower together. Twice the rate of one alone says that they are what
 * they seem.
 */
#ifndef PERF_STEPS_PEAK_H
#define PERF_STEPS_PEAK_H

#include "host/topo.h"

enum { MR_PEAK_CORES = 2 };

typedef struct mr_peak {
	double one, all;  /* GFLOP/s of one core alone; of MR_PEAK_CORES, or as many as there are, at once */
	int cores;
	const char *isa;
} mr_peak;

/** Measure, about 0.2 s. @best keeps the better of this and what it holds (zero at first). Errors: MR_ERESOURCE. */
mr_status mr_peak_measure(const mr_topo *t, mr_peak *best) MR_MUST_USE;

#endif
