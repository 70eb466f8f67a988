/* kernel_memory.h - what the kernels of a session's workers will allocate, by the calls that their stages make. */
#ifndef MR_SESSION_KERNEL_MEMORY_H
#define MR_SESSION_KERNEL_MEMORY_H

#include "session/session.h"

/** An estimate from above (nn/kernel_room.h) for all workers of @run.
 * Errors: MR_ERESOURCE, and those of making a stage. */
mr_status mr_kernel_memory(const mr_session *s, const mr_run *run, uint64_t *out) MR_MUST_USE;

#endif
