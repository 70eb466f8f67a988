/*
 * factors.h - the square matrices that an optimizer keeps of a stage's hidden matrices beside its states
 * (mr_optim_ops.factor_side), all in one block. Each belongs to the shard to which its whole matrix does, whose worker
 * alone reads and writes it.
 */
#ifndef MR_WEIGHTS_FACTORS_H
#define MR_WEIGHTS_FACTORS_H

#include "nn/optim.h"
#include "stage/stage.h"

/** Bytes of the block, with states of type @t. */
size_t mr_factors_bytes(const mr_stage *s, const mr_optim *o, mr_dtype t);

/** Bytes of those of parameter @p. */
size_t mr_factors_bytes_of(const mr_stage *s, const mr_optim *o, mr_dtype t, uint32_t p);

/** The factors of parameter @p in @block. */
void mr_factors_show(const mr_stage *s, const mr_optim *o, mr_dtype t, uint32_t p, uint8_t *block,
		     mr_factor out[MR_OPTIM_FACTORS]);

#endif
