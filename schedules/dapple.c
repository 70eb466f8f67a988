/*
 * dapple.c - 1f1b with limits: less memory, longer run-ahead, recomputation, replicated stages (4 micro-batches).
 *
 *   hand-over as long as f:     w0 F0F1F2................B0--F3B1--......B2--......B3--        policy = pa
 *                               w1 ....F0F1........B0--F2B1--....F3B2--......B3--......
 *                               w2 ........F0B0--F1B1--....F2B2--....F3B3--............
 *
 *                               w0 F0F1F2F3..............B0--..B1--..B2--..B3--                policy = pb
 *                               w1 ....F0F1......F2B0--F3B1--..B2--..B3--......
 *                               w2 ........F0B0--F1B1--F2B2--F3B3--............
 *
 *   replicas = [2, 2]           w0 F0F2....B0--..B2--        stage 0 on workers 0 and 1, stage 1 on 2 and 3;
 *                               w1 F1F3....B1--..B3--        0 and 1 are the two slices of one micro-batch
 *                               w2 ..F0B0--F2B2--....
 *                               w3 ..F1B1--F3B3--....
 *
 * Stage s of S keeps K_s micro-batches in flight: policy pa S - s, which feeds the next stage without waiting when a
 * hand-over takes no time; policy pb 2 (S - s) - 1, which also covers hand-overs as long as the work, for twice the
 * memory. memory = M lowers every K_s to M, for as much more bubble as the pipeline needs. Below the limits the order
 * is 1f1b's.
 *
 * Replicated stages. A stage that is too long for one worker gets r workers, and each micro-batch is sliced r ways
 * there. A plan has no part of a micro-batch, so the slice is the plan's micro-batch: let r_s be the replicas of stage
 * s, and P the least common multiple of all r_s. P consecutive micro-batches of the plan are the slices of one, and
 * slice p goes through pipe p, whose stage s is on replica p mod r_s. A stage of fewer replicas carries out several
 * slices in a row. T counts slices. Pipes read one copy of the weights and have a gradient buffer each. Unless the user
 * cuts the model, it is cut so that the replicas of all stages have equal work.
 *
 * Time: pa and pb without a memory limit, r replicas everywhere, whole micro-batches: bubble (S - 1) r (f + b), f and b
 * being costs of a D-th of the model. recompute = always (pa) shortens the bubble by r min(2f, f + b), see 1f1b.c, and
 * lengthens the work. Memory: min(K_s, T) micro-batches at stage s; with recomputation one, and the inputs of the
 * others. Weights: one version. Gradients: ascending within a pipe, then pipe by pipe.
 *
 * Source: Fan et al., DAPPLE, PPoPP 2021, section 3 (warm-up policies, recomputation) and section 4 (replicated
 * stages).
 * NOTE 1: the user chooses the replicas; the paper's planner is not part of this.
 * NOTE 2: a stage of one replica sums P buffers where one would do, because slices are pipes.
 */
#include <math.h>
#include <string.h>

#include "schedules/common/layout.h"

static const mr_option options[] = {
	{"policy", MR_OPT_ENUM, "pa", 0, 0, "pa|pb", NULL,
	 "run-ahead of stage s of S: S - s micro-batches in flight, or 2 (S - s) - 1 where hand-overs take long"},
	{"memory", MR_OPT_INT, "0", 0, 1000000, NULL, "micro-batches", "most in flight at any stage; 0: no limit"},
	{"recompute", MR_OPT_ENUM, "never", 0, 0, "never|always", NULL,
	 "keep the input of a stage alone and run its forward again before the backward"},
	{"replicas", MR_OPT_FLOATS, "[]", 1, 255, NULL, "workers",
	 "workers that each stage is replicated on, such as [2, 1, 1]; empty: a stage for each worker"},
	{0},
};


static bool recomputes(const mr_sched_args *args)
{
	return !strcmp(mr_values_string(args->options, "recompute"), "always");
}

