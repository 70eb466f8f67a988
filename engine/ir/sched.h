/*
 * sched.h - what a file in schedules/ sees: the narrow door through which a pipeline system emits its instructions.
 *
 * A system is one file that fills one mr_sched_ops and one line in schedules/schedules.def. Its emit() states the contract,
 * places the stages and appends compute instructions (F, B, I, W, R), worker by worker in the order in which that worker
 * carries them out. It adds no optimizer step, version, slot or hand-over: the lowering does, alike for all systems.
 *
 * Call order, all on the caller's thread: check (may be NULL) -> emit. emit may fail with MR_ECONFIG and a sentence when D, T or an option
 * does not suit the system (such as an odd D for a bidirectional one).
 */
#ifndef MR_IR_SCHED_H
#define MR_IR_SCHED_H

#include "base/option.h"
#include "ir/plan.h"

typedef struct mr_sched_args {
	uint16_t n_workers;       /* D >= 1 */
	uint16_t chunks;          /* v >= 1: stages a worker hosts; S = v D for the systems that use it */
	uint32_t n_micro;         /* T >= 1: micro-batches an iteration (synchronous), or of the finite list (asynchronous) */
	bool finite;              /* asynchronous systems: emit the T micro-batches as a finite prologue, drain included;
	                             otherwise prologue and endless body */
	const mr_values *options; /* values of the system's own table; never NULL when the table is not */
} mr_sched_args;

/* What the system promises over all D and T; the law tests hold it to it. */
typedef struct mr_sched_claims {
	double bubble_time;         /* makespan - busy of the longest worker, for unit costs f = i = w = 1; < 0: no claim */
	uint32_t peak_slots_first;  /* slots of (pipe 0) stage 0 and of the last stage; 0: no claim */
	uint32_t peak_slots_last;
	uint32_t versions_first;    /* version buffers of stage 0 and of the last stage; 0: no claim */
	uint32_t versions_last;
} mr_sched_claims;

typedef struct mr_sched_ops {
	const char *name;           /* as users write it */
	const char *summary;        /* one line for `list systems` */
	const char *source;         /* paper and section */
	const mr_option *options;   /* NULL: none */
	bool asynchronous;          /* commits without flushing; T is 1 a commit */
	uint32_t (*default_micro)(uint16_t n_workers); /* micro-batches a commit when the user names none */
	mr_status (*emit)(const mr_sched_args *args, mr_plan **out);
	void (*claims)(const mr_sched_args *args, mr_sched_claims *out); /* may be NULL */
} mr_sched_ops;

/** Append one compute instruction to @worker's list in @section. */
mr_status mr_sched_emit(mr_plan *plan, uint16_t worker, mr_section section, mr_op op, uint32_t micro, uint16_t stage,
			uint8_t pipe) MR_MUST_USE;

#endif
