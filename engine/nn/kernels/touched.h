/* touched.h - how much of a scratch area is in use. */
#ifndef MR_KERNELS_TOUCHED_H
#define MR_KERNELS_TOUCHED_H

#include <stddef.h>

/**
 * Returns the bytes of the resident pages of [@p, @p + @bytes): all pages that were ever written. Scratch is as large
 * as the largest product of any shape needs; small products touch little of it. @p may be NULL. Returns @bytes where
 * the system does not report residency.
 */
size_t mr_touched_bytes(const void *p, size_t bytes);

#endif
