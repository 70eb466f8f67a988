/* traffic.h - bytes that a step of a run over ranks sends between them, by its plan; run->link_bytes counts them. And
 * those of its messages of which a library of messages may have copies. */
#ifndef MR_RANKS_TRAFFIC_H
#define MR_RANKS_TRAFFIC_H

#include "exec/run.h"

/** Add the bytes a step from rank i to rank j to @out[i * ranks + j], which is zeros. The channels are open. A plan
 * that never repeats has none. */
void mr_rank_traffic(const mr_run *run, double *out);

/** Bytes of the messages that may be under way at once between this rank and those that are @far, [ranks], both ways,
 * of each message at most @most. Of stages whose ranges take turns in a buffer or a room (weights/ranges.h)
 * the largest counts. Of a run that is laid out. */
uint64_t mr_rank_copies(const mr_run *run, const bool *far, uint64_t most);

#endif
