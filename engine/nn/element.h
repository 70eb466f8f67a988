/* element.h - single elements of an array of numbers of any type: for loops that are no kernels. */
#ifndef MR_NN_ELEMENT_H
#define MR_NN_ELEMENT_H

#include <math.h>

#include "nn/bf16.h"
#include "nn/tensor.h"

/* A number of IEEE's binary16. */
static inline float mr_half_widen(uint16_t h)
{
	uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
	float size = exponent == 31   ? (fraction ? NAN : INFINITY)
		     : exponent == 0  ? ldexpf((float)fraction, -24)
				      : ldexpf((float)(fraction + 1024), (int)exponent - 25);

	return h >> 15 ? -size : size;
}

static inline uint16_t mr_bf16_round_f64(double x)
{
	return mr_bf16_round((float)x);
}

/* Element @i of @x, of type @t. */
static inline double mr_element(mr_dtype t, const void *x, int64_t i)
{
	switch (t) {
#define MR_DTYPE(id, name, stored, wide, widen, round) \
	case MR_##id: return (double)widen(((const stored *)x)[i]);
#include "nn/types.def"
	}
	return 0;
}

/* Set element @i of @x to @value, rounded. */
static inline void mr_element_put(mr_dtype t, void *x, int64_t i, double value)
{
	switch (t) {
#define MR_DTYPE(id, name, stored, wide, widen, round) \
	case MR_##id: ((stored *)x)[i] = round(value); break;
#include "nn/types.def"
	}
}

/* Element @i of weights @w of type @t, with the rest @rest of their masters (NULL: there is none). */
static inline double mr_element_master(mr_dtype t, const void *w, const int16_t *rest, int64_t i)
{
	return rest ? (double)mr_master_join(((const uint16_t *)w)[i], rest[i]) : mr_element(t, w, i);
}

/* Set element @i of weights @w of type @t to @master; the rest of it goes to @rest[i] (NULL: it is lost). */
static inline void mr_element_put_master(mr_dtype t, void *w, int16_t *rest, int64_t i, double master)
{
	int16_t lost;

	if (t == MR_BF16)
		((uint16_t *)w)[i] = mr_master_split((float)master, rest ? &rest[i] : &lost);
	else
		mr_element_put(t, w, i, master);
}

#endif
