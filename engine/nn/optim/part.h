/*
 * part.h - shared by the optimizers of this folder: option lines, the common
 * part of a step, momentum's buffer, and Adam's arithmetic, which AdamW only configures differently.
 */
#ifndef MR_OPTIM_PART_H
#define MR_OPTIM_PART_H

#include "nn/optim.h"

#define MR_OPTIM_DECAY(def)                                                                                 \
	{"weight_decay", MR_OPT_FLOAT, def, 0, 10, NULL, NULL,                                              \
	 "decoupled decay: a matrix is multiplied by 1 - lr * weight_decay before the step"}

/* One buffer; @buf and @look say how it grows and what a Nesterov step goes along. */
#define MR_OPTIM_MOMENTUM(buf, look)                                                                        \
	{"mu", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL, buf},                                          \
	{"nesterov", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, look},                                         \
	MR_OPTIM_DECAY("0")

/* Both moments; eps stands outside the root. */
#define MR_OPTIM_ADAM(decay)                                                                                \
	{"beta1", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL, "memory of the mean of gradients"},         \
	{"beta2", MR_OPT_FLOAT, "0.999", 0, 0.99999999, NULL, NULL, "memory of the mean of squares"},       \
	{"eps", MR_OPT_FLOAT, "1e-8", 1e-30, 1, NULL, NULL, "added to the root of the mean of squares"},    \
	MR_OPTIM_DECAY(decay)

/* beta1 at most 0.9999: the momentum schedule multiplies its values up from the first commit (nadam.c). */
#define MR_OPTIM_NADAM(decay)                                                                               \
	{"beta1", MR_OPT_FLOAT, "0.99", 0, 0.9999, NULL, NULL, "memory of the mean of gradients"},          \
	{"beta2", MR_OPT_FLOAT, "0.999", 0, 0.99999999, NULL, NULL, "memory of the mean of squares"},       \
	{"psi", MR_OPT_FLOAT, "0.004", 0, 1, NULL, NULL,                                                    \
	 "how fast the momentum rises from beta1 / 2 to beta1: beta1 (1 - 0.96^(t psi) / 2)"},              \
	{"eps", MR_OPT_FLOAT, "1e-8", 1e-30, 1, NULL, NULL, "added to the root of the mean of squares"},    \
	MR_OPTIM_DECAY(decay)

/* The fields of every kind of step. Decay: w *= 1 - lr weight_decay, if it applies to the tensor. */
static inline mr_step mr_optim_base(const mr_optim *o, const mr_optim_call *c, mr_step_kind kind)
{
	return (mr_step){
		.kind = kind,
		.src = c->src,
		.dst = c->dst,
		.src_rest = c->src_rest,
		.dst_rest = c->dst_rest,
		.rounding = c->rounding,
		.m = c->state[0],
		.v = c->state[1],
		.gscale = c->gscale,
		.lr = c->lr,
		.decay = c->decay ? c->lr * o->weight_decay : 0,
	};
}

extern const char *const mr_optim_momentum_states[1];
void mr_optim_momentum_init(mr_optim *o, const mr_values *values);
extern const char *const mr_optim_adam_states[2];
void mr_optim_adam_init(mr_optim *o, const mr_values *values);
void mr_optim_adam_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out);
void mr_optim_nadam_init(mr_optim *o, const mr_values *values);
void mr_optim_nadam_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out);

#endif
