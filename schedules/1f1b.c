/*
 * 1f1b.c - one forward, one backward, with a flush: the time of gpipe in less memory (3 stages, 4 micro-batches, b = 2
 * f).
 *
 *   w0 F0F1F2........B0--F3B1--..B2--..B3--
 *   w1 ..F0F1....B0--F2B1--F3B2--..B3--....
 *   w2 ....F0B0--F1B1--F2B2--F3B3--........
 *
 * Problem: gpipe holds the activations of all T micro-batches at once, so memory, not speed, limits T. Idea: a
 * micro-batch's activations are freed by its backward, so begin the backwards as soon as they can begin. Worker w runs
 * ahead by D - 1 - w forwards, just enough to keep the last worker fed, then alternates, then drains.
 *
 * Time: that of gpipe, bubble (D - 1)(f + b). Memory: worker w keeps at most min(T, D - w) micro-batches, whatever T
 * is, so that a larger T lowers the share of the bubble at no cost. Weights: one version, no staleness. Gradients are
 * summed in the order 0..T-1. Fewer micro-batches than workers are fine: the run-ahead is clamped to T.
 *
 * recompute = always (recompute_stages: in these stages alone) keeps only the stage's input of each micro-batch in
 * flight, and the activations of one micro-batch: before each backward an R runs the forward again. R depends on no
 * other worker, so in the drain it fills the wait for the gradient: the bubble is (D - 1)(f + b) - min(2f, f + b),
 * beside a longer work of T(2f + b). Where a backward directly follows its forward (the last worker, or a single
 * micro-batch) there is nothing to save, and no R.
 *
 *   w0 F0F1F2R0......B0--F3R1B1--R2..B2--R3B3--
 *   w1 ..F0F1R0..B0--F2R1B1--F3R2B2--R3B3--....
 *   w2 ....F0B0--F1B1--F2B2--..F3B3--..........
 *
 * merge_w = K splits the backward, and the weight gradients of K micro-batches become one product over all their rows,
 * which a machine with caches does in much less than K times the time of one: the sum of gradients is read and written
 * once. W does not delay I, for which the other workers wait: a worker carries out K of its W when 2K are due, or in
 * the drain, where it waits for gradients anyway (K = 2).
 *
 *   w0 F0F1F2....I0F3I1W0--I2..I3W2--        (f = i = w)
 *   w1 ..F0F1..I0F2I1F3I2W0--I3W2--..
 *   w2 ....F0I0F1I1F2I2F3I3W0--W2--..
 *
 * Time: bubble max((D - 1) f, (D - 1)(f + i) - min(f, K w)) for T > K, else (D - 1)(f + i), with W at its full cost.
 * Memory: worker w keeps min(T, D - w + 2K - 1) micro-batches. With recompute = always it keeps the activations of at
 * most 2K.
 *
 * Source: Fan et al., DAPPLE, PPoPP 2021, section 3 (policy A: K_w = D - w in flight); the same order is called
 * PipeDream-flush in Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML 2021.
 */
#include <string.h>

#include "schedules/common/straight.h"

static const mr_option options[] = {
	{"recompute", MR_OPT_ENUM, "never", 0, 0, "never|always", NULL,
	 "keep the input of a stage alone and run its forward again before the backward"},
	{"recompute_stages", MR_OPT_FLOATS, "[]", 0, 65534, NULL, "stages",
	 "with recompute = always: the stages that do; empty: all"},
	{"merge_w", MR_OPT_INT, "0", 0, 255, NULL, NULL,
	 "weight gradients of this many micro-batches in one product; 0: each with its backward"},
	MR_SCHED_STEAL,
	{0},
};

static bool recomputes(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "recompute"), "always");
}

/* Does stage @stage recompute? */
static bool stage_recomputes(const mr_sched_args *args, uint16_t stage)
{
	size_t n;
	const double *some = mr_values_floats(args->options, "recompute_stages", &n);
	bool is_one = !n;

	for (size_t i = 0; i < n; i++)
		is_one |= some[i] == stage;
	return recomputes(args) && is_one;
}

