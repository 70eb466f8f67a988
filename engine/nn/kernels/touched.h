/* touched.h - how much of a scratch area is in use. */
#ifndef MR_KERNELS_TOUCHED_H
#define MR_KERNELS_TOUCHED_H

#include <stddef.h>

/**
 * Bytes of the pages of [@p, @p + @bytes) that memory lies behind: all that was ever written to. Scratch is as large as
 * the largest product of any shape needs; small products touch little of it. @p may be NULL. Where the system does not
 * tell: @bytes.
 */
size_t mr_touched_bytes(const void *p, size_t bytes);

#endif
