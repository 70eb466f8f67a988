#include "sim/sim.h"

#include "sim/bend.h"

mr_status mr_sim_run(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, mr_walk **out)
{
	mr_walk_opts opts = {.unlimited = params->unlimited, .no_period = params->no_period};
	mr_bend bend;
	mr_status st;

	*out = NULL;
	st = mr_bend_init(&bend, plan, cost, params);
	opts.hooks = &bend.hooks;
	if (st == MR_OK)
		st = mr_plan_walk(plan, cost, params->n_bodies, &opts, out);
	mr_bend_fini(&bend);
	return st;
}

void mr_sim_spread(uint16_t n_workers, uint16_t n_nodes, uint16_t *node)
{
	for (uint16_t w = 0; w < n_workers; w++)
		node[w] = (uint16_t)((uint32_t)w * n_nodes / n_workers);
}
