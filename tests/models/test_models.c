/* test_models.c - the registry, the options of each model, and the shape of the graphs that they give. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "graph_run.h"
#include "model_build.h"
#include "models/registry.h"
#include "nn/element.h"
#include "planner/partition.h"

static const mr_model_data classes = {
	.input = {.rows = 1, .cols = 6}, .target = {.rows = 1, .cols = 1, .tokens = true}, .classes = 4};
static const mr_model_data numbers = {.input = {.rows = 1, .cols = 6}, .target = {.rows = 1, .cols = 3}};
static const mr_model_data row = {.input = {.rows = 1, .cols = 14}, .target = {.rows = 1, .cols = 1}};
static const mr_model_data clicks = {.input = {.rows = 1, .cols = 13 + 8, .tokens = true},
				     .numbers = 13, .target = {.rows = 1, .cols = 1}, .target_high = 1};
static const mr_model_data one_number = {.input = {.rows = 1, .cols = 1}, .target = {.rows = 1, .cols = 1}};

static mr_model_data captions(int64_t frames, int64_t features, int64_t words, int64_t vocab)
{
	return (mr_model_data){.input = {.rows = frames * features + words, .cols = 1, .tokens = true},
			       .target = {.rows = words, .cols = 1, .tokens = true},
			       .classes = vocab,
			       .frames = frames};
}

static void every_model_is_listed_and_has_working_defaults(void)
{
	const mr_model_ops *ops;

	for (uint32_t i = 0; (ops = mr_model_at(i)); i++) {
		const mr_model_data kinds[] = {classes, numbers, one_number, row, clicks, data_text(128, 17),
					       data_images(32, 3, 10), data_images(75, 3, 10),
					       data_pairs(6, 5, 9, 8), captions(3, 4, 5, 9)};
		bool lstm = !strcmp(ops->name, "awd_lm");
		bool sequences = lstm || !strcmp(ops->name, "gpt") || !strcmp(ops->name, "llama");
		mr_values *values;
		int n_built = 0;

		CU_ASSERT_PTR_EQUAL(mr_model_find(ops->name), ops);
		CU_ASSERT_PTR_NOT_NULL(ops->summary);
		MR_CHECK_OK(mr_values_create(ops->options, &values));
		CU_ASSERT_PTR_NULL(mr_values_missing(values));
		CU_ASSERT_EQUAL(mr_model_context(ops, values), !sequences ? 0 : lstm ? 70 : 128);
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			mr_graph *g = NULL;
			mr_status st = mr_model_build(ops, values, &kinds[k], &g);

			n_built += st == MR_OK;
			CU_ASSERT((st == MR_OK) == (g != NULL));
			mr_graph_destroy(g);
		}
		CU_ASSERT(n_built > 0);
		mr_values_destroy(values);
	}
	CU_ASSERT_PTR_NULL(mr_model_find("resnet"));
}

/* Every network that ends in softmax cross-entropy hands its option on to the loss. */
static void every_classifier_smooths_labels(void)
{
	const mr_model_data kinds[] = {classes, data_text(128, 17), data_images(32, 3, 10), data_images(75, 3, 10),
				       data_pairs(6, 5, 9, 8), captions(3, 4, 5, 9)};
	const mr_model_ops *ops;
	mr_graph *none = NULL;
	int n = 0;

	for (uint32_t i = 0; (ops = mr_model_at(i)); i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			mr_graph *plain = NULL, *smooth = NULL;

			if (build(ops->name, DEFAULTS, &kinds[k], &plain) != MR_OK ||
			    strcmp(plain->nodes[plain->n_nodes - 1].ops->name, "softmax_xent") != 0) {
				mr_graph_destroy(plain);
				continue;
			}
			MR_CHECK_OK(build(ops->name, SETTINGS("smoothing=0.25"), &kinds[k], &smooth));
			if (smooth)
				CU_ASSERT_EQUAL(smooth->nodes[smooth->n_nodes - 1].cfg.smoothing, 0.25);
			if (strcmp(ops->name, "gnmt") != 0) /* whose paper smooths */
				CU_ASSERT_EQUAL(plain->nodes[plain->n_nodes - 1].cfg.smoothing, 0);
			mr_graph_destroy(plain);
			mr_graph_destroy(smooth);
			n++;
		}
	CU_ASSERT(n >= 12);
	MR_CHECK_FAIL(build("mlp", SETTINGS("smoothing=0.25"), &numbers, &none), MR_ECONFIG,
		      "smoothing: is for classes");
}

/* --- mlp --- */

