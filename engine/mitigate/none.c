/* none.c - applies stale gradients unchanged. */
#include "mitigate/mitigate.h"

extern const mr_mitigate_ops mr_mitigate_none;
const mr_mitigate_ops mr_mitigate_none = {
	.name = MR_MITIGATE_NONE,
	.summary = "stale gradients count like fresh ones",
};
