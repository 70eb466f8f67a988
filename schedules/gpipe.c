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
 * Problem: with one batch in the pipeline only one worker works at a time. Idea: cut the batch into T micro-batches and let
 * them follow each other; update once, when all gradients are summed, so that the numbers are those of one worker.
 *
 * Time: makespan (T + D - 1)(f + b), of which (D - 1)(f + b) is bubble. Memory: every worker keeps the activations of all T
 * micro-batches (1f1b keeps at most D - w for the same time). Weights: one version, no staleness.
 *
 * Two orders of the backwards, of equal time and memory. fifo sums the gradients in the order 0..T-1, as 1f1b does, so both
 * give the same bits. lifo is the paper's: the micro-batch that the caches remember best goes first.
 *
 * Source: Huang et al., GPipe, NeurIPS 2019, section 2.3 and figure 2c.
 * NOTE 1: the paper recomputes activations in the backward pass; this system keeps them.
 */
#include <string.h>

#include "schedules/straight.h"

static const mr_option options[] = {
	{"backward", MR_OPT_ENUM, "fifo", 0, 0, "fifo|lifo", NULL,
	 "order of the backward passes: first micro-batch first, or last first as in the paper"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return 2u * n_workers;
}

static mr_status fill(mr_plan *plan, bool lifo)
{
	uint32_t n = plan->n_micro;

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		for (uint32_t m = 0; m < n; m++)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, w, 0));
		for (uint32_t m = 0; m < n; m++)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, lifo ? n - 1 - m : m, w, 0));
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	bool lifo = !strcmp(mr_values_string(args->options, "backward"), "lifo");
	mr_plan *plan;

	MR_TRY(mr_straight_create(args, "gpipe", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, lifo ? MR_SUM_DESCENDING : MR_SUM_ASCENDING);
	return mr_sched_finish(plan, fill(plan, lifo), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = args->n_micro;
	out->peak_slots_last = args->n_micro;
	out->versions_first = 1;
	out->versions_last = 1;
}

const mr_sched_ops mr_sched_gpipe = {
	.name = "gpipe",
	.summary = "all forwards, then all backwards, then one update",
	.source = "Huang et al., GPipe, NeurIPS 2019, section 2.3",
	.options = options,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
