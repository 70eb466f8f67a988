/*
 * local_sgd.c - replicas that step by themselves and are averaged every H steps (3 workers, 3 replicas, H = 2, b = f).
 *
 *   w0 F0F1F2....B0F3B1F4B2F5..B3..B4..B5A     replica r has micro-batches r, r + 3; A: all averages of the worker's
 *                                              stage
 *   w1 ..F0F1..B0F2B1F3B2F4B3F5B4..B5..A
 *   w2 ....F0B0F1B1F2B2F3B3F4B4F5B5....A
 *
 * Problem: a pipeline must either drain before each step or train on stale weights. Idea: train R models at once. If
 * the micro-batches of a model go through one after the other, each after the step of the one before, the model is
 * never stale and keeps one worker of D busy; D such models keep D workers busy. Every H steps all replicas are
 * replaced by their mean. Micro-batch m belongs to replica m mod R.
 *
 * Worker w runs stage w of all replicas, in the order of 1F1B, at most min(D - 1 - w, R - 1) forwards ahead, so that
 * each forward comes after the step of its replica that it must read. placement = rotated begins replica r at worker r
 * instead, and goes round: all replicas are at the same stage at the same time, on different workers, and no worker
 * ever waits, whatever the stages cost (R a multiple of D). Its price is that every worker runs all stages.
 *
 *   w0 F0/0 F1/2 F2/1 B2/1 B1/2 B0/0    (stage/replica, one step)
 *   w1 F0/1 F1/0 F2/2 B2/2 B1/0 B0/1
 *   w2 F0/2 F1/1 F2/0 B2/0 B1/1 B0/2
 *
 * outer = nesterov (DiLoCo) continues from a reference instead of the mean: the difference of reference and mean is
 * taken as a gradient, and a step of SGD with Nesterov momentum along it makes the next reference, from which all
 * replicas continue.
 *
 * Time: bubble (D - 1)(f + b) in H steps with R >= D, rotated with R a multiple of D none. Memory: R copies of weights
 * and optimizer state; outer adds a reference and a velocity. Staleness 0 within a replica. Optimizer state stays with
 * its replica unless state = averaged. An average reads and writes R copies of the weights, in R ranges. A run pauses
 * only after an average, where all replicas are equal.
 *
 * T micro-batches make a step: M = T / R of each replica, whose mean gradient it steps by (T = R unless said
 * otherwise).
 *
 * Source: Stich, Local SGD Converges Fast and Communicates Little, ICLR 2019, algorithm 1; packed into one pipeline:
 * Randomized PipeDream, 2026, section on LocalSGD in simulated time; outer step: Douillard et al., DiLoCo, 2023,
 * algorithm 1.
 */
#include <string.h>

#include "ir/sched.h"

static const mr_option options[] = {
	{"replicas", MR_OPT_INT, "0", 0, 255, NULL, NULL,
	 "models trained at once, at least 2; 0: as many as there are workers"},
	{"every", MR_OPT_INT, "4", 1, 4096, NULL, NULL, "H: steps of each replica between two averages"},
	{"placement", MR_OPT_ENUM, "stages", 0, 0, "stages|rotated", NULL,
	 "a worker runs one stage of all replicas, or replica r begins at worker r and goes round"},
	{"outer", MR_OPT_ENUM, "none", 0, 0, "none|nesterov", NULL,
	 "go on from the mean, or from where an outer step towards it leads (DiLoCo)"},
	{"outer_lr", MR_OPT_FLOAT, "0.7", 0, 1000, NULL, NULL, "rate of the outer step"},
	{"outer_momentum", MR_OPT_FLOAT, "0.9", 0, 0.9999, NULL, NULL, "momentum of the outer step"},
	{"state", MR_OPT_ENUM, "local", 0, 0, "local|averaged", NULL,
	 "optimizer state: each replica's own, or averaged too"},
	{0},
};

