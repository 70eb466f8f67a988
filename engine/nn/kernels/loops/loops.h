/*
 * loops.h - the operations that all backends execute by the same portable loops (loops.def).
 *
 * The arithmetic is written once, for the four sets of types that a run may have (loops.inc), and an element does not
 * depend on how the threads share out the work: the backends differ in nothing here.
 */
#ifndef MR_KERNELS_LOOPS_H
#define MR_KERNELS_LOOPS_H

#include "nn/kernels.h"
#include "nn/row_index.h"

/* Of one set of types; each takes the arguments of its operation. */
typedef struct mr_loops {
#define MR_OPERATION_LOOPS(id, units, weight, what) mr_range_fn *id;
#include "nn/kernels.def"
} mr_loops;

#define MR_PRECISION(id, types, backends) extern const mr_loops mr_loops_##id;
#include "nn/precisions.def"

static inline const mr_loops *mr_loops_of(const mr_types *t)
{
	static const mr_loops *const of[] = {
#define MR_PRECISION(id, types, backends) &mr_loops_##id,
#include "nn/precisions.def"
	};

	return of[mr_types_precision(t)];
}

/* Define the functions of a backend's table for these operations; the backend has `ranges` and a @loops(kc). */
#define MR_LOOPS_CALL(loops, operation, units, each) \
	static mr_status operation(mr_kctx *kc, const mr_##operation##_args *o) \
	{ \
		return ranges(kc, &(mr_ranges_args){.n = (units), .weight = (each), .fn = (loops)->operation, \
						    .args = o}); \
	}

#endif
