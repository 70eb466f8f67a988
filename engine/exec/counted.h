/*
 * counted.h - what the processor counted while a worker carried out its instructions: sums for each stage and
 * operation. Waits between them do not count.
 */
#ifndef MR_EXEC_COUNTED_H
#define MR_EXEC_COUNTED_H

#include "base/status.h"
#include "host/perf_events.h"
#include "ir/plan.h"

typedef struct mr_counted_sum {
	uint64_t n;      /* instructions */
	uint64_t n_micro; /* their micro-batches: more where they are merged */
	uint64_t ns;
	mr_perf_counts counts;
} mr_counted_sum;

/* Written by its worker, read by others while it is idle. */
typedef struct mr_counted {
	mr_perf_events events;
	mr_perf_counts before; /* at the begin of the current instruction */
	uint64_t before_ns;
	uint16_t n_stages;
	mr_counted_sum *sum;   /* [n_stages][MR_N_OPS] */
	char missing[512];     /* mr_perf_events_missing */
} mr_counted;

/** Room for the sums of @n_stages. Errors: MR_ERESOURCE. */
mr_status mr_counted_create(uint16_t n_stages, mr_counted **out) MR_MUST_USE;
void mr_counted_destroy(mr_counted *c);

/** Open and close the events of the calling worker and its team of @n_threads. */
void mr_counted_open(mr_counted *c, uint32_t n_threads);
void mr_counted_close(mr_counted *c);

/** Around one instruction of @stage, of @n_micro micro-batches. */
void mr_counted_begin(mr_counted *c);
void mr_counted_end(mr_counted *c, uint16_t stage, mr_op op, uint32_t n_micro);

#endif
