/*
 * stats.h - medians and hashes.
 */
#ifndef MR_BASE_STATS_H
#define MR_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

/** Sort @x ascending, in place. No NaN. */
void mr_sort_f64(double *x, size_t n);

/** The @p-quantile, @p in [0, 1], of @sorted[@n], interpolated (Hyndman and Fan's type 7); NaN when @n is 0. */
double mr_quantile(const double *sorted, size_t n, double p);

/** The median of @x[@n]; NaN when @n is 0. Sorts @x in place. */
double mr_median(double *x, size_t n);

typedef struct mr_quartiles {
	double min, q1, median, q3, max;
} mr_quartiles;

/** Quartiles of @x[@n]; all NaN when @n is 0. Sorts @x in place. */
mr_quartiles mr_quartiles_of(double *x, size_t n);

/**
 * A 64-bit hash of @len bytes, continued from @seed: mr_hash64(mr_hash64(0, a), b) depends on a, b, and where they
 * part. For telling plans and weights apart, not against an adversary. The same on all little-endian machines; the
 * bits are written into files, so the function never changes.
 */
uint64_t mr_hash64(uint64_t seed, const void *data, size_t len);

/* The same hash of bytes that arrive in parts of any size. */
typedef struct mr_hasher {
	uint64_t h;
	uint8_t part[8];
	size_t n; /* bytes in part, not yet hashed */
} mr_hasher;

/** Begin a hash of @len bytes, the sum over all parts. */
void mr_hasher_init(mr_hasher *s, uint64_t seed, uint64_t len);
void mr_hasher_add(mr_hasher *s, const void *data, size_t len);
uint64_t mr_hasher_end(mr_hasher *s);

#endif
