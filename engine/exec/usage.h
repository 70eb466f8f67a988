/*
 * usage.h - each stage's storage that training has used at once, counted, beside the prediction of its plan.
 *
 * Counted: live weight versions (version_count.h); weight buffers that were written, of versions and of predicted
 * weights; activation slots taken at once; boundary buffers between stages that were written. Each is counted when it
 * is taken, since the run was last reset. The plan fixes buffer numbers, so the counts do not depend on
 * timing, except the slots of a racing plan, which has room for any order.
 * Predicted: the same from the plan's lists and the numbers of the lowering; a run that is too short to fill
 * its pipeline stays below. Not counted: storage allocated exactly once (gradients, optimizer state, scratch),
 * and the loader's buffers.
 */
#ifndef MR_EXEC_USAGE_H
#define MR_EXEC_USAGE_H

#include "exec/run.h"

/* Of one stage in one pipe. Weights that pipes share are those of pipe 0, and 0 bytes in the others. */
typedef struct mr_usage {
	uint32_t versions; /* live at once; of private copies, in each */
	uint32_t buffers;  /* of weights: versions, predicted weights, and in pipe 0 the shared ones of replicas */
	uint32_t slots, boundaries;
	uint64_t weight_bytes, activation_bytes, boundary_bytes;
} mr_usage;

/** Fill @out [n_pipes][n_stages] with the prediction of @run's plan. Errors: those of mr_plan_liveness; MR_ERESOURCE.
 */
mr_status mr_usage_predict(const mr_run *run, mr_usage *out) MR_MUST_USE;

/** Fill @out [n_pipes][n_stages] with the counts. While paused. */
void mr_usage_count(const mr_run *run, mr_usage *out);

#endif
