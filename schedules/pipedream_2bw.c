/*
 * pipedream_2bw.c - PipeDream with double-buffered weights: an update every M micro-batches, two versions (2 stages, M
 * = 2).
 *
 *   w0 F0F1B0--F2B1--F3B2--F4B3--F5B4-- ...     U after B1, B3, ...: F2, F3, B2, B3 read version 0, F4 .. B5 version 1
 *   w1 ..F0B0--F1B1--F2B2--F3B3--F4B4-- ...
 *
 * Problem: pipedream keeps D - k versions of the weights at stage k, and updates on the gradient of a single
 * micro-batch. Idea: sum M >= D micro-batches a commit. All that is in flight then belongs to at most two batches, so
 * two versions are enough: the micro-batches of batch t = m div M read version max(0, t - 1) in F and B at every stage,
 * and their commit makes version t + 1 into the buffer of version t - 1, which is not needed any more:
 *	W(t+1) = W(t) - lr * mean of the gradients at W(t-1)
 * The delay is one commit, the same at all stages and for every D: one consistent model for each micro-batch.
 *
 * Time: the only bubble is fill and drain, (D - 1)(f + b) once per run. Memory at stage k: two versions, activations of
 * D - k micro-batches. M is T (train.microbatches).
 *
 * recompute = always keeps only the stage's input of each micro-batch in flight, and the activations of one
 * micro-batch: before each backward an R runs the forward again, on the same version. At the last stage, where B
 * directly follows F, there is no R.
 *
 * Source: Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML 2021, section 3.1. Its flushing
 * sibling, PipeDream-Flush, is the system 1f1b.
 * NOTE 1: M = D - 1 would be enough for this order; the paper's M >= D is required.
 */
#include <string.h>

#include "schedules/common/unflushed.h"

static const mr_option options[] = {
	{"recompute", MR_OPT_ENUM, "never", 0, 0, "never|always", NULL,
	 "keep the input of a stage alone and run its forward again before the backward"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers;
}

static bool recomputes(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "recompute"), "always");
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_contract contract = {
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_BATCH,
		.sum = MR_SUM_ASCENDING,
		.need = args->n_micro,
		.same_version_b = true,
		.max_staleness = 1,
		.delay = 1,
		.delayed = args->n_workers,
	};

	if (args->n_micro < args->n_workers)
		return mr_fail(MR_ECONFIG,
			       "two versions are enough only for at least as many micro-batches a commit as workers: "
			       "%u, got %u",
			       args->n_workers, args->n_micro);
	return mr_unflushed_emit(args, "pipedream_2bw", args->n_workers, &contract, mr_unflushed_micro(args),
				 recomputes(args), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	if (args->finite && !recomputes(args))
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = recomputes(args) ? 1 : args->n_workers;
	out->peak_slots_last = 1;
	out->versions_first = out->versions_last = args->finite && args->n_commits == 1 ? 1 : 2;
}

const mr_sched_ops mr_sched_pipedream_2bw = {
	.name = "pipedream_2bw",
	.summary = "1F1B without a flush: an update every T micro-batches, on the weights of one update ago (two "
		   "versions)",
	.source = "Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML 2021, section 3.1",
	.options = options,
	.asynchronous = true,
	.accumulates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
