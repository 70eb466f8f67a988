/*
 * stable_rate.h - the largest rate at which descent along late gradients of a quadratic is stable.
 *
 *	w[t+1] = w[t] - lr c w[t - tau]        on f(w) = c w^2 / 2 is stable below lr c = 2 sin(pi / (4 tau + 2))
 *
 * Source: Yang et al., PipeMare, MLSys 2021, lemma 1. Momentum has no such form in the paper. Both follow from where
 * the first root of the characteristic polynomial reaches the unit circle; see stable_rate.c.
 */
#ifndef MR_OBJECTIVE_STABLE_RATE_H
#define MR_OBJECTIVE_STABLE_RATE_H

#include <stdbool.h>
#include <stdint.h>

/** The bound on learning rate times curvature for gradients that are @tau commits late, with heavy ball or Nesterov
 * momentum @mu in [0, 1): buf = mu buf + g, step along buf or g + mu buf. 0: plain descent. */
double mr_stable_rate(uint32_t tau, double mu, bool nesterov);

#endif
