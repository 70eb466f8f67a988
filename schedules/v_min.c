/*
 * v_min.c - split backwards on a V in a third of 1F1B's memory (4 workers, 5 micro-batches, f = i = w; small
 * letters: the second stage).
 *
 *   w0 F0F1F2........f0i0w0f1i1w1....I0W0F3..f2i2I1w2W1F4f3i3I2w3W2..f4i4I3w4W3......I4W4
 *   w1 ..F0F1......f0..f1i0w0F2....I0i1w1W0f2F3I1i2w2W1f3F4I2i3w3W2f4..I3i4w4W3....I4W4..
 *   w2 ....F0F1..f0..f1....i0w0F2I0W0..i1f2w1I1F3W1i2f3w2I2F4W2i3f4w3I3W3..i4w4..I4W4....
 *   w3 ......F0f0F1f1........i0I0w0W0F2f2i1I1w1W1F3f3i2I2w2W2F4f4i3I3w3W3....i4I4w4W4....
 *
 * Problem and idea: as in v_half.c, with the shortest life that activations can have: each of the four passes runs
 * through the workers without a pause, and the next one follows at once.
 *
 * Memory: floor((D + 4) / 3) micro-batches of a worker's share on the last worker; the first keeps the same, or a
 * chunk less where D leaves 2 when divided by 3. Time: at f = i = w and T >= 2 D - 1 makespan and period have a bubble
 * of 2 D - 2.5 (2 D - 3.5 where 3 divides D) times f from D = 2, found on the plans up to D = 18. The passes of a
 * micro-batch follow each other closely, so with different costs they wait for each other and the bubble grows with T
 * (D = 4, f, i, w = 2, 3, 1: 35.5 at T = 8, 203.5 at T = 64; 1f1b: 18). Gradients of a stage are summed in the order
 * 0..T-1.
 *
 * Source: Qi et al., Pipeline Parallelism with Controllable Memory, 2024, section 3; the order is that of its
 * published scheduler.
 */
#include "schedules/common/v_squeeze.h"

static const mr_option options[] = {
	MR_SCHED_STEAL,
	{0},
};

/* Each pass goes on without a pause: the shortest life of activations. */
static uint32_t start(uint32_t n_workers, uint32_t worker, mr_vee_step pass)
{
	uint32_t d = n_workers, w = worker, shift = d % 3 ? 0 : 2; /* else I of leg 1 would meet F of leg 0 */
	const uint32_t slot[MR_BOARD_PASSES] = {w, 2 * d - w - 1, 2 * d + shift + w, 4 * d + shift - w - 1};

	return slot[pass];
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	return mr_v_squeeze(args, "v_min", start, out);
}

/* The times are exact for equal costs and enough micro-batches to fill the pipeline; the memory for any costs. */
static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers;

	if (args->n_micro < 2 * d - 1)
		return;
	out->peak_first = (d + 4) / 3 - (d % 3 == 2 ? 0.5 : 0); /* a whole number of chunks */
	out->peak_last = (d + 4) / 3;
	if (f != i || i != w || d < 2)
		return;
	out->bubble_time = (2 * d - (d % 3 ? 2.5 : 3.5)) * f;
	out->bubble_period = out->bubble_time;
}

const mr_sched_ops mr_sched_v_min = {
	.name = "v_min",
	.summary = "split backwards on a V in a third of the memory of 1F1B, for more bubble",
	.source = "Qi et al., Pipeline Parallelism with Controllable Memory, 2024, section 3 (V-Min)",
	.options = options,
	.chunks = 2,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
