#include "timing/sim.h"

#include <math.h>
#include <stdlib.h>

#include "timing/bend.h"

/* The period of a plan with stealing is taken from this many iterations, with irregular times and without; with
 * irregular times, from as many of them as have at most this many instructions. */
#define IRREGULAR_BODIES 64u
#define REGULAR_BODIES 4u
#define PERIOD_INSTRUCTIONS (1u << 18)

/* Walks the lists that result from stealing. */
static mr_status walk_stolen(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params,
			     const mr_walk_opts *opts, mr_walk **out)
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
	k->n_bodies = params->n_bodies;
	*out = k;
	return MR_OK;
}

/* The time at which the last stage commits version @v. */
static double committed_at(const mr_walk *k, int64_t v)
{
	double at = 0;

	for (size_t i = 0; i < k->first[k->n_workers]; i++)
		if (k->at[i].in->op == MR_OP_U && k->at[i].in->target == v)
			at = fmax(at, k->at[i].end);
	return at;
}

/* After a barrier every iteration begins anew: with regular times, all are alike from the second on. */
static mr_status find_period(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params,
			     const mr_walk_opts *opts, double *period)
{
	mr_sim_params longer = *params;
	uint64_t length = 0;
	uint32_t n = REGULAR_BODIES;
	mr_walk *k;

	for (uint16_t w = 0; w < plan->n_workers; w++)
		length += mr_plan_list(plan, w, MR_BODY)->n;
	while (opts->hooks->irregular && n < IRREGULAR_BODIES && 2 * n * length <= PERIOD_INSTRUCTIONS)
		n *= 2;
	longer.n_bodies = n;
	MR_TRY(walk_stolen(plan, cost, &longer, opts, &k));
	*period = (committed_at(k, n) - committed_at(k, n / 2)) / (n - n / 2);
	mr_walk_destroy(k);
	return MR_OK;
}

static mr_status run_stolen(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params,
			    const mr_walk_opts *opts, mr_walk **out)
{
	double period = 0, most = 0;

	if (!opts->no_period)
		MR_TRY(find_period(plan, cost, params, opts, &period));
	MR_TRY(walk_stolen(plan, cost, params, opts, out));
	for (uint16_t w = 0; w < plan->n_workers; w++)
		most = fmax(most, (*out)->busy[w] / params->n_bodies);
	(*out)->period = period;
	(*out)->bubble_period = period > 0 ? fmax(0, 1 - most / period) : 0;
	return MR_OK;
}

static mr_status run(const mr_plan *plan, const mr_cost *cost, const mr_sim_params *params, const mr_walk_opts *opts,
		     mr_walk **out)
{
	bool steal =
		plan->lowered && plan->contract.steal && params->n_bodies > 0 && mr_plan_list(plan, 0, MR_BODY)->n > 0;

	return steal ? run_stolen(plan, cost, params, opts, out)
		     : mr_plan_walk(plan, cost, params->n_bodies, opts, out);
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

bool mr_sim_are_apart(const uint16_t *node, uint16_t n_workers)
{
	for (uint16_t w = 1; w < n_workers; w++)
		if (node[w] != node[0])
			return true;
	return false;
}