static void an_mlp_is_what_its_options_say(void)
{
	mr_graph *g;

	MR_CHECK_OK(build("mlp", SETTINGS("hidden=[5, 7]", "activation=gelu"), &classes, &g));
	CU_ASSERT_EQUAL_FATAL(g->n_nodes, 4);
	CU_ASSERT_STRING_EQUAL(g->nodes[0].name, "fc.0");
	CU_ASSERT(g->nodes[0].cfg.out == 5 && g->nodes[1].cfg.out == 7 && g->nodes[2].cfg.out == 4);
	CU_ASSERT(g->nodes[1].cfg.act == MR_ACT_GELU && g->nodes[2].cfg.act == MR_ACT_NONE);
	CU_ASSERT_STRING_EQUAL(g->nodes[3].ops->name, "softmax_xent");
	CU_ASSERT_EQUAL(mr_graph_max_stages(g), 3);
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 6 * 5 + 5 + 5 * 7 + 7 + 7 * 4 + 4);
	CU_ASSERT_EQUAL(mr_graph_flops_train(g), 6 * (30 + 35 + 28) - 2 * 30);
	mr_graph_destroy(g);

	MR_CHECK_OK(build("mlp", SETTINGS("width=9", "depth=4"), &numbers, &g));
	CU_ASSERT_EQUAL_FATAL(g->n_nodes, 6);
	CU_ASSERT(g->nodes[3].cfg.out == 9 && g->nodes[3].cfg.act == MR_ACT_RELU && g->nodes[4].cfg.out == 3);
	CU_ASSERT_STRING_EQUAL(g->nodes[5].ops->name, "mse");
	CU_ASSERT_DOUBLE_EQUAL(g->params[0].std, sqrt(2.0 / 6), 1e-15); /* He in front of ReLU */
	CU_ASSERT_DOUBLE_EQUAL(g->params[8].std, sqrt(1.0 / 9), 1e-15); /* and not in front of the loss */
	mr_graph_destroy(g);

	MR_CHECK_OK(build("mlp", SETTINGS("depth=0"), &numbers, &g));
	CU_ASSERT_EQUAL(g->n_nodes, 2);
	mr_graph_destroy(g);
}

static void a_wrong_mlp_is_refused(void)
{
	mr_model_data tokens = data_text(8, 4);
	mr_graph *g;

	MR_CHECK_FAIL(build("mlp", SETTINGS("hidden=[5]", "depth=2"), &classes, &g), MR_ECONFIG,
		      "mlp: hidden: give either");
	MR_CHECK_FAIL(build("mlp", SETTINGS("hidden=[5.5]"), &classes, &g), MR_ECONFIG, "whole number, got 5.5");
	MR_CHECK_FAIL(build("mlp", DEFAULTS, &tokens, &g), MR_ECONFIG, "mlp: takes numbers as input");
	CU_ASSERT_PTR_NULL(g);
}

/* --- chain --- */

static void a_chain_is_one_weight_a_stage(void)
{
	mr_graph *g;
	mr_partition p;
	double w;

	MR_CHECK_OK(build("chain", SETTINGS("depth=5", "init=[0.5, 1, 1.5, 2, 2.5]"), &one_number, &g));
	CU_ASSERT_EQUAL(mr_graph_max_stages(g), 5);
	MR_CHECK_OK(mr_partition_auto(g, 5, NULL, 1, mr_kernels_find("reference", MR_F64), &p));
	for (uint32_t s = 0; s < 5; s++) {
		CU_ASSERT_EQUAL(p.first[s], s);
		CU_ASSERT(g->nodes[s].first_param == s && g->nodes[s].n_params == 1);
		mr_graph_init_param(g, s, 1, MR_F64, &w, NULL);
		CU_ASSERT_EQUAL(w, 0.5 * (s + 1));
	}
	mr_partition_fini(&p);
	mr_graph_destroy(g);
}

static void a_chain_does_its_formula(void)
{
	mr_graph *g;
	graph_run r;
	const double x[2] = {2, -1}, y[2] = {1, 0.5};
	double a[2] = {2 * 0.7 * 0.7 * 0.7, -0.7 * 0.7 * 0.7}, loss = 0, dw = 0;

	MR_CHECK_OK(build("chain", SETTINGS("depth=3", "init=[0.7]"), &one_number, &g));
	graph_run_init(&r, g, mr_kernels_find("reference", MR_F64), 2, 1);
	for (int i = 0; i < 2; i++) {
		loss += (a[i] - y[i]) * (a[i] - y[i]) / 4;
		dw += (a[i] - y[i]) * a[i] / 0.7 / 2;
	}
	CU_ASSERT_DOUBLE_EQUAL(graph_run_forward(&r, x, y), loss, 1e-15);
	graph_run_backward(&r, false);
	for (uint32_t p = 0; p < 3; p++)
		CU_ASSERT_DOUBLE_EQUAL(mr_element(MR_F64, r.dw[p], 0), dw, 1e-15);
	graph_run_fini(&r);
	mr_graph_destroy(g);
}

