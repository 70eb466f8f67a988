/* step_variants.h - the steps that the tests of kernels try: each rule of nn/optim/optim.def, without and with coupled
 * decay, and three more forms of momentum. */
#ifndef TESTS_NN_STEP_VARIANTS_H
#define TESTS_NN_STEP_VARIANTS_H

#include "nn/kernels.h"
#include "nn/kernels/step_rules.h"

enum {
	STEP_NESTEROV = MR_N_STEPS,
	STEP_PURE,         /* momentum, nothing multiplied by 1 */
	STEP_PURE_COUPLED, /* the same, but for what decay adds */
	STEP_COUPLED,      /* the rules again */
	N_STEPS = STEP_COUPLED + MR_N_STEPS
};

/** Variant @v, 0 to N_STEPS - 1, with these arrays, of which it takes what its rule has. */
static inline mr_step step_variant(int v, const void *src, void *dst, void *m, void *second)
{
	bool coupled = v >= STEP_PURE_COUPLED, pure = v == STEP_PURE || v == STEP_PURE_COUPLED;
	mr_step_kind kind = v < MR_N_STEPS      ? (mr_step_kind)v
			    : v >= STEP_COUPLED ? (mr_step_kind)(v - STEP_COUPLED)
						: MR_STEP_MOMENTUM;

	return (mr_step){.kind = kind,
			 .nesterov = v == STEP_NESTEROV,
			 .src = src,
			 .dst = dst,
			 .m = mr_step_states(kind) > 0 ? m : NULL,
			 .v = mr_step_states(kind) > 1 ? second : NULL,
			 .gscale = pure ? 1 : 0.25,
			 .couple = coupled ? 0.125 : 0,
			 .lr = 0.1,
			 .decay = pure || coupled ? 0 : 0.001,
			 .mu = 0.9,
			 .b1 = 0.9,
			 .b2 = 0.999,
			 .eps = 1e-8,
			 .c1 = 1 - 0.81,
			 .c2 = 1 - 0.999 * 0.999,
			 .cg = 0.7,
			 .cm = 1.3};
}

#endif
