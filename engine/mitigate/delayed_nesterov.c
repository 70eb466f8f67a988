/*
 * delayed_nesterov.c - the staler a stage, the longer the memory of its look-ahead.
 *
 *	mu_k = mu + tau_k (limit - mu) / D        D stages, tau_k commits of delay at stage k
 *
 * Problem: a step along the momentum as it was tau commits ago overshoots. Idea: Nesterov's look-ahead already goes
 * where the momentum will have led; with a memory close to 1 the look-ahead covers the delay, since gradients then
 * count little one by one. So stages with more delay get more memory. t1_steps also starts them slowly, as pipemare's
 * T1 does: lr / tau^(1 - t / K).
 *
 * Source: Ajanthan et al., "Nesterov method for asynchronous pipeline parallel optimization", ICML 2025, with its
 * stage-dependent momentum, from 0.9 at the last stage to 0.99; nadamw with its default beta1 of 0.99 is the uniform
 * variant, in which nothing is left to raise: that is refused, unless t1_steps is set.
 */
#include "mitigate/mitigate.h"

static const mr_option options[] = {
	{"limit", MR_OPT_FLOAT, "0.99", 0, 0.9999, NULL, NULL,
	 "momentum that a stage of as much delay as there are stages would have"},
	{"t1_steps", MR_OPT_INT, "0", 0, 2147483647, NULL, "steps",
	 "commits over which a stage's learning rate rises from lr / staleness to lr; 0: it is lr from the start"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	m->limit = mr_values_float(values, "limit");
	m->slow_start = (uint32_t)mr_values_int(values, "t1_steps");
}

static bool suits(const mr_optim *o)
{
	return o->nesterov || o->ops->looks_ahead;
}

static double memory_of(const mr_optim *o)
{
	return o->ops->looks_ahead ? o->b1 : o->mu;
}

static mr_status check(const mr_mitigate *m, const mr_optim *o)
{
	const char *key = o->ops->looks_ahead ? "beta1" : "mu";

	if (memory_of(o) < m->limit || m->slow_start)
		return MR_OK;
	return mr_fail(MR_ECONFIG,
		       "delayed_nesterov raises %s of a stale stage towards limit = %g, and %s of %s is %g already, so "
		       "every stage would have as much: set optimizer.%s = 0.9, from which it was published, or a "
		       "larger limit",
		       key, m->limit, key, o->ops->name, memory_of(o), key);
}

static void raise_memory(double *mu, double limit, uint32_t tau, uint32_t n_stages)
{
	if (*mu < limit)
		*mu += tau * (limit - *mu) / n_stages;
}

static void settle(const mr_mitigate *m, uint32_t tau, uint32_t n_stages, mr_optim *o)
{
	raise_memory(o->ops->looks_ahead ? &o->b1 : &o->mu, m->limit, tau < n_stages ? tau : n_stages, n_stages);
}

extern const mr_mitigate_ops mr_mitigate_delayed_nesterov;
const mr_mitigate_ops mr_mitigate_delayed_nesterov = {
	.name = "delayed_nesterov",
	.summary = "the staler a stage, the longer the memory of its look-ahead",
	.source = "Ajanthan et al., Nesterov Method for Asynchronous Pipeline Parallel Optimization, ICML 2025",
	.options = options,
	.suits_text = "an optimizer that looks ahead, since it is that step whose memory it sets: nadam, nadamw, or "
		      "momentum or muon with nesterov = true",
	.suits = suits,
	.check = check,
	.init = init,
	.settle = settle,
};
