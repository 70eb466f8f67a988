/*
 * lifetime.h - offsets for tensors that live only for a while, so that tensors whose lives do not overlap share bytes.
 *
 * First fit by birth: items are placed in the order in which they are added (the program's order), each at the lowest
 * offset that no item alive at the same time holds. Not optimal, but deterministic, and within a few percent on layer
 * chains.
 */
#ifndef MR_STAGE_LIFETIME_H
#define MR_STAGE_LIFETIME_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mr_lifetime_item {
	uint32_t born, dies; /* both included */
	size_t offset, bytes;
} mr_lifetime_item;

/* Grows on the heap; init with {0}. */
typedef struct mr_lifetime {
	mr_lifetime_item *item;
	uint32_t n;
	size_t bytes; /* size of the whole so far */
} mr_lifetime;

/** Place @bytes (rounded up to a cache line) for [@born, @dies]; *@offset is its place. Errors: MR_ERESOURCE. */
mr_status mr_lifetime_add(mr_lifetime *l, uint32_t born, uint32_t dies, size_t bytes, size_t *offset) MR_MUST_USE;

void mr_lifetime_fini(mr_lifetime *l);

#endif
