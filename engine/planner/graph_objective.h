/*
 * graph_objective.h - is this graph a linear objective, and which?
 */
#ifndef MR_PLANNER_GRAPH_OBJECTIVE_H
#define MR_PLANNER_GRAPH_OBJECTIVE_H

#include "data/objective.h"
#include "planner/graph.h"

/** Is @g blocks of coordinates (layer margin) with the loss mse or logistic behind them? */
bool mr_graph_is_linear(const mr_graph *g);

/**
 * If @g is blocks of coordinates (layer margin) with the loss mse or logistic behind them: true, and the objective,
 * whose list of blocks the caller frees. The blocks of stage s of a partition at every block are parameter s. False for
 * any other graph, and without memory.
 */
bool mr_graph_objective(const mr_graph *g, mr_objective_spec *out);

#endif
