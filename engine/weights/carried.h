/*
 * carried.h - the values that layers carry from one micro-batch to another (nn/layer.h): the state of an LSTM.
 *
 * The data come in columns, one for each sample of a step. Micro-batch m has the columns of place m mod n_micro in step
 * m div n_micro, its window, and continues micro-batch m - n_micro: it begins with the values with which that one
 * ended, or with zeros in the first window of an epoch. F of m writes the entry of m + n_micro. I, W and a repetition
 * of F read the entry of m again, so the entries of several windows are kept, for each place one behind the other.
 * There is one set of entries for all versions and pipes of a stage, in each process: the values carry whatever weights
 * made them, and gradients do not.
 *
 * Thread: the micro-batches of a place pass a stage on one worker, in ascending order, and it alone uses their entries;
 * in any other order mr_carried_check fails. Where several threads take W from that worker, an entry is used until the
 * slot is given back. Saving and loading is done while no worker runs.
 */
#ifndef MR_WEIGHTS_CARRIED_H
#define MR_WEIGHTS_CARRIED_H

#include "base/arena.h"
#include "base/status.h"
#include "planner/graph.h"

typedef struct mr_carried {
	uint32_t n_micro;   /* micro-batches of a step */
	uint32_t depth;     /* windows for which entries are kept */
	uint64_t n_windows; /* of an epoch */
	uint64_t first;     /* the window whose entries lie first */
	size_t bytes;       /* of an entry */
	uint8_t *entry;     /* [depth][n_micro][bytes] */
	uint64_t *micro;    /* [depth][n_micro] the micro-batch that begins with the entry */
} mr_carried;

/** Take (or measure) the memory, of which the first five fields say how much. */
void mr_carried_layout(mr_carried *c, mr_arena *a);
uint64_t mr_carried_bytes(const mr_carried *c);

/** Set all entries to zeros that belong to no micro-batch. */
void mr_carried_init(mr_carried *c);

/** Stand before @window, whose entries lie first (in a plan that drains) or are wherever they were. Entries that were
 * not restored are not valid. */
void mr_carried_stand(mr_carried *c, uint64_t window, bool drained);

/** The entry with which @micro begins; NULL: zeros. */
const void *mr_carried_begin(const mr_carried *c, uint64_t micro);

/** Is that entry still, or already, the one of @micro? Else MR_EINVAL, with a message that names @stage. A stage that
 * carries nothing has no entry, and a checkpoint none of it. */
mr_status mr_carried_check(const mr_carried *c, uint64_t micro, uint32_t stage) MR_MUST_USE;

/** The entry for F of @micro to fill. */
void *mr_carried_end(mr_carried *c, uint64_t micro);

/** The entry of the micro-batch at place @place of @window. */
uint8_t *mr_carried_next(const mr_carried *c, uint64_t window, uint32_t place);

/** Does a layer of @g carry values? */
bool mr_carried_is_in(const mr_graph *g);

#endif
