/*
 * awd_lm.c - a language model of LSTM layers with the architecture of AWD-LSTM; its head may share the weights of the
 * token embedding.
 *
 *	encoder [vocab, embed] -> drop -> rnns.0 -> drop.0 -> ... -> rnns.L-1 -> drop.L-1 -> decoder -> loss
 *
 * Layers are `width` wide. With a tied head the last one is as wide as the embedding, so that its output matches the
 * rows of the table. Merity, Keskar, Socher: "Regularizing and optimizing LSTM language models", 2018. Layers, sizes
 * and names are those of the paper, and so are its regularizations: dropout of words, of the weights between steps
 * (DropConnect), variational dropout of the embeddings, between layers and of the output, and the penalties alpha on
 * the last layer's output behind its dropout and beta on its changes before it. Windows have one length. With
 * data.order = "columns" the state goes on from window to window; else each sample begins with a state of zeros.
 *
 * Initial weights: embedding normal with the deviation of the published uniform (-0.1, 0.1), LSTM as in PyTorch
 * (nn/layers/recurrent.h), the decoder's bias 0. A stage may begin at any layer except the loss.
 */
#include "models/compose.h"

#include <stdio.h>

#define EMBED_STD 0.057735026918962574 /* 0.1 / sqrt(3) */

static const mr_option options[] = {
	{"layers", MR_OPT_INT, "3", 1, 1000, NULL, NULL, "number of LSTM layers"},
	{"embed", MR_OPT_INT, "400", 1, 1000000, NULL, NULL, "width of the token embedding"},
	{"width", MR_OPT_INT, "1150", 1, 1000000, NULL, NULL, "width of the LSTM layers, but for a tied last one"},
	{"context", MR_OPT_INT, "70", 1, 1000000, NULL, "tokens", "length of a sample"},
	{"dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL,
	 "probability of zeroing an activation behind the embedding and each layer while training, where none of the "
	 "next ones says otherwise"},
	{"word_dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL,
	 "probability of leaving a word of the vocabulary out of a step (dropoute of the published code)"},
	{"input_dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL,
	 "variational dropout of the embedding: one mask for all tokens of a sample (dropouti)"},
	{"hidden_dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL, "the same between LSTM layers (dropouth)"},
	{"output_dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL, "the same behind the last layer (dropout)"},
	{"weight_dropout", MR_OPT_FLOAT, "0.0", 0, 0.95, NULL, NULL,
	 "probability of zeroing a weight between the steps of an LSTM, one mask a step of the training (wdrop)"},
	{"alpha", MR_OPT_FLOAT, "0.0", 0, 1e6, NULL, NULL, "penalty on the mean square of the output"},
	{"beta", MR_OPT_FLOAT, "0.0", 0, 1e6, NULL, NULL,
	 "penalty on the mean square of its changes from token to token"},
	{"tied", MR_OPT_BOOL, "true", 0, 0, NULL, NULL, "the head shares the weights of the token embedding"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

static int64_t awd_lm_context(const mr_values *values)
{
	return mr_values_int(values, "context");
}

/* Variational dropout of rate @key if there is any, else plain dropout. */
static uint16_t drop(mr_compose *m, const mr_values *values, const char *key, const char *name, uint16_t x)
{
	mr_layer_cfg cfg = {.rate = mr_values_float(values, key), .variational = true};

	if (!(cfg.rate > 0))
		cfg = (mr_layer_cfg){.rate = mr_values_float(values, "dropout")};
	return cfg.rate > 0 ? mr_compose_add(m, "dropout", name, &cfg, x) : x;
}

static uint16_t penalize(mr_compose *m, const char *name, double alpha, double beta, uint16_t x)
{
	mr_layer_cfg cfg = {.alpha = alpha, .beta = beta};

	return alpha > 0 || beta > 0 ? mr_compose_add(m, "activation_penalty", name, &cfg, x) : x;
}

/* LSTM layer @i of @layers, and what follows it. */
static uint16_t add_layer(mr_compose *m, const mr_values *values, const mr_model_data *data, int64_t i, uint16_t x)
{
	bool last = i == mr_values_int(values, "layers") - 1;
	mr_layer_cfg lstm = {
		.out = mr_values_int(values, last && mr_values_bool(values, "tied") ? "embed" : "width"),
		.rate = mr_values_float(values, "weight_dropout"),
		.carry = data->columns,
	};
	char name[32];

	snprintf(name, sizeof(name), "rnns.%lld", (long long)i);
	x = mr_compose_add(m, "lstm", name, &lstm, x);
	if (last)
		x = penalize(m, "changes", 0, mr_values_float(values, "beta"), x);
	snprintf(name, sizeof(name), "drop.%lld", (long long)i);
	x = drop(m, values, last ? "output_dropout" : "hidden_dropout", name, x);
	return last ? penalize(m, "output", mr_values_float(values, "alpha"), 0, x) : x;
}

static mr_status awd_lm_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t layers = mr_values_int(values, "layers"), embed = mr_values_int(values, "embed");
	bool tied = mr_values_bool(values, "tied");
	mr_layer_cfg table = {.out = embed, .vocab = data->classes, .std = EMBED_STD,
			      .rate = mr_values_float(values, "word_dropout")};
	mr_compose m;
	uint16_t x;

	*out = NULL;
	if (!data->input.tokens || data->classes < 1)
		return mr_fail(MR_ECONFIG, "takes tokens, the data has %lld x %lld numbers a sample",
			       (long long)data->input.rows, (long long)data->input.cols);
	mr_compose_init(&m, data);
	x = mr_compose_add(&m, "embedding", "encoder", &table, 0);
	x = drop(&m, values, "input_dropout", "drop", x);
	for (int64_t i = 0; i < layers; i++)
		x = add_layer(&m, values, data, i, x);
	x = mr_compose_add(&m, "linear", "decoder", &(mr_layer_cfg){.out = data->classes, .transposed = tied}, x);
	mr_compose_classify(&m, values, &(mr_layer_cfg){0}, x);
	if (tied)
		mr_compose_tie(&m, "decoder.weight", "encoder.weight");
	return mr_compose_finish(&m, out);
}

const mr_model_ops mr_model_awd_lm = {
	.name = "awd_lm",
	.summary = "language model of LSTM layers over tokens",
	.options = options,
	.context = awd_lm_context,
	.build = awd_lm_build,
};
