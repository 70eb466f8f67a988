/*
 * rounding.h - stochastic rounding to bf16: a number becomes one of its two neighbours, the nearer one more often,
 * so that on the average it is unchanged.
 *
 * A weight without a master loses every step that is below half a unit in its last place (2^-9 to 2^-8 of the weight)
 * if it is rounded to the nearest: training then stops while the gradients are still large. Rounded stochastically,
 * small steps add up. The same holds for what an optimizer averages: with a memory of 0.999 the mean of squares changes
 * by at most 0.1 % of itself when gradients become smaller, which is below that half, so that it could grow and never
 * fall. With stochastic rounding it follows. A step that moves it by a part d of a unit adds d (1 - d) units^2 of
 * variance, and all steps together d (1 - d) / (1 - 0.999^2): with d near 0.2 a scatter of 9 units, 4 % of the mean,
 * of which the root feels half; the gradients' own scatter leaves 3 %. Gradients and activations are rounded to the
 * nearest: they are not carried from step to step.
 *
 * Sources: Gupta et al., "Deep learning with limited numerical precision", ICML 2015; Zamirai et al., "Revisiting
 * bfloat16 training", 2020, for weights; for both moments of Adam as well karpathy/llm.c, pull request 772, where GPT-2
 * without masters had the loss of f32.
 *
 * The random bits are a function of the run's seed, the number of the step, the parameter and the element
 * (base/rng.h, MR_RNG_ROUND), so they depend on no cut, pipe, micro-batch or thread. An element has 64: bits 0 to 15
 * round its weight, 16 to 31 and 32 to 47 the first and the second tensor of its state.
 */
#ifndef MR_NN_ROUNDING_H
#define MR_NN_ROUNDING_H

#include "base/rng.h"
#include "nn/bf16.h"

typedef struct mr_rounding {
	uint64_t seed;  /* of the run */
	uint64_t step;  /* number of the step, from 1; 0: everything is rounded to the nearest */
	uint64_t first; /* the element of the parameter that is element 0 of the stepped range */
	uint32_t param; /* number of the parameter in the model */
} mr_rounding;

/* Words that mr_rounding_words may write for @n elements: they come in pairs. */
#define MR_ROUNDING_ROOM(n) ((n) + 2)

/* Write the words of elements @from to @from + @n of the stepped range into @room, of MR_ROUNDING_ROOM(@n) words;
 * returns the place of the first one in it. */
static inline const uint64_t *mr_rounding_words(const mr_rounding *r, uint64_t from, int64_t n, uint64_t *room)
{
	uint64_t element = r->first + from, block = element >> 1, odd = element & 1;
	int64_t n_blocks = (n + (int64_t)odd + 1) / 2;

	for (int64_t b = 0; b < n_blocks; b++) {
		uint32_t w[4];

		mr_rng_block(r->seed, MR_RNG_ROUND, r->step, r->param, block + (uint64_t)b, w);
		room[2 * b] = w[0] | (uint64_t)w[1] << 32;
		room[2 * b + 1] = w[2] | (uint64_t)w[3] << 32;
	}
	return room + odd;
}

/* @r for a range that begins @n elements further on. */
static inline mr_rounding mr_rounding_shifted(mr_rounding r, int64_t n)
{
	r.first += (uint64_t)n;
	return r;
}

#endif
