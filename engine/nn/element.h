/* element.h - single elements, and runs of them, of an array of numbers of any type: for loops that are no kernels. */
#ifndef MR_NN_ELEMENT_H
#define MR_NN_ELEMENT_H

#include "nn/bf16.h"
#include "nn/tensor.h"

static inline uint16_t mr_bf16_round_f64(double x)
{
	return mr_bf16_round((float)x);
}

/* Element @i of @x, of type @t, which is not of files alone. */
static inline double mr_element(mr_dtype t, const void *x, int64_t i)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: return (double)widen(((const stored *)x)[i]);
#include "base/types.def"
	default: break; /* mr_element_saved */
	}
	return 0;
}

/* Set element @i of @x to @value, rounded. */
static inline void mr_element_put(mr_dtype t, void *x, int64_t i, double value)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: ((stored *)x)[i] = round(value); break;
#include "base/types.def"
	default: break; /* nothing writes numbers of a type of files alone */
	}
}

/** Element @i of @x, of any type. */
double mr_element_saved(mr_dtype t, const void *x, int64_t i);

/** The @n elements from @first on of @x, of a type @t in which may be computed, to @to. */
void mr_elements(mr_dtype t, const void *x, int64_t first, int64_t n, double *to);
void mr_elements_f32(mr_dtype t, const void *x, int64_t first, int64_t n, float *to); /* rounded, if t is wider */

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
