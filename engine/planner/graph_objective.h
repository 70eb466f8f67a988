/*
 * graph_objective.h - recognises graphs that are linear objectives.
 */
#ifndef MR_PLANNER_GRAPH_OBJECTIVE_H
#define MR_PLANNER_GRAPH_OBJECTIVE_H

#include "objective/objective.h"
#include "planner/graph.h"

/** Is @g blocks of coordinates (layer margin) followed by the loss mse or logistic? */
bool mr_graph_is_linear(const mr_graph *g);

/**
 * If @g is blocks of coordinates (layer margin) followed by the loss mse or logistic: true, and the objective,
 * whose list of blocks the caller frees. The blocks of stage s of a partition at every block are parameter s. False for
 * any other graph, and without memory.
 */
bool mr_graph_objective(const mr_graph *g, mr_objective_spec *out);

#endif
