/*
 * dlrm.c - DLRM (Naumov et al., "Deep learning recommendation model for personalization and recommendation systems",
 * 2019): does a user click, from numbers and categories?
 *
 *	numbers -> bot_l.0 (relu) -> bot_l.2 (relu) ...  [width] ------+
 *	category i -> emb_l.i, a table of rows[i] x width -------------+-> interaction -> top_l.0 (relu) ... [1] -> loss
 *
 * The interaction puts the dot products of all pairs of those vectors behind the first. The last layer's output is the
 * logarithm of the odds; the loss is the cross entropy of its logistic function against 0 or 1.
 *
 * Each table is a layer of its own, so a stage may begin at any of them. Where there are more vectors than a layer has
 * inputs, the first ones are put side by side before (join.i). Names of parameters and initial values are those of
 * facebookresearch/dlrm: weights normal with variance 2 / (in + out), biases 1 / out, tables uniform between
 * +-sqrt(1 / rows).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/compose.h"

#define MAX_WIDTH 1e6
#define MAX_ROWS 2147483647.0
#define MAX_TABLES 128

static const mr_option options[] = {
	{"rows", MR_OPT_FLOATS, "[1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000]", 1, MAX_ROWS, NULL, NULL,
	 "rows of the table of each category; a category is a row modulo their number. Empty: categories are not read"},
	{"width", MR_OPT_INT, "16", 1, MAX_WIDTH, NULL, NULL, "numbers in a row of the tables"},
	{"bottom", MR_OPT_FLOATS, "[64, 32]", 1, MAX_WIDTH, NULL, NULL,
	 "widths of the hidden layers in front of the interaction"},
	{"top", MR_OPT_FLOATS, "[64, 32]", 1, MAX_WIDTH, NULL, NULL,
	 "widths of the hidden layers behind the interaction"},
	{"bag", MR_OPT_INT, "1", 1, 1000, NULL, NULL, "columns of the data that look up rows of the same table"},
	{"pooling", MR_OPT_ENUM, "sum", 0, 0, "sum|mean", NULL, "what becomes of the rows that a bag looks up"},
	{NULL},
};

static int64_t dlrm_categories(const mr_values *values)
{
	size_t n;

	mr_values_floats(values, "rows", &n);
	return (int64_t)n * mr_values_int(values, "bag");
}

static mr_status check_whole(const mr_values *values, const char *key)
{
	size_t n;
	const double *list = mr_values_floats(values, key, &n);

	for (size_t i = 0; i < n; i++)
		if (list[i] != floor(list[i]))
			return mr_fail(MR_ECONFIG, "%s: expected whole numbers, got %g", key, list[i]);
	return MR_OK;
}

static mr_status check(const mr_values *values, const mr_model_data *data)
{
	int64_t wanted = dlrm_categories(values), there = data->input.cols - data->numbers;
	size_t n;

	MR_TRY(check_whole(values, "rows"));
	MR_TRY(check_whole(values, "bottom"));
	MR_TRY(check_whole(values, "top"));
	mr_values_floats(values, "rows", &n);
	if (n > MAX_TABLES)
		return mr_fail(MR_ECONFIG, "rows: at most %d tables, got %zu", MAX_TABLES, n);
	if (!data->numbers)
		return mr_fail(MR_ECONFIG, "takes samples of numbers and categories, as of the data \"clicks\" or "
					   "\"csv\" with categories");
	if (wanted && wanted != there)
		return mr_fail(MR_ECONFIG,
			       "rows: %zu tables with bags of %lld look up %lld columns of categories, the data has "
			       "%lld",
			       n, (long long)mr_values_int(values, "bag"), (long long)wanted, (long long)there);
	if (data->target_low < 0 || data->target_high > 1)
		return mr_fail(MR_ECONFIG, "takes targets from 0 to 1, those of the data go from %g to %g",
			       data->target_low, data->target_high);
	return MR_OK;
}

/* Layer @i of the multi-layer perceptron "@stem", from @in columns to @out. */
static uint16_t add_linear(mr_compose *m, const char *stem, size_t i, int64_t in, int64_t out, mr_act act, uint16_t x)
{
	mr_layer_cfg cfg = {.out = out, .act = act, .std = sqrt(2 / (double)(in + out)),
			    .bias_std = sqrt(1 / (double)out)};
	char name[32];

	snprintf(name, sizeof(name), "%s.%zu", stem, 2 * i);
	return mr_compose_add(m, "linear", name, &cfg, x);
}

/* The hidden layers that the key @key names, then one of @last columns with @act. */
static uint16_t add_perceptron(mr_compose *m, const mr_values *values, const char *key, const char *stem, int64_t in,
			       int64_t last, mr_act act, uint16_t x)
{
	size_t n;
	const double *width = mr_values_floats(values, key, &n);

	for (size_t i = 0; i < n; i++) {
		x = add_linear(m, stem, i, in, (int64_t)width[i], MR_ACT_RELU, x);
		in = (int64_t)width[i];
	}
	return add_linear(m, stem, n, in, last, act, x);
}

static mr_status dlrm_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t width = mr_values_int(values, "width"), bag = mr_values_int(values, "bag"), n_vectors;
	size_t n_tables;
	const double *rows = mr_values_floats(values, "rows", &n_tables);
	mr_layer_cfg cfg = {.out = data->numbers};
	uint16_t v[1 + MAX_TABLES], x;
	mr_compose m;
	char name[32];

	*out = NULL;
	MR_TRY(check(values, data));
	n_vectors = 1 + (int64_t)n_tables;
	mr_compose_init(&m, data);
	x = mr_compose_add(&m, "mixed_numbers", "numbers", &cfg, 0);
	v[0] = add_perceptron(&m, values, "bottom", "bot_l", data->numbers, width, MR_ACT_RELU, x);
	for (size_t i = 0; i < n_tables; i++) {
		cfg = (mr_layer_cfg){.out = width, .vocab = (int64_t)rows[i], .bag = bag,
				     .column = data->numbers + (int64_t)i * bag,
				     .mean = !strcmp(mr_values_string(values, "pooling"), "mean")};
		snprintf(name, sizeof(name), "emb_l.%zu", i);
		v[1 + i] = mr_compose_add(&m, "embedding_bag", name, &cfg, 0);
	}
	cfg = (mr_layer_cfg){.out = width, .parts = mr_compose_narrow(&m, v, (uint32_t)n_vectors)};
	x = mr_compose_gather(&m, "dot_interaction", "interaction", &cfg, v, (uint32_t)cfg.parts);
	x = add_perceptron(&m, values, "top", "top_l", width + n_vectors * (n_vectors - 1) / 2, 1, MR_ACT_NONE, x);
	mr_compose_add(&m, "logistic", "loss", &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_dlrm = {
	.name = "dlrm",
	.summary = "clicks from numbers and categories: tables, dot products of pairs, multi-layer perceptrons",
	.options = options,
	.categories = dlrm_categories,
	.build = dlrm_build,
};