static void a_wrong_chain_is_refused(void)
{
	mr_graph *g;

	MR_CHECK_FAIL(build("chain", SETTINGS("depth=3", "init=[1, 2]"), &one_number, &g), MR_ECONFIG, "1 value or 3");
	MR_CHECK_FAIL(build("chain", SETTINGS("init=[]"), &one_number, &g), MR_ECONFIG, "got 0");
	MR_CHECK_FAIL(build("chain", DEFAULTS, &numbers, &g), MR_ECONFIG, "the data has 1 x 6 numbers");
	MR_CHECK_FAIL(build("chain", DEFAULTS, &classes, &g), MR_ECONFIG, "chain: takes one number");
}

/* --- awd_lm --- */

static void awd_lm_has_its_size(void)
{
	const mr_model_data data = data_text(70, 10000), bytes = data_text(70, 256);
	mr_graph *g;

	MR_CHECK_OK(build("awd_lm", DEFAULTS, &data, &g));
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 24221600); /* 400, 3 x 1150, Penn Treebank's 10,000 words, tied */
	mr_graph_destroy(g);
	MR_CHECK_OK(build("awd_lm", SETTINGS("embed=512", "width=512"), &bytes, &g));
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 6435072); /* 3 x 512 over 256 bytes */
	mr_graph_destroy(g);
	MR_CHECK_FAIL(build("awd_lm", DEFAULTS, &numbers, &g), MR_ECONFIG, "takes tokens");
}

static const mr_layer_cfg *cfg_of(const mr_graph *g, const char *node)
{
	uint32_t i = mr_graph_find_node(g, node);

	CU_ASSERT_NOT_EQUAL_FATAL(i, MR_GRAPH_NO_NODE);
	return &g->nodes[i].cfg;
}

/* Each rate is where the paper has it; the state is carried if the data are in columns. */
static void awd_lm_has_its_regularization(void)
{
	mr_model_data data = data_text(70, 100);
	mr_graph *g;

	MR_CHECK_OK(build("awd_lm", DEFAULTS, &data, &g));
	CU_ASSERT_EQUAL(g->n_nodes, 6);
	CU_ASSERT_FALSE(cfg_of(g, "rnns.0")->carry);
	mr_graph_destroy(g);
	data.columns = true;
	MR_CHECK_OK(build("awd_lm",
			  SETTINGS("word_dropout=0.1", "input_dropout=0.4", "hidden_dropout=0.25", "dropout=0.3",
				   "weight_dropout=0.5", "alpha=2.0", "beta=1.0"),
			  &data, &g));
	CU_ASSERT_EQUAL(cfg_of(g, "encoder")->rate, 0.1);
	CU_ASSERT(cfg_of(g, "drop")->rate == 0.4 && cfg_of(g, "drop")->variational);
	CU_ASSERT(cfg_of(g, "drop.1")->rate == 0.25 && cfg_of(g, "drop.1")->variational);
	CU_ASSERT(cfg_of(g, "drop.2")->rate == 0.3 && !cfg_of(g, "drop.2")->variational);
	CU_ASSERT(cfg_of(g, "rnns.2")->rate == 0.5 && cfg_of(g, "rnns.2")->carry);
	CU_ASSERT(cfg_of(g, "changes")->beta == 1 && cfg_of(g, "changes")->alpha == 0);
	CU_ASSERT(cfg_of(g, "output")->alpha == 2 && cfg_of(g, "output")->beta == 0);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "changes"), mr_graph_find_node(g, "rnns.2") + 1);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "output"), mr_graph_find_node(g, "drop.2") + 1);
	mr_graph_destroy(g);
}

/* --- gnmt --- */

static void gnmt_has_its_size(void)
{
	const struct {
		const char *layers, *width;
		int64_t vocab, encoder, attention, decoder, all;
	} sizes[] = {
		{"layers=4", "width=1024", 32320, 46178304, 2099201, 46170112, 193766977}, /* GNMT-8, 4 + 4 layers */
		{"layers=8", "width=1024", 32320, 79765504, 2099201, 96534528, 277718593},
		{"layers=4", "width=512", 1000, 11554816, 525313, 11550720, 25167849},
		{"layers=2", "width=128", 64, 461824, 33025, 329728, 849217},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		mr_model_data data = data_pairs(50, 50, sizes[i].vocab, sizes[i].vocab);
		int64_t encoder = 0, attention = 0, decoder = 0;
		mr_graph *g;

		MR_CHECK_OK(build("gnmt", SETTINGS(sizes[i].layers, sizes[i].width), &data, &g));
		for (uint32_t p = 0; p < g->n_params; p++) {
			const char *name = g->params[p].name;

			if (strstr(name, "attn"))
				attention += g->params[p].n;
			else if (!strncmp(name, "encoder.rnn", 11))
				encoder += g->params[p].n;
			else if (!strncmp(name, "decoder.rnn", 11) || !strncmp(name, "decoder.att_rnn", 15))
				decoder += g->params[p].n;
		}
		CU_ASSERT_EQUAL(encoder, sizes[i].encoder);
		CU_ASSERT_EQUAL(attention, sizes[i].attention);
		CU_ASSERT_EQUAL(decoder, sizes[i].decoder);
		CU_ASSERT_EQUAL(mr_graph_n_params(g), sizes[i].all);
		mr_graph_destroy(g);
	}
}

