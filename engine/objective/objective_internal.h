/* objective_internal.h - the inside of an objective, for the files objective*.c. */
#ifndef MR_OBJECTIVE_OBJECTIVE_INTERNAL_H
#define MR_OBJECTIVE_OBJECTIVE_INTERNAL_H

#include "objective/objective.h"

struct mr_objective {
	mr_objective_kind kind;
	double l2;
	uint64_t n, d;
	uint32_t n_blocks;
	uint64_t *first;   /* [n_blocks + 1] coordinates */
	double *x, *y;     /* [n][d], [n] */
	double *w;         /* [d] */
	double *share;     /* [n_blocks][n]: X_b w_b */
	double *residual;  /* [n] scratch */
	double *g;         /* [d] scratch */
};

/* out [n] = X v */
void mr_objective_times(const mr_objective *o, const double *v, double *out);
/* out [d] = X^T r / n */
void mr_objective_transposed(const mr_objective *o, const double *r, double *out);
/* Derivative and second derivative of the loss of one row with margin @m and target @y. */
double mr_objective_slope(const mr_objective *o, double m, double y);
double mr_objective_curvature(const mr_objective *o, double m);
double mr_objective_loss(const mr_objective *o, double m, double y);

#endif
