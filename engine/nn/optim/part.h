/*
 * part.h - what the optimizers of this folder share: the option lines that several of them have, the decay of a call,
 * and Adam's arithmetic, which AdamW only configures differently.
 */
#ifndef MR_OPTIM_PART_H
#define MR_OPTIM_PART_H

#include "nn/optim.h"

#define MR_OPTIM_DECAY(def)                                                                                 \
	{"weight_decay", MR_OPT_FLOAT, def, 0, 10, NULL, NULL,                                              \
	 "decoupled decay: a matrix is multiplied by 1 - lr * weight_decay before the step"}

/* Both moments; eps stands outside the root. */
#define MR_OPTIM_ADAM(decay)                                                                                \
	{"beta1", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL, "memory of the mean of gradients"},         \
	{"beta2", MR_OPT_FLOAT, "0.999", 0, 0.99999999, NULL, NULL, "memory of the mean of squares"},       \
	{"eps", MR_OPT_FLOAT, "1e-8", 1e-30, 1, NULL, NULL, "added to the root of the mean of squares"},    \
	MR_OPTIM_DECAY(decay)

/* How much of a weight this call takes off first: w *= 1 - result. */
static inline double mr_optim_decay(const mr_optim *o, const mr_optim_call *c)
{
	return c->decay ? c->lr * o->weight_decay : 0;
}

extern const char *const mr_optim_adam_states[2];
void mr_optim_adam_init(mr_optim *o, const mr_values *values);
void mr_optim_adam_step(const mr_optim *o, const mr_optim_call *c);

#endif
