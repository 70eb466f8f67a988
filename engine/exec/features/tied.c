/*
 * tied.c - parameters that are used more than once: in one stage (weights/tied_sum.h), and in the last one where
 * the first stores them (weights/tied_links.h).
 */
#include "exec/exec_internal.h"
#include "ir/stage_ops.h"
#include "weights/reduction.h"
#include "weights/tied_links.h"
#include "weights/tied_sum.h"

static bool is_last(const mr_run *run, uint16_t s)
{
	return run->c.plan->contract.tied && s + 1 == run->n_stages;
}

/* F of the last stage: is the version of the first stage there? AR of the first: are the last stage's gradients? */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_run *run = w->run;
	mr_stage_weights *b = &run->weights[0];
	bool has = true;

	if (t->in->op == MR_OP_F && is_last(run, t->in->stage))
		has = mr_counter_reached(&b->published, w->id, (uint32_t)t->version) &&
		      mr_tied_links_have_weights(b, t->in->pipe, t->version);
	else if (t->in->op == MR_OP_AR && run->c.plan->contract.tied && t->in->stage == 0)
		has = mr_counter_reached(&run->weights[run->n_stages - 1].reduction->finished, w->id,
					 (uint32_t)t->version) &&
		      mr_tied_links_have_sums(b, mr_run_shard(run, t->in->pipe, 0), t->version);
	return has ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static mr_status pass(mr_worker *w, const mr_task *t, const mr_slot *slot, mr_stage_io *io)
{
	(void)slot;
	if (is_last(w->run, t->in->stage))
		io->tied_weights = mr_tied_links_weights(&w->run->weights[0], t->in->pipe, t->version);
	return MR_OK;
}

/* Where there is no AR, the first reader of the gradient adds up the uses of one parameter within a stage. */
static mr_status complete(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	return b->tied && !mr_stage_has(t->links->plan, t->in->stage, MR_OP_AR) ? mr_tied_sum_within(b, w->kc) : MR_OK;
}

/* The steps that a backward pass of @t has left. */
static mr_status step_behind(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	uint64_t version = b->latest + 1;

	if (!b->tied || !(t->in->flags & MR_INSTR_UPDATE) || b->unchanged)
		return MR_OK;
	return mr_tied_sum_step(b, w->kc, mr_exec_lr(w->run, b, version), 1 / (double)b->sum,
				mr_exec_asks_norm(w->run, b, version) ? mr_norms_sumsq(b, version) : NULL);
}

static mr_status summed(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	(void)b;
	if (is_last(w->run, t->in->stage))
		mr_tied_links_send_sum(&w->run->weights[0], mr_run_shard(w->run, t->in->pipe, t->in->stage));
	return MR_OK;
}

static mr_status stepped(mr_worker *w, const mr_task *t, mr_stage_weights *b)
{
	if (b->tied && b->tied->links)
		mr_tied_links_send_weights(b, mr_run_shard(w->run, t->in->pipe, t->in->stage), t->version);
	return MR_OK;
}

/* Wait until the latest version has come where user @j of the last stage reads it. */
static mr_status receive(mr_worker *w, mr_stage_weights *b, uint32_t j)
{
	while (!mr_tied_links_have_weights(b, j, b->latest))
		MR_TRY(mr_waiter_step(&w->waiter));
	mr_waiter_done(&w->waiter);
	return MR_OK;
}

static mr_status settle(mr_worker *w)
{
	mr_run *run = w->run;
	mr_stage_weights *first = &run->weights[0];
	uint16_t last = (uint16_t)(run->n_stages - 1);

	for (uint32_t j = 0; first->tied && first->tied->links && j < run->weights[last].n_shards; j++)
		if (mr_plan_worker(run->c.plan, (uint8_t)j, last) == w->id)
			MR_TRY(receive(w, first, j));
	return MR_OK;
}

/* --- the feature --- */

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	if (is_last(run, s)) /* it uses the parameters of stage 0 */
		MR_TRY(mr_reduction_open(b));
	return mr_tied_sum_open(b, run->c.plan->contract.tied && s == 0 ? &run->weights[run->n_stages - 1] : NULL);
}