/* What is alive behind the attention: its context, the state of the decoder, and nothing of the encoder. */
static void gnmt_is_cut_behind_its_attention(void)
{
	const mr_model_data data = data_pairs(6, 5, 9, 8), words = data_text(8, 20);
	uint16_t live[8];
	mr_graph *g;

	MR_CHECK_OK(build("gnmt", SETTINGS("layers=3", "width=4"), &data, &g));
	CU_ASSERT_EQUAL(mr_graph_live(g, mr_graph_find_node(g, "decoder.drop.0"), live), 2);
	CU_ASSERT_EQUAL(mr_graph_live(g, mr_graph_find_node(g, "decoder.beside.1"), live), 3); /* and the residual */
	CU_ASSERT_EQUAL(mr_graph_live(g, mr_graph_find_node(g, "encoder.drop.2"), live), 3); /* and both sentences */
	CU_ASSERT(!mr_graph_has_grad(g, 1));
	CU_ASSERT(!mr_graph_wants_any_dx(g, mr_graph_find_node(g, "decoder.embedder")));
	mr_graph_destroy(g);
	MR_CHECK_FAIL(build("gnmt", DEFAULTS, &words, &g), MR_ECONFIG, "takes pairs of sequences");
	MR_CHECK_FAIL(build("gnmt", DEFAULTS, &numbers, &g), MR_ECONFIG, "takes pairs of sequences");
	MR_CHECK_FAIL(build("mlp", DEFAULTS, &data, &g), MR_ECONFIG, "tokens");
}

/* --- s2vt --- */

static void s2vt_has_its_size(void)
{
	const mr_model_data paper = captions(40, 4096, 40, 12594), small = captions(20, 512, 10, 1000);
	const mr_model_data words = data_text(8, 20), sentences = data_pairs(6, 5, 9, 8);
	uint16_t live[8];
	mr_graph *g;

	MR_CHECK_OK(build("s2vt", DEFAULTS, &paper, &g));
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 36968094); /* as in the paper, for the vocabulary of its corpora */
	mr_graph_destroy(g);
	MR_CHECK_OK(build("s2vt", SETTINGS("projection=128", "embed=128", "width=256"), &small, &g));
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 1503336);
	CU_ASSERT_EQUAL(mr_graph_live(g, mr_graph_find_node(g, "caption"), live), 1);
	CU_ASSERT_EQUAL(mr_graph_live(g, mr_graph_find_node(g, "words"), live), 2); /* the input and lstm1 */
	mr_graph_destroy(g);
	MR_CHECK_FAIL(build("s2vt", DEFAULTS, &words, &g), MR_ECONFIG, "takes frames and captions");
	MR_CHECK_FAIL(build("s2vt", DEFAULTS, &sentences, &g), MR_ECONFIG, "takes frames and captions");
	MR_CHECK_FAIL(build("gnmt", DEFAULTS, &small, &g), MR_ECONFIG, "takes pairs of sequences");
}

/* --- gpt --- */

static void gpt2_small_has_its_size(void)
{
	const mr_model_data data = data_text(64, 50257);
	double block = 12.0 * 768 * 768, head = 768.0 * 50257;
	mr_graph *g;
	uint32_t head_weight;

	MR_CHECK_OK(build("gpt", SETTINGS("layers=12", "width=768", "heads=12", "context=1024", "tied=true"), &data,
			  &g));
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 124439808); /* as published */
	CU_ASSERT_EQUAL(mr_graph_flops_train(g), 64 * 6 * (12 * block + head) + 12 * 12 * 64.0 * 64 * 768);
	head_weight = mr_graph_find_param(g, "lm_head.weight");
	CU_ASSERT_EQUAL(g->params[head_weight].tied_to, (int32_t)mr_graph_find_param(g, "wte.weight"));
	mr_graph_destroy(g);
}

