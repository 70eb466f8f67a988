#include "planner/graph_objective.h"

#include <stdlib.h>
#include <string.h>

static bool is_logistic(const mr_graph *g)
{
	return !strcmp(g->nodes[g->n_nodes - 1].ops->name, "logistic");
}

bool mr_graph_is_linear(const mr_graph *g)
{
	if (g->n_nodes < 2 || (!is_logistic(g) && strcmp(g->nodes[g->n_nodes - 1].ops->name, "mse") != 0))
		return false;
	for (uint32_t i = 0; i + 1 < g->n_nodes; i++)
		if (strcmp(g->nodes[i].ops->name, "margin") != 0)
			return false;
	return true;
}

bool mr_graph_objective(const mr_graph *g, mr_objective_spec *out)
{
	*out = (mr_objective_spec){0};
	if (!mr_graph_is_linear(g))
		return false;
	*out = (mr_objective_spec){.kind = is_logistic(g) ? MR_OBJECTIVE_LOGISTIC : MR_OBJECTIVE_QUADRATIC,
		.l2 = g->nodes[0].cfg.l2,
				   .n_blocks = g->n_nodes - 1, .block = calloc(g->n_nodes - 1, sizeof(*out->block))};
	for (uint32_t i = 0; out->block && i < out->n_blocks; i++)
		out->block[i] = g->nodes[i].cfg.out;
	return out->block != NULL;
}
