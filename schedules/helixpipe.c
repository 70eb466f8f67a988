/*
 * helixpipe.c - attention has no weights, so each micro-batch's attention may be on another worker (2 workers, 2
 * blocks, 2 micro-batches; stage 2l: what is between the attention of blocks l - 1 and l, stage 2l + 1: the attention
 * of block l; b = f).
 *
 *   stage  0   1       2       3       4   (forward alone)
 *   w0     F0F1F1..................F0..F0F1      micro-batch 0 has its attention on the worker of the next stage,
 *   w1         F0..F0F1F1......F1                micro-batch 1 on that of the stage before
 *
 * Problem: in a pipeline of long sequences almost all time is attention, and so is the fill and drain that grows with
 * it. Idea: cut the model around each attention. A stage with weights (projections, norms, MLP) lives on one worker,
 * l mod D, for all micro-batches; attention of micro-batch d of a round of D lives on worker (l + 1 + d) mod D. So D
 * attentions of one block run side by side, on all workers, while the short stages between them are what is waited for.
 *
 * Order: forward, block by block: a worker's stage with weights for the micro-batches of the round in ascending order,
 * then its one attention of the block. Backward the exact reverse. Rounds follow each other.
 *
 * Time: for blocks that are a multiple of D and T a multiple of D the bubble is (T / D)(D - 1)(f + b) of one stage
 * between two attentions, however long attention takes; 1f1b has (D - 1)(f + b) of all that a worker has, attention
 * included. So it pays for T / L < (a + p) / p, L blocks, p and a the times of such a stage and of an attention.
 * Memory: D micro-batches of a worker's share; with `recompute` the inputs alone, and of attention all. Each pipe sums
 * gradients in a buffer of its own, so each worker has D of its stages.
 *
 * The model is cut around its layers of the kind `attention`, unless `partition` names another cut. A model without
 * any is cut evenly into 2 D + 1 stages.
 *
 * Source: Zhang et al., HelixPipe, arXiv 2507.00394; the order as in its code, one fold.
 * NOTE 1: no second fold, which hides transfers behind another micro-batch: what it gains is not in a walk whose
 * transfers cost nothing, and its bubble is larger.
 */
#include <stdlib.h>

#include "ir/sched.h"

static const mr_option options[] = {
	{"blocks", MR_OPT_INT, "0", 0, 4096, NULL, NULL,
	 "L: attentions around which the model is cut into 2 L + 1 stages; 0: as many as it has, or one a worker"},
	{"recompute", MR_OPT_BOOL, "false", 0, 0, NULL, NULL,
	 "keep inputs alone of all stages but attention, and compute the rest again before their backward"},
	{0},
};

static uint32_t default_micro(uint16_t n_workers)
{
	return n_workers;
}

/* What the options and, where they leave it open, the model say; 0: only the model does. */
static uint32_t blocks(const mr_sched_args *args)
{
	int64_t given = mr_values_int(args->options, "blocks");

	return given ? (uint32_t)given : args->n_apart;
}

static uint32_t stages(const mr_sched_args *args)
{
	uint32_t n = blocks(args);

	return n ? 2 * n + 1 : 0;
}

static bool is_attention(uint16_t s)
{
	return s % 2;
}

/* What @w does of the round that begins with @first in its forward order, into @out; returns how many. */
static uint32_t forward_of(const mr_plan *plan, uint16_t w, uint32_t first, mr_instr *out)
{
	uint32_t d = plan->n_workers, n = 0;

	for (uint16_t s = 0; s < plan->n_stages; s++)
		for (uint32_t p = 0; p < d && first + p < plan->n_micro; p++)
			if (mr_plan_worker(plan, (uint8_t)p, s) == w)
				out[n++] = (mr_instr){.stage = s, .pipe = (uint8_t)p, .micro = first + p};
	return n;
}

static mr_status fill_round(mr_plan *plan, uint16_t w, uint32_t first, bool recompute, mr_instr *order)
{
	uint32_t n = forward_of(plan, w, first, order);

	for (uint32_t i = 0; i < n; i++)
		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_F, order[i].micro, order[i].stage, order[i].pipe));
	for (uint32_t i = n; i-- > 0;) {
		/* nothing comes between F and B of the last one */
		if (recompute && !is_attention(order[i].stage) && i + 1 < n)
			MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_R, order[i].micro, order[i].stage,
					     order[i].pipe));
		MR_TRY(mr_sched_emit(plan, w, MR_BODY, MR_OP_B, order[i].micro, order[i].stage, order[i].pipe));
	}
	return MR_OK;
}

static mr_status fill(mr_plan *plan, bool recompute)
{
	mr_instr *order = calloc((size_t)plan->n_pipes * plan->n_stages, sizeof(*order));
	mr_status st = order ? MR_OK : mr_fail(MR_ERESOURCE, "no memory for the order of %u stages", plan->n_stages);

	for (uint16_t w = 0; w < plan->n_workers; w++)
		for (uint32_t first = 0; st == MR_OK && first < plan->n_micro; first += plan->n_workers)
			st = fill_round(plan, w, first, recompute, order);
	free(order);
	return st;
}

static mr_status emit(const mr_sched_args *args, mr_plan **out)
{
	uint32_t n = blocks(args) ? blocks(args) : args->n_workers;
	bool recompute = mr_values_bool(args->options, "recompute");
	mr_plan *plan;

	MR_TRY(mr_sched_create(args, "helixpipe", 2 * n + 1, args->n_workers, 3, &plan));
	for (unsigned p = 0; p < plan->n_pipes; p++)
		for (uint16_t s = 0; s < plan->n_stages; s++)
			plan->worker_of[mr_plan_at(plan, (uint8_t)p, s)] =
				(uint16_t)((s / 2u + (is_attention(s) ? 1 + p : 0)) % args->n_workers);
	mr_sched_flushes(plan, args->n_micro, MR_SUM_ASCENDING);
	return mr_sched_finish(plan, fill(plan, recompute), out);
}

static void claims(const mr_sched_args *args, double f, double i, double w, mr_sched_claims *out)
{
	(void)args;
	(void)f;
	(void)i;
	(void)w;
	out->peak_slots_first = out->peak_slots_last = 1;
}

const mr_sched_ops mr_sched_helixpipe = {
	.name = "helixpipe",
	.summary = "cut around attention: that of each micro-batch is on a worker of its own, beside one another",
	.source = "Zhang et al., HelixPipe, arXiv 2507.00394",
	.options = options,
	.apart = "attention",
	.default_micro = default_micro,
	.stages = stages,
	.emit = emit,
	.claims = claims,
};