static void gpt_starts_as_gpt2(void)
{
	const mr_model_data data = data_text(8, 20);
	mr_graph *g;

	MR_CHECK_OK(build("gpt", SETTINGS("layers=2", "width=16", "context=8"), &data, &g));
	for (uint32_t p = 0; p < g->n_params; p++) {
		const mr_param *param = &g->params[p];
		bool residual = strstr(param->name, "c_proj.weight") != NULL;

		CU_ASSERT_EQUAL(param->decay, param->rank == 2);
		if (param->rank == 2) {
			CU_ASSERT_EQUAL(param->init, MR_INIT_NORMAL);
			CU_ASSERT_DOUBLE_EQUAL(param->std, residual ? 0.01 : 0.02, 1e-15); /* 0.02 / sqrt(2 * 2) */
		} else {
			bool gain = strstr(param->name, "ln_") && strstr(param->name, "weight");

			CU_ASSERT_EQUAL(param->init, gain ? MR_INIT_ONE : MR_INIT_ZERO);
		}
	}
	CU_ASSERT_STRING_EQUAL(g->params[2].name, "h.0.ln_1.weight");
	CU_ASSERT(mr_graph_find_param(g, "h.1.mlp.c_proj.bias") != UINT32_MAX);
	CU_ASSERT_EQUAL(mr_graph_find_param(g, "lm_head.bias"), UINT32_MAX);
	mr_graph_destroy(g);
}

static void gpt_is_cut_at_its_norms(void)
{
	static const char *const places[] = {
		"embed", "h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f", "lm_head",
	};
	const mr_model_data data = data_text(8, 20);
	mr_graph *g;
	uint32_t n = 0;

	MR_CHECK_OK(build("gpt", SETTINGS("layers=2", "width=16", "context=8"), &data, &g));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (mr_graph_is_narrow(g, i)) {
			CU_ASSERT_FATAL(n < 7);
			CU_ASSERT_STRING_EQUAL(g->nodes[i].name, places[n]);
			n++;
		}
	CU_ASSERT_EQUAL(n, 7);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "h.1"), mr_graph_find_node(g, "h.1.ln_1"));
	mr_graph_destroy(g);
}

static void a_wrong_gpt_is_refused(void)
{
	const mr_model_data data = data_text(8, 20);
	mr_graph *g;

	MR_CHECK_FAIL(build("gpt", DEFAULTS, &numbers, &g), MR_ECONFIG, "takes tokens, the data has 1 x 6 numbers");
	MR_CHECK_FAIL(build("gpt", SETTINGS("heads=3", "width=16"), &data, &g), MR_ECONFIG, "3 heads cannot share");
	MR_CHECK_FAIL(build("gpt", SETTINGS("context=7"), &data, &g), MR_ECONFIG,
		      "embed: the embedding has 7 positions");
}

/* --- llama --- */

/* As Hugging Face counts them. */
static void llamas_have_their_sizes(void)
{
	static const struct {
		int64_t vocab, n;
		const char *settings[9];
	} cases[] = {
		{32000, 6738415616, {"layers=32", "width=4096", "heads=32", "hidden=11008"}},
		{128256, 8030261248, {"layers=32", "width=4096", "heads=32", "kv_heads=8", "hidden=14336"}},
		{128256, 1235814400, {"layers=16", "width=2048", "heads=32", "kv_heads=8", "hidden=8192", "tied=true"}},
		{32000, 1100048384, {"layers=22", "width=2048", "heads=32", "kv_heads=4", "hidden=5632"}},
		{256, 3033344, {"layers=4", "width=256", "heads=8", "kv_heads=4"}},
		{65, 2918912, {"layers=4", "width=256", "heads=8", "kv_heads=4", "tied=true"}},
		{50257, 114114048, {"layers=12", "width=768", "heads=12", "kv_heads=4", "tied=true"}},
	};
	mr_graph *g;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const mr_model_data data = data_text(64, cases[i].vocab);

		MR_CHECK_OK(build("llama", cases[i].settings, &data, &g));
		CU_ASSERT_EQUAL(mr_graph_n_params(g), cases[i].n);
		mr_graph_destroy(g);
	}
}

static void llama_is_cut_at_its_norms(void)
{
	static const char *const places[] = {
		"model.embed_tokens", "model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm",
		"model.layers.1.input_layernorm", "model.layers.1.post_attention_layernorm", "model.norm", "lm_head",
	};
	const mr_model_data data = data_text(8, 20);
	mr_graph *g;
	uint32_t n = 0;

	MR_CHECK_OK(build("llama", SETTINGS("layers=2", "width=16", "kv_heads=2", "hidden=40"), &data, &g));
	for (uint32_t i = 0; i < g->n_nodes; i++)
		if (mr_graph_is_narrow(g, i)) {
			CU_ASSERT_FATAL(n < 7);
			CU_ASSERT_STRING_EQUAL(g->nodes[i].name, places[n]);
			n++;
		}
	CU_ASSERT_EQUAL(n, 7);
	CU_ASSERT_EQUAL(mr_graph_flops_train(g),
			3 * 8 * (2.0 * (2 * (3 * 16 * 16 + 3 * 16 * 40) + 16 * 20) + 2 * 4 * 8 * 16));
	mr_graph_destroy(g);
}

