/*
 * trace.h - what happened when, on which worker: the record that all executors write.
 *
 * One record an instruction. Waiting time is recorded with the instruction that waited, by cause, so that all idle time
 * has a cause. Times are nanoseconds since the start of the run (walk: the cost table's unit, rounded).
 */
#ifndef MR_IR_TRACE_H
#define MR_IR_TRACE_H

#include <stdint.h>

#include "ir/plan.h"

/* Why a worker waits. The codes are also what the watchdog prints. */
typedef enum mr_wait_cause {
	MR_WAIT_NONE,
	MR_WAIT_UPSTREAM,   /* the input of an F, or the gradient of a B, is not there yet */
	MR_WAIT_DOWNSTREAM, /* no free boundary buffer to write into */
	MR_WAIT_WEIGHTS,    /* another worker's version, reduction or barrier */
	MR_WAIT_OPTIMIZER,  /* the global gradient norm */
	MR_WAIT_DATA,       /* the loader */
	MR_WAIT_DESCHEDULED, /* the core: the thread was ready to run, and another program had it (part of a wait for
	                        something else) */
	MR_N_WAITS
} mr_wait_cause;

typedef struct mr_trace_rec {
	uint64_t begin_ns; /* compute began (after waiting) */
	uint64_t end_ns;
	uint32_t wait_ns[MR_N_WAITS]; /* waited before begin_ns, by cause; saturates at 4.29 s */
	uint32_t micro;
	uint32_t lost_ns;  /* of begin_ns to end_ns: the thread was ready, and another program had the core */
	uint32_t version;  /* read by F B I W; committed by U */
	uint16_t stage;
	uint16_t worker;
	uint8_t op;
	uint8_t pipe;
	uint16_t share;    /* of the worker (exec/shares.h), in records of several shares */
	uint32_t n_commits; /* engine, replay: commits of all stages when this began; of an op that commits, those
	                       before its own */
} mr_trace_rec;

#endif
