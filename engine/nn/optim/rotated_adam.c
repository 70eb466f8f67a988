/*
 * rotated_adam.c - Adam in coordinates in which late steps still point the right way.
 *
 *	m = b1 m + (1 - b1) g                                      in the coordinates of the weights
 *	L = b2 L + (1 - b2) g g^T,  R = b2 R + (1 - b2) g^T g      source = "gradients"; or with source = "momentum"
 *	                                                           m m^T and m^T m, of which nothing is kept
 *	U, V = Q of the QR of L U and R V                          every `frequency` steps; at first the axes
 *	g~ = U^T g V,  m~ = U^T m V,  v = b2 v + (1 - b2) g~^2
 *	w = w (1 - lr wd) - lr U (m~ / sqrt(v + eps)) V^T
 *
 * Problem: where the axes of the curvature are not those of the weights, Adam oscillates, and a step that comes late
 * points where the weights no longer are, the more the later it is. Idea: let Adam work where they are. sides =
 * "smaller" rotates only the smaller side of a matrix. correct_bias divides m~ by 1 - b1^t and v by 1 - b2^t, as Adam
 * does.
 *
 * Which tensors: the matrices that muon takes (muon.c); a side above max_side is not rotated. All else gets AdamW.
 *
 * Source: Jung, Shin and Lee, "Mitigating staleness in asynchronous pipeline parallelism via basis rotation", ICML 2026
 * (arXiv 2602.03515 v2).
 * refresh = "delay" shares the same work out anew: stages refresh in proportion to their delay (mr_rotation_share), so
 * that one without delay keeps the axes. NOTE: the source says no more of it than that the budget is proportional to
 * the delay; what counts as work, and that none refreshes more than once a step, is ours.
 */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(rotated_adam)
#elif !defined(MR_OPTIM_RULES)
#include "nn/optim/part.h"

#include <math.h>
#include <string.h>

#include "nn/element.h"
#include "nn/optim/matrix.h"
#include "nn/optim/rotation.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	MR_OPTIM_ADAM(MR_OPTIM_ROTATES),
	{"source", MR_OPT_ENUM, "gradients", 0, 0, "gradients|momentum", NULL,
	 "whose eigenvectors the coordinates are: of running means of squares of the gradients, or of their mean"},
	{"sides", MR_OPT_ENUM, "both", 0, 0, "both|smaller", NULL, "sides of a matrix that are rotated"},
	{"refresh", MR_OPT_ENUM, "uniform", 0, 0, "uniform|delay", NULL,
	 "uniform: all stages turn coordinates every `frequency` steps; delay: with as much work in all, in "
	 "proportion to how late their gradients are, and those that are never late do not"},
	{"correct_bias", MR_OPT_BOOL, "true", 0, 0, NULL, NULL,
	 "divide the means by what they lack of their weights so far"},
	MR_OPTIM_DECAY("0.01"),
	{NULL},
};

static void init(mr_optim *o, const mr_values *values)
{
	mr_optim_adam_init(o, values);
	mr_optim_rotates_init(o, values);
	o->of_momentum = !strcmp(mr_values_string(values, "source"), "momentum");
	o->by_delay = !strcmp(mr_values_string(values, "refresh"), "delay");
	o->one_sided = !strcmp(mr_values_string(values, "sides"), "smaller");
	o->correct_bias = mr_values_bool(values, "correct_bias");
}

static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	mr_optim_adam_fill(o, c, out);
	if (!o->correct_bias)
		out->c1 = out->c2 = 1;
}

#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	static void divide_##id(const mr_optim *o, double c2, int64_t n, const stored *g, stored *v, stored *m) \
	{ \
		for (int64_t i = 0; i < n; i++) { \
			double x = (double)widen(g[i]); \
\
			v[i] = round(o->b2 * (double)widen(v[i]) + (1 - o->b2) * x * x); \
			m[i] = round((double)widen(m[i]) / sqrt((double)widen(v[i]) / c2 + o->eps)); \
		} \
	}
#include "base/types.def"

/* @v follows @g, and @m is divided by the root of what it then is. */
static void divide(mr_dtype t, const mr_optim *o, double c2, int64_t n, const void *g, void *v, void *m)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: divide_##id(o, c2, n, g, v, m); break;
#include "base/types.def"
	default: break; /* no states are of a type of files alone */
	}
}

/* Later coordinates: of the means, or of the momentum, whose squares are made in the rear of the wide room. */
static mr_status refresh(const mr_optim *o, const mr_optim_call *c, const mr_rotation *r)
{
	for (int s = 0; s < 2; s++) {
		void *square = r->wide + r->side[s] * r->side[s] + 5 * r->side[s];

		if (o->of_momentum && r->basis[s])
			MR_TRY(mr_rotation_square(r, s, c->state[0], square));
		MR_TRY(mr_rotation_refresh(r, s, o->of_momentum ? square : r->mean[s], NULL));
	}
	return MR_OK;
}

static mr_status step_matrix(const mr_optim *o, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc, const void *g)
{
	double c1 = o->correct_bias ? 1 - pow(o->b1, (double)c->t) : 1;
	double c2 = o->correct_bias ? 1 - pow(o->b2, (double)c->t) : 1;
	int64_t n = c->matrix.rows * c->matrix.cols;
	mr_dtype t = k->types.state;
	mr_rotation r;

	mr_rotation_init(&r, c, k, kc);
	mr_matrix_mix(t, n, c->gscale, g, 0, NULL, r.x);
	mr_matrix_mix(t, n, o->b1, c->state[0], 1 - o->b1, r.x, c->state[0]);
	if (c->t == 1)
		mr_rotation_axes(&r);
	MR_TRY(mr_rotation_follow(&r, o->b2, r.x));
	if (mr_rotation_due(o->interval, c->t))
		MR_TRY(refresh(o, c, &r));
	memcpy(r.other, c->state[0], (size_t)n * mr_dtype_bytes(t));
	MR_TRY(mr_rotation_turn(&r, false, r.x));
	MR_TRY(mr_rotation_turn(&r, false, r.other));
	divide(t, o, c2, n, r.x, c->state[1], r.other);
	MR_TRY(mr_rotation_turn(&r, true, r.other));
	mr_matrix_step(&k->types, n, 1 - c->lr * mr_optim_decay_of(o, c), -c->lr / c1, r.other, c);
	return MR_OK;
}

extern const mr_optim_ops mr_optim_rotated_adam;
const mr_optim_ops mr_optim_rotated_adam = {
	.name = "rotated_adam",
	.summary = "adam in a basis that follows the gradients', for hidden matrices; adamw for the rest",
	.options = options,
	.n_states = 2,
	.state_names = mr_optim_adam_states,
	.n_factors = MR_ROTATION_FACTORS,
	.factor_names = mr_rotation_names,
	.init = init,
	.fill = fill,
	.work_bytes = mr_rotation_work_bytes,
	.factor_side = mr_rotation_side,
	.step_matrix = step_matrix,
	.products = mr_rotation_products,
};
#endif
