/*
 * roundpipe.c - stages are assigned to the workers round robin, and each round continues where the last one ended (2
 * workers, S = 3 stages, 4 micro-batches in two rounds, b = f here; a, b, c: the worker's first, second and third
 * assignment; R recomputes).
 *
 *   w0 F0aF1aF0bF1bF2cF3cR2cB2cR3cB3cR0bB0bR1bB1bR0aB0aR1aB1a..   a: stage 0, b: stage 2 of round 0; c: stage 1 of
 *                                                                 round 1
 *   w1 ...F0aF1aF2bF3bF2cB2cF3cB3c...R2bB2bR3bB3bR0aB0aR1aB1a..   a: stage 1 of round 0; b: stage 0, c: stage 2 of
 *                                                                 round 1
 *
 * Problem: where a worker has stages of its own, a model whose stages do not divide evenly among the workers leaves
 * some of them idle in every iteration, and all activations between F and B stay in memory. Idea: no stage belongs to
 * a worker. One counter assigns the stages: stage s of round r has the number k = r S + s and goes to worker k mod D,
 * and all micro-batches of the round pass a stage before the worker turns to its next one. Only the input of each stage
 * is kept: B recomputes the rest. So S need not be a multiple of D: after D / gcd(S, D) rounds all workers have had the
 * same number of stages.
 *
 * Order, sync. The T micro-batches are cut into rounds, each at least D micro-batches where T allows. Workers go
 * forward through their numbers k upwards, then backward downwards, so round robin holds in both directions and across
 * rounds; only at the last stage of the last round each backward directly follows its forward, without recomputing.
 *
 * Order, async. The optimizer steps beside the next batch: batch t reads version max(0, t - 1), forward and backward,
 * and
 *	W(t+1) = W(t) - lr * mean of the gradients at W(t-1)
 * as in pipedream_2bw with M = T. Workers do not wait between batches: a worker does the forwards of batch t + 1, then
 * the backwards of batch t. A batch is one round: stage s is on worker s mod D, so here S should be a multiple of D.
 *
 * Versions: sync reads the batch's own and keeps one; async keeps two. Time: T S (2f + b) / D for stages of f and b,
 * less f of the micro-batches that turn at once; in sync with rounds of at least D micro-batches the fill and the drain
 * add at most (D - 1)(2f + b). Memory: the inputs of all stages for T micro-batches (async: 2T), activations of one.
 *
 * Source: RoundPipe, arXiv 2604.27085 (round-robin dispatch, recomputation by range, optimizer one step behind).
 * NOTE 1: one cut for both directions. RoundPipe cuts backward finer than forward, so that all steps take as long (a
 * backward range of f + b is as long as a forward one of several layers), and deals the backward ranges on from where
 * the forward ones ended. With finer stages both would be runs of stages; but then B of a stage is on another worker
 * than its F. In a plan both are on the worker that owns the slot, the gradient and the step of that stage and pipe,
 * and what is not there waits for it: this is why a version is a number in one list, and a slot an interval in one
 * list. And as long as F and B of a stage share a worker, no other grouping helps: of stages handled one after the
 * other on one worker, micro-batch by micro-batch is the order in which the next worker starts soonest. What the equal
 * cuts cost: the steps of the forward pass are shorter, so the workers wait at the turn, and the worker that turns at
 * once does less than the others. Against (K/D) T + D - 1 slots of equal length, which RoundPipe reaches where its
 * ranges come out even, that is 1.7 % at D = 4, S = 8, T = 16 and b = 2f (268 to 263.5).
 * NOTE 2: RoundPipe's counter goes on over iterations. Here it goes on over the rounds of one batch, which balances
 * each. Over iterations of sync it would only rename the workers: the first F of the next batch waits for the step of
 * stage 0, which is what every batch ends with, and all others wait for that F; no worker that is done early could
 * begin, whatever its number (period = makespan, tested). In async it would even out an S that is no multiple of D, at
 * the price of a second worker that steps each stage; a multiple does so too.
 */
#include <string.h>

#include "ir/sched.h"

static const mr_option options[] = {
	{"stages", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "stages that are dealt to the workers; 0: twice as many as workers, in sync less one"},
	{"optimizer", MR_OPT_ENUM, "sync", 0, 0, "sync|async", NULL,
	 "sync: a flush a batch; async: none, each batch on the weights of one step ago (two versions)"},
	{0},
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool is_async(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "optimizer"), "async");
}

static uint32_t stages(const mr_sched_args *args)
{
	int64_t given = mr_values_int(args->options, "stages");

	return given ? (uint32_t)given : 2u * args->n_workers - !is_async(args);
}

