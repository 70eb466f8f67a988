/*
 * gpipe.c - all forwards, then all backwards, then one update (3 stages, 4 micro-batches, f = 1, b = 2).
 *
 *   w0 F0F1F2F3............B0--B1--B2--B3--        backward = fifo
 *   w1 ..F0F1F2F3......B0--B1--B2--B3--....
 *   w2 ....F0F1F2F3B0--B1--B2--B3--........
 *
 *   w0 F0F1F2F3............B3--B2--B1--B0--        backward = lifo
 *   w1 ..F0F1F2F3......B3--B2--B1--B0--....
 *   w2 ....F0F1F2F3B3--B2--B1--B0--........
 *
 * Problem: with one batch in the pipeline only one worker works at a time. Idea: cut the batch into T micro-batches and
 * let them follow each other; update once, when all gradients are summed, so that the numbers are those of one worker.
 *
 * Time: makespan (T + D - 1)(f + b), of which (D - 1)(f + b) is bubble. Memory: every worker keeps the activations of
 * all T micro-batches (1f1b keeps at most D - w for the same time). Weights: one version, no staleness.
 *
 * Two orders of the backwards, of equal time and memory. fifo sums the gradients in the order 0..T-1, as 1f1b does, so
 * both give the same bits. lifo is the paper's: the micro-batch whose activations are the newest in the caches goes
 * first.
 *
 * recompute = always, as in the paper, keeps only a stage's input of each micro-batch, and the activations of one
 * micro-batch: an R runs the forward again before each backward. except_last does not recompute the last micro-batch,
 * whose activations are still there: with lifo they are used at once and cost no memory; with fifo they wait for their
 * turn, so that two micro-batches have their activations.
 *
 *   w0 F0F1F2F3............B3--R2B2--R1B1--R0B0--  backward = lifo, recompute = except_last
 *   w1 ..F0F1F2F3......B3--R2B2--R1B1--R0B0--....
 *   w2 ....F0F1F2F3B3--R2B2--R1B1--R0B0--........
 *
 * Bubble: the same (D - 1)(f + b), beside a work of T(2f + b) or f less. An R depends on no other worker, so the R of
 * the first backward fills some of the wait for it, and the others delay the next backward equally on all workers.
 *
 * Source: Huang et al., GPipe, NeurIPS 2019, section 2.3 and figure 2c; the names of the choices are torchgpipe's.
 */
#include <string.h>

#include "schedules/common/straight.h"

static const mr_option options[] = {
	{"backward", MR_OPT_ENUM, "fifo", 0, 0, "fifo|lifo", NULL,
	 "order of the backward passes: first micro-batch first, or last first as in the paper"},
	{"recompute", MR_OPT_ENUM, "never", 0, 0, "never|always|except_last", NULL,
	 "keep the input of a stage alone and run its forward again before the backward; except_last: not of the last "
	 "micro-batch"},
	{0},
};

static bool is(const mr_sched_args *args, const char *option, const char *word)
{
	return !strcmp(mr_values_string(args->options, option), word);
}

/* How many of the micro-batches, from the first on, are recomputed. */
static uint32_t recomputed(const mr_sched_args *args)
{
	return is(args, "recompute", "never") ? 0 : args->n_micro - is(args, "recompute", "except_last");
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args)
{
	bool lifo = is(args, "backward", "lifo");
	uint32_t n = plan->n_micro;

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		for (uint32_t m = 0; m < n; m++)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, w, 0));
		for (uint32_t k = 0; k < n; k++) {
			uint32_t m = lifo ? n - 1 - k : k;

			if (m < recomputed(args))
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_R, m, w, 0));
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, w, 0));
		}
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "gpipe", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, is(args, "backward", "lifo") ? MR_SUM_DESCENDING : MR_SUM_ASCENDING);
	return mr_sched_finish(plan, fill(plan, args), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t kept;

	out->bubble_time = out->bubble_period = (args->n_workers - 1) * (f + i + w);
	/* With recomputation the activations of one micro-batch are kept, and those of the last one if it is spared. */
	kept = recomputed(args) == 0                                               ? args->n_micro
	       : recomputed(args) < args->n_micro && !is(args, "backward", "lifo") ? 2
										   : 1;
	out->peak_first = out->peak_last = kept;
	out->peak_slots_first = out->peak_slots_last = kept;
}

const mr_sched_ops mr_sched_gpipe = {
	.name = "gpipe",
	.summary = "all forwards, then all backwards, then one update",
	.source = "Huang et al., GPipe, NeurIPS 2019, section 2.3",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
