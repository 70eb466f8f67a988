/*
 * sequential_size.h - what sequential training will allocate, without allocating it: for the memory plan.
 */
#ifndef MR_RUN_SEQUENTIAL_SIZE_H
#define MR_RUN_SEQUENTIAL_SIZE_H

#include "run/sequential.h"

/**
 * Bytes by purpose; their sum is mr_sequential_bytes of a run made from @c, without its kernel context. Activations
 * count every value, its gradient and what layers save; boundaries are the targets. Nothing is stashed.
 */
void mr_sequential_size(const mr_sequential_config *c, mr_run_memory *out);

#endif
