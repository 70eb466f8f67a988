#include "sim/sim.h"

#include <stdlib.h>

#include "sim/bend.h"

/* A walk of the lists as they are in *@home gives way to one of the lists as they came to be, in *@out. */
static mr_status walk_stolen(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, const mr_walk_opts *opts,
			     const mr_walk *home, mr_walk **out)
{
	mr_walk_opts once = *opts;
	mr_steal *steal = NULL;
	mr_plan *moved;
	mr_walk *k;
	mr_status st;
	size_t n;

	MR_TRY(mr_sim_steals(plan, cost, params, &steal, &n));
	st = mr_steal_plan(plan, params->n_bodies, steal, n, &moved);
	if (st != MR_OK) {
		free(steal);
		return st;
	}
	once.no_period = true;
	st = mr_plan_walk(moved, cost, 0, &once, &k);
	if (st != MR_OK) {
		free(steal);
		mr_plan_destroy(moved);
		return st;
	}
	for (size_t i = 0; i < n; i++)
		k->n_stolen += steal[i].owner != steal[i].thief;
	free(steal);
	k->plan = moved;
	k->n_bodies = home->n_bodies;
	k->period = home->period;
	k->bubble_period = home->bubble_period;
	*out = k;
	return MR_OK;
}

static mr_status run(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, const mr_walk_opts *opts, mr_walk **out)
{
	bool steal = plan->lowered && plan->contract.steal && params->n_bodies > 0 && mr_plan_list(plan, 0, MR_BODY)->n > 0;
	mr_walk *home;
	mr_status st;

	if (!steal)
		return mr_plan_walk(plan, cost, params->n_bodies, opts, out);
	MR_TRY(mr_plan_walk(plan, cost, params->n_bodies, opts, &home));
	st = walk_stolen(plan, cost, params, opts, home, out);
	mr_walk_destroy(home);
	return st;
}

mr_status mr_sim_run(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, mr_walk **out)
{
	mr_walk_opts opts = {.unlimited = params->unlimited, .no_period = params->no_period};
	mr_bend bend;
	mr_status st;

	*out = NULL;
	st = mr_bend_init(&bend, plan, cost, params);
	opts.hooks = &bend.hooks;
	if (st == MR_OK)
		st = run(plan, cost, params, &opts, out);
	mr_bend_fini(&bend);
	return st;
}

void mr_sim_spread(uint16_t n_workers, uint16_t n_nodes, uint16_t *node)
{
	for (uint16_t w = 0; w < n_workers; w++)
		node[w] = (uint16_t)((uint32_t)w * n_nodes / n_workers);
}
