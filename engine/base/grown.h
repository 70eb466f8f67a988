/*
 * grown.h - arrays that grow by one entry at a time, whose room nobody has to keep.
 */
#ifndef MR_BASE_GROWN_H
#define MR_BASE_GROWN_H

#include <stdlib.h>

/** @array, of @n entries of @size bytes that came one by one, with room for one more. NULL: no memory, and @array stays
 * as it is. The room is the next power of two. */
static inline void *mr_grown(void *array, size_t n, size_t size)
{
	const size_t least = 16;

	if (n == 0 || (n >= least && (n & (n - 1)) == 0))
		return reallocarray(array, n ? 2 * n : least, size);
	return array;
}

#endif
