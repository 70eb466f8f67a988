/* ranges.c - the parts of one stage's sums and weights between shards that share no memory (weights/ranges.h): found
 * when links are chosen, and sent at each commit. */
#include "exec/exec_internal.h"
#include "ir/stage_ops.h"
#include "weights/ranges.h"

/* Has what the others made come to where this worker reads it: the version that @t reads, the sums or the total? */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];
	uint8_t shard = mr_run_shard(w->run, t->in->pipe, t->in->stage);
	bool has = true;

	if (!b->ranges)
		return MR_WAIT_NONE;
	switch (t->in->op) {
	case MR_OP_F:
	case MR_OP_B:
	case MR_OP_I:
		/* first: it is what is waited for */
		has = (b->sharded || mr_ranges_have_weights(b, shard, t->version)) &&
		      mr_counter_reached(&b->published, w->id, (uint32_t)t->version);
		break;
	case MR_OP_AR:
		/* No pass of a shard without micro-batches looks for its weights, and their senders wait. */
		has = mr_ranges_have_sums(b, shard, t->version) &&
		      (b->shard[shard].need || b->sharded || mr_ranges_have_weights(b, shard, t->version - 1));
		break;
	case MR_OP_N:
		has = mr_ranges_have_totals(b, 0, t->version);
		break;
	case MR_OP_U:
		has = !mr_exec_clips_by_shard(w->run, b) || mr_ranges_have_totals(b, shard, t->version);
		break;
	default:
		break;
	}
	return has ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static mr_status send_sum(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (b->ranges)
		mr_ranges_send_sum(b, mr_run_shard(w->run, t->in->pipe, t->in->stage));
	return MR_OK;
}

static mr_status send_total(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (b->ranges)
		mr_ranges_send_total(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version);
	return MR_OK;
}

static mr_status send_weights(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (b->ranges)
		mr_ranges_send_weights(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version);
	return MR_OK;
}

/* Wait for the ranges of the latest version of @b, in @shard. */
static mr_status receive(mr_worker *w, mr_stage_weights *b, uint32_t shard)
{
	while (!b->sharded && !mr_ranges_have_weights(b, shard, b->latest))
		MR_TRY(mr_waiter_step(&w->waiter));
	mr_waiter_done(&w->waiter);
	return MR_OK;
}

static mr_status settle(mr_worker *w)
{
	mr_run *run = w->run;

	for (uint16_t s = 0; s < run->n_stages; s++)
		for (uint32_t i = 0; run->weights[s].ranges && i < run->weights[s].n_shards; i++)
			if (mr_plan_worker(run->c.plan, (uint8_t)i, s) == w->id)
				MR_TRY(receive(w, &run->weights[s], i));
	return MR_OK;
}

/* --- the feature --- */

/* Shards that get the whole sum of a commit: that of N, or each that clips by the norm of all. */
static uint32_t n_whole(const mr_run *run, const mr_stage_weights *b)
{
	if (run->c.plan->contract.clip)
		return 1;
	return run->facts & MR_REDUCED_STEPS && run->c.clip > 0 ? b->n_shards : 0;
}

/* Does each F read what the last commit has made, whatever other shards do? Not where steps may be taken back. */
static bool lockstep(const mr_contract *c)
{
	return (c->flush == MR_FLUSH_LOCAL || c->flush == MR_FLUSH_BARRIER) && c->read_f == MR_READ_BATCH &&
	       !c->delay && !c->max_staleness;
}

/* Sums of the other shards arrive in two buffers, which stages use alternately. When a stage has made its step, the
 * sums of the next stage with its buffer may arrive, and after the last one those of the first, for the next commit. */
static void share_copies(mr_run *run)
{
	for (uint16_t s = run->n_stages; s-- > 0;) {
		mr_stage_weights *b = &run->weights[s], *lender = b->lender ? b->lender : b;
		uint16_t after = mr_trained_beside(run->c.plan, s, -2);

		if (!b->ranges || !b->ranges->released || !mr_stage_has(run->c.plan, s, MR_OP_U))
			continue;
		if (b->lender)
			mr_ranges_lend(lender, b);
		mr_ranges_follow(b, after < run->n_stages ? &run->weights[after] : lender);
	}
}

static mr_status choose(mr_run *run)
{
	uint32_t groups = run->c.plan->contract.weight_groups;
	bool some = false;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[s];
		uint16_t worker[UINT8_MAX + 1];

		mr_run_workers_of(run, s, worker);
		MR_TRY(mr_ranges_choose(b, &(mr_ranges_wanted){.stage = s, .worker = worker,
							       .n_whole = n_whole(run, b),
							       .lockstep = lockstep(&run->c.plan->contract),
							       .released = run->c.plan->contract.release_sums,
							       .sharded = run->c.plan->contract.weight_rooms > 0,
							       .groups = groups ? groups : 1,
							       .kinds = run->c.links}));
		some |= b->ranges != NULL;
	}
	if (!some)
		return MR_OK;
	share_copies(run);
	run->remote = true;
	run->facts |= MR_SETTLES;
	if (run->norms && !run->c.ranks) { /* only N has a whole gradient; ranks add up parts */
		run->norms->every = 0;
		run->norms->global = false;
	}
	return MR_OK;
}

/* What links need beside the workers' regions, of a shard in this process. */
static uint64_t bytes_of(const mr_run *run, uint8_t pipe, uint16_t s)
{
	const mr_stage_weights *b = mr_run_weights(run, pipe, s);

	if (!b->ranges || !mr_run_leads(run, pipe, s) || !mr_run_is_here(&run->c, mr_plan_worker(run->c.plan, pipe, s)))
		return 0;
	return mr_ranges_bytes(b, mr_run_shard(run, pipe, s));
}

static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	out->scratch += bytes_of(run, pipe, s);
}

static uint64_t mapped(const mr_run *run)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < run->n_pipes; p++)
		for (uint16_t s = 0; s < run->n_stages; s++)
			sum += bytes_of(run, (uint8_t)p, s);
	return sum;
}

static mr_status open_links(mr_run *run)
{
	for (uint16_t s = run->n_stages; s-- > 0;) /* the first to use a copy is the highest stage */
		MR_TRY(mr_ranges_open(&run->weights[s]));
	return MR_OK;
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_parker *parker[UINT8_MAX + 1];

	mr_run_parkers_of(run, s, parker);
	if (b->ranges)
		mr_ranges_reset(b, parker);
}

const mr_feature mr_feature_ranges = {
	.choose = choose,
	.memory = memory,
	.mapped = mapped,
	.open_links = open_links,
	.reset_stage = reset_stage,
	.settle = settle,
	.ready = ready,
	.summed = send_sum,
	.reduced = send_total,
	.stepped = send_weights,
};
