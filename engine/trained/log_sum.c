#include "trained/log_sum.h"

#include <math.h>
#include <string.h>

#define LANES 16

/* exp(x) for x from -87 to 0, within 2 units of the last place: 2^n e^r with r within half a logarithm of 2, by
 * Taylor's polynomial of degree 7. */
static inline float exp_below(float x)
{
	const float shift = 12582912; /* 1.5 * 2^23: adding it rounds to a whole number */
	float n = x * 1.44269504f + shift, r, p;
	int32_t bits;

	memcpy(&bits, &n, sizeof(bits));
	n -= shift;
	r = x - n * 0.693145752f - n * 1.42860677e-6f;
	p = 1.98412698e-4f;
	p = p * r + 1.38888889e-3f;
	p = p * r + 8.33333333e-3f;
	p = p * r + 4.16666667e-2f;
	p = p * r + 1.66666667e-1f;
	p = p * r + 0.5f;
	p = p * r + 1;
	p = p * r + 1;
	bits = (int32_t)((uint32_t)(bits + 127) << 23);
	memcpy(&r, &bits, sizeof(r));
	return p * r;
}

static float largest(const float *x, size_t n)
{
	float lane[LANES], most;
	size_t i = 0;

	for (int k = 0; k < LANES; k++)
		lane[k] = x[0];
	for (; i + LANES <= n; i += LANES)
		for (int k = 0; k < LANES; k++)
			lane[k] = x[i + (size_t)k] > lane[k] ? x[i + (size_t)k] : lane[k];
	most = lane[0];
	for (int k = 1; k < LANES; k++)
		most = lane[k] > most ? lane[k] : most;
	for (; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

double mr_log_sum(const float *x, size_t n, int32_t *best)
{
	float most = largest(x, n), lane[LANES] = {0};
	double sum = 0;
	size_t i = 0;

	*best = 0;
	while ((size_t)*best + 1 < n && x[*best] != most)
		++*best;
	for (; i + LANES <= n; i += LANES)
		for (int k = 0; k < LANES; k++) {
			float below = x[i + (size_t)k] - most;

			lane[k] += exp_below(below > -87 ? below : -87);
		}
	for (int k = 0; k < LANES; k++)
		sum += (double)lane[k];
	for (; i < n; i++)
		sum += exp((double)(x[i] - most));
	return (double)most + log(sum);
}
