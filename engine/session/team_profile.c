#include "session/team_profile.h"

#include <stdlib.h>

#include "costs/team_costs.h"
#include "session/lone_profile.h"

static mr_status measure_size(const mr_session *s, uint32_t threads, double seconds, mr_team_costs *t)
{
	mr_lone_profile p;
	mr_stage_cost *layer;
	mr_status st = mr_lone_profile_measure(s, threads, 0, MR_PROFILE_ALONE, seconds, &p);

	if (st == MR_OK)
		st = mr_team_costs_add(t, s->graph->n_nodes, threads, &layer);
	for (uint32_t i = 0; st == MR_OK && i < s->graph->n_nodes; i++)
		layer[i] = p.costs.layer[i];
	mr_lone_profile_fini(&p);
	return st;
}

mr_status mr_team_costs_measure(const mr_session *s, double seconds, mr_costs *c)
{
	const mr_topo *t = &s->topo;
	uint32_t l3 = t->l3[0].n_cores < t->n_usable ? t->l3[0].n_cores : t->n_usable;
	uint32_t node = t->node[0].n_cores < t->n_usable ? t->node[0].n_cores : t->n_usable;

	c->teams = calloc(1, sizeof(*c->teams));
	c->owns_teams = true;
	if (!c->teams)
		return mr_fail(MR_ERESOURCE, "no memory for the times of teams");
	for (uint32_t k = 1, next; k; k = next) {
		MR_TRY(measure_size(s, k, seconds, c->teams));
		next = 2 * k;
		if (k < l3 && next > l3)
			next = l3;
		else if (k < node && next > node)
			next = node;
		else if (k < t->n_usable && next > t->n_usable)
			next = t->n_usable;
		if (next > t->n_usable || c->teams->n == MR_TEAM_SIZES)
			next = 0;
	}
	return MR_OK;
}
