/*
 * version_count.h - which weight versions of a stage are live, counted while the run goes on: to be compared with what
 * the plan predicts.
 *
 * Two events say all: a version is made, and a version is read. That an old version was live at some moment shows only
 * later, when something reads it. So each version u remembers up to which version it has been known to be live
 * (`seen`), and each version v counts how many were live when it was made (`with`: itself, and those older ones that
 * have been read since). A read of u adds 1 to each v in (seen(u), latest]. The number of live versions rises only
 * where one is made, so the largest `with` is the most at once. Each pair (u, v) is counted once: a commit costs as
 * many additions in all as there are older versions live.
 *
 * A step reads the version that it steps from, which is the latest; it may overwrite it, so that is no event. Predicted
 * weights (weights/predict.h) read when they are made and not when they are used. Only training is counted.
 *
 * Thread: the owner of the stage, which makes versions and reads old ones. Other workers read the latest alone
 * (stage_weights.h, check_versions.c), behind its commit and before the next, which changes nothing here. With stage
 * replicas (ir/plan.h) the reads of the first part count for all, and the last part to step makes the version: the
 * first part reads behind that, and the next version waits for its gradients.
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

/** Begin, or begin again, where @latest is the latest version; older ones may yet be read. */
void mr_version_count_begin(mr_version_count *t, uint64_t latest);

/** Version @v is made. One that is made again, because it was taken back, is the same. */
void mr_version_count_made(mr_version_count *t, uint64_t v);

/** Version @v, older than the latest, is read: it was live all the time. */
void mr_version_count_old(mr_version_count *t, uint64_t v);

/* Version @v is read. */
static inline void mr_version_count_read(mr_version_count *t, uint64_t v)
{
	if (v != t->latest)
		mr_version_count_old(t, v);
}

#endif
