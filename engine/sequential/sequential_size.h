/*
 * sequential_size.h - what sequential training will allocate, without allocating it: for the memory plan. And how it
 * will handle gradients, on which that depends.
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_SIZE_H
#define MR_SEQUENTIAL_SEQUENTIAL_SIZE_H

#include "sequential/sequential.h"

/**
 * Bytes by purpose; their sum is mr_sequential_bytes of a run made from @c, without its kernel context. Activations
 * count the values that a backward half reads and what layers save; scratch what passes (sequential_layout.h) and what
 * one call works in; boundaries are the targets. Nothing is stashed. Errors: MR_ERESOURCE.
 */
mr_status mr_sequential_size(const mr_sequential_config *c, mr_run_memory *out) MR_MUST_USE;

/** Does the last backward of a step carry out the optimizer steps? Not when it clips, nor for an optimizer of whole
 * matrices. */
bool mr_sequential_steps_inside(const mr_sequential_config *c);

/** Where the gradient of a parameter lies. All but the first need steps inside, one micro-batch a step, and no
 * measurement of gradients afterwards. */
typedef enum mr_grad_home {
	MR_GRAD_OWN,    /* in a place of its own */
	MR_GRAD_SHARED, /* it does not outlive its layer: all such lie in one place */
	MR_GRAD_SPARSE, /* only rows that occur have one, in mr_sparse_rows (nn/sparse_rows.h); that of the parameter
	                   tied to it is shared, or where norms are asked for has a place of its own: at those steps it
	                   is made whole there */
} mr_grad_home;

mr_grad_home mr_sequential_grad_home(const mr_sequential_config *c, uint32_t p);

/** The parameter whose gradient is MR_GRAD_SPARSE, a token embedding's that a head is tied to; UINT32_MAX: none. */
uint32_t mr_sequential_sparse_param(const mr_sequential_config *c);

/** The memory of that, from @a, if there is one. */
void mr_sequential_layout_sparse(const mr_sequential_config *c, mr_sparse_rows *f, mr_arena *a);

/** Bytes of the place of those that are shared. */
uint64_t mr_sequential_shared_grads(const mr_sequential_config *c);

/** The parameter that is tied to @p: the first; UINT32_MAX: none. */
uint32_t mr_sequential_tied_user(const mr_graph *g, uint32_t p);

/** Is the step of @p, an owner, carried out behind the backward passes although steps are inside? */
bool mr_sequential_steps_late(const mr_sequential_config *c, uint32_t p);

/** The value that enters the loss, which leaves its gradient in its place: that of it needs none. */
static inline uint32_t mr_sequential_ends_in(const mr_graph *g)
{
	return g->nodes[g->n_nodes - 1].in[0];
}

/** Bytes that an optimizer of whole matrices works in; 0 for others. */
size_t mr_sequential_work_bytes(const mr_sequential_config *c);

#endif
