#include "base/rng.h"

#include <assert.h>

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
