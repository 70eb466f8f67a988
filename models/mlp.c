/*
 * mlp.c - a multi-layer perceptron: linear layers with an activation between them.
 *
 *	fc.0 (act)  fc.1 (act)  ...  fc.n (no activation)  loss
 *
 * With norm = "batch" each hidden layer is normalised before its activation: fc.0  bn.0 (act)  fc.1  bn.1 (act)  ...
 *
 * Samples of numbers and categories begin with a table of embeddings for each category, behind whose rows the numbers
 * stand: numbers, emb.0, emb.1, ... -> mix -> fc.0. The data say how many values a category has, and so rows a table.
 *
 * The last layer's width and the loss come from the data: classes give softmax cross-entropy, numbers give MSE. Weights
 * start as in nn/layers/linear.c: He's scale in front of an activation, 1/sqrt(in) for the last layer; biases at 0.
 */
#include "models/compose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_WIDTH 1e9
#define MAX_TABLES 1000

static const mr_option options[] = {
	{"hidden", MR_OPT_FLOATS, "[]", 1, MAX_WIDTH, NULL, NULL,
	 "widths of the hidden layers, such as [512, 256]; empty: depth layers of one width"},
	{"width", MR_OPT_INT, "128", 1, MAX_WIDTH, NULL, NULL, "width of each hidden layer, where hidden is empty"},
	{"depth", MR_OPT_INT, "2", 0, 10000, NULL, NULL, "number of hidden layers, where hidden is empty"},
	{"activation", MR_OPT_ENUM, "relu", 0, 0, "relu|gelu|none", NULL, "what follows each hidden layer"},
	{"categories", MR_OPT_INT, "0", 0, MAX_TABLES, NULL, NULL,
	 "columns of categories that get a table of embeddings each, as many as the data has"},
	{"embedding", MR_OPT_INT, "16", 1, 4096, NULL, NULL,
	 "numbers in a row of these tables, at most half as many as the table has rows"},
	{"norm", MR_OPT_ENUM, "none", 0, 0, "none|batch", NULL,
	 "batch: each hidden layer is normalised over the micro-batch, before its activation (relu or none)"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

static mr_act activation(const mr_values *values)
{
	const char *name = mr_values_string(values, "activation");

	return !strcmp(name, "relu") ? MR_ACT_RELU : !strcmp(name, "gelu") ? MR_ACT_GELU : MR_ACT_NONE;
}

static bool normalises(const mr_values *values)
{
	return !strcmp(mr_values_string(values, "norm"), "batch");
}

/* Hidden layer @i of @width, behind @x. */
static uint16_t add_hidden(mr_compose *m, const mr_values *values, int64_t i, int64_t width, uint16_t x)
{
	mr_layer_cfg act = {.act = activation(values)}, cfg = normalises(values) ? (mr_layer_cfg){0} : act;
	char name[32];

	cfg.out = width;
	snprintf(name, sizeof(name), "fc.%lld", (long long)i);
	x = mr_compose_add(m, "linear", name, &cfg, x);
	if (!normalises(values))
		return x;
	snprintf(name, sizeof(name), "bn.%lld", (long long)i);
	return mr_compose_add(m, "batch_norm", name, &act, x);
}

static int64_t mlp_categories(const mr_values *values)
{
	int64_t n = mr_values_int(values, "categories");

	return n ? n : -1;
}

static mr_status check_tables(const mr_values *values, const mr_model_data *data)
{
	int64_t there = data->numbers ? data->input.cols - data->numbers : 0, n = mr_values_int(values, "categories");

	if (n != there)
		return mr_fail(MR_ECONFIG, "categories: got %lld, the data has %lld columns of categories",
			       (long long)n, (long long)there);
	if (there && !data->values)
		return mr_fail(MR_ECONFIG, "categories: the data must know how many values there are, as \"csv\" does "
					   "with category = \"known\"");
	return MR_OK;
}

static mr_status check(const mr_values *values, const mr_model_data *data)
{
	size_t n;
	const double *hidden = mr_values_floats(values, "hidden", &n);

	if (n && (mr_values_is_set(values, "width") || mr_values_is_set(values, "depth")))
		return mr_fail(MR_ECONFIG, "hidden: give either hidden or width and depth, not both");
	for (size_t i = 0; i < n; i++)
		if (hidden[i] != floor(hidden[i]))
			return mr_fail(MR_ECONFIG, "hidden: a width is a whole number, got %g", hidden[i]);
	if (normalises(values) && activation(values) == MR_ACT_GELU)
		return mr_fail(MR_ECONFIG, "activation: batch normalisation is followed by relu or none, not by gelu");
	if (mr_values_float(values, "smoothing") > 0 && !data->classes)
		return mr_fail(MR_ECONFIG, "smoothing: is for classes as targets, the data has numbers");
	if (data->input.tokens && !data->numbers)
		return mr_fail(MR_ECONFIG, "takes numbers as input, the data has tokens");
	return check_tables(values, data);
}

/* One row of numbers from a sample of numbers and categories. */
static uint16_t add_tables(mr_compose *m, const mr_values *values, const mr_model_data *data)
{
	int64_t n = data->input.cols - data->numbers, width = mr_values_int(values, "embedding");
	uint16_t v[1 + MAX_TABLES];
	uint32_t left;
	char name[32];

	v[0] = mr_compose_add(m, "mixed_numbers", "numbers", &(mr_layer_cfg){.out = data->numbers}, 0);
	for (int64_t i = 0; i < n; i++) {
		int64_t half = (data->values[i] + 1) / 2;
		mr_layer_cfg cfg = {.out = width < half ? width : half, .vocab = data->values[i], .bag = 1,
				    .column = data->numbers + i};

		snprintf(name, sizeof(name), "emb.%lld", (long long)i);
		v[1 + i] = mr_compose_add(m, "embedding_bag", name, &cfg, 0);
	}
	left = mr_compose_narrow(m, v, (uint32_t)n + 1);
	return mr_compose_gather(m, "concat", "mix", &(mr_layer_cfg){.parts = left}, v, left);
}

static mr_status mlp_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	size_t n_list;
	const double *list = mr_values_floats(values, "hidden", &n_list);
	int64_t n = n_list ? (int64_t)n_list : mr_values_int(values, "depth");
	mr_layer_cfg cfg;
	char name[32];
	mr_model_data rows = *data;
	mr_compose m;
	uint16_t x = 0;

	*out = NULL;
	MR_TRY(check(values, data));
	if (rows.input.n_dims > 2) /* an image is one row of numbers */
		rows.input = (mr_shape){.rows = 1, .cols = mr_shape_count(data->input)};
	mr_compose_init(&m, &rows);
	if (data->numbers)
		x = add_tables(&m, values, data);
	for (int64_t i = 0; i < n; i++)
		x = add_hidden(&m, values, i, n_list ? (int64_t)list[i] : mr_values_int(values, "width"), x);
	cfg = (mr_layer_cfg){.out = data->classes ? data->classes : data->target.cols};
	snprintf(name, sizeof(name), "fc.%lld", (long long)n);
	x = mr_compose_add(&m, "linear", name, &cfg, x);
	if (data->classes)
		mr_compose_classify(&m, values, &(mr_layer_cfg){0}, x);
	else
		mr_compose_add(&m, "mse", "loss", &(mr_layer_cfg){0}, x);
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_mlp = {
	.name = "mlp",
	.summary = "multi-layer perceptron; classes or numbers as targets",
	.options = options,
	.categories = mlp_categories,
	.build = mlp_build,
};
