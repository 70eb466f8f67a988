/*
 * chimera.c - two pipes in opposite directions, which fill each other's bubbles (4 stages, 4 micro-batches, b = 2 f).
 *
 *   w0 F0F1..f2b2--f3b3--..B0--....B1--        down: micro-batches 0, 1, stage s on worker s
 *   w1 ..F0f2F1f3..b2--B0--b3--B1--....        up (small letters): micro-batches 2, 3, stage s on worker D - 1 - s
 *   w2 ..f2F0f3F1..B0--b2--B1--b3--....
 *   w3 f2f3..F0B0--F1B1--..b2--....b3--
 *
 * Problem: in 1f1b the first worker idles at the end and the last one at the beginning. Idea: a second pipe upside
 * down, whose beginning falls on the first one's end. A unit is D micro-batches, half of them down and half up; drawn
 * in slots of one F or one B, the two need slots of different parity at every worker, so they never meet (twoway.h).
 *
 * More micro-batches than workers (variant):
 *   direct     unit behind unit; the forwards of one fill the gaps at the end of the one before. Exact for f = b;
 *              otherwise every joint costs another (D - 2) |b - f|.
 *   doubling   units of 2 D micro-batches in slots of two forwards or one backward: no waits at the joints where b = 2
 *              f, for twice the memory. Below is D = 4, T = 8. The remainder (less than 2 D) is joined directly. Each
 *              forward's output is handed on at once, not in pairs.
 *   halving    the converse: a forward of one micro-batch, its backward in two halves. A plan has no part of a
 *              micro-batch, so T counts halves and the order is that of doubling. T must be even; the remainder is a
 *              smaller unit of such pairs.
 *
 *   w0 F0F1F2F3f4f5b4--f6f7b5--..B0--b6--B1--b7--B2--....B3--
 *   w1 ..F0F1f4f5F2F3f6f7b4--B0--b5--B1--b6--B2--b7--B3--....
 *   w2 ..f4f5F0F1f6f7F2F3B0--b4--B1--b5--B2--b6--B3--b7--....
 *   w3 f4f5f6f7F0F1B0--F2F3B1--..b4--B2--b5--B3--b6--....b7--
 *
 * pipes = 2 q has q pipes each way, shifted round by D / q workers: less bubble, more copies and memory; q = D / 2 has
 * none, like data parallelism.
 *
 * T mod D micro-batches are a unit that is not full, shared evenly by the pipes. ref_tail = true fills the first pipe
 * first, as the reference does, which takes longer (D = 4, T = 6, all costs 1: 28 for 25). Not with halving, which
 * has no such unit.
 *
 * Time: direct, U full units: bubble (D/q - 2)(max(f, b) + (U - 1)|b - f|); T < D, two pipes, T' = T rounded up to
 * even: (D - T)(f + b) + (T' - 2) max(f, b). Doubling, T a multiple of 2 D, f <= b <= 2f: (D/2 - 1)(f + b). Memory of
 * worker w: direct, two pipes: D/2 + 1 + min(w, D-1-w); 2 q pipes: D - D/2q + 1 to D; doubling: 3D/2 + 1 to 2 D.
 * Weights: one version, one shared copy or one a pipe. Gradients: ascending within a pipe, then pipe by pipe.
 *
 * Source: Li and Hoefler, Chimera, SC 2021, sections 3.1 to 3.6 and figures 3, 6, 7 and 8, and its published program.
 * NOTE 1: for D = 2 and T > 2 that program leaves micro-batches out; this does not.
 * NOTE 2: the paper's eager synchronisation, a reduction in the bubbles before the end, is not an option: the lowering
 * does it for every system of several pipes, where no worker waits (lower/lower_eager.c).
 */
#include <math.h>
#include <string.h>

#include "schedules/common/twoway.h"

static const mr_option options[] = {
	{"pipes", MR_OPT_INT, "2", 2, 254, NULL, NULL,
	 "pipes, half of them down and half up; half of it must divide half of the workers"},
	{"variant", MR_OPT_ENUM, "direct", 0, 0, "direct|doubling|halving", NULL,
	 "how more micro-batches than workers are joined: unit behind unit; forwards by twos; each forward two "
	 "backwards"},
	{"ref_tail", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "micro-batches of the last, partial unit fill the first pipe first, as in the reference, instead of all "
	 "alike"},
	MR_TWOWAY_WEIGHTS,
	{0},
};

static bool is_direct(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "variant"), "direct");
}

static bool is_halving(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "variant"), "halving");
}

