/*
 * row_index.h - which rows of a table a micro-batch meets, and where: the rows in the order in which they are first
 * met, and for each the places that meet it, in ascending order.
 *
 * Its memory is the caller's, as large as the number of places and not as the table: a hash table finds a row again.
 * So the gradient of a table is a sum over the places of each row that is met, and rows can be shared out to threads.
 */
#ifndef MR_NN_ROW_INDEX_H
#define MR_NN_ROW_INDEX_H

#include <stddef.h>
#include <stdint.h>

typedef struct mr_row_index {
	int32_t n;      /* rows that are met */
	int32_t *row;   /* [n] their numbers */
	int32_t *first; /* [n] the first place of each */
	int32_t *last;  /* [n] the last one */
	int32_t *next;  /* [places] the next place of the same row; -1: none */
	int32_t *slot;  /* the hash table: 1 + index into @row; 0: free */
	uint32_t slots; /* a power of 2 */
} mr_row_index;

/** Slots of a hash table for up to @n rows: a power of 2. At least half stay free, so that few are looked at. */
static inline uint32_t mr_row_slots(int64_t n)
{
	uint32_t slots = 4;

	while ((int64_t)slots < 2 * n)
		slots *= 2;
	return slots;
}

/** The slot of @row in the hash table @slot of @slots, or the free one that it would get: slots hold 1 + the index of a
 * row in @rows, or 0. */
static inline int32_t *mr_row_slot(int32_t *slot, uint32_t slots, const int32_t *rows, int32_t row)
{
	uint32_t at = (uint32_t)row * 0x9e3779b1u;

	for (at = (at ^ at >> 15) & (slots - 1); slot[at] && rows[slot[at] - 1] != row;)
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

/** Bytes of memory for up to @places places. */
size_t mr_row_index_bytes(int64_t places);

/** Begin an empty index for up to @places places, numbered from 0, in @memory, aligned as int32. */
void mr_row_index_begin(mr_row_index *x, int64_t places, void *memory);

/** Place @place meets row @row. Places come in ascending order. */
void mr_row_index_meet(mr_row_index *x, int32_t row, int32_t place);

#endif
