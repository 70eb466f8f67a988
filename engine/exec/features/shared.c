/*
 * shared.c - several pipes that read and step one stage's weights (weights/stage_weights.h): what waits for the
 * parts of the others, and the messages between shards that share no memory (weights/ranges.h).
 */
#include "exec/exec_internal.h"
#include "weights/layer_states.h"
#include "weights/ranges.h"
#include "weights/reduction.h"

/* Is the whole version that @t reads of its stage, made by several workers, where this worker reads it? */
static bool has_weights(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	return mr_counter_reached(&b->published, w->id, (uint32_t)t->version) &&
	       (!b->ranges ||
		mr_ranges_have_weights(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version));
}

/* Are the sums of all pipes that @t adds complete, and where this worker reads them? */
static bool has_sums(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	return mr_counter_reached(&b->reduction->finished, w->id, (uint32_t)t->version) &&
	       (!b->ranges || mr_ranges_have_sums(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version));
}

/* Is the whole gradient of which N takes the norm added up, and where this worker reads it? */
static bool has_total(const mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];

	return mr_counter_reached(&b->reduction->reduced, w->id, (uint32_t)t->version) &&
	       (!b->ranges || mr_ranges_have_totals(b, 0, t->version));
}

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	bool has = true;

	switch (t->in->op) {
	case MR_OP_B:
	case MR_OP_I:
		has = !w->run->ranges || has_weights(w, t);
		break;
	case MR_OP_F:
		has = has_weights(w, t);
		break;
	case MR_OP_AR:
		has = has_sums(w, t);
		break;
	case MR_OP_N:
		has = has_total(w, t);
		break;
	default:
		break;
	}
	return has ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static void summed(mr_run *run, const mr_task *t, mr_stage_weights *b)
{
	if (b->ranges)
		mr_ranges_send_sum(b, mr_run_shard(run, t->in->pipe, t->in->stage));
}

static void stepped(mr_run *run, const mr_task *t, mr_stage_weights *b)
{
	if (b->ranges)
		mr_ranges_send_weights(b, mr_run_shard(run, t->in->pipe, t->in->stage), t->version);
}

/* Wait for the ranges of the latest version of @b, in @shard. */
static mr_status receive(mr_worker *w, mr_stage_weights *b, uint32_t shard)
{
	while (!mr_ranges_have_weights(b, shard, b->latest))
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

static mr_status choose(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_stage_weights *b = &run->weights[s];
		uint16_t worker[UINT8_MAX + 1];
		uint32_t n_whole = 0;

		mr_run_workers_of(run, s, worker);
		if (run->c.plan->contract.clip)
			n_whole = 1; /* for N, which is shard 0's */
		else if (run->has_stage_replicas && run->c.clip > 0)
			n_whole = b->n_shards;
		MR_TRY(mr_ranges_choose(b, s, worker, n_whole, run->c.links));
		run->ranges |= b->ranges != NULL;
	}
	return MR_OK;
}

static const char *why_shared(const mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		if (run->weights[s].ranges && run->weights[s].layer_states)
			return "what the micro-batches of several pipes have seen for the states of a layer is put "
			       "together in place";
	return NULL;
}

static mr_status open_links(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++)
		MR_TRY(mr_ranges_open(&run->weights[s]));
	return MR_OK;
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	return mr_reduction_open(b);
}

static void destroy(mr_run *run)
{
	for (uint16_t s = 0; run->weights && s < run->n_stages; s++)
		mr_ranges_close(&run->weights[s]);
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_parker *parker[UINT8_MAX + 1];

	mr_run_parkers_of(run, s, parker);
	if (b->ranges)
		mr_ranges_reset(b, parker);
}

const mr_feature mr_feature_shared = {
	.why_shared = why_shared,
	.destroy = destroy,
	.open = open_stage,
	.choose = choose,
	.open_links = open_links,
	.reset_stage = reset_stage,
	.settle = settle,
	.ready = ready,
	.summed = summed,
	.stepped = stepped,
};
