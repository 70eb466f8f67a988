/*
 * rng.h - random numbers as a pure function of what they are for.
 *
 * A generator with a state makes a run depend on the order of draws. Here a number is addressed instead: by the run's
 * seed, the purpose, the sample, the layer and the element it belongs to. So initial weights, dropout masks and data
 * order do not depend on the cut into stages, on worker counts, on timing or on restarts, and any of them can be
 * recomputed alone.
 *
 * The function is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
 * sections 3.3 and 4.3). 128 counter bits and 64 key bits give four 32-bit words, a block:
 *
 *	counter  c0 = low half of block   c1 = layer   c2, c3 = low and high half of sample
 *	key      k = mix(mix(seed) + purpose + 1), with the high half of block xored into its upper word
 *
 * where block = element >> 2 and element & 3 picks the word. All bits of all arguments count: within one seed and
 * purpose no two (sample, layer, block) share counter and key.
 *
 * Everything here is a pure function and may be called by any thread. Results are the same bits on every machine:
 * integer arithmetic, and for the normal deviates only IEEE +, -, *, / and sqrt (libm's log and cos differ between
 * versions).
 */
#ifndef MR_BASE_RNG_H
#define MR_BASE_RNG_H

#include <stdint.h>

/** What a number is for. The values are part of the bits of every run: append only, never renumber. */
typedef enum mr_rng_purpose {
	MR_RNG_INIT,      /* initial parameters: layer, element */
	MR_RNG_DROPOUT,   /* masks: sample = running number of the sample, layer, element */
	MR_RNG_SHUFFLE,   /* order of samples: sample = epoch */
	MR_RNG_EXCERPT,    /* start of excerpts of a text */
	MR_RNG_SYNTHETIC, /* made-up data */
	MR_RNG_SAMPLE,    /* drawing tokens from a trained model */
	MR_RNG_DELAY,     /* injected delays of the tests */
	MR_RNG_TEST,      /* test inputs */
	MR_RNG_NOISE,     /* noise added to gradients: sample = first of the micro-batch, layer, element */
	MR_RNG_STEPS,     /* which block, minibatch and ages a step of a randomized pipeline has: sample = step */
	MR_RNG_JITTER,    /* simulated times: sample = micro-batch, layer = stage, element = pipe and op */
	MR_RNG_SEARCH,    /* candidates of a search for an order: sample = number of the candidate */
	MR_RNG_ROUND,     /* stochastic rounding: sample = number of the step, layer = parameter, element */
	MR_RNG_AUGMENT,   /* changes of training images: sample = running number of the sample, element = which */
	MR_RNG_STATE,     /* a stored state's rounding: sample = number of the step, layer = parameter, element */
	MR_RNG_N_PURPOSES
} mr_rng_purpose;

/** Philox4x32-10: the block of @ctr under @key. Inline, so that a loop over counters vectorises. */
static inline void mr_philox4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < 10; round++) {
		uint64_t p0 = (uint64_t)0xD2511F53u * c0;
		uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;

		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += 0x9E3779B9u; /* golden ratio and sqrt(3) - 1, as in the paper */
		k1 += 0xBB67AE85u;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

/** A bijection of 64-bit words in which every input bit reaches every output bit (the finalizer of splitmix64). */
static inline uint64_t mr_mix64(uint64_t x)
{
	x += 0x9E3779B97F4A7C15u;
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
	return x ^ (x >> 31);
}

/** The key of a seed and a purpose, for blocks below 2^32. */
static inline uint64_t mr_rng_key(uint64_t seed, mr_rng_purpose purpose)
{
	return mr_mix64(mr_mix64(seed) + (uint64_t)purpose + 1);
}

/** The four words of elements 4 @block .. 4 @block + 3. */
static inline void mr_rng_block(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
				uint32_t out[4])
{
	uint64_t k = mr_rng_key(seed, purpose);
	uint32_t key[2] = {(uint32_t)k, (uint32_t)(k >> 32) ^ (uint32_t)(block >> 32)};
	uint32_t ctr[4] = {(uint32_t)block, layer, (uint32_t)sample, (uint32_t)(sample >> 32)};

	mr_philox4x32(ctr, key, out);
}

/** One word: word @element & 3 of block @element >> 2. */
static inline uint32_t mr_rng_u32(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer,
				  uint64_t element)
{
	uint32_t out[4];

	mr_rng_block(seed, purpose, sample, layer, element >> 2, out);
	return out[element & 3];
}

/** Uniform in [0, 1) with 53 bits: words 2 (@element & 1) and the next of block @element >> 1. */
double mr_rng_uniform(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element);

/** Standard normal deviate: entry @element & 3 of mr_rng_normal4 at block @element >> 2. At most 6.7 in magnitude. */
double mr_rng_normal(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t element);

/**
 * The normal deviates of elements 4 @block .. 4 @block + 3, four times as fast as one by one: Box-Muller on words
 * (0, 1) and (2, 3), cosine first, sine second.
 */
void mr_rng_normal4(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		    double out[4]);

/* Deviates of a call of the two functions below. */
#define MR_RNG_MANY 256

/**
 * MR_RNG_MANY normal deviates from element 4 @block on, or uniform ones from element 2 @block on, to @out: the bits of
 * mr_rng_normal and mr_rng_uniform, by the vectors that the machine has.
 */
void mr_rng_normals(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		    double *out);
void mr_rng_uniforms(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		     double *out);

/*
 * mr_permute - a random order of [0, n) that is never stored.
 *
 * A keyed Feistel network permutes the next power of four at or above n; an image outside [0, n) is permuted again
 * until it falls inside (cycle walking, Black and Rogaway 2002), at most 4 times on average. The order of an epoch is
 * thus a pure function of (seed, epoch, index): a restart in the middle of an epoch needs no replay.
 */
typedef struct mr_permute {
	uint64_t n;
	uint64_t keys[8];   /* one a round */
	uint32_t half_bits; /* the network works on two halves of this many bits */
} mr_permute;

/** Prepare the order of [0, @n), @n from 1 to 2^62, for @epoch. Plain data: copy freely, nothing to free. */
void mr_permute_init(mr_permute *p, uint64_t n, uint64_t seed, uint64_t epoch);

/** Which element stands at place @i < n. A bijection of [0, n). */
uint64_t mr_permute_at(const mr_permute *p, uint64_t i);

/** The words of MR_RNG_MANY elements from element 4 @block on, as mr_rng_u32 has them, by the vectors that the machine
 * has: two in each of MR_RNG_MANY / 2 numbers at @out, the first one in the low half. */
void mr_rng_pairs(uint64_t seed, mr_rng_purpose purpose, uint64_t sample, uint32_t layer, uint64_t block,
		  uint64_t *out);

#endif
