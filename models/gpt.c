/*
 * gpt.c - GPT-2: a decoder-only transformer with learned positions and the norms in front of the branches (pre-LN).
 *
 *	embed (wte, wpe) -> [block h.0] -> ... -> [block h.L-1] -> ln_f -> lm_head -> loss
 *
 *	block:  h = x + attn.c_proj(attn.core(attn.c_attn(ln_1(x))))
 *	        y = h + mlp.c_proj(gelu(mlp.c_fc(ln_2(h))))
 *
 * Radford et al.: "Language models are unsupervised multitask learners", 2019. Parameters carry their GPT-2 names,
 * matrices are [in, out] as there (y = x W + b), but for the head, which has no bias: lm_head.weight is [vocabulary,
 * width], used transposed, and tied it is wte.weight.
 *
 * Dropout acts on the embedding and on each branch in front of its sum; GPT-2's third kind, on attention probabilities,
 * is left out. A rate of 0 leaves the layers out.
 *
 * Initial weights as GPT-2: normal init_std (embeddings embed_std, where that is given), the projections into the
 * residual stream (c_proj) init_std / sqrt(2 * layers), biases 0, gains 1. A stage may begin at embed, at each ln_1,
 * ln_2 and ln_f, at lm_head and behind the embedding's dropout.
 */
#include "models/compose.h"

#include <math.h>
#include <stdio.h>

static const mr_option options[] = {
	{"layers", MR_OPT_INT, "4", 1, 1000, NULL, NULL, "number of blocks"},
	{"width", MR_OPT_INT, "128", 1, 1000000, NULL, NULL, "width of the residual stream"},
	{"heads", MR_OPT_INT, "4", 1, 1000000, NULL, NULL, "attention heads; must divide the width"},
	{"context", MR_OPT_INT, "128", 1, 1000000, NULL, "tokens", "length of a sample, and the number of positions"},
	{"dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL, "probability of zeroing an activation while training"},
	{"tied", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "the head shares the weights of the token embedding"},
	{"init_std", MR_OPT_FLOAT, "0.02", 1e-6, 10, NULL, NULL,
	 "standard deviation of initial weights; GPT-2 has 0.02, a narrow model learns sooner with about 0.7 / "
	 "sqrt(width)"},
	{"embed_std", MR_OPT_FLOAT, "0", 0, 10, NULL, NULL,
	 "standard deviation of the initial embeddings; 0: init_std. Plain SGD learns sooner with 1"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

typedef struct mr_gpt {
	mr_compose m;
	int64_t layers, width, heads;
	double dropout, std;
} mr_gpt;

static int64_t gpt_context(const mr_values *values)
{
	return mr_values_int(values, "context");
}

static uint16_t norm(mr_gpt *g, const char *name, uint16_t x)
{
	return mr_compose_add(&g->m, "layer_norm", name, &(mr_layer_cfg){0}, x);
}

static uint16_t linear(mr_gpt *g, const char *name, int64_t out, mr_act act, double std, uint16_t x)
{
	return mr_compose_add(&g->m, "linear", name, &(mr_layer_cfg){.out = out, .act = act, .std = std}, x);
}

static uint16_t drop(mr_gpt *g, const char *name, uint16_t x)
{
	return g->dropout > 0 ? mr_compose_add(&g->m, "dropout", name, &(mr_layer_cfg){.rate = g->dropout}, x) : x;
}

static uint16_t block(mr_gpt *g, uint16_t x)
{
	double residual_std = g->std / sqrt(2 * (double)g->layers);
	mr_layer_cfg heads = {.heads = g->heads};
	uint16_t h = norm(g, "ln_1", x);

	h = linear(g, "attn.c_attn", 3 * g->width, MR_ACT_NONE, g->std, h);
	h = mr_compose_add(&g->m, "attention", "attn.core", &heads, h);
	h = linear(g, "attn.c_proj", g->width, MR_ACT_NONE, residual_std, h);
	h = drop(g, "attn.drop", h);
	x = mr_compose_join(&g->m, "residual", "attn.add", x, h);

	h = norm(g, "ln_2", x);
	h = linear(g, "mlp.c_fc", 4 * g->width, MR_ACT_GELU, g->std, h);
	h = linear(g, "mlp.c_proj", g->width, MR_ACT_NONE, residual_std, h);
	h = drop(g, "mlp.drop", h);
	return mr_compose_join(&g->m, "residual", "mlp.add", x, h);
}

static mr_status check(const mr_values *values, const mr_model_data *data)
{
	if (!data->input.tokens || data->classes < 1)
		return mr_fail(MR_ECONFIG, "takes tokens, the data has %lld x %lld numbers a sample",
			       (long long)data->input.rows, (long long)data->input.cols);
	if (mr_values_int(values, "width") % mr_values_int(values, "heads") != 0)
		return mr_fail(MR_ECONFIG, "heads: %lld heads cannot share a width of %lld evenly",
			       (long long)mr_values_int(values, "heads"), (long long)mr_values_int(values, "width"));
	return MR_OK;
}

static mr_status gpt_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	bool tied = mr_values_bool(values, "tied");
	mr_gpt g = {
		.layers = mr_values_int(values, "layers"),
		.width = mr_values_int(values, "width"),
		.heads = mr_values_int(values, "heads"),
		.dropout = mr_values_float(values, "dropout"),
		.std = mr_values_float(values, "init_std"),
	};
	mr_layer_cfg embed = {
		.out = g.width,
		.vocab = data->classes,
		.context = mr_values_int(values, "context"),
		.std = mr_values_float(values, "embed_std") > 0 ? mr_values_float(values, "embed_std") : g.std,
	};
	mr_layer_cfg head = {.out = data->classes, .no_bias = true, .transposed = true, .std = g.std};
	char stem[32];
	uint16_t x;

	*out = NULL;
	MR_TRY(check(values, data));
	mr_compose_init(&g.m, data);
	x = drop(&g, "drop", mr_compose_add(&g.m, "embedding", "embed", &embed, 0));
	for (int64_t i = 0; i < g.layers; i++) {
		snprintf(stem, sizeof(stem), "h.%lld", (long long)i);
		g.m.stem = stem;
		x = block(&g, x);
	}
	g.m.stem = NULL;
	x = mr_compose_add(&g.m, "linear", "lm_head", &head, norm(&g, "ln_f", x));
	mr_compose_classify(&g.m, values, &(mr_layer_cfg){0}, x);
	if (tied)
		mr_compose_tie(&g.m, "lm_head.weight", "wte.weight");
	return mr_compose_finish(&g.m, out);
}

const mr_model_ops mr_model_gpt = {
	.name = "gpt",
	.summary = "GPT-2: decoder-only transformer over tokens",
	.options = options,
	.context = gpt_context,
	.build = gpt_build,
};
