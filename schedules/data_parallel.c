/*
 * data_parallel.c - every worker runs the whole model on its share of the micro-batches (3 workers, 5 micro-batches).
 *
 *   w0 F0B0--F1B1--        pipe 0
 *   w1 F2B2--F3B3--        pipe 1
 *   w2 F4B4--......        pipe 2
 *
 * The baseline with which every pipeline must be compared: no hand-over, no bubble. Its price: every worker reads
 * and writes all weights and all gradients once per micro-batch, so they do not stay in its caches; and there are D
 * gradient buffers. A replica is a pipe whose stages are all on one worker. The replicas read one copy of the weights
 * (in one address space a copy for each improves only locality: weights = private). Their gradients are reduced and
 * stepped by ranges, one range for each replica (plan.h), with one optimizer state in all: this is ZeRO stage 1 without
 * further work. Not stage 2: a replica keeps the buffer of its whole gradient, though it reads its own range of it.
 *
 * Shares are contiguous: pipe 0 has the first micro-batches, and the first T mod D pipes have one more. Round robin
 * would share as evenly; contiguous shares make the sum over pipes run through 0..T-1 in ascending order like the other
 * systems' sums, grouped in D partial sums. A share may be empty (T < D): that worker steps its range and is otherwise
 * idle. The gradient is that of the mean over all T micro-batches, whatever the shares are.
 *
 * chunks = v cuts the model of each replica into v stages: a plan with smaller blocks, each reduced on its own. Between
 * processes the sum of the last of them is on its way while the gradients of the others are computed.
 *
 * gradients = joint leaves the weight gradients to the end of the iteration: then each worker computes those of some
 * layers from the activations of all replicas, and steps these layers, each of them while its gradient is in the
 * registers. No gradient is written, read by another worker, or added up, and the sum is that of one replica which
 * has all micro-batches. But the activations of a replica's whole share are kept until then.
 *
 *   w0 F0I0F1I1W01  AR: the first layers, of 0..3, with their steps
 *   w1 F2I2F3I3W23  AR: the last layers, of 0..3, with their steps
 *
 * gradients = released is ZeRO stage 2: a stage's sum is reduced and stepped as soon as it is complete, and two stages
 * later its buffer is used again. So of v stages (at least three) a worker keeps the gradients of two, and between
 * processes likewise of the other workers' sums. The backward passes go stage by stage over the whole
 * share, which the sum of a stage needs, so its activations are kept; of one micro-batch a worker they are no more.
 *
 *   w0 F0 f0 F0' B0' b0 +' B0 + +        three stages, each with its own mark: +' adds up the third one's sum and steps
 *
 * parameters = sharded is ZeRO stage 3 (FSDP), with released gradients: between processes a worker keeps its part of
 * each stage's weights, and two or three stages' whole weights at a time (rooms), which it fetches from the others
 * before the passes of a stage, forward and backward. So the forward passes go stage by stage, too. In one process
 * there is one copy of the weights anyway.
 *
 *   w0 F0 f0 F0' B0' b0 +' B0 + +        of two rooms F, f, F' and B need a fetch; b finds what f has read
 *
 * groups = G (hybrid sharding, HSDP) lets G groups of D / G workers keep all weights each: a worker keeps the parts of
 * one worker of each group, which are sent once behind the steps, and fetches within its group.
 *
 * Time: ceil(T / D) micro-batches of the whole model; the bubble comes from the smaller shares and is (D ceil(T / D) -
 * T) D (f + b) of worker-time, f and b being a D-th of the model. Memory: one micro-batch of the whole model per
 * worker; joint and released: its share of them.
 *
 * Source: folklore; sharded sums and steps: Rajbhandari et al., ZeRO, SC 2020, section 5.
 */
#include <string.h>

#include "schedules/common/twoway.h"

static const mr_option options[] = {
	MR_TWOWAY_WEIGHTS,
	{"chunks", MR_OPT_INT, "0", 0, 1024, NULL, NULL,
	 "stages that a worker hosts; 0: one, between processes up to four, and with released gradients up to eight"},
	{"gradients", MR_OPT_ENUM, "summed", 0, 0, "summed|joint|released", NULL,
	 "each replica sums its own; joint: one worker computes a layer's and steps it; released: two stages' are kept "
	 "(ZeRO-2)"},
	{"parameters", MR_OPT_ENUM, "whole", 0, 0, "whole|sharded", NULL,
	 "between processes each keeps all weights; sharded: its own part, and passes fetch the others' (ZeRO-3)"},
	{"rooms", MR_OPT_INT, "3", 2, 1024, NULL, NULL,
	 "sharded: stages whose weights a worker has at once; as many as stages: each is fetched once a step"},
	{"groups", MR_OPT_INT, "1", 1, 255, NULL, NULL,
	 "sharded: groups of workers that follow each other and keep all weights in parts, so that passes fetch "
	 "within a group, such as a host's (HSDP)"},
	{0},
};

/* Stages that are chosen where the user leaves it open: whose gradients leave one after the other, or are released. */
enum { MOST_OPEN = 4, MOST_RELEASED = 8 };

static bool has_gradients(const mr_sched_args *args, const char *how)
{
	return args->n_workers > 1 && !strcmp(mr_values_string(args->options, "gradients"), how);
}

static bool is_joint(const mr_sched_args *args)
{
	return has_gradients(args, "joint");
}

static bool is_sharded(const mr_sched_args *args)
{
	return args->n_workers > 1 && !strcmp(mr_values_string(args->options, "parameters"), "sharded");
}

