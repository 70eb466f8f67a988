#include "nn/element.h"

#include <math.h>

/* A number of IEEE's binary16. */
static float mr_half_widen(uint16_t h)
{
	uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
	float size = exponent == 31   ? (fraction ? NAN : INFINITY)
		     : exponent == 0  ? ldexpf((float)fraction, -24)
				      : ldexpf((float)(fraction + 1024), (int)exponent - 25);

	return h >> 15 ? -size : size;
}

/* A number of 8 bits, with 5 of them for the exponent: the upper half of a binary16. */
static float mr_e5m2_widen(uint8_t x)
{
	return mr_half_widen((uint16_t)(x << 8));
}

/* A number of 8 bits, with 4 of them for the exponent; it has no infinity. */
static float mr_e4m3_widen(uint8_t x)
{
	uint32_t exponent = x >> 3 & 15, fraction = x & 7;
	float size = (x & 127) == 127 ? NAN
		     : exponent == 0  ? ldexpf((float)fraction, -9)
				      : ldexpf((float)(fraction + 8), (int)exponent - 10);

	return x >> 7 ? -size : size;
}

double mr_element_saved(mr_dtype t, const void *x, int64_t i)
{
	switch (t) {
#define MR_DTYPE_SAVED(id, weights, stored, widen) \
	case MR_##id: return (double)widen(((const stored *)x)[i]);
#include "base/types.def"
	default: return mr_element(t, x, i);
	}
}

/* A function of each type, whose loop the compiler may make vectors of. */
#define RUN(id, stored, widen, real) \
	static void run_##id##_##real(const stored *x, int64_t n, real *to) \
	{ \
		for (int64_t i = 0; i < n; i++) \
			to[i] = (real)widen(x[i]); \
	}
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	RUN(id, stored, widen, double) \
	RUN(id, stored, widen, float)
#include "base/types.def"

void mr_elements(mr_dtype t, const void *x, int64_t first, int64_t n, double *to)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: run_##id##_double((const stored *)x + first, n, to); break;
#include "base/types.def"
	default: break;
	}
}

void mr_elements_f32(mr_dtype t, const void *x, int64_t first, int64_t n, float *to)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: run_##id##_float((const stored *)x + first, n, to); break;
#include "base/types.def"
	default: break;
	}
}
