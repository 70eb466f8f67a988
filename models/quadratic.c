/*
 * quadratic.c - least squares, cut into blocks of coordinates: f(w) = |X w - y|^2 / (2 n), the mean of (x w - y)^2 / 2.
 *
 * The data decide which quadratic it is (random, the tridiagonal one of Nesterov's lower bound, a chosen spectrum): see
 * data/generated.c.
 */
#include "models/blocks.h"

static const mr_option options[] = {
	MR_BLOCKS_OPTIONS,
	{NULL},
};

static mr_status quadratic_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	return mr_blocks_build(values, data, 0, "mse", out);
}

const mr_model_ops mr_model_quadratic = {
	.name = "quadratic",
	.summary = "least squares in blocks of coordinates, a stage each",
	.options = options,
	.features = mr_blocks_features,
	.build = quadratic_build,
};
