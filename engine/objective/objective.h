/*
 * objective.h - a linear objective as a function, apart from the pipeline that trains it: its value and gradient on all
 * the data, and the constants of the theory.
 *
 *	quadratic  f(w) = |X w - y|^2 / (2 n)                       L = largest eigenvalue of X^T X / n
 *	logistic   f(w) = mean(log(1 + e^m) - y m) + l2 |w|^2 / 2   L = that / 4 + l2              m = X w
 *
 * The coordinates come in blocks, and each block's share of X w is kept: a new value after one block's update costs n
 * times that block, not n times all. Shares are computed afresh from the block's weights, so nothing drifts. All in
 * f64, whatever the dtype of the run; sums in ascending order.
 *
 * Training does not use it. It serves to report f - f*, gradient norms, and the step sizes of the theory.
 */
#ifndef MR_OBJECTIVE_OBJECTIVE_H
#define MR_OBJECTIVE_OBJECTIVE_H

#include "data/dataset.h"

typedef enum mr_objective_kind { MR_OBJECTIVE_QUADRATIC, MR_OBJECTIVE_LOGISTIC } mr_objective_kind;

typedef struct mr_objective_spec {
	mr_objective_kind kind;
	double l2;
	uint32_t n_blocks;
	int64_t *block;          /* [n_blocks] coordinates of each */
} mr_objective_spec;

typedef struct mr_objective mr_objective;

/**
 * Make the objective of @spec on the rows of @data (all of one epoch, numbers of @dtype, one target each), at w = 0.
 * Copies its data. Errors: MR_ECONFIG when rows and blocks do not fit, MR_ERESOURCE.
 */
mr_status mr_objective_create(const mr_objective_spec *spec, const mr_dataset *data, mr_dtype dtype,
			      mr_objective **out) MR_MUST_USE;
void mr_objective_destroy(mr_objective *o); /* accepts NULL */

int64_t mr_objective_coordinates(const mr_objective *o);

/** Set block @b to @w, numbers of @dtype. */
void mr_objective_set(mr_objective *o, uint32_t b, const void *w, mr_dtype dtype);

/** The present w, [coordinates]. */
const double *mr_objective_point(const mr_objective *o);

/** f at the present w. */
double mr_objective_value(mr_objective *o);

/** Squared norm of the gradient at the present w; the gradient to @g [coordinates] unless that is NULL. */
double mr_objective_gradient(mr_objective *o, double *g);

/** The largest norm of one block's gradient on one minibatch of @samples consecutive rows, at the present w. */
double mr_objective_largest(mr_objective *o, uint64_t samples);

/** L, to about 12 digits (Lanczos with full orthogonalisation, to the end of the space if it must). Errors:
 * MR_ERESOURCE. */
mr_status mr_objective_smoothness(const mr_objective *o, double *l) MR_MUST_USE;

/** f*: Newton's method with conjugate gradients, until the gradient no longer falls. w is unchanged. Errors:
 * MR_ERESOURCE. */
mr_status mr_objective_minimum(mr_objective *o, double *f_star) MR_MUST_USE;

#endif