/* A replica that diverges reads its first stage in place. */
static mr_status check_replicas(const mr_run *run)
{
	uint16_t last = (uint16_t)(run->n_stages - 1);

	for (unsigned p = 0; p < run->n_pipes; p++) {
		mr_edge e = {.kind = MR_EDGE_WEIGHTS, .from = mr_plan_worker(run->c.plan, (uint8_t)p, 0),
			     .to = mr_plan_worker(run->c.plan, (uint8_t)p, last)};
		const mr_link_kind *kind;

		if (e.from == e.to)
			continue;
		MR_TRY(mr_link_kind_of(run->c.links, &e, &kind));
		if (!mr_link_kind_shares(kind))
			return mr_fail(MR_ECONFIG,
				       "a replica reads in its last stage what its first one stores: this needs "
				       "workers that share memory, and w%u and w%u share none", e.from, e.to);
	}
	return MR_OK;
}

/* Kinds of link between the first and the last stage. */
static mr_status choose(mr_run *run)
{
	uint16_t last = (uint16_t)(run->n_stages - 1), owner[UINT8_MAX + 1], user[UINT8_MAX + 1];

	if (!run->c.plan->contract.tied)
		return MR_OK;
	if (run->diverges)
		return check_replicas(run);
	mr_run_workers_of(run, 0, owner);
	mr_run_workers_of(run, last, user);
	return mr_tied_links_choose(&run->weights[0], last, owner, user, run->c.links);
}

/* Where the workers of the last stage read the parameters that the first one stores. */
static mr_status choose_homes(mr_run *run)
{
	uint16_t last = (uint16_t)(run->n_stages - 1);
	mr_stage_weights *b = &run->weights[0];

	if (!run->c.plan->contract.tied || !last || run->diverges || b->one_copy)
		return MR_OK;
	for (uint32_t j = 0; j < b->tied->user->n_shards; j++) {
		const mr_place_worker *user = mr_run_place_of(run, j, last);
		uint32_t home = j < b->n_shards && mr_run_together(mr_run_place_of(run, j, 0), user) ? j : 0;

		while (home < b->n_shards && !mr_run_together(mr_run_place_of(run, b->shard[home].home, 0), user))
			home++;
		MR_TRY(mr_tied_links_place(b, j, home, &user->memory));
	}
	return MR_OK;
}

static mr_status open_links(mr_run *run)
{
	return mr_tied_links_open(&run->weights[0]);
}

/* A process that has the last stage and not the first shard of the first one begins with the same weights: its copies
 * are made of them. */
static void init(mr_run *run, uint8_t pipe, uint16_t s)
{
	bool first = mr_run_shard(run, pipe, s) == mr_run_weights(run, pipe, s)->first_here;

	if (is_last(run, s) && !run->diverges && first && !mr_run_is_here(&run->c, mr_plan_worker(run->c.plan, 0, 0)))
		mr_weights_init(&run->weights[0], 0, run->c.seed);
}

static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	mr_parker *owner[UINT8_MAX + 1], *user[UINT8_MAX + 1];

	if (!b->tied)
		return;
	b->tied->summed = false;
	if (!b->tied->links)
		return;
	mr_run_parkers_of(run, s, owner);
	mr_run_parkers_of(run, (uint16_t)(run->n_stages - 1), user);
	mr_tied_links_reset(b, owner, user);
}

static void spread(mr_run *run)
{
	mr_tied_links_spread(&run->weights[0]);
}

/* Bytes of the copy of the first stage's parameters that @shard of the last stage reads. */
static void memory(const mr_run *run, uint8_t pipe, uint16_t s, mr_run_memory *out)
{
	if (is_last(run, s) && s > 0 && mr_run_leads(run, pipe, s))
		out->weights += mr_tied_links_copy_bytes(&run->weights[0], mr_run_shard(run, pipe, s));
}

static uint64_t mapped(const mr_run *run)
{
	uint16_t last = (uint16_t)(run->n_stages - 1);
	uint64_t sum = 0;

	for (uint32_t j = 0; is_last(run, last) && last > 0 && j < run->weights[last].n_shards; j++)
		sum += mr_tied_links_copy_bytes(&run->weights[0], j);
	return sum;
}

static void warm_up(const mr_run *run, uint8_t pipe, uint16_t s, mr_stage_io *io)
{
	(void)s;
	io->tied_weights = mr_tied_links_weights(mr_run_weights(run, pipe, 0), mr_run_shard(run, pipe, 0), 0);
}

const mr_feature mr_feature_tied = {
	.memory = memory,
	.mapped = mapped,
	.warm_up = warm_up,
	.init = init,
	.open = open_stage,
	.choose = choose,
	.open_links = open_links,
	.choose_homes = choose_homes,
	.reset_stage = reset_stage,
	.settle = settle,
	.spread = spread,
	.ready = ready,
	.pass = pass,
	.complete = complete,
	.whole = step_behind,
	.summed = summed,
	.stepped = stepped,
};
