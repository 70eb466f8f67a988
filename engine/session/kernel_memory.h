/*
 * kernel_memory.h - what the kernels of a session's workers will allocate, and which code executes them, by the calls
 * that their stages make. Making them writes memory of the size of a stage: it is done before a run has its own.
 */
#ifndef MR_SESSION_KERNEL_MEMORY_H
#define MR_SESSION_KERNEL_MEMORY_H

#include "session/session.h"
#include "stage/stage_calls.h"

typedef struct mr_kernel_bytes {
	uint64_t contexts; /* of all workers: primitives, packed operands, scratch */
	uint64_t code;     /* of the library, once a process */
	mr_flops_by flops;
} mr_kernel_bytes;

/** The calls of stage @i of the plan of @s, which @run would carry out. The caller
 * calls mr_stage_calls_fini, also after an error. Errors: MR_ERESOURCE. */
mr_status mr_session_stage_calls(const mr_session *s, const mr_run *run, uint16_t i, mr_stage_calls *c) MR_MUST_USE;

/** An estimate from above (nn/kernel_room.h) for all workers of @run.
 * Errors: MR_ERESOURCE, and those of making a stage. */
mr_status mr_kernel_memory(const mr_session *s, const mr_run *run, mr_kernel_bytes *out) MR_MUST_USE;

#endif
