#include "base/rng.h"

#include <assert.h>
#include <math.h>

double mr_rng_uniform(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element)
{
	uint32_t w[4];
	uint64_t bits;

	mr_rng_block(seed, purpose, sample, layer, element >> 1, w);
	bits = (uint64_t)w[2 * (element & 1)] << 32 | w[2 * (element & 1) + 1];
	return (double)(bits >> 11) * 0x1p-53;
}

/* Natural logarithm of a normal @u > 0: 2 atanh((m - 1) / (m + 1)) + e ln 2, with the series cut below half an ulp. */
static double plain_log(double u)
{
	int e;
	double m = frexp(u, &e);
	double s, s2, sum = 0;

	if (m < 0.70710678118654752440) {
		m *= 2;
		e--;
	}
	s = (m - 1) / (m + 1); /* |s| <= 0.172 */
	s2 = s * s;
	for (int k = 23; k >= 1; k -= 2)
		sum = sum * s2 + 1.0 / k;
	return 2 * s * sum + e * 0.69314718055994530942;
}

/* Cosine and sine of 2 pi @turn for @turn in [0, 1): exact quadrant, Taylor on [-pi/4, pi/4] for the rest. */
static void plain_cos_sin(double turn, double *c, double *s)
{
	double quadrant = floor(4 * turn + 0.5);
	double x = (4 * turn - quadrant) * 1.57079632679489661923;
	double x2 = x * x, co = 1, si = 1;

	for (int k = 18; k >= 2; k -= 2) {
		co = 1 - x2 / (k * (k - 1)) * co;
		si = 1 - x2 / (k * (k + 1)) * si;
	}
	si *= x;
	switch ((int)quadrant & 3) {
	case 0: *c = co; *s = si; break;
	case 1: *c = -si; *s = co; break;
	case 2: *c = -co; *s = -si; break;
	default: *c = si; *s = -co; break;
	}
}

void mr_rng_normal4(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		    double out[4])
{
	uint32_t w[4];

	mr_rng_block(seed, purpose, sample, layer, block, w);
	for (int pair = 0; pair < 4; pair += 2) {
		double radius = sqrt(-2 * plain_log(((double)w[pair] + 1) * 0x1p-32)); /* from (0, 1], so finite */
		double c, s;

		plain_cos_sin((double)w[pair + 1] * 0x1p-32, &c, &s);
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
