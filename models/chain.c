/*
 * chain.c - one scalar weight a layer: a pipeline small enough to check by hand.
 *
 *	a_0 = x,  a_{k+1} = w_k a_k,  loss = mean of (a_D - y)^2 / 2          d loss / d w_k = (a_D - y) * a_D / w_k
 *
 * The model may be cut in front of every layer, so D stages can hold one weight each, and the effect of an update rule
 * on delayed gradients shows in numbers that can be followed by hand. Layers are called w.0, w.1, ...; their weights
 * w.0.weight, ...
 */
#include "models/compose.h"

#include <stdio.h>

static const mr_option options[] = {
	{"depth", MR_OPT_INT, "4", 1, 10000, NULL, NULL, "number of weights"},
	{"init", MR_OPT_FLOATS, "[1.0]", 0, 0, NULL, NULL, "initial weights: one value for all, or one a weight"},
	{NULL},
};

static mr_status check(const mr_model_data *data, int64_t depth, size_t n_init)
{
	const mr_shape *in = &data->input, *target = &data->target;

	if (n_init != 1 && n_init != (size_t)depth)
		return mr_fail(MR_ECONFIG, "init: expected 1 value or %lld, one a weight, got %zu", (long long)depth,
			       n_init);
	if (in->tokens || in->rows != 1 || in->cols != 1)
		return mr_fail(MR_ECONFIG, "takes one number a sample as input, the data has %lld x %lld %s",
			       (long long)in->rows, (long long)in->cols, in->tokens ? "tokens" : "numbers");
	if (target->tokens || target->rows != 1 || target->cols != 1)
		return mr_fail(MR_ECONFIG, "takes one number a sample as target, the data has %lld x %lld %s",
			       (long long)target->rows, (long long)target->cols,
			       target->tokens ? "classes" : "numbers");
	return MR_OK;
}

static mr_status chain_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t depth = mr_values_int(values, "depth");
	mr_layer_cfg cfg = {.out = 1, .no_bias = true, .std = -1};
	size_t n_init;
	const double *init = mr_values_floats(values, "init", &n_init);
	mr_compose m;
	uint16_t x = 0;

	*out = NULL;
	MR_TRY(check(data, depth, n_init));
	mr_compose_init(&m, data);
	for (int64_t i = 0; i < depth; i++) {
		char name[32];

		snprintf(name, sizeof(name), "w.%lld", (long long)i);
		cfg.value = init[n_init == 1 ? 0 : i];
		x = mr_compose_add(&m, "linear", name, &cfg, x);
	}
	mr_compose_add(&m, "mse", "loss", &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_chain = {
	.name = "chain",
	.summary = "one scalar weight a layer, to check update rules by hand",
	.options = options,
	.build = chain_build,
};
