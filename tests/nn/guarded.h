/*
 * guarded.h - arrays of f32 that end at a protected page, or begin after one: a kernel that reads or writes beyond them
 * stops the test at once, even if it does not use what it read. The rest of the array's pages is filled with a mark,
 * which is checked when the array is freed.
 */
#ifndef MR_TESTS_NN_GUARDED_H
#define MR_TESTS_NN_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct guarded {
	float *p;
	size_t n;    /* floats */
	char *map;   /* page | pages of the array | page */
	size_t pages; /* between the two */
} guarded;

/** @n floats, undefined: the last one (@at_end) or the first one next to a page without access. */
guarded guarded_make(int64_t n, bool at_end);

/** The same with numbers in [lo, hi) that follow from @stream. */
guarded guarded_fill(int64_t n, bool at_end, uint32_t stream, float lo, float hi);

/** From now on the array may only be read. */
void guarded_freeze(const guarded *g);

/** Fails the test when something beside the array was written. */
void guarded_free(guarded *g);

/** Number @i of @stream in [lo, hi); @lo where both are equal. */
static inline float number_of(uint32_t stream, int64_t i, float lo, float hi)
{
	uint32_t z = ((uint32_t)i + stream * 0x10001u) * 0x9E3779B9u;

	z = (z ^ z >> 16) * 0x85EBCA6Bu;
	return lo + (hi - lo) * (float)((z ^ z >> 13) >> 8) / (1 << 24);
}

#endif
