/* plan_layers.h - the layers of a configuration's model as a table that `partition` reads. */
#ifndef MR_OUTLINE_PLAN_LAYERS_H
#define MR_OUTLINE_PLAN_LAYERS_H

#include <stdio.h>

#include "session/session_forecast.h"

/**
 * Write the table (planner/layer_table.h): seconds of each layer for one micro-batch by the costs of @f, its step with
 * its backward pass; bytes of all values that are live behind it, and of the parameters that it stores. The loss
 * belongs to the layer before it, as in every cut.
 */
void mr_plan_layers_print(const mr_session *s, const mr_forecast *f, FILE *out);

#endif
