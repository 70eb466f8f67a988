/*
 * bitpipe.c - chimera with folded pipes: two stages of each pipe on every worker (4 workers, 4 micro-batches, b = 2 f).
 *
 *   w0 F0aF1a...F2cF2dF3cF3dF0bB0b---F1bB1b---...B2d---B2c---B3d---B3c---B0a---......B1a---
 *   w1 ...F0aF2cF1aF3cF2dF0bF3dF1b...B0b---B2d---B1b---B3d---B2c---B0a---B3c---B1a---......
 *   w2 ...F2cF0aF3cF1aF0bF2dF1bF3d...B2d---B0b---B3d---B1b---B0a---B2c---B1a---B3c---......
 *   w3 F2cF3c...F0aF0bF1aF1bF2dB2d---F3dB3d---...B0b---B0a---B1b---B1a---B2c---......B3c---
 *
 *   a, b: down, micro-batches 0 and 1, stages 0 and 7 on w0, 1 and 6 on w1, 2 and 5 on w2, 3 and 4 on w3
 *   c, d: up, micro-batches 2 and 3, stages 3 and 4 on w0, 2 and 5 on w1, 1 and 6 on w2, 0 and 7 on w3
 *
 * Problem: chimera's bubble is (D - 2) of the longer of f and b. Idea: halve the pieces, as interleaving does. Each
 * pipe is cut into 2 D stages that go along the workers and back (a V, so that the hand-over at the turn stays on its
 * worker); two such pipes in opposite directions have D micro-batches a unit between them. Chimera's slots (twoway.h)
 * with S = 2 D stages hold: micro-batch j is at stage s in slot 2j + s forward and 2j + 4D - 1 - s backward; no two
 * meet when D is even, and 4 D slots later the next unit's forwards fit behind. This merge of two tables of slots was
 * made for this file; no reference order was available.
 *
 * Time, U full units: bubble (D - 2)(max(f, b) + (U - 1)|b - f|) / 2, half of chimera's; T < D, T' = T rounded up to
 * even: (D - T)(f + b) + (T' - 2) max(f, b) / 2. Memory: 3D/4 + 1/2 micro-batches on the first and the last worker, D
 * in the middle. Weights: one version, one shared copy or one a pipe. Gradients: ascending within a pipe, then pipe by
 * pipe.
 *
 * Measured in the walk (bubble, D = 8; f = i = w = 1, then f, i, w = 2, 3, 1):
 *
 *	            T = 8        16           24           32         most kept (T = 16)
 *	1f1b        21, 42       21, 42       21, 42       21, 42       8
 *	1f1b_v      16.5, 33     16.5, 33     16.5, 33     16.5, 33     6
 *	chimera     12, 24       18, 36       24, 48       30, 60       8
 *	bitpipe      6, 12        9, 18       12, 24       15, 30       8
 *	zb_h1        7, 28        7, 28        7, 28        7, 28       8
 *	zb_v         7, 21        3.5, 14      3.5, 14      3.5, 14     8
 *	dualpipe_v  10.5, 24.5    3.5, 16.5    3.5, 16.5    3.5, 16.5   8.5
 *
 * At T = D it has the smallest bubble of these. Every joint costs another (D - 2)|b - f| / 2, so that with b = 2 f zb_v
 * is ahead from T = 2 D on, and 1f1b beyond T = 6 D.
 *
 * Source: Wu, Chen and Yu, BitPipe, arXiv 2410.19367.
 * NOTE 1: a unit that is not full is shared evenly by the pipes, as in chimera.
 */
#include <math.h>

#include "schedules/common/twoway.h"

static const mr_option options[] = {MR_TWOWAY_WEIGHTS, {0}};

static mr_status fill(mr_slots *slots, const mr_sched_args *args)
{
	uint32_t d = args->n_workers, n;
	uint64_t slot = 0;

	for (uint32_t at = 0; at < args->n_micro; at += n, slot += 4 * d) {
		n = args->n_micro - at < d ? args->n_micro - at : d;
		MR_TRY(mr_twoway_unit(slots, slot, at, n, true));
	}
	return mr_slots_emit(slots);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_slots slots;
	mr_plan *plan;
	mr_status st;

	if (args->n_workers % 2)
		return mr_fail(MR_ECONFIG,
			       "two opposite pipes meet without a clash on an even number of workers, not on %u; "
			       "1f1b and gems take any number",
			       args->n_workers);
	MR_TRY(mr_twoway_create(args, "bitpipe", 2, &plan));
	mr_slots_init(&slots, plan);
	st = fill(&slots, args);
	mr_slots_fini(&slots);
	return mr_sched_finish(plan, st, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers, t = args->n_micro;
	double b = i + w;

	if (t % d == 0) {
		out->bubble_time = (d - 2) * (fmax(f, b) + (t / d - 1) * fabs(b - f)) / 2;
		out->peak_first = 0.75 * d + 0.5;
		out->peak_last = out->peak_first;
		out->peak_slots_first = d / 2;
		out->peak_slots_last = 1;
	} else if (t < d) {
		out->bubble_time = (d - t) * (f + b) + (t + t % 2 - 2) * fmax(f, b) / 2;
	}
	out->bubble_period = out->bubble_time;
}

const mr_sched_ops mr_sched_bitpipe = {
	.name = "bitpipe",
	.summary = "two folded pipes in opposite directions: chimera with two stages of each pipe a worker",
	.source = "Wu et al., BitPipe, arXiv 2410.19367",
	.options = options,
	.chunks = 2,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