/* Micro-batches in flight at @stage. */
static uint32_t flight(const mr_sched_args *args, uint32_t n_stages, uint32_t stage)
{
	uint32_t limit = (uint32_t)mr_values_int(args->options, "memory");
	uint32_t k = n_stages - stage;

	if (!strcmp(mr_values_string(args->options, "policy"), "pb"))
		k = 2 * k - 1;
	return limit && limit < k ? limit : k;
}

/* The slices of group @group that one replica handles. */
static mr_status emit_group(mr_plan *plan, const mr_layout *l, uint16_t stage, uint32_t replica, uint32_t group,
			    bool forward, bool recompute)
{
	for (uint32_t p = replica; p < l->n_pipes; p += mr_layout_replicas(l, stage)) {
		uint32_t m = group * l->n_pipes + p;
		uint16_t w = mr_plan_worker(plan, (uint8_t)p, stage);

		if (m >= plan->n_micro)
			break;
		if (forward)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, m, stage, (uint8_t)p));
		if (!forward && recompute)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_R, m, stage, (uint8_t)p));
		if (!forward)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, m, stage, (uint8_t)p));
	}
	return MR_OK;
}

static mr_status emit_replica(mr_plan *plan, const mr_sched_args *args, const mr_layout *l, uint16_t stage,
			      uint32_t replica)
{
	uint32_t groups = plan->n_micro / l->n_pipes + (plan->n_micro % l->n_pipes > 0);
	uint32_t ahead = flight(args, l->n_stages, stage) - 1;
	/* Where every backward directly follows its forward, keeping the activations costs nothing. */
	bool at_once = l->n_pipes == mr_layout_replicas(l, stage) && (ahead == 0 || groups == 1);

	ahead = ahead < groups ? ahead : groups;
	for (uint32_t g = 0; g < groups + ahead; g++) {
		if (g < groups)
			MR_TRY(emit_group(plan, l, stage, replica, g, true, false));
		if (g >= ahead)
			MR_TRY(emit_group(plan, l, stage, replica, g - ahead, false, recomputes(args) && !at_once));
	}
	return MR_OK;
}

static mr_status fill(mr_plan *plan, const mr_sched_args *args, const mr_layout *l)
{
	for (uint16_t s = 0; s < l->n_stages; s++)
		for (uint32_t k = 0; k < mr_layout_replicas(l, s); k++)
			MR_TRY(emit_replica(plan, args, l, s, k));
	return MR_OK;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	mr_layout l;
	mr_plan *plan;

	MR_TRY(mr_layout_read(args, &l));
	MR_TRY(mr_sched_create(args, "dapple", l.n_stages, l.n_pipes, 3, &plan));
	mr_layout_place(plan, &l);
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	return mr_sched_finish(plan, fill(plan, args, &l), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	uint32_t n = mr_layout_stages(args), first = flight(args, n, 0), groups;
	bool pa = !strcmp(mr_values_string(args->options, "policy"), "pa");
	mr_layout l;

	if (mr_layout_read(args, &l) != MR_OK || l.n_pipes * n != args->n_workers || args->n_micro % l.n_pipes)
		return; /* stages with different numbers of replicas, or an incomplete set of slices */
	groups = args->n_micro / l.n_pipes;
	out->peak_slots_first = recomputes(args) ? 1 : first < groups ? first : groups;
	out->peak_slots_last = 1;
	if (first < n || (recomputes(args) && !pa))
		return;
	out->bubble_time = (n - 1) * l.n_pipes * (f + i + w);
	if (recomputes(args) && n > 1 && groups > 1)
		out->bubble_time -= l.n_pipes * fmin(2 * f, f + i + w);
	out->bubble_period = out->bubble_time;
}

const mr_sched_ops mr_sched_dapple = {
	.name = "dapple",
	.summary = "1F1B with a limit of memory, a longer run-ahead, recomputation and replicated stages",
	.source = "Fan et al., DAPPLE, PPoPP 2021, sections 3 and 4",
	.options = options,
	.default_micro = mr_sched_two_a_worker,
	.stages = mr_layout_stages,
	.emit = emit,
	.claims = claims,
};
