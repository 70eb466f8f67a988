/*
 * pipemare.c - one copy of the weights, slowed down at first where gradients are stale, and B corrected for what has
 * moved since F.
 *
 *   w0 F0F1F2........B0--F3B1--F4B2--F5B3--F6 ...     F3 reads version 1; B3 reads version 3, less 2 steps of the
 *                                                     running mean
 *   w1 ..F0F1....B0--F2B1--F3B2--F4B3--F5B4-- ...
 *   w2 ....F0B0--F1B1--F2B2--F3B3--F4B4--F5B5 ...
 *
 * Problem: without stashing, F of stage k reads weights that are tau = (D - 1 - k) / M commits older than those that B
 * reads and that the step changes, with M micro-batches in a commit. The delay makes large steps unstable, and the
 * difference biases the gradient. Idea, in three parts:
 *	T1  stage k begins with the rate lr / tau, which rises to lr over the first K commits: lr / tau^(1 - t / K);
 *	T2  a running mean of the stage's steps, delta = g delta + (1 - g)(w_new - w_old) with g = Dc^(1 / tau), tells
 *	    estimates how the weights move; B works on w - tau delta, an estimate of the weights that F read;
 *	T3  the first commits are synchronous: 1F1B with a drain after each. t of T1 and delta begin after them.
 * Stages with tau <= 1 begin at the full rate; those with tau = 0 need no correction.
 *
 * recompute = always keeps only the stage's input of each micro-batch in flight, and runs its forward again right
 * before its backward. That third read, like the second, is of the latest weights, and needs the same correction: its
 * delay is that of B. The recomputed activations belong to the weights on which B works, so a stage's own gradient is
 * that of one set of weights.
 *
 * Versions. F(m) reads max(0, m - (D - 1 - k)) div M, B(m) reads m div M: as ampnet. Time: the only bubble is fill and
 * drain, (D - 1)(f + b), once for each commit of T3 and once after them. Memory: one copy; stages with a correction
 * have two more, for delta and for the weights on which B works. M is T (train.microbatches).
 *
 * Source: Yang et al., PipeMare, MLSys 2021, sections 3.1 (T1), 3.2 (T2) and 3.3 (T3), and its appendix on
 * recomputation.
 * NOTE 1: the paper's tau counts a machine that runs F and B at once, (2(P - i) + 1) / N; this is the delay of 1F1B on
 * workers.
 * NOTE 2: the paper recomputes segments of several stages, whose recomputed activations travel on from stage to stage,
 * so that they are a little older than B. Here a segment is a stage, and there is no such delay.
 * NOTE 3: a commit of T3 clips the gradient of each stage by its own norm, as the others do.
 */
#include <string.h>

#include "schedules/common/unflushed.h"

static const mr_option options[] = {
	{"t1_steps", MR_OPT_INT, "0", 0, 2147483647, NULL, "steps",
	 "T1: commits over which a stage's learning rate rises from lr / staleness to lr; 0: it is lr from the start"},
	{"t2", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "T2: correct the weights of B for what has moved since F"},
	{"t2_memory", MR_OPT_FLOAT, "0.135", 0.000001, 0.999999, NULL, NULL,
	 "T2: what is left of a step in the running mean after as many commits as the stage is stale (Dc)"},
	{"t3_steps", MR_OPT_INT, "0", 0, 1000000, NULL, "steps",
	 "T3: commits at the start that are synchronous, each drained before the next"},
	{"recompute", MR_OPT_ENUM, "never", 0, 0, "never|always", NULL,
	 "keep the input of a stage alone and run its forward again before the backward, on the weights of that"},
	{0},
};

static const mr_option_need needs[] = {
	{"t2_memory", "t2", "true"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static bool recomputes(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "recompute"), "always");
}

/* In micro-batches. */
static int32_t since_f(uint16_t n_stages, uint16_t s)
{
	return -(int32_t)mr_unflushed_ahead(n_stages, s);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	bool t2 = mr_values_bool(args->options, "t2");
	uint32_t ahead = args->n_workers - 1u;
	mr_contract contract = mr_unflushed_latest(args);
	mr_plan *plan;

	contract.need = args->n_micro;
	contract.max_staleness = ahead / args->n_micro + (ahead % args->n_micro > 0);
	contract.slow_start = (uint32_t)mr_values_int(args->options, "t1_steps");
	contract.sync_steps = (uint32_t)mr_values_int(args->options, "t3_steps");
	contract.predict = t2 ? MR_PREDICT_BACK : MR_PREDICT_NONE;
	contract.ema_decay_ppm = t2 ? (uint32_t)(mr_values_float(args->options, "t2_memory") * 1e6 + 0.5) : 0;
	MR_TRY(mr_unflushed_emit(args, "pipemare", args->n_workers, &contract, mr_unflushed_micro(args),
				 recomputes(args), &plan));
	return mr_sched_finish(plan, t2 ? mr_unflushed_aim(plan, NULL, since_f) : MR_OK, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint64_t sync = (uint64_t)mr_values_int(args->options, "t3_steps") * args->n_micro;
	uint64_t most = args->finite ? mr_unflushed_micro(args) : UINT64_MAX, rest = most > sync ? most - sync : 0;
	uint64_t at_once = sync && args->n_micro > rest ? args->n_micro : rest;

	out->peak_slots_last = 1;
	out->peak_slots_first = args->n_workers < at_once ? args->n_workers : (uint32_t)at_once;
	if (recomputes(args))
		out->peak_slots_first = 1;
	if (args->finite && !sync && !recomputes(args))
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
}

const mr_sched_ops mr_sched_pipemare = {
	.name = "pipemare",
	.summary = "one copy of the weights: a slow start where gradients are stale, and B corrected for what moved "
		   "since F",
	.source = "Yang et al., PipeMare, MLSys 2021, section 3",
	.options = options,
	.needs = needs,
	.asynchronous = true,
	.accumulates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
