/* fit.h - least squares of a x^2 + b x + c: how delays grow with the number of stages. */
#ifndef MR_PERF_RPD_FIT_H
#define MR_PERF_RPD_FIT_H

#include <stddef.h>

typedef struct square_fit {
	double a, b, c;
	double worst; /* the largest distance of a point from the curve, in parts of its value */
} square_fit;

/** Through @n >= 3 points with different @x; each counts by 1 / y when @relative, so that small and large ones say as
 * much. */
square_fit fit_square(const double *x, const double *y, size_t n, int relative);

#endif
