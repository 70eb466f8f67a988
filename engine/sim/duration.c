#include "sim/duration.h"

#include <stdlib.h>

#include "sim/bend.h"

struct mr_sim_duration {
	const mr_plan *plan;
	const mr_cost *cost;
	mr_bend bend;
};

mr_status mr_sim_duration_create(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params,
				 mr_sim_duration **out)
{
	mr_sim_duration *d = calloc(1, sizeof(*d));
	mr_status st;

	*out = NULL;
	if (!d)
		return mr_fail(MR_ERESOURCE, "no memory to simulate");
	*d = (mr_sim_duration){.plan = plan, .cost = cost};
	st = mr_bend_init(&d->bend, plan, cost, params);
	if (st != MR_OK) {
		mr_sim_duration_destroy(d);
		return st;
	}
	*out = d;
	return MR_OK;
}

void mr_sim_duration_destroy(mr_sim_duration *d)
{
	if (!d)
		return;
	mr_bend_fini(&d->bend);
	free(d);
}

double mr_sim_duration_end(const mr_sim_duration *d, const mr_instr *in, uint64_t micro, uint16_t worker, double begin)
{
	return mr_bend_end(&d->bend, in, micro, worker, begin, mr_instr_cost(d->plan, in, d->cost));
}

double mr_sim_duration_hop(const mr_sim_duration *d, uint16_t stage, uint16_t from, uint16_t to)
{
	double c = d->cost->stage[stage].c;

	return d->bend.hooks.handoff ? d->bend.hooks.handoff(&d->bend, from, to, c) : c;
}
