/* fit.h - least squares of a x^2 + b x + c: how delays grow with the number of stages. */
#ifndef MR_PERF_RPD_FIT_H
#define MR_PERF_RPD_FIT_H

#include <stddef.h>

typedef struct square_fit {
	double a, b, c;
	double worst; /* the largest distance of a point from the curve, relative to the point's value */
} square_fit;

/** The fit of @n >= 3 points with different @x. If @relative, each residual is divided by y, so that small and large
 * values have equal weight. */
square_fit fit_square(const double *x, const double *y, size_t n, int relative);

/** The exponent of the power law through @n >= 2 points with positive coordinates: the least-squares slope of log y
 * over log x. */
double fit_exponent(const double *x, const double *y, size_t n);

#endif