static void a_wrong_llama_is_refused(void)
{
	const mr_model_data data = data_text(8, 20);
	mr_graph *g;

	MR_CHECK_FAIL(build("llama", DEFAULTS, &numbers, &g), MR_ECONFIG, "takes tokens, the data has 1 x 6 numbers");
	MR_CHECK_FAIL(build("llama", SETTINGS("heads=3", "width=16"), &data, &g), MR_ECONFIG, "3 heads cannot share");
	MR_CHECK_FAIL(build("llama", SETTINGS("heads=4", "width=12"), &data, &g), MR_ECONFIG, "in even numbers");
	MR_CHECK_FAIL(build("llama", SETTINGS("kv_heads=3"), &data, &g), MR_ECONFIG, "4 heads cannot share 3");
}

/* The loss of @r with every weight moved by @step along @direction. */
static double loss_along(graph_run *r, double *const *direction, double step, const int32_t *input,
			 const int32_t *target)
{
	double loss = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t p = 0; p < r->g->n_params; p++)
			for (int64_t i = 0; i < r->g->params[p].n; i++)
				((double *)r->w[p])[i] += (pass ? -step : step) * direction[p][i];
		if (!pass)
			loss = graph_run_forward(r, input, target);
	}
	return loss;
}

/* With dropout, which no golden has: the derivative of the loss along a random direction of all weights. */
static void gpt_with_dropout_has_the_right_gradient(void)
{
	const mr_model_data data = data_text(6, 11);
	int32_t tokens[2][6], next[2][6];
	double *direction[64], along = 0, step = 2e-6, numeric, loss; /* its error goes as step^2 */
	graph_run r;
	mr_graph *g;

	MR_CHECK_OK(build("gpt", SETTINGS("layers=2", "width=8", "heads=2", "context=6", "dropout=0.3"), &data, &g));
	CU_ASSERT_FATAL(g->n_params <= 64);
	CU_ASSERT(mr_graph_is_narrow(g, mr_graph_find_node(g, "drop")));
	graph_run_init(&r, g, mr_kernels_find("reference", MR_F64), 2, 4);
	for (uint64_t i = 0; i < 12; i++) {
		tokens[i / 6][i % 6] = (int32_t)(mr_rng_u32(1, MR_RNG_TEST, 0, 0, i) % 11);
		next[i / 6][i % 6] = (int32_t)(mr_rng_u32(1, MR_RNG_TEST, 0, 1, i) % 11);
	}
	loss = graph_run_forward(&r, tokens, next);
	graph_run_backward(&r, false);
	for (uint32_t p = 0; p < g->n_params; p++) {
		direction[p] = malloc((size_t)g->params[p].n * sizeof(double));
		CU_ASSERT_PTR_NOT_NULL_FATAL(direction[p]);
		for (int64_t i = 0; i < g->params[p].n; i++) {
			direction[p][i] = mr_rng_normal(2, MR_RNG_TEST, 0, p, (uint64_t)i);
			along += direction[p][i] * ((double *)r.dw[p])[i];
		}
	}
	numeric = loss_along(&r, direction, step, &tokens[0][0], &next[0][0]);
	numeric -= loss_along(&r, direction, -step, &tokens[0][0], &next[0][0]);
	CU_ASSERT_DOUBLE_EQUAL(numeric / (2 * step), along, 1e-6 * (1 + fabs(along)));
	r.train = false;
	CU_ASSERT(fabs(graph_run_forward(&r, tokens, next) - loss) > 1e-6); /* so it was on */
	for (uint32_t p = 0; p < g->n_params; p++)
		free(direction[p]);
	graph_run_fini(&r);
	mr_graph_destroy(g);
}