static mr_status check(const mr_sched_args *args)
{
	uint32_t d = args->n_workers, pipes = (uint32_t)mr_values_int(args->options, "pipes");

	if (d % 2)
		return mr_fail(MR_ECONFIG,
			       "two opposite pipes meet without a clash on an even number of workers, not on %u; "
			       "1f1b and gems take any number",
			       d);
	if (pipes % 2 || d % pipes)
		return mr_fail(MR_ECONFIG, "pipes must be even and divide the workers, got %u pipes on %u workers",
			       pipes, d);
	if (pipes > 2 && !is_direct(args))
		return mr_fail(MR_ECONFIG, "variant %s has 2 pipes, got pipes = %u",
			       mr_values_string(args->options, "variant"), pipes);
	if (is_halving(args) && args->n_micro % 2)
		return mr_fail(
			MR_ECONFIG,
			"variant halving makes two backwards of each forward, so micro-batches (counted by backwards) "
			"must be even, got %u",
			args->n_micro);
	if (is_halving(args) && mr_values_bool(args->options, "ref_tail"))
		return mr_fail(
			MR_ECONFIG,
			"ref_tail: variant halving joins no unit directly, and the reference has none of its own");
	return MR_OK;
}

/*
 * Forwards by twos, backwards one by one: micro-batches @first .. @first + @n_micro - 1 (even, at most 2 D). A slot is
 * as long as two forwards or one backward.
 */
static mr_status doubled_unit(mr_slots *slots, uint64_t slot, uint32_t first, uint32_t n_micro)
{
	const mr_plan *plan = slots->plan;
	uint32_t depth = 2u * plan->n_stages - 1;

	for (uint8_t p = 0; p < 2; p++) {
		uint32_t share = 2 * mr_twoway_share(plan, n_micro / 2, p, true, 0);

		for (uint32_t k = 0; k < share; k++, first++)
			for (uint16_t s = 0; s < plan->n_stages; s++) {
				MR_TRY(mr_slots_put(slots, slot + 2 * (k / 2) + s, MR_OP_F, first, s, p));
				MR_TRY(mr_slots_put(slots, slot + 2 * k + depth - s, MR_OP_B, first, s, p));
			}
	}
	return MR_OK;
}

static mr_status fill(mr_slots *slots, const mr_sched_args *args)
{
	uint32_t d = args->n_workers, left = args->n_micro, at = 0, n;
	bool even = !mr_values_bool(args->options, "ref_tail");
	uint64_t slot = 0;

	for (; !is_direct(args) && (left >= 2 * d || (is_halving(args) && left)); at += n, left -= n, slot += 3 * d) {
		n = left < 2 * d ? left : 2 * d;
		MR_TRY(doubled_unit(slots, slot, at, n));
	}
	for (; left; at += n, left -= n, slot += 2 * d) {
		n = left < d ? left : d;
		MR_TRY(mr_twoway_unit(slots, slot, at, n, even));
	}
	return mr_slots_emit(slots);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_slots slots;
	mr_plan *plan;
	mr_status st;

	MR_TRY(check(args));
	MR_TRY(mr_twoway_create(args, "chimera", (uint32_t)mr_values_int(args->options, "pipes"), &plan));
	mr_slots_init(&slots, plan);
	st = fill(&slots, args);
	mr_slots_fini(&slots);
	return mr_sched_finish(plan, st, out);
}

/* Direct joining: units that fill each other's gaps, or one unit that is not full. */
static void claim_direct(const mr_sched_args *args, double f, double b, mr_sched_claims *out)
{
	uint32_t d = args->n_workers, pipes = (uint32_t)mr_values_int(args->options, "pipes"), t = args->n_micro;

	if (t % d == 0) {
		out->bubble_time = (2. * d / pipes - 2) * (fmax(f, b) + (t / d - 1) * fabs(b - f));
		out->peak_first = d - d / pipes + 1;
		out->peak_last = out->peak_first;
		out->peak_slots_first = d / pipes;
		out->peak_slots_last = 1;
	} else if (t < d && pipes == 2 && !mr_values_bool(args->options, "ref_tail")) {
		out->bubble_time = (d - t) * (f + b) + (t + t % 2 - 2) * fmax(f, b);
	}
}

/* Forwards by twos, in full units. */
static void claim_doubled(const mr_sched_args *args, double f, double b, mr_sched_claims *out)
{
	uint32_t d = args->n_workers;

	if (args->n_micro % (2 * d))
		return;
	if (f <= b && b <= 2 * f)
		out->bubble_time = (d / 2 - 1) * (f + b);
	out->peak_first = 3 * d / 2 + 1;
	out->peak_last = out->peak_first;
	out->peak_slots_first = d;
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	if (is_direct(args))
		claim_direct(args, f, i + w, out);
	else
		claim_doubled(args, f, i + w, out);
	out->bubble_period = out->bubble_time;
}

const mr_sched_ops mr_sched_chimera = {
	.name = "chimera",
	.summary = "two pipes in opposite directions fill each other's bubbles",
	.source = "Li and Hoefler, Chimera, SC 2021, sections 3.1 to 3.6",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
