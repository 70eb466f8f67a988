/* scratch.h - memory that a context works in, and that grows with the largest call. */
#ifndef MR_KERNELS_SCRATCH_H
#define MR_KERNELS_SCRATCH_H

#include <stddef.h>

#include "base/status.h"

/* Begins as zeros; at its end @at is freed. */
typedef struct mr_scratch {
	void *at;      /* of a page; NULL: there is none yet */
	size_t bytes;
} mr_scratch;

/** Make room for at least @bytes; where it has to grow its contents are lost. Then @at is not NULL, also for none.
 * Errors: MR_ERESOURCE, and it has no memory. */
mr_status mr_scratch_grow(mr_scratch *s, size_t bytes) MR_MUST_USE;

/**
 * Returns the bytes of its resident pages: all pages that were ever written. Scratch is as large as the largest product
 * of any shape needs; small products touch little of it. Returns all bytes where the system does not report residency.
 */
size_t mr_scratch_touched(const mr_scratch *s);

#endif
