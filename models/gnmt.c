/*
 * gnmt.c - a translation model of LSTM layers: an encoder, whose first layer reads both ways, and a decoder that
 * attends to it.
 *
 *	source -> encoder.embedder -> encoder.rnn_layers.0 (both directions, side by side) -> drop
 *		-> encoder.rnn_layers.1 -> [drop -> rnn_layers.l -> + ], l = 2 .. layers - 1 -> encoded
 *	target -> decoder.embedder -> decoder.att_rnn.rnn -> q;  context = attention of q to encoded
 *		drop(q), context -> decoder.rnn_layers.0 -> [drop, context -> rnn_layers.l -> + ] -> decoder.classifier
 *		-> loss
 *
 * Wu et al.: "Google's neural machine translation system", 2016, in the form of the published GNMT v2 code, with its
 * names; both embeddings have tables of their own. Brackets are residual layers. The decoder's states begin at 0; its
 * first layer is not fed with the context, so all steps of a sentence are one pass. Attention is the normalised
 * additive one (nn/layers/cross_attention.c). The second direction of the first layer begins at the source's last
 * token, whatever the padding (nn/layers/reverse_rows.c).
 *
 * Loss: cross-entropy with label smoothing, padding masked, summed over a sentence and averaged over sentences. Initial
 * weights: embeddings, attention and classifier normal with the deviation of the published uniform (-0.1, 0.1), LSTM
 * as in PyTorch.
 *
 * A stage may begin at any layer but the loss. From the attention on the context crosses each boundary, and within a
 * residual layer what is added as well.
 */
#include "models/compose.h"

#include <stdio.h>

#define STD 0.057735026918962574 /* 0.1 / sqrt(3) */

static const mr_option options[] = {
	{"layers", MR_OPT_INT, "4", 2, 100, NULL, NULL, "LSTM layers of the encoder, and of the decoder"},
	{"width", MR_OPT_INT, "1024", 1, 1000000, NULL, NULL, "width of embeddings, layers and attention"},
	{"dropout", MR_OPT_FLOAT, "0.2", 0, 0.95, NULL, NULL,
	 "probability of zeroing an input of an LSTM layer behind the first while training"},
	{"smoothing", MR_OPT_FLOAT, "0.1", 0, 0.95, NULL, NULL,
	 "part of each target that is spread over all words"},
	{"attention", MR_OPT_ENUM, "additive", 0, 0, "additive|general", NULL,
	 "scores: tanh of query and key (Bahdanau, normalised), or their product (Luong)"},
	{NULL},
};

typedef struct mr_gnmt {
	mr_compose m;
	int64_t layers, width;
	double rate;
	bool additive;
	uint16_t source; /* tokens */
} mr_gnmt;

static uint16_t drop(mr_gnmt *g, const char *name, uint16_t x)
{
	return g->rate > 0 ? mr_compose_add(&g->m, "dropout", name, &(mr_layer_cfg){.rate = g->rate}, x) : x;
}

static uint16_t lstm(mr_gnmt *g, const char *name, uint16_t x)
{
	return mr_compose_add(&g->m, "lstm", name, &(mr_layer_cfg){.out = g->width}, x);
}

static uint16_t beside(mr_gnmt *g, const char *name, uint16_t a, uint16_t b)
{
	return mr_compose_gather(&g->m, "concat", name, &(mr_layer_cfg){.parts = 2}, (uint16_t[]){a, b}, 2);
}

/* The layer "@kind.@i". */
static const char *numbered(char name[48], const char *kind, int64_t i)
{
	snprintf(name, 48, "%s.%lld", kind, (long long)i);
	return name;
}

