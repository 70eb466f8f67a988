/*
 * v_half.c - split backwards on a V in half of 1F1B's memory (4 workers, 5 micro-batches, f = i = w; small
 * letters: the second stage).
 *
 *   w0 F0F1F2F3F4....f0i0w0f1i1w1f2....I0i2w2W0..I1W1..f3i3I2w3f4i4w4W2I3W3....I4W4
 *   w1 ..F0F1F2F3..f0..f1i0w0f2i1w1..I0W0..i2w2I1W1F4f3..I2i3f4w3W2i4I3w4W3..I4W4..
 *   w2 ....F0F1F2f0..f1..f2i0w0F3i1I0w1W0....I1i2f3w2F4I2W1f4i3w3W2I3i4w4W3I4W4....
 *   w3 ......F0f0F1f1F2f2....i0w0I0W0F3i1w1I1W1f3i2I2w2F4f4W2..i3I3w3W3i4I4w4W4....
 *
 * Problem: zb_v has no bubble, but needs the memory of 1f1b's first worker on every worker. Idea: the memory of a
 * worker is the lifetime of its chunks' activations divided by the six slots of a micro-batch. Choose the slots of one
 * micro-batch's passes so that the activations live half as long: F of leg 0 goes down the workers in every second
 * slot, F of leg 1 comes back without a pause, and likewise the two backwards. Repeat this block every six slots; then
 * squeeze front and back together (v_squeeze.c).
 *
 * Memory: floor(D / 2) + 1 micro-batches of a worker's share on every worker. Time: at f = i = w and T >= 2 D - 1
 * makespan and period have a bubble of 1.5 D - 2 (D odd, from 3) or 1.5 D - 3.5 (D even, from 4) times f, found on the
 * plans up to D = 18. Where costs differ the bubble grows with T (D = 4, f, i, w = 2, 3, 1: 14 at T = 8, 42 at T =
 * 64). Gradients of a stage are summed in the order 0..T-1.
 *
 * Source: Qi et al., Pipeline Parallelism with Controllable Memory, 2024, section 3; the order is that of its
 * published scheduler.
 */
#include "schedules/common/v_squeeze.h"

static const mr_option options[] = {
	MR_SCHED_STEAL,
	{0},
};

/* The forward of leg 0 goes down at half speed, so that it and the other passes meet in free slots. */
static uint32_t start(uint32_t n_workers, uint32_t worker, mr_vee_step pass)
{
	uint32_t d = n_workers, w = worker, shift = d % 2 ? 0 : 3; /* else I of leg 1 would meet F of leg 0 */
	const uint32_t slot[MR_BOARD_PASSES] = {2 * w, 3 * d - w - 2, 3 * d + shift + 2 * w - 1, 6 * d + shift - w - 2};

	return slot[pass];
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	return mr_v_squeeze(args, "v_half", start, out);
}

/* The times are exact for equal costs and enough micro-batches to fill the pipeline; the memory for any costs. */
static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers;

	if (args->n_micro < 2 * d - 1)
		return;
	out->peak_first = d / 2 + 1;
	out->peak_last = d / 2 + 1;
	if (f != i || i != w || d < 3)
		return;
	out->bubble_time = (1.5 * d - (d % 2 ? 2 : 3.5)) * f;
	out->bubble_period = out->bubble_time;
}

const mr_sched_ops mr_sched_v_half = {
	.name = "v_half",
	.summary = "split backwards on a V in half the memory of 1F1B, for some bubble",
	.source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024, section 3 (V-Half)",
	.options = options,
	.chunks = 2,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
