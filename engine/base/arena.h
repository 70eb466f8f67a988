/*
 * arena.h - a bump arena on the caller's memory, which can also only measure.
 *
 * millrace computes all sizes first, allocates once and then points into the block. To keep the two passes from ever
 * disagreeing, one layout function does both: with @base == NULL every take returns NULL but advances @used as
 * usual, so the first pass yields the bytes needed; the second pass runs the same function on memory of that size.
 *
 *	static void lay_out(struct state *s, mr_arena *a)
 *	{
 *		s->weights = mr_arena_take(a, s->n_params * sizeof(float), MR_CACHE_LINE);
 *		s->grads = mr_arena_take(a, s->n_params * sizeof(float), MR_CACHE_LINE);
 *	}
 *	...
 *	mr_arena_init(&a, NULL, 0); lay_out(&s, &a); bytes = a.used;
 *	mr_arena_init(&a, aligned_alloc(MR_CACHE_LINE, mr_align_up(bytes, MR_CACHE_LINE)), bytes); lay_out(&s, &a);
 *
 * Nothing is freed one by one: the memory belongs to the caller, and so does its lifetime. An arena is used by one
 * thread.
 */
#ifndef MR_BASE_ARENA_H
#define MR_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct mr_arena {
	uint8_t *base; /* borrowed; NULL: measure only */
	size_t size;   /* bytes at @base; SIZE_MAX when measuring */
	size_t used;   /* bytes taken so far, padding included; SIZE_MAX once a measurement overflowed */
} mr_arena;

/**
 * Begin with @bytes bytes at @mem, or, with @mem == NULL, begin to measure (@bytes is then ignored). Offsets are
 * aligned relative to @mem, so @mem itself must be aligned to the largest alignment taken; takes assert it.
 */
void mr_arena_init(mr_arena *a, void *mem, size_t bytes);

/**
 * Take @bytes bytes at a multiple of @align (a power of two). Memory is not cleared. Zero bytes give a valid pointer
 * that may equal the next one.
 * Returns NULL when measuring, and when the arena is too small; @used does not move in the second case. When
 * measuring, an overflowing sum pins @used at SIZE_MAX, which no allocation satisfies.
 */
void *mr_arena_take(mr_arena *a, size_t bytes, size_t align);

#endif
