/*
 * part.h - what the mitigations of this folder share: elements of a tensor in either dtype.
 *
 * Arithmetic is in f64 in both, as that of scalars is in optimizers; what an element becomes is rounded once, when it
 * is stored. Who loops over elements does so in an inline function with the dtype as an argument, called once for each:
 * the compiler makes two loops.
 */
#ifndef MR_MITIGATE_PART_H
#define MR_MITIGATE_PART_H

#include "nn/mitigate.h"

static inline double mr_mitigate_get(mr_dtype t, const void *x, int64_t i)
{
	return t == MR_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static inline void mr_mitigate_put(mr_dtype t, void *x, int64_t i, double value)
{
	if (t == MR_F64)
		((double *)x)[i] = value;
	else
		((float *)x)[i] = (float)value;
}

#endif
