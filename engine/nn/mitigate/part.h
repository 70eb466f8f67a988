/*
 * part.h - what the mitigations of this folder share: elements of a tensor in either dtype.
 *
 * Arithmetic is in f64 in both, as that of scalars is in optimizers; what an element becomes is rounded once, when it is stored.
 */
#ifndef MR_MITIGATE_PART_H
#define MR_MITIGATE_PART_H

#include "nn/mitigate.h"

static inline double mr_mitigate_get(const mr_mitigate_call *c, const void *x, int64_t i)
{
	return c->dtype == MR_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static inline void mr_mitigate_put(const mr_mitigate_call *c, void *x, int64_t i, double value)
{
	if (c->dtype == MR_F64)
		((double *)x)[i] = value;
	else
		((float *)x)[i] = (float)value;
}

#endif
