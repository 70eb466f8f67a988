/* kernel_memory.h - what the kernels of a session's workers will allocate, by the calls that their stages make. */
#ifndef MR_SESSION_KERNEL_MEMORY_H
#define MR_SESSION_KERNEL_MEMORY_H

#include "session/session.h"

typedef struct mr_kernel_bytes {
	uint64_t contexts; /* of all workers: primitives, packed operands, scratch */
	uint64_t code;     /* of the library, once a process */
} mr_kernel_bytes;

/** An estimate from above (nn/kernel_room.h) for all workers of @run.
 * Errors: MR_ERESOURCE, and those of making a stage. */
mr_status mr_kernel_memory(const mr_session *s, const mr_run *run, mr_kernel_bytes *out) MR_MUST_USE;

#endif
