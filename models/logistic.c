/*
 * logistic.c - logistic regression, cut into blocks of coordinates, targets from 0 to 1:
 *
 *	f(w) = mean of log(1 + e^(x w)) - y x w, plus (l2 / 2) |w|^2
 */
#include "models/blocks.h"

static const mr_option options[] = {
	MR_BLOCKS_OPTIONS,
	{"l2", MR_OPT_FLOAT, "1e-4", 0, 1e6, NULL, NULL, "weight of the penalty: f has (l2 / 2) |w|^2"},
	{NULL},
};

/* With a target outside [0, 1] the loss of a sample is unbounded below in w. */
static mr_status logistic_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	*out = NULL;
	if (data->target_low < 0 || data->target_high > 1)
		return mr_fail(MR_ECONFIG,
			       "takes targets from 0 to 1, those of the data go from %g to %g; the two labels of a "
			       "LIBSVM file become 0 and 1 with data.labels = \"two\"",
			       data->target_low, data->target_high);
	return mr_blocks_build(values, data, mr_values_float(values, "l2"), "logistic", out);
}

const mr_model_ops mr_model_logistic = {
	.name = "logistic",
	.summary = "logistic regression in blocks of coordinates, a stage each",
	.options = options,
	.features = mr_blocks_features,
	.build = logistic_build,
};
