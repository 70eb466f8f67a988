/*
 * boundary.h - the buffer that crosses from one stage to the next: every value that is live before a node.
 *
 * A boundary's buffer holds the live values one after the other, in ascending order of their numbers, each at an offset
 * that is a multiple of a cache line; the buffer of their gradients holds those that have one (all but the model's
 * input) in the same order. With one live value both are that tensor alone.
 *
 * A value that is read after the next stage passes through that stage, which copies it from the buffer that it reads to
 * the buffer that it writes. Its gradient comes back through the same stages. Each stage receives the sum over the
 * readers after it, and its own readers then add to that, the last one first. That is the order of plain training, so
 * the bits are the same wherever the model is cut.
 */
#ifndef MR_STAGE_BOUNDARY_H
#define MR_STAGE_BOUNDARY_H

#include "planner/graph.h"

#define MR_NO_GRAD SIZE_MAX

typedef struct mr_boundary_part {
	uint16_t value;
	size_t at;      /* offset of the value in the buffer of values */
	size_t grad_at; /* of its gradient in the buffer of gradients; MR_NO_GRAD: it has none */
} mr_boundary_part;

typedef struct mr_boundary {
	uint32_t n;
	mr_boundary_part *part; /* [n], owned */
	size_t bytes, grad_bytes;
} mr_boundary;

/** Make the boundary before @node of @g for micro-batches of @samples; after the last node no value crosses. End with
 * mr_boundary_fini. Errors: MR_ERESOURCE. */
mr_status mr_boundary_make(const mr_graph *g, uint32_t node, int64_t samples, mr_dtype dtype,
			   mr_boundary *out) MR_MUST_USE;
void mr_boundary_fini(mr_boundary *b);

/** The part of @value, or NULL. */
const mr_boundary_part *mr_boundary_find(const mr_boundary *b, uint16_t value);

#endif
