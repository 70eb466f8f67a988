/*
 * version_count.h - counts the live weight versions of a stage during the run, for comparison with the plan's
 * prediction.
 *
 * Two events suffice: a version is made, and a version is read. Whether an old version is live shows only
 * later, when an instruction reads it. So each version u remembers up to which version it has been known to be live
 * (`seen`), and each version v counts how many were live when it was made (`with`: itself, and those older ones that
 * have been read since). A read of u adds 1 to each v in (seen(u), latest]. The number of live versions rises only
 * when one is made, so the largest `with` is the most at once. Each pair (u, v) is counted once: a commit costs as
 * many additions in all as there are older versions live.
 *
 * A step reads the version that it steps from, which is the latest; it may overwrite it, so that is no event. Predicted
 * weights (weights/predict.h) count as a read when they are made and not when they are used. Only training is counted.
 *
 * Thread: the owner of the stage, which makes versions and reads old ones. Other workers read only the latest
 * (stage_weights.h, check_versions.c), after its commit and before the next, which changes nothing here. With stage
 * replicas (ir/plan.h) the reads of the first part count for all, and the last part to step makes the version: the
 * first part reads after that, and the next version waits for its gradients.
 */
#ifndef MR_WEIGHTS_VERSION_COUNT_H
#define MR_WEIGHTS_VERSION_COUNT_H

#include <stdint.h>

#include "base/arena.h"

typedef struct mr_version_count {
	uint32_t cap;      /* version v lies in buffer v mod cap */
	uint64_t *seen;    /* [cap] by buffer */
	uint32_t *with;    /* [cap] */
	uint64_t latest;
	uint32_t live;     /* most versions live at once so far */
	uint32_t n_buffers; /* version buffers that have been written: the highest number, plus 1 */
} mr_version_count;

/** Take (or measure) the memory to count over @cap buffers. */
void mr_version_count_layout(mr_version_count *t, mr_arena *a, uint32_t cap);

/** Begin, or begin again, at the latest version @latest; older ones may yet be read. */
void mr_version_count_begin(mr_version_count *t, uint64_t latest);

/** Version @v is made. One that is made again after a rollback counts once. */
void mr_version_count_made(mr_version_count *t, uint64_t v);

/** Version @v, older than the latest, is read: it has been live until now. */
void mr_version_count_old(mr_version_count *t, uint64_t v);

/* Version @v is read. */
static inline void mr_version_count_read(mr_version_count *t, uint64_t v)
{
	if (v != t->latest)
		mr_version_count_old(t, v);
}

#endif
