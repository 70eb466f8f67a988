/*
 * size.h - size arithmetic that notices overflow.
 *
 * Every size that depends on a file or on a configuration goes through here before it reaches an allocation: a product
 * that wraps around would give a small block and a large loop.
 */
#ifndef MR_BASE_SIZE_H
#define MR_BASE_SIZE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of a cache line: threads that write must not share one. Also the alignment of every tensor and arena. */
#define MR_CACHE_LINE 64

/** *@out = @a + @b. False, and *@out untouched, when the sum does not fit. */
static inline bool mr_size_add(size_t a, size_t b, size_t *out)
{
	if (a > SIZE_MAX - b)
		return false;
	*out = a + b;
	return true;
}

/** *@out = @a * @b. False, and *@out untouched, when the product does not fit. */
static inline bool mr_size_mul(size_t a, size_t b, size_t *out)
{
	if (b && a > SIZE_MAX / b)
		return false;
	*out = a * b;
	return true;
}

/**
 * @n rounded up to a multiple of @a, a power of two. @n must not lie within @a - 1 of SIZE_MAX: sizes come from
 * mr_size_add and mr_size_mul and were compared with the machine's memory first.
 */
static inline size_t mr_align_up(size_t n, size_t a)
{
	assert(a && !(a & (a - 1)) && n <= SIZE_MAX - (a - 1));
	return (n + (a - 1)) & ~(a - 1);
}

#define MR_STAGGER_PAGE 4096u /* bytes: addresses this far apart map to the same sets of a first-level cache */
/* Bytes: five arrays this far apart modulo a page use different sets, and a tile of two lines fits between. */
#define MR_STAGGER 832u

/**
 * The bytes to take from an arena for an array of @n bytes when other arrays of its size that are read and written at
 * the same index follow it (weights, their versions, optimizer state). From a page on the result is no multiple of a
 * page, so that equal indices of the arrays map to different sets of the cache. It is a multiple of MR_CACHE_LINE if
 * @n is one. @n as for mr_align_up.
 */
static inline size_t mr_stagger(size_t n)
{
	return n < MR_STAGGER_PAGE ? n : n + (MR_STAGGER - n) % MR_STAGGER_PAGE;
}

#endif
