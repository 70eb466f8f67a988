/* shared.c - several pipes that read and step one stage's weights (weights/stage_weights.h): what waits for the
 * parts of the others. */
#include "exec/exec_internal.h"
#include "weights/reduction.h"

static mr_wait_cause ready(mr_worker *w, const mr_task *t)
{
	mr_stage_weights *b = &w->run->weights[t->in->stage];
	mr_counter *parts;

	switch (t->in->op) {
	case MR_OP_F:
		parts = &b->published;
		break;
	case MR_OP_AR:
		if (!b->parts_here) /* no shard of this process has micro-batches */
			return MR_WAIT_NONE;
		parts = &b->reduction->finished;
		break;
	case MR_OP_N:
		parts = &b->reduction->reduced;
		break;
	default:
		return MR_WAIT_NONE;
	}
	return mr_counter_reached(parts, w->id, (uint32_t)t->version) ? MR_WAIT_NONE : MR_WAIT_WEIGHTS;
}

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	(void)run;
	(void)s;
	return mr_reduction_open(b);
}

const mr_feature mr_feature_shared = {
	.facts = MR_SHARES_STAGES,
	.open = open_stage,
	.ready = ready,
};