static const mr_option_need needs[] = {
	{"outer_lr", "outer", "nesterov"},
	{"outer_momentum", "outer", "nesterov"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers > 1 ? n_workers : 2;
}

static uint32_t replicas(const mr_sched_args *args)
{
	uint32_t r = (uint32_t)mr_values_int(args->options, "replicas");

	return r ? r : default_micro(args->n_workers);
}

static bool is(const mr_sched_args *args, const char *option, const char *value)
{
	return !strcmp(mr_values_string(args->options, option), value);
}

static bool rotated(const mr_sched_args *args)
{
	return is(args, "placement", "rotated");
}

/* 1F1B over all micro-batches of the iteration, in the order 0, 1, ..., as far ahead as the replicas allow. */
static mr_status fill_stages(mr_plan *plan)
{
	uint32_t n = plan->n_micro, r = plan->n_pipes;

	for (uint16_t w = 0; w < plan->n_workers; w++) {
		uint32_t wanted = plan->n_workers - 1u - w, ahead = wanted < r - 1 ? wanted : r - 1;

		for (uint32_t m = 0; m < n + ahead; m++) {
			if (m < n)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, w, (uint8_t)(m % r)));
			if (m >= ahead)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m - ahead, w,
						     (uint8_t)((m - ahead) % r)));
		}
	}
	return MR_OK;
}

/* Append @op of @w at stage @s in the step that begins with micro-batch @first: for each replica that is then at @w,
 * all its micro-batches of the step. */
static mr_status fill_turn(mr_plan *plan, uint16_t w, mr_op op, uint16_t s, uint32_t first)
{
	for (uint32_t m = first; m < first + plan->contract.need; m++) {
		uint8_t pipe = (uint8_t)(m % plan->n_pipes);

		if (mr_plan_worker(plan, pipe, s) == w)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, op, m, s, pipe));
	}
	return MR_OK;
}

static mr_status fill_rotated(mr_plan *plan)
{
	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (uint32_t first = 0; first < plan->n_micro; first += plan->contract.need) {
			for (uint16_t s = 0; s < plan->n_stages; s++)
				MR_TRY(fill_turn(plan, w, MR_OP_F, s, first));
			for (uint16_t s = plan->n_stages; s-- > 0;)
				MR_TRY(fill_turn(plan, w, MR_OP_B, s, first));
		}
	return MR_OK;
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args)
{
	mr_average a = {
		.rule = MR_AVERAGE_MEAN,
		.every = (uint32_t)mr_values_int(args->options, "every"),
		.state = is(args, "state", "averaged"),
	};

	if (is(args, "outer", "nesterov")) {
		a.outer_lr = mr_values_float(args->options, "outer_lr");
		a.outer_mu = mr_values_float(args->options, "outer_momentum");
		if (a.outer_lr <= 0)
			return mr_fail(MR_ECONFIG, "outer_lr must be above 0 for an outer step, got %g", a.outer_lr);
	}
	MR_TRY(mr_sched_replicates(plan, args->n_micro, &a));
	return rotated(args) ? fill_rotated(plan) : fill_stages(plan);
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t r = replicas(args);
	mr_plan *plan;

	if (r < 2)
		return mr_fail(MR_ECONFIG, "an average needs at least 2 replicas, got replicas = %u", r);
	MR_TRY(mr_sched_create(args, "local_sgd", args->n_workers, r, 2, &plan));
	for (uint32_t p = 0; p < r; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] =
				(uint16_t)(rotated(args) ? (s + p) % args->n_workers : s);
	return mr_sched_finish(plan, fill(plan, args), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t d = args->n_workers, r = replicas(args);

	if (rotated(args)) {
		out->peak_slots_first = args->n_micro / r;
		out->peak_slots_last = args->n_micro / r;
		if (r % d == 0)
			out->bubble_time = out->bubble_period = 0;
	} else if (r >= d) {
		out->bubble_time = (d - 1) * (f + i + w);
		out->peak_slots_first = 1;
		out->peak_slots_last = 1;
	}
}

const mr_sched_ops mr_sched_local_sgd = {
	.name = "local_sgd",
	.alias = "diloco",
	.summary = "replicas that are never stale fill the workers, and are averaged every few steps (DiLoCo with "
		   "outer = nesterov)",
	.source = "Stich, Local SGD Converges Fast and Communicates Little, ICLR 2019; Douillard et al., DiLoCo, 2023",
	.options = options,
	.needs = needs,
	.replicates = true,
	.default_micro = default_micro,
	.emit = emit,
	.claims = claims,
};