static mr_status check_stages(const mr_sched_args *args)
{
	size_t n;
	const double *some = mr_values_floats(args->options, "recompute_stages", &n);

	for (size_t i = 0; i < n; i++)
		if (some[i] >= args->n_workers || some[i] != (uint16_t)some[i])
			return mr_fail(MR_ECONFIG, "recompute_stages: the stages are 0 to %u, not %g",
				       args->n_workers - 1, some[i]);
	return MR_OK;
}

static uint32_t merged(const mr_sched_args *args)
{
	return (uint32_t)mr_values_int(args->options, "merge_w");
}

/* The list of one worker with merged W: the weight gradients of micro-batches begin .. end - 1 are due. */
typedef struct merge {
	mr_plan *plan;
	uint16_t worker;
	uint32_t span, begin, end;
} merge;

static mr_status flush_w(merge *g)
{
	uint32_t n = g->end - g->begin < g->span ? g->end - g->begin : g->span;

	MR_TRY(mr_sched_emit_span(g->plan, g->worker, MR_BODY, MR_OP_W, g->begin, n, g->worker, 0));
	g->begin += n;
	return MR_OK;
}

static mr_status emit_merged(mr_plan *plan, uint16_t w, const mr_sched_args *args)
{
	uint32_t t = args->n_micro, wanted = plan->n_workers - 1u - w, ahead = wanted < t ? wanted : t, f = ahead;
	merge g = {.plan = plan, .worker = w, .span = merged(args)};
	bool recompute = stage_recomputes(args, w) && ahead > 0 && t > 1;

	for (uint32_t m = 0; m < ahead; m++)
		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, w, 0));
	for (uint32_t m = 0; m < t; m++) {
		if (f < t)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, f++, w, 0));
		else if (ahead > 0 && g.end - g.begin >= g.span)
			MR_TRY(flush_w(&g)); /* the drain: this worker would wait for the gradient */
		if (recompute)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_R, m, w, 0));
		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_I, m, w, 0));
		g.end = m + 1;
		if (g.end - g.begin >= 2 * g.span)
			MR_TRY(flush_w(&g));
	}
	while (g.begin < g.end)
		MR_TRY(flush_w(&g));
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_plan *plan;
	mr_status st = MR_OK;

	MR_TRY(check_stages(args));
	MR_TRY(mr_straight_create(args, "1f1b", args->n_micro, &plan));
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	for (uint16_t w = 0; st == MR_OK && w < plan->n_workers; w++)
		st = merged(args) ? emit_merged(plan, w, args)
				  : mr_straight_emit_1f1b(plan, w, MR_BODY, plan->n_workers - 1u - w, 0, args->n_micro,
							  stage_recomputes(args, w));
	return mr_sched_finish_steal(args, plan, st, out);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void claim_merged(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers, t = args->n_micro, k = merged(args);
	double filled = f < k * w ? f : k * w, bubble = (d - 1) * (f + i);

	out->bubble_time = bubble;
	if (d > 1 && t > k)
		out->bubble_time = bubble - filled > (d - 1) * f ? bubble - filled : (d - 1) * f;
	out->peak_slots_first = least(t, d + 2 * k - 1);
	out->peak_slots_last = least(t, 2 * k);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers, t = args->n_micro;
	bool recompute = recomputes(args) && d > 1 && t > 1;
	size_t some;

	mr_values_floats(args->options, "recompute_stages", &some);
	if (recompute && some)
		return; /* it depends on which */
	if (merged(args) && recompute)
		return; /* R changes the waits that W fills: no closed form is known */
	if (merged(args)) {
		claim_merged(args, f, i, w, out);
		return;
	}
	out->bubble_time = (d - 1) * (f + i + w);
	if (recompute)
		out->bubble_time -= 2 * f < f + i + w ? 2 * f : f + i + w;
	out->peak_slots_first = recompute ? 1 : least(t, d);
	out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_1f1b = {
	.name = "1f1b",
	.alias = "pipedream_flush",
	.summary = "one forward, one backward, with a flush before each update",
	.source = "Fan et al., DAPPLE, PPoPP 2021, section 3",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.emit = emit,
	.claims = claims,
};