/* Rounds after which all workers have had as many stages; fewer where they would be of fewer than D micro-batches. */
static uint32_t rounds_of(const mr_sched_args *args)
{
	uint32_t a = stages(args), d = args->n_workers, fit = args->n_micro / d;

	while (d) {
		uint32_t rest = a % d;

		a = d;
		d = rest;
	}
	return least(least(args->n_workers / a, fit ? fit : 1), UINT8_MAX);
}

/* The first micro-batch of round @r of @n. */
static uint32_t first_of(uint32_t n_micro, uint32_t r, uint32_t n)
{
	return (uint32_t)((uint64_t)n_micro * r / n);
}

static mr_status emit_backward(mr_plan *plan, uint16_t w, mr_section section, uint32_t m, uint16_t s, uint8_t pipe)
{
	MR_TRY(mr_sched_emit(plan, w, section, MR_OP_R, m, s, pipe));
	return mr_sched_emit(plan, w, section, MR_OP_B, m, s, pipe);
}

/* The stage of @k, in its round, forward or backward. */
static mr_status emit_number(mr_plan *plan, uint32_t k, bool forward)
{
	uint32_t n = plan->n_stages, r = k / n;
	bool turns = k + 1 == n * plan->n_pipes;
	uint16_t s = (uint16_t)(k % n), w = (uint16_t)(k % plan->n_workers);
	uint32_t end = first_of(plan->n_micro, r + 1, plan->n_pipes);

	if (turns && forward)
		return MR_OK; /* with its backward */
	for (uint32_t m = first_of(plan->n_micro, r, plan->n_pipes); m < end; m++) {
		if (forward || turns)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, s, (uint8_t)r));
		if (turns)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, s, (uint8_t)r));
		else if (!forward)
			MR_TRY(emit_backward(plan, w, MR_BODY, m, s, (uint8_t)r));
	}
	return MR_OK;
}

static mr_status fill_sync(mr_plan *plan)
{
	uint32_t n = (uint32_t)plan->n_stages * plan->n_pipes;

	for (uint32_t k = 0; k < n; k++)
		MR_TRY(emit_number(plan, k, true));
	for (uint32_t k = n; k-- > 0;)
		MR_TRY(emit_number(plan, k, false));
	return MR_OK;
}

/* F of a batch whose first micro-batch is @first at the stages of @w but the last. */
static mr_status emit_forwards(mr_plan *plan, uint16_t w, mr_section section, uint32_t first)
{
	for (uint32_t s = w; s + 1 < plan->n_stages; s += plan->n_workers)
		for (uint32_t m = 0; m < plan->n_micro; m++)
			MR_TRY(mr_sched_emit(plan, w, section, MR_OP_F, first + m, (uint16_t)s, 0));
	return MR_OK;
}

static mr_status fill_async(mr_plan *plan)
{
	uint16_t last = (uint16_t)(plan->n_stages - 1);

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		MR_TRY(emit_forwards(plan, w, MR_PROLOGUE, 0));
		MR_TRY(emit_forwards(plan, w, MR_BODY, plan->n_micro));
	}
	for (uint16_t s = plan->n_stages; s-- > 0;)
		for (uint32_t m = 0; m < plan->n_micro; m++) {
			uint16_t w = mr_plan_worker(plan, 0, s);

			if (s == last)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, s, 0));
			MR_TRY(s == last ? mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, s, 0)
					 : emit_backward(plan, w, MR_BODY, m, s, 0));
		}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t n = stages(args), rounds = is_async(args) ? 1 : rounds_of(args);
	mr_plan *plan;

	if (n < args->n_workers)
		return mr_fail(MR_ECONFIG, "%u stages for %u workers: some would have none", n, args->n_workers);
	MR_TRY(mr_sched_create(args, "roundpipe", n, rounds, 4, &plan));
	for (uint32_t k = 0; k < n * rounds; k++)
		plan->worker_of[k] = (uint16_t)(k % args->n_workers);
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	if (!is_async(args))
		return mr_sched_finish(plan, fill_sync(plan), out);
	plan->contract.flush = MR_FLUSH_NONE;
	plan->contract.max_staleness = 1;
	plan->contract.delay = 1;
	plan->contract.delayed = plan->n_stages;
	return mr_sched_finish(plan, fill_async(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	(void)f;
	(void)i;
	(void)w;
	out->versions_first = out->versions_last = is_async(args) ? 2 : 1;
	out->peak_slots_first = out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_roundpipe = {
	.name = "roundpipe",
	.summary = "stages dealt to the workers round robin, any number of them; B recomputes; one flush a batch, or "
		   "one step behind",
	.source = "RoundPipe, arXiv 2604.27085",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.stages = stages,
	.emit = emit,
	.claims = claims,
};
