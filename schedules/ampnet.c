/*
 * ampnet.c - one copy of the weights; each stage updates its weights by itself every U gradients (3 stages, U = 2).
 *
 *   w0 F0F1F2........B0--F3B1--U1F4B2--F5B3--U2 ...     U1 makes version 1 from the gradients of B0 and B1
 *   w1 ..F0F1....B0--F2B1--U1F3B2--F4B3--U2F5B4 ...     F and B read the latest version at their place in the list
 *   w2 ....F0B0--F1B1--U1F2B2--F3B3--U2F4B4--F5 ...
 *
 * Problem: stashing multiplies the weights in memory, and a flush leaves workers idle. Idea: keep one copy; every
 * stage adds up U gradients and then steps in place, independently of the others. Forward and backward of one
 * micro-batch may read different weights; the larger U, the less they differ.
 *
 * Versions. Stage k runs H = max(0, in_flight - 1 - k) forwards ahead. F(m) reads version max(0, m - H) div U, B(m)
 * version m div U, on the activations that F cached; the gradient goes into version m div U + 1. So F is 0 to ceil(H /
 * U) commits old, and B not at all.
 *
 * Time: the only bubble is fill and drain, (D - 1)(f + b), if in_flight is at least D. Memory: one version, activations
 * of H + 1 micro-batches. U is T (train.microbatches).
 *
 * Source: Gaunt et al., AMPNet, arXiv 1705.09786, sections 3 and 4 (min_update_frequency U, max_active_keys in_flight).
 * NOTE 1: AMPNet hands messages to whichever node is ready, backward first, so its order depends on timing.
 * order=static is the order that equal stages give, as a fixed list: deterministic. order=racing is AMPNet's own: each
 * stage does what is ready, backward first, stage 0 admits while fewer than in_flight are under way, and the others
 * take whatever reaches them (so all but the last have room for in_flight). Two racing runs differ in their orders and
 * therefore in their weights; the order of a run can be recorded and replayed, which gives the same bits. `draw` shows
 * the fixed list; `simulate` lets the stages race by the virtual clock, with the same result each time. A pause
 * (evaluation, checkpoint, the end) stops admitting and lets the pipeline drain; so the places of the pauses are part
 * of the order.
 * NOTE 2: a finite list is one order, so order = racing has no finite list.
 */
#include <string.h>

#include "schedules/common/unflushed.h"

static const mr_option options[] = {
	{"in_flight", MR_OPT_INT, "0", 0, 65535, NULL, NULL,
	 "micro-batches under way at stage 0; 0: as many as workers, which is what keeps all of them busy"},
	{"order", MR_OPT_ENUM, "static", 0, 0, "static|racing", NULL,
	 "static: a fixed list; racing: each stage does what is ready, backward first, so that runs differ (train "
	 "--record)"},
	{0},
};

static uint32_t in_flight_of(const mr_sched_args *args)
{
	int64_t given = mr_values_int(args->options, "in_flight");

	return given ? (uint32_t)given : args->n_workers;
}

static uint32_t default_micro(uint16_t n_workers)
{
	(void)n_workers;
	return 1;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t in_flight = in_flight_of(args), ahead = in_flight - 1;
	bool racing = !strcmp(mr_values_string(args->options, "order"), "racing");
	mr_contract contract = {
		.coverage = MR_COVER_TRAIN,
		.flush = MR_FLUSH_NONE,
		.read_f = MR_READ_LATEST,
		.sum = MR_SUM_ASCENDING,
		.need = args->n_micro,
		.racing = racing,
		.max_staleness = ahead / args->n_micro + (ahead % args->n_micro > 0),
	};

	if (racing && args->finite)
		return mr_fail(MR_ECONFIG, "order: which order a race takes shows when it is run (train --record); "
					   "only a static one can be listed");
	return mr_unflushed_emit(args, "ampnet", in_flight, &contract, mr_unflushed_micro(args), false, out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t in_flight = in_flight_of(args), last = mr_unflushed_ahead(in_flight, args->n_workers - 1u) + 1;
	uint64_t most = args->finite ? mr_unflushed_micro(args) : in_flight;

	if (args->finite && in_flight == args->n_workers)
		out->bubble_time = (args->n_workers - 1) * (f + i + w);
	out->peak_slots_first = in_flight < most ? in_flight : (uint32_t)most;
	out->peak_slots_last = last < most ? last : (uint32_t)most;
}

const mr_sched_ops mr_sched_ampnet = {
	.name = "ampnet",
	.summary = "one copy of the weights: each stage steps by itself every T gradients, F and B read what is latest",
	.source = "Gaunt et al., AMPNet, arXiv 1705.09786, sections 3 and 4",
	.options = options,
	.in_flight_option = "in_flight",
	.asynchronous = true,
	.accumulates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
