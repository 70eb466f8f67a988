/* traffic.h - bytes that a step of a run over ranks sends between them, by its plan; run->link_bytes counts them. */
#ifndef MR_RANKS_TRAFFIC_H
#define MR_RANKS_TRAFFIC_H

#include "exec/run.h"

/** Add the bytes a step from rank i to rank j to @out[i * ranks + j], which is zeros. The channels are open. A plan
 * that never repeats has none. */
void mr_rank_traffic(const mr_run *run, double *out);

#endif
