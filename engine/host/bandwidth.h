/*
 * bandwidth.h - how fast cores read and write their second cache, their last cache and memory, one core alone and
 * several at once.
 *
 * Two loops over a working set of each core's own: read adds up what it loads; triad is a[i] = b[i] + s * c[i], of
 * which three bytes count for each of a, as usual, though a store may also read the line that it writes. The cores
 * begin together, and each repeats its loop for some milliseconds; a rate is the sum over the cores, the best of
 * several runs, since other programs only lower it. Memory is touched before by the thread that uses it, on huge pages
 * where the system has them.
 *
 * These rates vary from run to run: nothing that decides the bits of a result may depend on them.
 */
#ifndef MR_HOST_BANDWIDTH_H
#define MR_HOST_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "host/topo.h"

/* Bytes a second. */
typedef struct mr_bandwidth_rates {
	double read, triad;
	double spread; /* the worst run of either loop fell so much short of the best one, 0 to 1 */
} mr_bandwidth_rates;

/**
 * Measure on Linux CPUs @cpu[0..n), all at once, each with a working set of @bytes of its own (at least 4 KiB; in
 * triad a third of it each for a, b and c), about 0.05 s plus the time to touch the memory. @node: [n] Linux node
 * numbers that hold the working sets, or NULL: wherever the system puts them, usually near the core. So a core can be
 * measured on the memory of another node. Pins threads of its own; the caller's mask is unchanged.
 * Errors: MR_EINVAL no CPU, or too few bytes; MR_ERESOURCE no memory, or a thread could not be started or pinned.
 */
mr_status mr_bandwidth_measure(const uint32_t *cpu, uint32_t n, uint64_t bytes, const uint32_t *node,
			       mr_bandwidth_rates *out) MR_MUST_USE;

typedef enum mr_bandwidth_level {
	MR_BANDWIDTH_L2,
	MR_BANDWIDTH_L3,
	MR_BANDWIDTH_MEMORY,
	MR_N_BANDWIDTH_LEVELS
} mr_bandwidth_level;

/* Of one level. */
typedef struct mr_bandwidth_at {
	uint64_t one_bytes, all_bytes;  /* working set of a core when it is alone, and when all are busy; 0: the
	                                   machine has no such level, or the level is unknown */
	mr_bandwidth_rates one, all;    /* of one core alone, and the sum over all usable cores at once */
} mr_bandwidth_at;

typedef struct mr_bandwidth {
	uint32_t n_cores; /* usable cores, those of `all` */
	mr_bandwidth_at at[MR_N_BANDWIDTH_LEVELS];
	double foreign;   /* the share of all processors' time that other programs took meanwhile (foreign_load.h) */
} mr_bandwidth;

/* Beyond these a measurement is of a disturbed machine. On a quiet one runs differ by 5 %, and nothing else takes more
 * than 2 % of the time. */
#define MR_BANDWIDTH_FOREIGN 0.1
#define MR_BANDWIDTH_SPREAD 0.5

/** Did other programs disturb it? */
bool mr_bandwidth_disturbed(const mr_bandwidth *b);

/** "other programs took 46 % of the processors' time, and runs differed by 60 %" into @text, which is returned. */
const char *mr_bandwidth_disturbance(const mr_bandwidth *b, char text[160]);

/**
 * Measure all levels of @t, on its first core and on all usable ones, some tenths of a second. Half of L2, half of a
 * core's share of L3 (alone: half of L3), and in memory four times the last cache, but no more than an eighth of the
 * memory that is available.
 * Errors: MR_EINVAL @t is synthetic; those of mr_bandwidth_measure.
 */
mr_status mr_bandwidth_of(const mr_topo *t, mr_bandwidth *out) MR_MUST_USE;

/** Print a table, a line for each level that was measured, in GB/s. */
void mr_bandwidth_print(const mr_bandwidth *b, FILE *out);

#endif
