/* released.c - sums of gradients that are released stage by stage (ir/plan.h, "Released sums"): the highest two stages
 * that train have buffers, and all others use these in turn. */
#include "exec/exec_internal.h"
#include "ir/stage_ops.h"
#include "weights/ranges.h"

/* Has the stage that had the buffer before stepped everywhere? The owners' weights show that they have its sums; if
 * weights are sharded, sharded.c asks them. */
static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	const mr_plan *p = w->run->c.plan;
	uint16_t before = t->in->op == MR_OP_B || t->in->op == MR_OP_W ? mr_trained_beside(p, t->in->stage, 2)
								       : p->n_stages;
	mr_stage_weights *b;
	uint64_t made = t->version + 1;

	if (before == p->n_stages || !t->links->train)
		return MR_WAIT_NONE;
	b = &w->run->weights[before];
	if ((!b->ranges || b->sharded || mr_ranges_have_weights(b, mr_run_shard(w->run, t->in->pipe, before), made)) &&
	    mr_counter_reached(&b->published, w->id, (uint32_t)made))
		return MR_WAIT_NONE;
	return MR_WAIT_WEIGHTS;
}

/* The buffers are a worker's own. */
static mr_status refuse(const mr_run_config *c)
{
	const mr_plan *p = c->plan;

	for (size_t at = 0; at < (size_t)p->n_pipes * p->n_stages; at++)
		if (p->worker_of[at] != p->worker_of[at / p->n_stages * p->n_stages])
			return mr_fail(MR_ECONFIG,
				       "stage %zu of pipe %zu is on worker %u: where sums are released, all stages of "
				       "a pipe are on one worker",
				       at % p->n_stages, at / p->n_stages, p->worker_of[at]);
	return MR_OK;
}

static mr_status choose(mr_run *run)
{
	const mr_plan *p = run->c.plan;

	for (uint16_t s = run->n_stages; s-- > 0;) {
		uint16_t before = mr_trained_beside(p, s, 2);
		mr_stage_weights *above = before < p->n_stages ? &run->weights[before] : NULL;

		if (above && mr_stage_has(p, s, MR_OP_U))
			mr_weights_lend(above->lender ? above->lender : above, &run->weights[s]);
	}
	return MR_OK;
}

const mr_feature mr_feature_released = {
	.refuse = refuse,
	.choose = choose,
	.ready = ready,
};
