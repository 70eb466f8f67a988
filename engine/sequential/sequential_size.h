/*
 * sequential_size.h - the memory that sequential training will allocate, computed for the memory plan; and where it
 * keeps gradients, on which that depends.
 */
#ifndef MR_SEQUENTIAL_SEQUENTIAL_SIZE_H
#define MR_SEQUENTIAL_SEQUENTIAL_SIZE_H

#include "sequential/sequential.h"
#include "weights/carried.h"

/**
 * Bytes by purpose; their sum is mr_sequential_bytes of a run made from @c, without its kernel context. Activations
 * count the values that a backward half reads and the data that layers save; scratch counts sequential_layout.h's
 * passing tensors and the work memory of one call; boundaries are the targets. There are no stashes. Errors:
 * MR_ERESOURCE.
 */
mr_status mr_sequential_size(const mr_sequential_config *c, mr_run_memory *out) MR_MUST_USE;

/** Does the last backward of a step carry out the optimizer steps? Not when it clips, nor for an optimizer of whole
 * matrices. */
bool mr_sequential_steps_inside(const mr_sequential_config *c);

/** Where the gradient of a parameter lies. All but the first need steps inside, one micro-batch a step, and no
 * measurement of gradients afterwards. */
typedef enum mr_grad_home {
	MR_GRAD_OWN,    /* in a place of its own */
	MR_GRAD_SHARED, /* it does not outlive its layer: all such gradients lie in one place */
	MR_GRAD_SPARSE, /* only rows that occur have one, in mr_sparse_rows (nn/sparse_rows.h). The gradient of the
	                   parameter tied to it is shared; or, if norms are requested, it has a place of its own, in
	                   which the whole gradient is built at those steps */
} mr_grad_home;

mr_grad_home mr_sequential_grad_home(const mr_sequential_config *c, uint32_t p);

/** Rows that the sum of parameter @p's gradient may have (nn/row_sum.h), a table of which a step meets few; 0: it is
 * that of all rows. */
int64_t mr_sequential_rows_of(const mr_sequential_config *c, uint32_t p);
/** Bytes of the gradient of parameter @p. */
size_t mr_sequential_grad_bytes(const mr_sequential_config *c, uint32_t p);

/** The parameter whose gradient is MR_GRAD_SPARSE: a token embedding's to which a head is tied; UINT32_MAX: none. */
uint32_t mr_sequential_sparse_param(const mr_sequential_config *c);

/** Take its memory from @a, if there is such a parameter. */
void mr_sequential_layout_sparse(const mr_sequential_config *c, mr_sparse_rows *f, mr_arena *a);

/** Bytes of the place of the gradients that are MR_GRAD_SHARED. */
uint64_t mr_sequential_shared_grads(const mr_sequential_config *c);

/** The first parameter that is tied to @p; UINT32_MAX: none. */
uint32_t mr_sequential_tied_user(const mr_graph *g, uint32_t p);

/** Is the step of @p, an owner, carried out after the backward passes although steps are inside? */
bool mr_sequential_steps_late(const mr_sequential_config *c, uint32_t p);

/** The value that enters the loss. The loss leaves its gradient in its place, so it needs no memory for that. */
static inline uint32_t mr_sequential_ends_in(const mr_graph *g)
{
	return g->nodes[g->n_nodes - 1].in[0];
}

/** Bytes of each value that @node carries, for one micro-batch; returns their number. */
uint32_t mr_sequential_carried_bytes(const mr_sequential_config *c, uint32_t node, size_t bytes[MR_LAYER_CARRIED]);
/** What all layers carry, without memory and without the windows of an epoch; bytes 0: nothing. */
mr_carried mr_sequential_carries(const mr_sequential_config *c);

/** Bytes of work memory of an optimizer of whole matrices; 0 for others. */
size_t mr_sequential_work_bytes(const mr_sequential_config *c);

#endif