/* Blocks of coordinates in order, the first ones larger; with a penalty one column more flows. */
static void objectives_in_blocks(void)
{
	static const char *const models[] = {"quadratic", "logistic", "logistic"};

	for (int k = 0; k < 3; k++) {
		mr_graph *g;

		MR_CHECK_OK(build(models[k], k == 1 ? SETTINGS("blocks=4", "l2=0") : SETTINGS("blocks=4"), &row, &g));
		CU_ASSERT_EQUAL_FATAL(g->n_nodes, 5);
		CU_ASSERT_EQUAL(mr_graph_max_stages(g), 4);
		for (uint32_t b = 0; b < 4; b++) {
			static const int64_t size[] = {4, 4, 3, 3}, rest[] = {10, 6, 3, 0};

			CU_ASSERT_EQUAL(g->params[b].n, size[b]);
			CU_ASSERT_EQUAL(g->values[g->nodes[b].out].shape.cols, rest[b] + (k == 2 ? 2 : 1));
			CU_ASSERT(!g->params[b].decay && g->params[b].init == MR_INIT_ZERO);
		}
		CU_ASSERT_STRING_EQUAL(g->params[3].name, "block.3.weight");
		CU_ASSERT_EQUAL(mr_graph_n_params(g), 14);
		mr_graph_destroy(g);
	}
}

static void objectives_refuse(void)
{
	const mr_model_data two = {.input = {.rows = 1, .cols = 14}, .target = {.rows = 1, .cols = 2}};
	const mr_model_data signs = {
		.input = {.rows = 1, .cols = 14}, .target = {.rows = 1, .cols = 1}, .target_low = -1, .target_high = 1};
	mr_graph *g;

	MR_CHECK_FAIL(build("quadratic", SETTINGS("blocks=15"), &row, &g), MR_ECONFIG,
		      "quadratic: blocks: the data has 14 coordinates, which do not make 15 blocks");
	MR_CHECK_FAIL(build("quadratic", DEFAULTS, &two, &g), MR_ECONFIG,
		      "one number a sample as target, the data has 1 x 2 numbers");
	MR_CHECK_FAIL(build("logistic", DEFAULTS, &signs, &g), MR_ECONFIG,
		      "takes targets from 0 to 1, those of the data go from -1 to 1");
	MR_CHECK_FAIL(build("logistic", DEFAULTS, &classes, &g), MR_ECONFIG,
		      "one number a sample as target, the data has 1 x 1 classes");
}

/* --- dlrm --- */

static int64_t params_of(const mr_graph *g, const char *stem)
{
	int64_t n = 0;

	for (uint32_t p = 0; p < g->n_params; p++)
		n += strncmp(g->params[p].name, stem, strlen(stem)) ? 0 : g->params[p].n;
	return n;
}

static void a_dlrm_has_tables_that_can_be_cut(void)
{
	uint32_t first;
	mr_graph *g;

	MR_CHECK_OK(build("dlrm", DEFAULTS, &clicks, &g));
	CU_ASSERT_EQUAL(params_of(g, "bot_l."), 3504);
	CU_ASSERT_EQUAL(params_of(g, "top_l."), 5505);
	CU_ASSERT_EQUAL(params_of(g, "emb_l."), 128000);
	first = mr_graph_find_node(g, "emb_l.0");
	for (uint32_t i = 0; i < 8; i++) {
		CU_ASSERT_STRING_EQUAL_FATAL(g->nodes[first + i].ops->name, "embedding_bag");
		CU_ASSERT(mr_graph_cut_ok(g, first + i));
		CU_ASSERT_EQUAL(g->params[g->nodes[first + i].first_param].lazy, 1);
		CU_ASSERT_EQUAL(g->nodes[first + i].cfg.column, 13 + i);
	}
	mr_graph_destroy(g);
	MR_CHECK_OK(build("dlrm", SETTINGS("rows=[]"), &clicks, &g)); /* numbers alone */
	CU_ASSERT_EQUAL(params_of(g, "top_l."), 16 * 64 + 64 + 64 * 32 + 32 + 32 + 1);
	mr_graph_destroy(g);
	/* The networks of the paper's public code, but for the sizes of their tables. */
	MR_CHECK_OK(build("dlrm",
			  SETTINGS("rows=[2, 3, 4, 5, 6, 7, 8, 9]", "width=64", "bottom=[512, 256]",
				   "top=[512, 512, 256]"),
			  &clicks, &g));
	CU_ASSERT_EQUAL(params_of(g, "bot_l."), 154944);
	CU_ASSERT_EQUAL(g->nodes[mr_graph_find_node(g, "interaction")].out_shape->cols, 64 + 36);
	mr_graph_destroy(g);
}

static void a_dlrm_has_26_tables_as_well(void)
{
	mr_model_data data = clicks;
	char rows[200] = "rows=[";
	mr_graph *g;

	for (int i = 0; i < 26; i++)
		snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%s%d", i ? ", " : "", i + 2);
	strcat(rows, "]");
	data.input.cols = 13 + 26;
	MR_CHECK_OK(build("dlrm", SETTINGS(rows, "bottom=[512, 256, 64]", "top=[512, 256]"), &data, &g));
	CU_ASSERT_EQUAL(params_of(g, "bot_l."), 155984);
	CU_ASSERT_EQUAL(params_of(g, "top_l."), 320001);
	CU_ASSERT_EQUAL(g->nodes[mr_graph_find_node(g, "interaction")].out_shape->cols, 367);
	mr_graph_destroy(g);
}

