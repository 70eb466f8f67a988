/*
 * staleness_aware.c - a gradient that is d commits old steps with lr / (d + 1).
 *
 * Source: Zhang et al., "Staleness-aware async-SGD for distributed deep learning", IJCAI 2016, which divides by d
 * itself and leaves d = 0 alone; with d + 1 the rate falls from the first stale commit on.
 */
#include "mitigate/mitigate.h"

static double rate(const mr_mitigate *m, uint64_t age)
{
	(void)m;
	return 1 / ((double)age + 1);
}

extern const mr_mitigate_ops mr_mitigate_staleness_aware;
const mr_mitigate_ops mr_mitigate_staleness_aware = {
	.name = "staleness_aware",
	.summary = "a gradient d commits old steps with lr / (d + 1)",
	.source = "Zhang et al., Staleness-aware async-SGD, IJCAI 2016",
	.rate = rate,
};
