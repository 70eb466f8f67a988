/*
 * stable_rates.h - for `millrace plan`: up to which learning rate times curvature stages with late gradients are stable
 * (objective/stable_rate.h).
 */
#ifndef MR_OUTLINE_STABLE_RATES_H
#define MR_OUTLINE_STABLE_RATES_H

#include "session/session.h"

/**
 * One line, "rate  ...", with each stage's delay and bound. Nothing where the bound does not hold: a plan that flushes
 * or whose delays change from micro-batch to micro-batch, replicas that are averaged, forward passes on predicted
 * weights, mitigations, and optimizers whose step is not a fixed multiple of a sum of gradients.
 */
void mr_stable_rates_print(const mr_session *s, const mr_plan *p, FILE *out);

#endif
