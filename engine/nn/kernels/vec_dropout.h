/*
 * vec_dropout.h - dropout with a mask that is recomputed, never stored: LANES Philox blocks (base/rng.h) at a time.
 *
 * Block b decides elements 4 b .. 4 b + 3, one word each, so the comparison of word w gives the bits of elements w, w +
 * 4, ...; pdep interleaves the four sets.
 */
#include "base/rng.h"

#define DROPOUT_GROUP (4 * LANES)

/* One bit an element: keep. @key is Philox's, @ctr its words 1 to 3; blocks @block .. @block + LANES - 1. */
static inline uint64_t keep_bits(uint32_t block, const uint32_t key[2], const uint32_t ctr[3], uint32_t threshold)
{
	U c0 = u_add(u_set(block), u_iota()), c1 = u_set(ctr[0]), c2 = u_set(ctr[1]), c3 = u_set(ctr[2]);
	U m0 = u_set(0xD2511F53u), m1 = u_set(0xCD9E8D57u), t = u_set(threshold);
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < 10; round++) {
		U lo0, hi0, lo1, hi1;

		u_mul(c0, m0, &lo0, &hi0);
		u_mul(c2, m1, &lo1, &hi1);
		c0 = u_xor(u_xor(hi1, c1), u_set(k0));
		c1 = lo1;
		c2 = u_xor(u_xor(hi0, c3), u_set(k1));
		c3 = lo0;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return _pdep_u64(u_at_least(c0, t), 0x1111111111111111u) | _pdep_u64(u_at_least(c1, t), 0x2222222222222222u) |
	       _pdep_u64(u_at_least(c2, t), 0x4444444444444444u) | _pdep_u64(u_at_least(c3, t), 0x8888888888888888u);
}

/* @lo, @hi count groups: ceil(per_sample / DROPOUT_GROUP) a sample. Element numbers stay below 2^34 in a sample. */
static void dropout(const void *args, int64_t lo, int64_t hi, uint32_t worker)
{
	const mr_vec_dropout *a = args;
	int64_t per = (a->per_sample + DROPOUT_GROUP - 1) / DROPOUT_GROUP;
	uint64_t k = mr_mix64(mr_mix64(a->key.seed) + MR_RNG_DROPOUT + 1);
	uint32_t key[2] = {(uint32_t)k, (uint32_t)(k >> 32)};
	V scale = v_set(a->scale);

	(void)worker;
	for (int64_t g = lo; g < hi; g++) {
		int64_t s = g / per, first = g % per * DROPOUT_GROUP, end = first + DROPOUT_GROUP;
		uint64_t sample = a->key.first_sample + (uint64_t)s;
		uint32_t ctr[3] = {a->key.layer, (uint32_t)sample, (uint32_t)(sample >> 32)};
		uint64_t bits = keep_bits((uint32_t)(first / 4), key, ctr, a->threshold);

		if (end > a->per_sample)
			end = a->per_sample;
		for (int64_t i = first; i < end; i += LANES, bits >>= LANES) {
			int64_t at = s * a->per_sample + i, part = end - i >= LANES ? 0 : end - i;

			v_store(a->y + at, v_mul(v_load(a->x + at, part), v_keep(m_from_bits(bits), scale)), part);
		}
	}
}
