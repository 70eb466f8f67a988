/*
 * pipemare.c - one copy of the weights, slowed down at first where gradients are stale, and B corrected for what has moved since F.
 *
 *   w0 F0F1F2........B0--F3B1--F4B2--F5B3--F6 ...     F3 reads version 1; B3 reads version 3, less 2 steps of the running mean
 *   w1 ..F0F1....B0--F2B1--F3B2--F4B3--F5B4-- ...
 *   w2 ....F0B0--F1B1--F2B2--F3B3--F4B4--F5B5 ...
 *
 * Problem: without stashing, F of stage k has seen weights that are tau = D - 1 - k commits older than those that B sees and steps.
 * The delay makes large steps unstable, and the difference biases the gradient. Idea, in two parts:
 *	T1  stage k begins with the rate lr / tau, which rises to lr over the first K commits: lr / tau^(1 - t / K);
 *	T2  a running mean of the stage's steps, delta = g delta + (1 - g)(w_new - w_old) with g = Dc^(1 / tau), tells how the weights
 *	    moved lately; B works on w - tau delta, an estimate of what F saw.
 * Stages with tau <= 1 begin at the full rate; those with tau = 0 need no correction.
 *
 * Versions. F(m) reads max(0, m - tau), B(m) reads m: as pipedream without stashing. Time: no bubble but fill and drain,
 * (D - 1)(f + b). Memory: one copy; delta and the weights that B works on are two more of the stages with a correction.
 *
 * Source: Yang et al., PipeMare, MLSys 2021, sections 3.1 (T1) and 3.2 (T2).
 * NOTE 1: the paper's tau counts a machine that runs F and B at once, (2(P - i) + 1) / N; this is the delay of 1F1B on workers.
 * NOTE 2: one micro-batch a commit, so that tau is a whole number; no synchronous warm-up (T3).
 */
#include "schedules/parts/unflushed.h"

static const mr_option options[] = {
	{"t1_steps", MR_OPT_INT, "0", 0, 2147483647, NULL, "steps",
	 "T1: commits over which a stage's learning rate rises from lr / staleness to lr; 0: it is lr from the start"},
	{"t2", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "T2: correct the weights of B for what has moved since F"},
	{"t2_memory", MR_OPT_FLOAT, "0.135", 0.000001, 0.999999, NULL, NULL,
	 "T2: what is left of a step in the running mean after as many commits as the stage is stale (Dc)"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static int32_t since_f(uint16_t n_stages, uint16_t s)
{
	return -(int32_t)mr_unflushed_ahead(n_stages, s);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	bool t2 = mr_values_bool(args->options, "t2");
	mr_contract contract = mr_unflushed_latest(args);
	mr_plan *plan;

	contract.slow_start = (uint32_t)mr_values_int(args->options, "t1_steps");
	contract.aim = t2 ? MR_AIM_BACK : MR_AIM_NONE;
	contract.memory_ppm = t2 ? (uint32_t)(mr_values_float(args->options, "t2_memory") * 1e6 + 0.5) : 0;
	MR_TRY(mr_unflushed_emit(args, "pipemare", args->n_workers, &contract, args->n_micro, false, &plan));
	return mr_sched_finish(plan, t2 ? mr_unflushed_aim(plan, NULL, since_f) : MR_OK, out);
}

const mr_sched_ops mr_sched_pipemare = {
	.name = "pipemare",
	.summary = "one copy of the weights: a slow start where gradients are stale, and B corrected for what moved since F",
	.source = "Yang et al., PipeMare, MLSys 2021, sections 3.1 and 3.2",
	.options = options,
	.asynchronous = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = mr_unflushed_claims,
};
