/*
 * zeroed.h - zeroed memory on cache lines of its own: for structs that several threads share, and for those that hold
 * such structs.
 */
#ifndef MR_BASE_ZEROED_H
#define MR_BASE_ZEROED_H

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/** @bytes zeros, which begin on a cache line and end with one; free() them. NULL: no memory. */
static inline void *mr_zeroed(size_t bytes)
{
	size_t n = mr_align_up(bytes ? bytes : 1, MR_CACHE_LINE);
	void *p = aligned_alloc(MR_CACHE_LINE, n);

	return p ? memset(p, 0, n) : NULL;
}

#endif
