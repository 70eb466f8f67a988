/*
 * team_costs.h - the times of layers by teams of several sizes, measured: how much of a team's peak a layer reaches.
 *
 * Each size is measured by itself, one worker training without a pipeline (session/team_profile.h). Between two sizes
 * that were measured a time is interpolated, as a power of the threads; beyond them none is known, and the model
 * (cost_model.h) says how it goes on.
 */
#ifndef MR_COSTS_TEAM_COSTS_H
#define MR_COSTS_TEAM_COSTS_H

#include "costs/costs.h"

#define MR_TEAM_SIZES 16u

struct mr_team_costs {
	uint32_t n, n_layers;
	uint32_t threads[MR_TEAM_SIZES];      /* ascending */
	mr_stage_cost *layer[MR_TEAM_SIZES];  /* [n_layers]; owned; f, i, w and u alone count */
};

/** Room for the times of @n_layers layers by @threads threads, more than in those before, all 0. Errors: MR_ECONFIG:
 * the sizes do not ascend, or there are too many; MR_ERESOURCE. */
mr_status mr_team_costs_add(mr_team_costs *t, uint32_t n_layers, uint32_t threads, mr_stage_cost **out) MR_MUST_USE;
void mr_team_costs_destroy(mr_team_costs *t);

/** Times of layer @node by *@threads threads, which becomes the nearest number within those that were measured. */
mr_stage_cost mr_team_costs_at(const mr_team_costs *t, uint32_t node, uint32_t *threads);
#endif
