/*
 * soap.c - Adam in the eigenbasis of Shampoo's preconditioner.
 *
 *	L = b L + (1 - b) g g^T,  R = b R + (1 - b) g^T g        b = shampoo_beta, or beta2
 *	U, V: the eigenvectors of L and R, by one power iteration and a QR every `frequency` steps
 *	g~ = U^T g V,  m = b1 m + (1 - b1) g~,  v = b2 v + (1 - b2) g~^2
 *	w = (w - lr sqrt(1 - b2^s) / (1 - b1^s) U (m / (sqrt(v) + eps)) V^T) (1 - lr wd)
 *
 * Problem: Adam scales each coordinate by itself, which is right where the curvature lies along the axes. Idea: take
 * the axes in which it does. Coordinates turn slowly, so a power iteration from where they are is enough; m is turned
 * along with them, and v, which cannot be, stays and is only sorted as they are. The first step makes L, R and their
 * eigenvectors and moves nothing, so s counts the steps behind it: no gradient is seen in coordinates that are made of
 * it. Decay comes behind the step.
 *
 * Which tensors: the matrices that muon takes (muon.c); a side above max_side keeps its coordinates. All else goes in
 * its own coordinates, by the same rule.
 *
 * Source: Vyas et al., "SOAP: improving and stabilizing Shampoo using Adam", ICLR 2025, algorithm 3, and the repository
 * nikhilvyas/SOAP, whose defaults these are but for max_side, 10000 there: a
 * side of 1024 takes 1.5 s of one core to begin with, and eight times as long if it is twice as long.
 * NOTE 1: the source also rotates embeddings and the head, and kernels of images in four coordinates; here a kernel is
 * one matrix.
 * NOTE 2: it computes eigenvectors and Q in f32 whatever the run is in; here they are computed in f64.
 */
#if defined(MR_OPTIM_LIST)
MR_OPTIM(soap)
#elif !defined(MR_OPTIM_RULES)
#include "nn/optim/part.h"

#include <math.h>
#include <string.h>

#include "nn/element.h"
#include "nn/optim/matrix.h"
#include "nn/optim/rotation.h"

static const mr_option options[] = {
	MR_OPTIM_LR,
	{"beta1", MR_OPT_FLOAT, "0.95", 0, 0.999999, NULL, NULL, "memory of the mean of gradients"},
	{"beta2", MR_OPT_FLOAT, "0.95", 0, 0.99999999, NULL, NULL, "memory of the mean of squares"},
	{"shampoo_beta", MR_OPT_FLOAT, "-1.0", -1, 0.99999999, NULL, NULL,
	 "memory of the means whose eigenvectors are the coordinates; less than 0: that of beta2"},
	{"eps", MR_OPT_FLOAT, "1e-8", 1e-30, 1, NULL, NULL, "added to the root of the mean of squares"},
	MR_OPTIM_ROTATES,
	MR_OPTIM_DECAY("0.01"),
	{NULL},
};

static void init(mr_optim *o, const mr_values *values)
{
	mr_optim_adam_init(o, values);
	mr_optim_rotates_init(o, values);
	o->mean_memory = mr_values_float(values, "shampoo_beta");
	if (o->mean_memory < 0)
		o->mean_memory = o->b2;
}

/* What is not rotated. Adam's eps stands beside the root of the corrected mean, and here beside that of the mean. */
static void fill(const mr_optim *o, const mr_optim_call *c, mr_step *out)
{
	double steps = (double)c->t - 1;

	mr_optim_adam_fill(o, c, out);
	out->lr = c->lr * (1 - out->decay);
	out->c1 = 1 - pow(o->b1, steps);
	out->c2 = 1 - pow(o->b2, steps);
	out->eps = o->eps / sqrt(out->c2);
	if (c->t > 1)
		return;
	out->b1 = out->b2 = out->c1 = out->c2 = out->eps = 1; /* the first step moves nothing */
	out->lr = out->decay = 0;
}

#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	static void adam_##id(const mr_optim *o, int64_t n, const stored *g, stored *m, stored *v, stored *out) \
	{ \
		for (int64_t i = 0; i < n; i++) { \
			double x = (double)widen(g[i]); \
\
			m[i] = round(o->b1 * (double)widen(m[i]) + (1 - o->b1) * x); \
			v[i] = round(o->b2 * (double)widen(v[i]) + (1 - o->b2) * x * x); \
			out[i] = round((double)widen(m[i]) / (sqrt((double)widen(v[i])) + o->eps)); \
		} \
	}
#include "base/types.def"

/* The moments follow @g, and @out is the direction that they give; it may be @g. */
static void adam(mr_dtype t, const mr_optim *o, int64_t n, const void *g, void *m, void *v, void *out)
{
	switch (t) {
#define MR_DTYPE(id, name, weights, stored, wide, widen, round) \
	case MR_##id: adam_##id(o, n, g, m, v, out); break;
#include "base/types.def"
	default: break; /* no states are of a type of files alone */
	}
}

/* Later coordinates, and the mean of gradients in them. */
static mr_status refresh(const mr_optim_call *c, const mr_rotation *r)
{
	MR_TRY(mr_rotation_turn(r, true, c->state[0]));
	for (int s = 0; s < 2; s++)
		MR_TRY(mr_rotation_refresh(r, s, r->mean[s], c->state[1]));
	return mr_rotation_turn(r, false, c->state[0]);
}

static mr_status begin(const mr_optim *o, const mr_optim_call *c, const mr_rotation *r, int64_t n)
{
	MR_TRY(mr_rotation_follow(r, o->mean_memory, r->x));
	mr_rotation_begin(r);
	memset(r->room, 0, (size_t)n * mr_dtype_bytes(r->k->types.state));
	mr_matrix_step(&r->k->types, n, 1, 0, r->room, c);
	return MR_OK;
}

static mr_status step_matrix(const mr_optim *o, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc, const void *g)
{
	double steps = (double)c->t - 1, keep = 1 - c->lr * mr_optim_decay_of(o, c);
	double lr = c->lr * sqrt(1 - pow(o->b2, steps)) / (1 - pow(o->b1, steps));
	int64_t n = c->matrix.rows * c->matrix.cols;
	mr_dtype t = k->types.state;
	mr_rotation r;

	mr_rotation_init(&r, c, k, kc);
	mr_matrix_mix(t, n, c->gscale, g, 0, NULL, r.x);
	if (c->t == 1)
		return begin(o, c, &r, n);
	memcpy(r.other, r.x, (size_t)n * mr_dtype_bytes(t));
	MR_TRY(mr_rotation_turn(&r, false, r.other));
	adam(t, o, n, r.other, c->state[0], c->state[1], r.other);
	MR_TRY(mr_rotation_turn(&r, true, r.other));
	mr_matrix_step(&k->types, n, keep, -lr * keep, r.other, c);
	MR_TRY(mr_rotation_follow(&r, o->mean_memory, r.x));
	return (c->t - 1) % o->frequency ? MR_OK : refresh(c, &r);
}

extern const mr_optim_ops mr_optim_soap;
const mr_optim_ops mr_optim_soap = {
	.name = "soap",
	.summary = "adam in the eigenbasis of Shampoo's preconditioner, for hidden matrices",
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
