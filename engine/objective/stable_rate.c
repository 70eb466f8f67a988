#include "objective/stable_rate.h"

#include <math.h>

#define PI 3.14159265358979323846

/* The argument and the modulus of z - @root for z = e^(i @angle), 0 <= root < 1. */
static double argument(double angle, double root)
{
	return atan2(sin(angle), cos(angle) - root);
}

static double modulus(double angle, double root)
{
	return hypot(cos(angle) - root, sin(angle));
}

/*
 * The roots z are those of (z - 1)(z - mu) z^(tau - 1) + lr c = 0, and with Nesterov's step of (z - 1)(z - mu) z^tau +
 * lr c ((1 + mu) z - mu) = 0. On the unit circle, at the angle a, lr c is a positive number where the other factors
 * together have the argument pi. z - 1 has (pi + a) / 2, and what is left has an argument that rises with a, from 0:
 * where it reaches (pi - a) / 2 is the angle of the root that leaves the circle first. Without momentum this is
 * a = pi / (2 tau + 1), and |z - 1| = 2 sin(a / 2).
 */
double mr_stable_rate(uint32_t tau, double mu, bool nesterov)
{
	double below = 0, above = PI, zero = nesterov ? mu / (1 + mu) : 0;

	for (int i = 0; i < 100; i++) {
		double a = (below + above) / 2;

		*(argument(a, mu) + tau * a - argument(a, zero) < (PI - a) / 2 ? &below : &above) = a;
	}
	return 2 * sin(below / 2) * modulus(below, mu) / (modulus(below, zero) * (nesterov ? 1 + mu : 1));
}
