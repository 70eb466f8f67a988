/* slow_start.c - learning rates that begin low where gradients are late (weights/slow_start.h). A mitigation's takes
 * the place of the contract's. */
#include "exec/run.h"
#include "weights/slow_start.h"

static mr_status open_stage(mr_run *run, mr_stage_weights *b, uint16_t s)
{
	const mr_run_config *c = &run->c;
	const mr_contract *k = &c->plan->contract;
	uint32_t mitigated = c->mitigate && k->flush == MR_FLUSH_NONE ? c->mitigate->slow_start : 0;

	return mr_slow_start_open(b, mitigated ? mitigated : k->slow_start, c->plan, c->steady ? c->steady : c->plan,
				  s);
}

const mr_feature mr_feature_slow_start = {
	.open = open_stage,
};
