/*
 * zb_h1.c - 1F1B with split backwards: weight gradients fill the waits (3 workers, 5 micro-batches, f = i = w).
 * Letters: F forward, I gradient of the input, W gradient of the weights.
 *
 *   w0 F0F1F2....I0W0F3I1W1F4I2W2I3W3I4W4....
 *   w1 ..F0F1..I0F2I1W0F3I2W1F4I3W2I4W3W4..
 *   w2 ....F0I0F1I1F2I2W0F3I3W1F4I4W2W3W4....
 *
 * Problem: the backward of a stage does two things, and the stage before it waits for only one of them. Idea: do the
 * gradient of the input (I) at once and hand it on; do the gradient of the weights (W) later, when the worker would
 * wait anyway. On worker w, W lags I by w micro-batches, so that the last worker, which has gradients first, hands them
 * back fastest.
 *
 * Time: without a barrier an iteration takes its work plus (D - 1) max(i, f + i - w), where 1f1b adds (D - 1)(f + i +
 * w); with one, (D - 1) max(f, i, f + i - w). For T >= D: with fewer micro-batches the waits are longer than the weight
 * gradients that could fill them. Memory: in 1f1b the workers keep different numbers of micro-batches; here every
 * worker keeps D until their W. Gradients are summed in the order 0..T-1: the bits of 1f1b.
 *
 * Clipping by the global norm needs all gradients before any step, which is a barrier. With optimizer = validated each
 * stage steps at once and is corrected in the rare case that this was wrong. zb_h2.c describes this and the option
 * steal.
 *
 * Source: Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2 and figure 2.
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
	return mr_lagged_emit(args, "zb_h1", 1, MR_FLUSH_BARRIER, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	mr_lagged_claims(args, 1, f, i, w, out);
}

const mr_sched_ops mr_sched_zb_h1 = {
	.name = "zb_h1",
	.summary = "1F1B with split backwards: weight gradients fill the waits, in the memory of 1F1B's first worker",
	.source = "Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
