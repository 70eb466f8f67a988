#include "weights/slow_start.h"

#include <math.h>
#include <stdlib.h>

mr_status mr_slow_start_open(mr_stage_weights *b, uint32_t n, const mr_plan *plan, const mr_plan *steady, uint16_t s)
{
	double delay = mr_plan_delay(steady, s);

	if (n == 0 || delay <= 1)
		return MR_OK;
	b->slow_start = malloc(sizeof(*b->slow_start));
	if (!b->slow_start)
		return mr_fail(MR_ERESOURCE, "no memory for the learning rates of stage %u", s);
	*b->slow_start = (mr_slow_start){.n = n, .sync_steps = plan->contract.sync_steps, .delay = delay};
	return MR_OK;
}

double mr_slow_start_rate(const mr_slow_start *x, double full, uint64_t version)
{
	uint64_t before = version - 1 - x->sync_steps; /* commits made by then, behind the synchronous ones */

	if (version <= x->sync_steps || before >= x->n)
		return full;
	return full / pow(x->delay, 1 - (double)before / x->n);
}