static uint16_t encoder(mr_gnmt *g, int64_t vocab)
{
	mr_layer_cfg table = {.out = g->width, .vocab = vocab, .std = STD};
	char name[48];
	uint16_t x, back;

	g->m.stem = "encoder";
	x = mr_compose_add(&g->m, "embedding", "embedder", &table, g->source);
	back = mr_compose_join(&g->m, "reverse_rows", "backwards", x, g->source);
	back = lstm(g, "rnn_layers.0_reverse", back);
	back = mr_compose_join(&g->m, "reverse_rows", "forwards", back, g->source);
	x = beside(g, "both", lstm(g, "rnn_layers.0", x), back);
	x = lstm(g, "rnn_layers.1", drop(g, "drop.1", x));
	for (int64_t i = 2; i < g->layers; i++) {
		uint16_t y = drop(g, numbered(name, "drop", i), x);

		y = lstm(g, numbered(name, "rnn_layers", i), y);
		x = mr_compose_join(&g->m, "residual", numbered(name, "add", i), x, y);
	}
	return x;
}

static uint16_t attention(mr_gnmt *g, uint16_t q, uint16_t encoded)
{
	mr_layer_cfg square = {.out = g->width, .transposed = true, .no_bias = true, .std = STD};
	mr_layer_cfg scores = {.additive = g->additive};
	uint16_t x[4] = {q, encoded, encoded, g->source};

	x[1] = mr_compose_add(&g->m, "linear", "att_rnn.attn.linear_k", &square, encoded);
	if (g->additive)
		x[0] = mr_compose_add(&g->m, "linear", "att_rnn.attn.linear_q", &square, q);
	return mr_compose_gather(&g->m, "cross_attention", "att_rnn.attn", &scores, x, 4);
}

static uint16_t decoder(mr_gnmt *g, int64_t vocab, uint16_t target, uint16_t encoded)
{
	mr_layer_cfg table = {.out = g->width, .vocab = vocab, .std = STD};
	char name[48];
	uint16_t x, context;

	g->m.stem = "decoder";
	x = lstm(g, "att_rnn.rnn", mr_compose_add(&g->m, "embedding", "embedder", &table, target));
	context = attention(g, x, encoded);
	for (int64_t i = 0; i + 1 < g->layers; i++) {
		uint16_t y = drop(g, numbered(name, "drop", i), x);

		y = beside(g, numbered(name, "beside", i), y, context);
		y = lstm(g, numbered(name, "rnn_layers", i), y);
		x = i ? mr_compose_join(&g->m, "residual", numbered(name, "add", i), x, y) : y;
	}
	return mr_compose_add(&g->m, "linear", "classifier",
			      &(mr_layer_cfg){.out = vocab, .transposed = true, .std = STD}, x);
}

static mr_status gnmt_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	int64_t source = data->input.rows - data->target.rows;
	mr_gnmt g = {
		.layers = mr_values_int(values, "layers"),
		.width = mr_values_int(values, "width"),
		.rate = mr_values_float(values, "dropout"),
		.additive = mr_values_string(values, "attention")[0] == 'a',
	};
	mr_layer_cfg loss = {
		.smoothing = mr_values_float(values, "smoothing"), .padding = true, .per_sample = true};
	uint16_t x, target;

	*out = NULL;
	if (data->source_classes < 1)
		return mr_fail(MR_ECONFIG, "takes pairs of sequences, as the data sources pairs and reversal give");
	mr_compose_init(&g.m, data);
	g.source = mr_compose_add(&g.m, "row_range", "source", &(mr_layer_cfg){.count = source}, 0);
	target = mr_compose_add(&g.m, "row_range", "target",
				&(mr_layer_cfg){.first_row = source, .count = data->target.rows}, 0);
	x = encoder(&g, data->source_classes);
	x = decoder(&g, data->classes, target, x);
	g.m.stem = NULL;
	mr_compose_add(&g.m, "softmax_xent", "loss", &loss, x);
	return mr_compose_finish(&g.m, out);
}

const mr_model_ops mr_model_gnmt = {
	.name = "gnmt",
	.summary = "translation: LSTM encoder and decoder with attention, over pairs",
	.options = options,
	.pairs = true,
	.build = gnmt_build,
};
