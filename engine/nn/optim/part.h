/*
 * part.h - shared by the optimizers of this folder: option lines, the common
 * part of a step, momentum's buffer, and Adam's arithmetic, which AdamW only configures differently.
 */
#ifndef MR_OPTIM_PART_H
#define MR_OPTIM_PART_H

#include "nn/optim.h"

/* Of every optimizer; the job reads it (job/rate.c). */
#define MR_OPTIM_LR                                                                                         \
	{"lr", MR_OPT_FLOAT, NULL, 0, 1e6, NULL, NULL,                                                      \
	 "learning rate, which lr_schedule changes in the course of a training"}

/* Of optimizers whose decay is decoupled by what they are. */
#define MR_OPTIM_DECAY(def)                                                                                 \
	{"weight_decay", MR_OPT_FLOAT, def, 0, 10, NULL, NULL,                                              \
	 "weight decay: a weight is multiplied by 1 - lr * weight_decay before the step; rows of a table "  \
	 "without a gradient stay as they are"},                                                            \
	MR_OPTIM_DECAY_SCOPE

#define MR_OPTIM_DECAY_SCOPE                                                                                \
	{"decay_scope", MR_OPT_ENUM, "matrices", 0, 0, "matrices|all", NULL,                                \
	 "what weight_decay is for: matrices and kernels alone, or also biases and the gains and shifts of norms"}

/* Of optimizers for which both kinds are known. */
#define MR_OPTIM_DECAY_KINDS(def)                                                                           \
	{"weight_decay", MR_OPT_FLOAT, def, 0, 10, NULL, NULL,                                              \
	 "weight decay, in the way of decay_kind; rows of a table without a gradient stay as they are"},    \
	{"decay_kind", MR_OPT_ENUM, "decoupled", 0, 0, "decoupled|coupled", NULL,                           \
	 "decoupled: a weight is multiplied by 1 - lr * weight_decay before the step; coupled: weight_decay * weight " \
	 "is added to the gradient, behind clipping, as in torch.optim.SGD and Adam"},                      \
	MR_OPTIM_DECAY_SCOPE

/* One buffer; @buf and @look say how it grows and what a Nesterov step goes along. */
#define MR_OPTIM_MOMENTUM(buf, look)                                                                        \
	{"mu", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL, buf},                                          \
	{"nesterov", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, look},                                         \
	MR_OPTIM_DECAY_KINDS("0")

/* Both moments; eps stands outside the root. @decay: the lines of decay. */
#define MR_OPTIM_ADAM(decay)                                                                                \
	{"beta1", MR_OPT_FLOAT, "0.9", 0, 0.999999, NULL, NULL, "memory of the mean of gradients"},         \
	{"beta2", MR_OPT_FLOAT, "0.999", 0, 0.99999999, NULL, NULL, "memory of the mean of squares"},       \
	{"eps", MR_OPT_FLOAT, "1e-8", 1e-30, 1, NULL, NULL, "added to the root of the mean of squares"},    \
	decay

/* beta1 at most 0.9999: the momentum schedule multiplies its values up from the first commit (nadam.c). */
#define MR_OPTIM_NADAM(decay)                                                                               \
	{"beta1", MR_OPT_FLOAT, "0.99", 0, 0.9999, NULL, NULL, "memory of the mean of gradients"},          \
	{"beta2", MR_OPT_FLOAT, "0.999", 0, 0.99999999, NULL, NULL, "memory of the mean of squares"},       \
	{"psi", MR_OPT_FLOAT, "0.004", 0, 1, NULL, NULL,                                                    \
	 "how fast the momentum rises from beta1 / 2 to beta1: beta1 (1 - 0.96^(t psi) / 2)"},              \
	{"eps", MR_OPT_FLOAT, "1e-8", 1e-30, 1, NULL, NULL, "added to the root of the mean of squares"},    \
	decay

#define MR_STATE_FORM(id) "|" #id
static const char mr_optim_state_forms[] __attribute__((unused)) = "f32"
#include "nn/states/states.def"
	;

/* Of optimizers that go element by element and keep running means. */
#define MR_OPTIM_STATE                                                                                      \
	{"state", MR_OPT_ENUM, "f32", 0, 0, mr_optim_state_forms, NULL,                                     \
	 "how running means are stored between steps: f32: in the type of precision, in bf16_pure bf16; bf16: in 2 " \
	 "bytes, rounded up or down at random; int8: in 1 byte, with a scale for each 256 numbers, rounded at random " \
	 "too"}

/* Of optimizers that rotate hidden matrices (rotation.h). */
#define MR_OPTIM_ROTATES                                                                                    \
	{"frequency", MR_OPT_INT, "10", 1, 1000000, NULL, "steps",                                          \
	 "steps from one turn of the coordinates to the next"},                                             \
	{"max_side", MR_OPT_INT, "1024", 1, 1000000, NULL, NULL,                                            \
	 "a side of a matrix with more rows or columns keeps its coordinates"}

/** Read the keys of decay, of whichever the table has. */
void mr_optim_decay_init(mr_optim *o, const mr_values *values);

/* The weight decay of the tensor of @c: 0 where it does not apply. */
static inline double mr_optim_decay_of(const mr_optim *o, const mr_optim_call *c)
{
	return c->decay || o->decay_all ? o->weight_decay : 0;
}

/* The fields of every kind of step. Decay: w *= 1 - lr weight_decay, or with coupled decay g += weight_decay w. */
static inline mr_step mr_optim_base(const mr_optim *o, const mr_optim_call *c, mr_step_kind kind)
{
	double decay = mr_optim_decay_of(o, c);

	return (mr_step){
		.kind = kind,
		.src = c->src,
		.dst = c->dst,
		.src_rest = c->src_rest,
		.dst_rest = c->dst_rest,
		.rounding = c->rounding,
		.m = c->state[0],
		.v = c->state[1],
		.stored = c->stored,
		.gscale = c->gscale,
		.lr = c->lr,
		.decay = o->coupled ? 0 : c->lr * decay,
		.couple = o->coupled ? decay : 0,
	};
}

static inline void mr_optim_rotates_init(mr_optim *o, const mr_values *values)
{
	o->frequency = (uint64_t)mr_values_int(values, "frequency");
	o->interval = (double)o->frequency;
	o->max_side = mr_values_int(values, "max_side");
}

extern const char *const mr_optim_momentum_states[1];
void mr_optim_momentum_init(mr_optim *o, const mr_values *values);
void mr_optim_momentum_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out);
extern const char *const mr_optim_adam_states[2];
void mr_optim_adam_init(mr_optim *o, const mr_values *values);
void mr_optim_adam_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out);
void mr_optim_nadam_init(mr_optim *o, const mr_values *values);
void mr_optim_nadam_fill(const mr_optim *o, const mr_optim_call *c, mr_step *out);

#endif
