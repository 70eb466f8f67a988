/*
 * state_copy.h - one pass over a state at a pause point by all cores that the workers have: it measures the weights
 * and, for a checkpoint that is written while the training goes on, copies all tensors.
 *
 * Tensors are cut into blocks of STATE_BLOCK bytes. Each thread takes a range of the blocks of each list, so that it
 * reads mostly what the worker on its core wrote, and writes pages that it has touched first. Each block of weights has
 * its own sum of squares, and blocks are added in their order: the sum depends neither on threads nor on timing.
 */
#ifndef MR_CHECKPOINT_STATE_COPY_H
#define MR_CHECKPOINT_STATE_COPY_H

#include "host/place.h"
#include "exec/state.h"

/** Bytes that all tensors of @st take in a copy. */
uint64_t mr_state_copy_bytes(const mr_state *st);

/**
 * Add up the squares of all numbers of st->model into *@squares, on the cores of @place. If @to is not NULL, copy every
 * tensor to @to, a page, where mr_state_copy_bytes(@st) have room; @st then points into the copy, where the tensors of
 * a list lie one behind the other from the beginning of a page. *@bad is the first tensor of the model with a number
 * that is not finite, or NULL. Errors: MR_ERESOURCE; nothing is copied then.
 */
mr_status mr_state_copy(mr_state *st, const mr_place *place, void *to, double *squares,
			const mr_saved_tensor **bad) MR_MUST_USE;

/* A copy that several threads make, tensor by tensor, of a run that goes on (exec/snapshot.h). */
typedef struct mr_state_copying mr_state_copying;

/** Prepare a copy of @st, which stays where it is, to @to, as mr_state_copy makes it; the data of a tensor are looked
 * at when it is copied. Free it by one of the last two functions. Errors: MR_ERESOURCE. */
mr_status mr_state_copying_begin(mr_state *st, void *to, mr_state_copying **out) MR_MUST_USE;

/** Copy tensor @i of list @list: mr_snapshot_copy with @arg as the copy. Thread: any, one a tensor. */
void mr_state_copying_copy(void *arg, int list, size_t i, const mr_kernels *k, mr_kctx *kc);

/** All tensors are copied: results as those of mr_state_copy; free @c. */
void mr_state_copying_end(mr_state_copying *c, double *squares, const mr_saved_tensor **bad);

/** Give it up. Accepts NULL. */
void mr_state_copying_drop(mr_state_copying *c);

#endif
