/*
 * race.h - the position of a worker in a racing plan, and a log of what it did (racing.c, record.c).
 *
 * Thread: the worker.
 */
#ifndef MR_EXEC_FEATURES_RACE_H
#define MR_EXEC_FEATURES_RACE_H

#include <stdint.h>

#include "base/status.h"
#include "exec/acquired.h"

/* One instruction that has been carried out: the next F or the next B, and the version that it read. */
typedef struct mr_race_rec {
	uint32_t op, read;
} mr_race_rec;

typedef struct mr_race {
	uint64_t n_f, n_b; /* F and B done */
	uint32_t back;     /* place in the body of the next instruction that is no F */
	mr_acquired held[2]; /* acquisitions for the next F, and for the next of the others */
	mr_race_rec *log;  /* [room] F and B in the order in which they were done; NULL: they are not recorded */
	uint64_t n_log, room;
} mr_race;

/** With @record_micro > 0 there is room to record this many micro-batches. Errors: MR_ERESOURCE. */
mr_status mr_race_create(uint64_t record_micro, mr_race **out) MR_MUST_USE;
void mr_race_destroy(mr_race *r); /* accepts NULL */

/** Return to the start, with @n micro-batches done and nothing recorded. While no worker runs. */
void mr_race_reset(mr_race *r, uint64_t n);

/** Record @op, which has read version @read, if there is room. */
void mr_race_note(mr_race *r, uint32_t op, uint64_t read);

#endif
