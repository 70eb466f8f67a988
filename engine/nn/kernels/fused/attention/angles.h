/*
 * angles.h - cosines and sines of rotary positions (mr_rope), kept by a context for all later calls.
 *
 * A table is computed in f64 and rounded. One thread.
 */
#ifndef MR_KERNELS_FUSED_ANGLES_H
#define MR_KERNELS_FUSED_ANGLES_H

#include "nn/kernels.h"

typedef struct mr_angles mr_angles; /* a list of tables; NULL: none */

/** Makes the table of @r unless @list has it. Fills *@table with [t, 2, *@pitch]: for each position the cosines, then
 * the sines, of r->dim / 2 angles, filled up with 0. Errors: MR_ERESOURCE. */
mr_status mr_angles_find(mr_angles **list, const mr_rope *r, const float **table, int64_t *pitch) MR_MUST_USE;

void mr_angles_destroy(mr_angles *list); /* accepts NULL */
size_t mr_angles_bytes(const mr_angles *list);

#endif
