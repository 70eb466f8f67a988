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

void mr_hasher_init(mr_hasher *s, uint64_t seed, uint64_t len)
{
	*s = (mr_hasher){.h = (seed + 0x9E3779B97F4A7C15u) ^ (len * 0x27D4EB2F165667C5u)};
}

static void absorb_part(mr_hasher *s)
{
	uint64_t word = 0;

	memcpy(&word, s->part, s->n);
	s->h = absorb(s->h, word);
	s->n = 0;
}

void mr_hasher_add(mr_hasher *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; s->n && len; len--) {
		s->part[s->n & 7] = *p++;
		if (++s->n == sizeof(s->part))
			absorb_part(s);
	}
	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		s->h = absorb(s->h, word);
	}
	if (len)
		memcpy(s->part, p, s->n = len);
}

uint64_t mr_hasher_end(mr_hasher *s)
{
	uint64_t h;

	if (s->n)
		absorb_part(s);
	h = (s->h ^ s->h >> 33) * 0xC2B2AE3D27D4EB4Fu;
	h = (h ^ h >> 29) * 0x165667B19E3779F9u;
	return h ^ h >> 32;
}

uint64_t mr_hash64(uint64_t seed, const void *data, size_t len)
{
	mr_hasher s;

	mr_hasher_init(&s, seed, len);
	mr_hasher_add(&s, data, len);
	return mr_hasher_end(&s);
}
