/*
 * step_rules.h - properties of step rules that the backends need, derived from their list (nn/optim/optim.def).
 */
#ifndef MR_KERNELS_STEP_RULES_H
#define MR_KERNELS_STEP_RULES_H

#include "nn/kernels.h"

#define MR_OPTIM_LIST
#define MR_OPTIM(id)

/** Tensors of state that a step by @kind reads and writes: 0, 1 (m) or 2 (m and v). */
static inline int mr_step_states(mr_step_kind kind)
{
	switch (kind) {
#define MR_STEP(kind, id, states, passes, rate, rate_g) case MR_STEP_##kind: return states;
#include "nn/optim/optim.def"
#undef MR_STEP
	case MR_N_STEPS: break;
	}
	return 0;
}

/** The rate that multiplies the direction of a step, and the rate that multiplies the gradient itself. */
static inline void mr_step_rates(const mr_step *s, double *rate_of, double *rate_g_of)
{
	switch (s->kind) {
#define MR_STEP(kind, id, states, passes, rate, rate_g) \
	case MR_STEP_##kind: \
		*rate_of = rate; \
		*rate_g_of = rate_g; \
		return;
#include "nn/optim/optim.def"
#undef MR_STEP
	case MR_N_STEPS: break;
	}
	*rate_of = *rate_g_of = 0;
}

#undef MR_OPTIM
#undef MR_OPTIM_LIST

#endif
