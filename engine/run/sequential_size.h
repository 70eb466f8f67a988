/*
 * sequential_size.h - what sequential training will allocate, without allocating it: for the memory plan. And how it will
 * handle gradients, on which that depends.
 */
#ifndef MR_RUN_SEQUENTIAL_SIZE_H
#define MR_RUN_SEQUENTIAL_SIZE_H

#include "run/sequential.h"

/**
 * Bytes by purpose; their sum is mr_sequential_bytes of a run made from @c, without its kernel context. Activations
 * count every value, its gradient and what layers save; boundaries are the targets. Nothing is stashed.
 */
void mr_sequential_size(const mr_sequential_config *c, mr_run_memory *out);

/** Does the last backward of a step carry out the optimizer steps? Not when it clips, nor with tied parameters, nor for an
 * optimizer of whole matrices. */
bool mr_sequential_steps_inside(const mr_sequential_config *c);

/** Then with one micro-batch a step no gradient outlives its layer: all lie in one place. */
bool mr_sequential_shares_grads(const mr_sequential_config *c);

/** Bytes that an optimizer of whole matrices works in; 0 for others. */
size_t mr_sequential_work_bytes(const mr_sequential_config *c);

#endif
