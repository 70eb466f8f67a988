/* step_variants.h - the steps that the tests of kernels try: each rule of nn/optim/optim.def, and two more forms of
 * momentum. */
#ifndef TESTS_NN_STEP_VARIANTS_H
#define TESTS_NN_STEP_VARIANTS_H

#include "nn/kernels.h"
#include "nn/kernels/step_rules.h"

enum { STEP_NESTEROV = MR_N_STEPS, STEP_PURE, N_STEPS }; /* pure: momentum, nothing multiplied by 1 */

/** Variant @v, 0 to N_STEPS - 1, with these arrays, of which it takes what its rule has. */
static inline mr_step step_variant(int v, const void *src, void *dst, void *m, void *second)
{
	mr_step_kind kind = v < MR_N_STEPS ? (mr_step_kind)v : MR_STEP_MOMENTUM;

	return (mr_step){.kind = kind,
			 .nesterov = v == STEP_NESTEROV,
			 .src = src,
			 .dst = dst,
			 .m = mr_step_states(kind) > 0 ? m : NULL,
			 .v = mr_step_states(kind) > 1 ? second : NULL,
			 .gscale = v == STEP_PURE ? 1 : 0.25,
			 .lr = 0.1,
			 .decay = v == STEP_PURE ? 0 : 0.001,
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
