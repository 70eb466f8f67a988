/*
 * test_stable_rate.c - the largest stable rate of late gradients, against the roots of the characteristic polynomial
 * (found all at once by Weierstrass's iteration), against PipeMare's formula, and against the recurrence itself.
 */
#include <complex.h>
#include <math.h>

#include "check.h"
#include "objective/stable_rate.h"

enum { MOST_TAU = 32, MOST_DEGREE = MOST_TAU + 2 };

#define FAR 1e6
#define PI 3.14159265358979323846

/* z^n + c[n-1] z^(n-1) + .. + c[0]: (z - 1)(z - mu) z^tau + rate z, or with Nesterov's step (z - 1)(z - mu) z^tau +
 * rate ((1 + mu) z - mu). */
static int polynomial(uint32_t tau, double mu, bool nesterov, double rate, double *c)
{
	int n = (int)tau + 2;

	for (int i = 0; i < n; i++)
		c[i] = 0;
	c[n - 1] -= 1 + mu;
	c[n - 2] += mu;
	c[1] += nesterov ? rate * (1 + mu) : rate;
	c[0] -= nesterov ? rate * mu : 0;
	return n;
}

static double largest_root(const double *c, int n)
{
	double complex z[MOST_DEGREE];
	double most = 0, moved = 1;

	for (int i = 0; i < n; i++)
		z[i] = 1.1 * cexp(I * (2 * PI * i / n + 0.4));
	for (int round = 0; round < 2000 && moved > 1e-14; round++) {
		moved = 0;
		for (int i = 0; i < n; i++) {
			double complex value = 1, apart = 1;

			for (int k = n - 1; k >= 0; k--)
				value = value * z[i] + c[k];
			for (int j = 0; j < n; j++)
				apart *= j == i ? 1 : z[i] - z[j];
			z[i] -= value / apart;
			moved = fmax(moved, cabs(value / apart));
		}
	}
	CU_ASSERT(moved < 1e-6); /* a root of the origin, which is double, is found less sharply */
	for (int i = 0; i < n; i++)
		most = fmax(most, cabs(z[i]));
	return most;
}

static double root_at(uint32_t tau, double mu, bool nesterov, double rate)
{
	double c[MOST_DEGREE];

	return largest_root(c, polynomial(tau, mu, nesterov, rate, c));
}

static void check_roots(uint32_t tau, double mu, bool nesterov)
{
	double bound = mr_stable_rate(tau, mu, nesterov);

	for (int part = 1; part < 10; part++)
		CU_ASSERT(root_at(tau, mu, nesterov, bound * part / 10) < 1);
	CU_ASSERT(root_at(tau, mu, nesterov, bound * (1 - 1e-6)) < 1);
	CU_ASSERT(root_at(tau, mu, nesterov, bound * (1 + 1e-6)) > 1);
}

static void no_root_leaves_the_circle_before(void)
{
	for (uint32_t tau = 0; tau <= MOST_TAU; tau++) {
		check_roots(tau, 0, false);
		check_roots(tau, 0.5, false);
		check_roots(tau, 0.9, false);
		check_roots(tau, 0.9, true);
	}
}

static void without_momentum_it_is_pipemares(void)
{
	for (uint32_t tau = 0; tau <= 1000; tau++)
		CU_ASSERT_DOUBLE_EQUAL(mr_stable_rate(tau, 0, false) / (2 * sin(PI / (4 * tau + 2))), 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(mr_stable_rate(0, 0.9, false), 3.8, 1e-12); /* heavy ball: 2 (1 + mu) */
	CU_ASSERT_EQUAL(mr_stable_rate(3, 0, true), mr_stable_rate(3, 0, false));
}

/* Gradient descent on a parabola from w = 1, with gradients that are @tau steps late. Returns the largest |w| of the
 * last steps. There are enough of them that w has clearly shrunk or grown where the rate is 2 % off the bound; above
 * FAR it ends early. */
static double descend(uint32_t tau, double mu, bool nesterov, double rate)
{
	double w[MOST_TAU + 1], buf = 0, most = 0;
	const uint32_t n = 200000;

	for (uint32_t i = 0; i <= tau; i++)
		w[i] = 1;
	for (uint32_t t = 0; t < n && most < FAR; t++) {
		double g = w[t % (tau + 1)], next;

		buf = mu * buf + g;
		next = w[(t + tau) % (tau + 1)] - rate * (nesterov ? g + mu * buf : buf);
		w[t % (tau + 1)] = next;
		most = t >= n - 200 || fabs(next) > FAR ? fmax(most, fabs(next)) : most;
	}
	return most;
}

static void descent_ends_on_the_side_of_the_bound_that_it_is_on(void)
{
	for (uint32_t tau = 0; tau <= MOST_TAU; tau += 4)
		for (int k = 0; k < 3; k++) {
			double mu = k ? 0.9 : 0, bound = mr_stable_rate(tau, mu, k == 2);

			CU_ASSERT(descend(tau, mu, k == 2, 0.98 * bound) < 1 / FAR);
			CU_ASSERT(descend(tau, mu, k == 2, 1.02 * bound) > FAR);
		}
}

void mr_suite_stable_rate(void);

void mr_suite_stable_rate(void)
{
	MR_SUITE("stable_rate");
	MR_TEST(no_root_leaves_the_circle_before);
	MR_TEST(without_momentum_it_is_pipemares);
	MR_TEST(descent_ends_on_the_side_of_the_bound_that_it_is_on);
}
