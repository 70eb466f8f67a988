#include "exec/run_carried.h"

#include <stdlib.h>

/* Windows of entries of one place that are needed at once: one that F reads, one that it writes, and those of
 * micro-batches between their F and the end of their backward. */
static uint32_t depth_of(const mr_plan *p, uint16_t s)
{
	uint32_t slots = 0, need = p->contract.need, under_way;

	for (unsigned pipe = 0; pipe < p->n_pipes; pipe++)
		if (p->n_slots[mr_plan_at(p, (uint8_t)pipe, s)] > slots)
			slots = p->n_slots[mr_plan_at(p, (uint8_t)pipe, s)];
	under_way = slots * p->n_pipes;
	for (uint16_t w = 0; w < p->n_workers; w++) /* micro-batches that are recomputed have no slot meanwhile */
		for (uint32_t i = 0; i < mr_plan_list(p, w, MR_BODY)->n; i++)
			if (mr_plan_list(p, w, MR_BODY)->at[i].op == MR_OP_R)
				under_way = slots * p->n_pipes + p->n_micro + 2u * p->n_workers;
	return 2 + (under_way + need - 1) / need;
}

mr_status mr_run_open_carried(mr_run *run)
{
	const mr_plan *p = run->c.plan;
	uint64_t columns = run->c.data->columns;

	if (!mr_carried_is_in(run->c.graph))
		return MR_OK;
	if (columns != p->contract.need * (uint64_t)run->c.samples)
		return mr_fail(MR_ECONFIG,
			       "the model carries a state in %llu columns, and a step of the plan has %llu samples",
			       (unsigned long long)columns,
			       (unsigned long long)p->contract.need * (uint64_t)run->c.samples);
	run->carried = calloc(run->n_stages, sizeof(*run->carried));
	if (!run->carried)
		return mr_fail(MR_ERESOURCE, "no memory for the values that %u stages carry", run->n_stages);
	for (uint16_t s = 0; s < run->n_stages; s++)
		run->carried[s] = (mr_carried){
			.n_micro = p->contract.need,
			.depth = depth_of(p, s),
			.n_windows = run->c.data->n_train / columns,
			.bytes = mr_stage_size(run->stage[s])->carried_bytes,
		};
	return MR_OK;
}
