/*
 * error_feedback.c - what a late step did too much or too little is made good in the next one.
 *
 *	w = w - u - c (u - u_before)        u: the whole step of the optimizer, with its rate and its decay
 *
 * Problem: one commit late, the step u_before was taken from weights that its gradient had not seen. Had it come in
 * time, u would have been known in its place: u - u_before is the error that it left. Idea: the next step takes that
 * error along. The first commit has no predecessor and is an ordinary one; so is every commit of a stage without delay.
 *
 * u_before is the step as the optimizer made it, without the correction, so that errors do not feed on themselves. A
 * gradient moves the moments once, and a rate that changes does not rescale u_before. In f64 throughout, between
 * masters where the weights have some; kept in the type of the optimizer's state.
 *
 * Source: "error feedback" for pipelines whose updates are one step late, arXiv 2606.30634, algorithms 1 and 2, with c
 * = 1; as RamTorch (github.com/lodestone-rock/RamTorch) has it.
 * NOTE 1: the source's delay is 1. by_delay = true takes c times the delay of the stage instead, which is ours.
 * NOTE 2: a row of a table without a gradient has u = 0, and so gets u_before back in the commit behind its step.
 */
#include "mitigate/mitigate.h"

#include "nn/element.h"

static const mr_option options[] = {
	{"c", MR_OPT_FLOAT, "1.0", 0, 100, NULL, NULL,
	 "how much of the difference between a step and the one before it is added to the step; 0: nothing changes"},
	{"by_delay", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "c is multiplied by the delay of the stage, in commits"},
	{0},
};

static void init(mr_mitigate *m, const mr_values *values)
{
	m->strength = mr_values_float(values, "c");
	m->by_delay = mr_values_bool(values, "by_delay");
	m->keeps_state = true;
}

/* Called with types that are constants: the compiler makes a loop of each. */
static inline void amend_as(mr_dtype weights, mr_dtype state, const mr_mitigate_call *c, double strength, void *made,
			    int16_t *made_rest, int64_t lo, int64_t hi)
{
	for (int64_t i = lo; i < hi; i++) {
		double from = mr_element_master(weights, c->now, c->now_rest, i);
		double to = mr_element_master(weights, made, made_rest, i), u = from - to;

		if (strength > 0 && c->t > 1)
			mr_element_put_master(weights, made, made_rest, i,
					      to - strength * (u - mr_element(state, c->state, i)));
		mr_element_put(state, c->state, i, u);
	}
}

static void amend(const mr_mitigate *m, const mr_mitigate_call *c, void *made, int16_t *made_rest, int64_t lo,
		  int64_t hi)
{
	double strength = m->strength * (m->by_delay ? c->delay : 1);

	if (c->weights == MR_F64)
		amend_as(MR_F64, MR_F64, c, strength, made, NULL, lo, hi);
	else if (c->weights == MR_F32)
		amend_as(MR_F32, MR_F32, c, strength, made, NULL, lo, hi);
	else
		amend_as(c->weights, c->dtype, c, strength, made, made_rest, lo, hi);
}

extern const mr_mitigate_ops mr_mitigate_error_feedback;
const mr_mitigate_ops mr_mitigate_error_feedback = {
	.name = "error_feedback",
	.summary = "a late step also takes what the step before it would have been other than it was",
	.source = "Error feedback on delayed updates, arXiv 2606.30634, algorithms 1 and 2",
	.options = options,
	.state_name = "last_step",
	.init = init,
	.amend = amend,
};
