#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

double mr_rng_uniform(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element)
{
	uint32_t w[4];
	uint64_t bits;

	mr_rng_block(seed, purpose, sample, layer, element >> 1, w);
	bits = (uint64_t)w[2 * (element & 1)] << 32 | w[2 * (element & 1) + 1];
	return (double)(bits >> 11) * 0x1p-53;
}

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* one rounding an operation, so that all machines agree; GCC does so with -std=c11 */
#endif

/*
 * ln(@n / 2^32) for @n in [1, 2^32], as e ln 2 + 2 atanh((m - 1) / (m + 1)) with m in [0.707, 1.414]; the series is cut
 * below half an ulp.
 */
static double plain_log(uint64_t n)
{
	static const double c[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
				   1.0 / 11, 1.0 / 9,  1.0 / 7,	 1.0 / 5,  1.0 / 3};
	double m = (double)n, s, s2, sum = 0;
	uint64_t bits;
	int e;

	memcpy(&bits, &m, sizeof(bits));
	e = (int)(bits >> 52) - 1023 - 32;
	bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u; /* m in [1, 2) */
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.41421356237309504880) {
		m /= 2;
		e++;
	}
	s = (m - 1) / (m + 1); /* at most 0.172 in magnitude */
	s2 = s * s;
	for (int k = 0; k < 11; k++)
		sum = (sum + c[k]) * s2;
	return 2 * s * (sum + 1) + e * 0.69314718055994530942;
}

/* Cosine and sine of @n / 2^32 turns: the quadrant by integers, Taylor on [-pi/4, pi/4] for the rest. */
static void plain_cos_sin(uint32_t n, double *c, double *s)
{
	static const double cosine[] = {-1.0 / 6402373705728000, 1.0 / 20922789888000, -1.0 / 87178291200,
					1.0 / 479001600,	 -1.0 / 3628800,       1.0 / 40320,
					-1.0 / 720,		 1.0 / 24,	       -1.0 / 2};
	static const double sine[] = {1.0 / 355687428096000, -1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
				      1.0 / 362880,	     -1.0 / 5040,	   1.0 / 120,	     -1.0 / 6};
	uint64_t quadrant = ((uint64_t)n + ((uint64_t)1 << 29)) >> 30;
	double x = (double)((int64_t)n - (int64_t)(quadrant << 30)) * (1.57079632679489661923 * 0x1p-30);
	double x2 = x * x, co = 0, si = 0, a, b;

	for (int k = 0; k < 9; k++)
		co = (co + cosine[k]) * x2;
	for (int k = 0; k < 8; k++)
		si = (si + sine[k]) * x2;
	co += 1;
	si = x + x * si;
	/* without branches, since the quadrant is random */
	a = quadrant & 1 ? si : co;
	b = quadrant & 1 ? co : si;
	*c = (quadrant + 1) & 2 ? -a : a;
	*s = quadrant & 2 ? -b : b;
}

void mr_rng_normal4(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		    double out[4])
{
	uint32_t w[4];

	mr_rng_block(seed, purpose, sample, layer, block, w);
	for (int pair = 0; pair < 4; pair += 2) {
		double radius = sqrt(-2 * plain_log((uint64_t)w[pair] + 1)); /* of (0, 1], so finite */
		double c, s;

		plain_cos_sin(w[pair + 1], &c, &s);
		out[pair] = radius * c;
		out[pair + 1] = radius * s;
	}
}

double mr_rng_normal(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element)
{
	double out[4];

	mr_rng_normal4(seed, purpose, sample, layer, element >> 2, out);
	return out[element & 3];
}

#define N_ROUNDS 8

_Static_assert(sizeof(((mr_permute *)0)->keys) == N_ROUNDS * sizeof(uint64_t), "one key a round");

void mr_permute_init(mr_permute *p, uint64_t n, uint64_t seed, uint64_t epoch)
{
	uint32_t half = 1;

	assert(n >= 1 && n <= (uint64_t)1 << 62);
	while (n > (uint64_t)1 << (2 * half))
		half++;
	*p = (mr_permute){.n = n, .half_bits = half};
	for (uint64_t r = 0; r < N_ROUNDS; r++) {
		uint64_t low = mr_rng_u32(seed, MR_RNG_SHUFFLE, epoch, 0, 2 * r);

		p->keys[r] = (uint64_t)mr_rng_u32(seed, MR_RNG_SHUFFLE, epoch, 0, 2 * r + 1) << 32 | low;
	}
}

uint64_t mr_permute_at(const mr_permute *p, uint64_t i)
{
	uint64_t mask = ((uint64_t)1 << p->half_bits) - 1;

	assert(i < p->n);
	do {
		uint64_t left = i >> p->half_bits, right = i & mask;

		for (int r = 0; r < N_ROUNDS; r++) {
			uint64_t next = left ^ (mr_mix64(right ^ p->keys[r]) & mask);

			left = right;
			right = next;
		}
		i = left << p->half_bits | right;
	} while (i >= p->n); /* the walk stays on i's cycle, which has a member below n: i itself */
	return i;
}
