/*
 * usage.h - what the training has had in use at once of each stage's storage, counted, beside what its plan predicts.
 *
 * Counted: weight versions live (version_count.h); weight buffers that were written, of versions and of what predicts
 * others; activation slots taken at once; boundary buffers between stages that were written. Each is counted where it
 * is taken, since the run was last reset. A buffer number is a fact of the plan, so the numbers do not depend on
 * timing, but for the slots of a racing plan, which has room for any order.
 * Predicted: the same from the plan's lists and the numbers that the lowering gave it; a run that is too short to fill
 * its pipeline stays below. Not here: what is allocated once from start to end (gradients, optimizer state, scratch),
 * and the loader's buffers.
 */
#ifndef MR_EXEC_USAGE_H
#define MR_EXEC_USAGE_H

#include "exec/run.h"

/* Of one stage in one pipe. Weights that pipes share are those of pipe 0, and 0 bytes in the others. */
typedef struct mr_usage {
	uint32_t versions; /* live at once; of private copies, in each */
	uint32_t buffers;  /* of weights: versions, predicted weights, and in pipe 0 what replicas share */
	uint32_t slots, boundaries;
	uint64_t weight_bytes, activation_bytes, boundary_bytes;
} mr_usage;

/** Fill @out [n_pipes][n_stages] with what the plan of @run predicts. Errors: those of mr_plan_liveness; MR_ERESOURCE.
 */
mr_status mr_usage_predict(const mr_run *run, mr_usage *out) MR_MUST_USE;

/** Fill @out [n_pipes][n_stages] with what has been counted. While paused. */
void mr_usage_count(const mr_run *run, mr_usage *out);

#endif