static void data_that_do_not_fit_a_dlrm_are_refused(void)
{
	mr_model_data data = clicks;
	mr_graph *g;

	MR_CHECK_FAIL(build("dlrm", DEFAULTS, &row, &g), MR_ECONFIG, "takes samples of numbers and categories");
	MR_CHECK_FAIL(build("dlrm", SETTINGS("rows=[5, 5]"), &clicks, &g), MR_ECONFIG,
		      "rows: 2 tables with bags of 1 look up 2 columns of categories, the data has 8");
	MR_CHECK_FAIL(build("dlrm", SETTINGS("rows=[2.5]"), &clicks, &g), MR_ECONFIG, "rows: expected whole numbers");
	data.target_high = 7;
	MR_CHECK_FAIL(build("dlrm", DEFAULTS, &data, &g), MR_ECONFIG, "from 0 to 1, those of the data go from 0 to 7");
}

/* Tables of as many rows as the data has values, behind the numbers; ten vectors need layers that join some. */
static void an_mlp_has_tables_of_categories(void)
{
	static const int64_t values[] = {3, 100, 5, 7, 40, 40, 40, 40, 40};
	mr_model_data data = {.input = {.rows = 1, .cols = 4 + 9, .tokens = true}, .numbers = 4, .values = values,
			      .target = {.rows = 1, .cols = 1, .tokens = true}, .classes = 2};
	uint32_t fc;
	mr_graph *g;

	MR_CHECK_OK(build("mlp", SETTINGS("categories=9", "embedding=8", "hidden=[16]"), &data, &g));
	CU_ASSERT_EQUAL(params_of(g, "emb.0."), 3 * 2);
	CU_ASSERT_EQUAL(params_of(g, "emb.1."), 100 * 8);
	CU_ASSERT_EQUAL(params_of(g, "emb.2."), 5 * 3);
	fc = mr_graph_find_node(g, "fc.0");
	CU_ASSERT_EQUAL(params_of(g, "fc.0."), 16 * (4 + 2 + 8 + 3 + 4 + 5 * 8) + 16);
	CU_ASSERT_STRING_EQUAL(g->nodes[fc - 1].ops->name, "concat");
	mr_graph_destroy(g);
	MR_CHECK_FAIL(build("mlp", SETTINGS("categories=8"), &data, &g), MR_ECONFIG,
		      "categories: got 8, the data has 9 columns of categories");
	MR_CHECK_FAIL(build("mlp", SETTINGS("categories=2"), &numbers, &g), MR_ECONFIG, "the data has 0 columns");
	data.values = NULL;
	MR_CHECK_FAIL(build("mlp", SETTINGS("categories=9"), &data, &g), MR_ECONFIG, "with category = \"known\"");
}

void mr_suite_models(void); /* the runner declares it too */

void mr_suite_models(void)
{
	MR_SUITE("models");
	MR_TEST(every_model_is_listed_and_has_working_defaults);
	MR_TEST(every_classifier_smooths_labels);
	MR_TEST(an_mlp_is_what_its_options_say);
	MR_TEST(a_wrong_mlp_is_refused);
	MR_TEST(an_mlp_has_tables_of_categories);
	MR_TEST(a_chain_is_one_weight_a_stage);
	MR_TEST(a_chain_does_its_formula);
	MR_TEST(a_wrong_chain_is_refused);
	MR_TEST(awd_lm_has_its_size);
	MR_TEST(awd_lm_has_its_regularization);
	MR_TEST(gnmt_has_its_size);
	MR_TEST(gnmt_is_cut_behind_its_attention);
	MR_TEST(s2vt_has_its_size);
	MR_TEST(gpt2_small_has_its_size);
	MR_TEST(gpt_starts_as_gpt2);
	MR_TEST(gpt_is_cut_at_its_norms);
	MR_TEST(a_wrong_gpt_is_refused);
	MR_TEST(llamas_have_their_sizes);
	MR_TEST(llama_is_cut_at_its_norms);
	MR_TEST(a_wrong_llama_is_refused);
	MR_TEST(gpt_with_dropout_has_the_right_gradient);
	MR_TEST(objectives_in_blocks);
	MR_TEST(objectives_refuse);
	MR_TEST(a_dlrm_has_tables_that_can_be_cut);
	MR_TEST(a_dlrm_has_26_tables_as_well);
	MR_TEST(data_that_do_not_fit_a_dlrm_are_refused);
}
