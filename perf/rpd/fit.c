#include "perf/rpd/fit.h"

#include <math.h>

/* Solve the 3 equations @m by Gauss-Jordan elimination. */
static void solve(double m[3][4], double out[3])
{
	for (int p = 0; p < 3; p++)
		for (int a = 0; a < 3; a++) {
			double f = a == p ? 0 : m[a][p] / m[p][p];

			for (int b = 0; b < 4; b++)
				m[a][b] -= f * m[p][b];
		}
	for (int a = 0; a < 3; a++)
		out[a] = m[a][3] / m[a][a];
}

square_fit fit_square(const double *x, const double *y, size_t n, int relative)
{
	double m[3][4] = {{0}}, c[3];
	square_fit fit = {0};

	for (size_t i = 0; i < n; i++) {
		double p[3] = {x[i] * x[i], x[i], 1}, w = relative && y[i] > 0 ? 1 / (y[i] * y[i]) : 1;

		for (int a = 0; a < 3; a++) {
			for (int b = 0; b < 3; b++)
				m[a][b] += w * p[a] * p[b];
			m[a][3] += w * p[a] * y[i];
		}
	}
	solve(m, c);
	fit = (square_fit){.a = c[0], .b = c[1], .c = c[2]};
	for (size_t i = 0; i < n; i++)
		if (y[i] > 0)
			fit.worst = fmax(fit.worst, fabs((c[0] * x[i] + c[1]) * x[i] + c[2] - y[i]) / y[i]);
	return fit;
}

double fit_exponent(const double *x, const double *y, size_t n)
{
	double mean_x = 0, mean_y = 0, above = 0, below = 0;

	for (size_t i = 0; i < n; i++) {
		mean_x += log(x[i]) / (double)n;
		mean_y += log(y[i]) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		above += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
		below += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
	}
	return above / below;
}
