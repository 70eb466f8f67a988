/*
 * avgpipe.c - parallel pipelines over the same workers, each pulled towards a common reference (2 workers, 2 pipelines
 * of 2, b = f).
 *
 *   w0 F0F2B0F1B2F3B1..B3A     pipeline 0 has micro-batches 0 and 1, pipeline 1 has 2 and 3;
 *   w1 ..F0B0F2B2F1B1F3B3A     A: both are pulled, and the reference moves
 *
 * Problem: a pipeline that flushes idles for (D - 1)(f + b) in every step, and a larger step to make up for it trains
 * worse. Idea: R pipelines with weights of their own, each with the small batch of M micro-batches that trains well,
 * are interleaved on the same workers, so that one drains while another fills: together they idle as long as one with
 * R M micro-batches. So that the models do not drift apart each is pulled towards a reference after its step, x_r -=
 * alpha (x_r - reference), and the reference moves by the mean of their steps. The pull uses the reference from before
 * that move. The reference is the model that is evaluated and saved.
 *
 * Worker w runs stage w of all pipelines. Their micro-batches take turns: the first of each, then the second of each,
 * all in one order of 1F1B with D - 1 - w forwards ahead. advance = a (advance forward propagation) runs a more
 * forwards ahead, which hides activations that take long to arrive; a = 0 is 1F1B, a = T puts all forwards before all
 * backwards.
 *
 * Time: bubble (D - 1)(f + b) for R M micro-batches. Memory: R copies of weights and optimizer state, a reference, and
 * (NOTE 2) the mean of the replicas at the last average; worker w keeps min(T, D - w + a) micro-batches, shared by its
 * pipelines. Staleness 0.
 *
 * T micro-batches make a step, of which pipeline r has the r-th M = T / R. alpha = 0 stands for 1 / R.
 *
 * Source: Chen et al., Elastic Averaging for Efficient Pipelined DNN Training (AvgPipe), PPoPP 2023.
 * NOTE 1: the paper leaves open which reference the pull uses; with the old one no pipeline waits for another's pull.
 * NOTE 2: "what a pipeline has moved since the last average" is taken as a difference of means, so that no pipeline has
 * to keep the weights with which it began its step; this works with any optimizer.
 */
#include "ir/sched.h"

static const mr_option options[] = {
	{"replicas", MR_OPT_INT, "2", 2, 255, NULL, NULL, "R: pipelines that run through each other"},
	{"alpha", MR_OPT_FLOAT, "0", 0, 1, NULL, NULL, "pull towards the reference; 0: 1 / R"},
	{"advance", MR_OPT_INT, "0", 0, 65535, NULL, NULL, "forwards beyond those of 1F1B that a worker runs ahead"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return 4u * n_workers;
}

static uint32_t ahead_of(const mr_sched_args *args, uint16_t w)
{
	uint32_t ahead = args->n_workers - 1u - w + (uint32_t)mr_values_int(args->options, "advance");

	return ahead < args->n_micro ? ahead : args->n_micro;
}

/* The @k-th instruction of its kind: micro-batch k / R of pipeline k mod R. */
static mr_status put(mr_plan *plan, uint16_t w, mr_op op, uint32_t k)
{
	uint32_t r = plan->n_pipes, micro = k % r * (plan->n_micro / r) + k / r;

	return mr_sched_emit(plan, w, MR_BODY, op, micro, w, (uint8_t)(k % r));
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args)
{
	double alpha = mr_values_float(args->options, "alpha");
	mr_average a = {.rule = MR_AVERAGE_ELASTIC, .every = 1, .alpha = alpha > 0 ? alpha : 1.0 / plan->n_pipes};
	uint32_t n = args->n_micro;

	MR_TRY(mr_sched_replicates(plan, n, &a));
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint32_t ahead = ahead_of(args, w);

		for (uint32_t k = 0; k < n + ahead; k++) {
			if (k < n)
				MR_TRY(put(plan, w, MR_OP_F, k));
			if (k >= ahead)
				MR_TRY(put(plan, w, MR_OP_B, k - ahead));
		}
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_sched_create(args, "avgpipe", args->n_workers, (uint32_t)mr_values_int(args->options, "replicas"), 2,
			       &plan));
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] = s;
	return mr_sched_finish(plan, fill(plan, args), out);
}

/* Slots of one pipeline where all together have @n micro-batches at once. */
static uint32_t share(const mr_sched_args *args, uint32_t n)
{
	uint32_t r = (uint32_t)mr_values_int(args->options, "replicas");

	n = n < args->n_micro ? n : args->n_micro;
	return (n + r - 1) / r;
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = share(args, ahead_of(args, 0) + 1);
	out->peak_slots_last = share(args, ahead_of(args, (uint16_t)(args->n_workers - 1)) + 1);
}

const mr_sched_ops mr_sched_avgpipe = {
	.name = "avgpipe",
	.summary = "parallel pipelines with small batches fill each other's bubbles and are pulled towards a common "
		   "reference",
	.source = "Chen et al., Elastic Averaging for Efficient Pipelined DNN Training (AvgPipe), PPoPP 2023",
	.options = options,
	.replicates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
