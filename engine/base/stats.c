#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_f64(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void mr_sort_f64(double *x, size_t n)
{
	if (n)
		qsort(x, n, sizeof(*x), compare_f64);
}

double mr_quantile(const double *sorted, size_t n, double p)
{
	double place;
	size_t below;

	if (!n)
		return NAN;
	place = p * (double)(n - 1);
	below = (size_t)place;
	if (below >= n - 1)
		return sorted[n - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double mr_median(double *x, size_t n)
{
	mr_sort_f64(x, n);
	return mr_quantile(x, n, 0.5);
}

mr_quartiles mr_quartiles_of(double *x, size_t n)
{
	mr_sort_f64(x, n);
	return (mr_quartiles){
		.min = mr_quantile(x, n, 0),
		.q1 = mr_quantile(x, n, 0.25),
		.median = mr_quantile(x, n, 0.5),
		.q3 = mr_quantile(x, n, 0.75),
		.max = mr_quantile(x, n, 1),
	};
}

/* Multiply, rotate, multiply: without the rotation two flipped sign bits would cancel. */
static uint64_t absorb(uint64_t h, uint64_t word)
{
	word *= 0xC2B2AE3D27D4EB4Fu;
	word = word << 31 | word >> 33;
	h ^= word * 0x9E3779B185EBCA87u;
	h = h << 27 | h >> 37;
	return h * 0x9E3779B185EBCA87u + 0x85EBCA77C2B2AE63u;
}

uint64_t mr_hash64(uint64_t seed, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = (seed + 0x9E3779B97F4A7C15u) ^ ((uint64_t)len * 0x27D4EB2F165667C5u);
	uint64_t word;
	size_t left = len;

	for (; left >= 8; p += 8, left -= 8) {
		memcpy(&word, p, 8);
		h = absorb(h, word);
	}
	if (left) {
		word = 0;
		memcpy(&word, p, left);
		h = absorb(h, word);
	}
	h = (h ^ h >> 33) * 0xC2B2AE3D27D4EB4Fu;
	h = (h ^ h >> 29) * 0x165667B19E3779F9u;
	return h ^ h >> 32;
}
