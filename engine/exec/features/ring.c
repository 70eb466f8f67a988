/* ring.c - micro-batches of several pipes that pass each stage one after another (plan.h, "Ring"). */
#include <stdlib.h>

#include "exec/exec_internal.h"
#include "ir/deps.h"

/* Of a stage: the micro-batches that have passed it, all before and this many. Raised by the worker of the last one. */
struct mr_relay {
	mr_counter forward, backward;
};

static mr_counter *counter_of(const mr_run *run, const mr_task *t)
{
	mr_relay *r = &run->relay[t->in->stage];

	switch (t->in->op) {
	case MR_OP_F:
		return &r->forward;
	case MR_OP_B:
	case MR_OP_I:
		return &r->backward;
	default:
		return NULL;
	}
}

/* Has the micro-batch that had the room of @t before gone back through the stage? */
static bool has_room(mr_worker *w, const mr_task *t)
{
	uint32_t k = t->links->plan->rooms[t->in->stage];

	return !k || t->micro < k ||
	       mr_counter_reached(&w->run->relay[t->in->stage].backward, w->id, (uint32_t)(t->micro - k + 1));
}

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_counter *c = t->links->train ? counter_of(w->run, t) : NULL;

	if (c && mr_ring_follows(t->links->plan, t->micro) && !mr_counter_reached(c, w->id, (uint32_t)t->micro))
		return MR_WAIT_UPSTREAM;
	return c && t->in->op == MR_OP_F && !has_room(w, t) ? MR_WAIT_DOWNSTREAM : MR_WAIT_NONE;
}

static void passed(mr_worker *w, const mr_task *t)
{
	mr_counter *c = t->links->train ? counter_of(w->run, t) : NULL;

	if (c)
		mr_counter_raise(c, w->id, (uint32_t)(t->micro + 1));
}

/* --- the feature --- */

static mr_status create(mr_run *run)
{
	run->relay = aligned_alloc(_Alignof(mr_relay), run->n_stages * sizeof(*run->relay));
	if (!run->relay)
		return mr_fail(MR_ERESOURCE, "no memory for a ring of %u stages", run->n_stages);
	for (uint16_t s = 0; s < run->n_stages; s++)
		run->relay[s] = (mr_relay){0};
	return MR_OK;
}

static void destroy(mr_run *run)
{
	for (uint16_t s = 0; run->relay && s < run->n_stages; s++) {
		mr_counter_close(&run->relay[s].forward);
		mr_counter_close(&run->relay[s].backward);
	}
	free(run->relay);
}

static mr_status choose(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		MR_TRY(mr_counter_choose(&run->relay[s].forward, s, run->n_workers, run->c.links));
		MR_TRY(mr_counter_choose(&run->relay[s].backward, s, run->n_workers, run->c.links));
	}
	return MR_OK;
}

static mr_status open_links(mr_run *run)
{
	for (uint16_t s = 0; s < run->n_stages; s++) {
		MR_TRY(mr_counter_open(&run->relay[s].forward));
		MR_TRY(mr_counter_open(&run->relay[s].backward));
	}
	return MR_OK;
}

/* Nothing of the commits behind @b is left to pass. */
static void reset_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	uint32_t n = (uint32_t)(b->latest * run->c.plan->contract.need);

	mr_counter_reset(&run->relay[s].forward, n, run->parkers, run->n_workers, run->parkers);
	mr_counter_reset(&run->relay[s].backward, n, run->parkers, run->n_workers, run->parkers);
}

const mr_feature mr_feature_ring = {
	.create = create,
	.destroy = destroy,
	.choose = choose,
	.open_links = open_links,
	.reset_stage = reset_stage,
	.ready = ready,
	.passed = passed,
};
