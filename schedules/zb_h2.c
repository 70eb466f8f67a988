/*
 * zb_h2.c - zb_h1 with twice as many micro-batches in flight: iterations fit into each other without a gap (3 workers,
 * 6 micro-batches, f = i = w).
 *
 *   w0 F0F1F2F3F4I0W0F5I1W1I2W2I3W3I4W4I5W5
 *   w1 ..F0F1F2I0F3I1F4I2W0F5I3W1I4W2I5W3W4W5
 *   w2 ....F0I0F1I1F2I2F3I3F4I4W0F5I5W1W2W3W4W5
 *
 * Problem: in zb_h1 the first workers still wait for the first gradient to come back. Idea: let them do forwards
 * meanwhile, 2(D - w) - 1 on worker w, and let W lag twice as far, 2w behind I. Then every worker is busy from its
 * first instruction to its last: the picture is a parallelogram. Its slanted sides are no loss if the next iteration
 * may begin on worker 0 while worker D - 1 still works on this one, so each stage's next forward waits only for that
 * stage's own update.
 *
 * Time, for T >= 2D - 1: an iteration takes its work plus (D - 1) max(0, i - f, f + i - 2w): none where f = i = w. Run
 * alone, or with a barrier, it takes (D - 1) max(f, i - f, f + i - 2w) longer than its work; where f = i = w zb_h1 does
 * as well. Memory: every worker keeps 2D - 1 micro-batches until their W. Gradients are summed in the order 0..T-1: the
 * bits of 1f1b.
 *
 * Clipping by the global norm needs all gradients before any step. With optimizer = barrier a run that clips waits for
 * them, which is a barrier. With optimizer = validated each stage steps at once, as if nothing had to be clipped, and
 * goes on with the next iteration's forwards; in front of its first backward it waits until the norms of all stages are
 * known, which by then they are: the time is that without clipping. A wrong step is taken back, taken again, and those
 * forwards are repeated (see ir/plan.h), so the numbers are those of the barrier. It costs a second copy of the
 * weights.
 *
 * With a barrier the slanted side at the end is lost, since the last worker's last W come long after the first worker
 * has finished. With steal = true a worker that would wait there takes the next W of the worker that has most of them
 * left (ir/plan.h). For D = 8, T = 16 and f = i = w the bubble goes from 7 to 4; for zb_h1 with f, i, w = 2, 1, 2 it
 * goes from 14 to 11. If nothing else needs a barrier, a run without one is better still.
 *
 * Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2 and figure 3; section 4 on validation.
 */
#include "schedules/common/lagged.h"
#include "schedules/common/looped.h"

static const mr_option options[] = {
	MR_LOOPED_OPTIMIZER,
	MR_SCHED_STEAL,
	{0},
};

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	return mr_lagged_emit(args, "zb_h2", 2, MR_FLUSH_LOCAL, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	mr_lagged_claims(args, 2, f, i, w, out);
}

const mr_sched_ops mr_sched_zb_h2 = {
	.name = "zb_h2",
	.summary = "zb_h1 with twice the forwards in flight: no wait at all where f = i = w, without a barrier between "
		   "iterations",
	.source = "Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