static bool is_released(const mr_sched_args *args)
{
	return has_gradients(args, "released") || is_sharded(args);
}

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers;
}

static uint32_t stages(const mr_sched_args *args)
{
	uint32_t most = is_released(args) ? MOST_RELEASED : args->spread && !is_joint(args) ? MOST_OPEN : 1;
	uint32_t open = args->buckets < most ? args->buckets : most;

	return args->chunks ? args->chunks : open ? open : 1;
}

static mr_status fill(mr_plan *plan)
{
	uint32_t d = plan->n_workers, share = plan->n_micro / d, more = plan->n_micro % d, m = 0;

	for (uint16_t w = 0; w < d; w++)
		for (uint32_t j = 0; j < share + (w < more); j++, m++) {
			for (uint16_t s = 0; s < plan->n_stages; s++)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, s, (uint8_t)w));
			for (uint16_t s = plan->n_stages; s-- > 0;)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, s, (uint8_t)w));
		}
	return MR_OK;
}

/* The activations of a replica's share stay until W, which comes last. */
static mr_status fill_joint(mr_plan *plan)
{
	uint32_t d = plan->n_workers, share = plan->n_micro / d, more = plan->n_micro % d, m = 0;

	for (uint16_t w = 0; w < d; w++) {
		uint32_t end = m + share + (w < more), first = m;

		for (; m < end; m++) {
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, 0, (uint8_t)w));
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_I, m, 0, (uint8_t)w));
		}
		for (uint32_t n; first < end; first += n) {
			n = end - first < UINT8_MAX ? end - first : UINT8_MAX;
			MR_TRY(mr_sched_emit_span(plan, w, MR_BODY, MR_OP_W, first, n, 0, (uint8_t)w));
		}
	}
	return MR_OK;
}

/* All F of a share: by micro-batch, or, where weights are fetched, by stage. */
static mr_status emit_forward(mr_plan *plan, uint16_t w, uint32_t first, uint32_t end)
{
	uint32_t n = (end - first) * plan->n_stages, share = end - first;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t m = plan->contract.weight_rooms ? i % share : i / plan->n_stages;
		uint32_t s = plan->contract.weight_rooms ? i / share : i % plan->n_stages;

		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, first + m, (uint16_t)s, (uint8_t)w));
	}
	return MR_OK;
}

/* Backward stage by stage, each over the whole share: then its sum is complete. */
static mr_status fill_released(mr_plan *plan)
{
	uint32_t d = plan->n_workers, share = plan->n_micro / d, more = plan->n_micro % d, first = 0;

	for (uint16_t w = 0; w < d; w++) {
		uint32_t end = first + share + (w < more);

		MR_TRY(emit_forward(plan, w, first, end));
		for (uint16_t s = plan->n_stages; s-- > 0;)
			for (uint32_t m = first; m < end; m++)
				MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, s, (uint8_t)w));
		first = end;
	}
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t groups = (uint32_t)mr_values_int(args->options, "groups");
	mr_plan *plan;

	if (is_sharded(args) && (args->n_workers % groups || (groups > 1 && args->n_workers / groups < 2)))
		return mr_fail(MR_ECONFIG, "groups: %u workers do not make %u groups of as many each, at least two",
			       args->n_workers, groups);
	if (is_joint(args) && is_sharded(args))
		return mr_fail(MR_ECONFIG, "parameters: sharded weights go with gradients that are released, and those "
					   "that are joint stay");
	if (is_joint(args) && args->chunks > 1)
		return mr_fail(MR_ECONFIG,
			       "chunks: joint gradients are those of whole replicas, so chunks must be 1, got %u",
			       args->chunks);
	if (is_released(args) && stages(args) < 3)
		return mr_fail(MR_ECONFIG,
			       "chunks: released gradients are those of two stages at a time, so a worker needs at "
			       "least 3, got %u",
			       stages(args));
	MR_TRY(mr_sched_create(args, "data_parallel", stages(args), args->n_workers, 2, &plan));
	for (uint16_t p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] = p;
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	plan->contract.private_weights =
		plan->n_pipes > 1 && !strcmp(mr_values_string(args->options, "weights"), "private");
	plan->contract.joint_w = is_joint(args);
	plan->contract.release_sums = is_released(args);
	if (is_sharded(args)) {
		plan->contract.weight_rooms = (uint32_t)mr_values_int(args->options, "rooms");
		plan->contract.weight_groups = groups > 1 ? groups : 0;
	}
	if (is_released(args))
		return mr_sched_finish(plan, fill_released(plan), out);
	return mr_sched_finish(plan, is_joint(args) ? fill_joint(plan) : fill(plan), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t share = (args->n_micro + args->n_workers - 1u) / args->n_workers;
	bool all = is_joint(args) || is_released(args);
	uint32_t kept = all ? share : 1, last = all ? args->n_micro / args->n_workers : 1;

	(void)f;
	(void)i;
	(void)w;
	out->bubble_time = 0;
	out->bubble_period = 0;
	out->peak_first = (double)args->n_workers * kept;
	out->peak_last = args->n_micro >= args->n_workers ? (double)args->n_workers * last : 0;
	out->peak_slots_first = kept;
	out->peak_slots_last = kept;
}

const mr_sched_ops mr_sched_data_parallel = {
	.name = "data_parallel",
	.alias = "zero1",
	.summary = "each worker runs the whole model on its share of the micro-batches",
	.source = "the baseline; sharded sums and updates: Rajbhandari et al., ZeRO, SC 2020, section 5",
	.options = options,
	.default_micro = default_micro,
	.stages = stages,
	.emit = emit,
	.claims = claims,
};
