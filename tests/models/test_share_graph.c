/* test_share_graph.c - the graphs of shares: what is cut, and that parts begin as parts of the whole. */
#include "planner/share_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "check.h"
#include "models/registry.h"

static int64_t classes = 11;
static const mr_types f64 = MR_TYPES_ALL(MR_F64);

static mr_graph *graph_of(const char *model, const char *const *keys, bool text)
{
	const mr_model_ops *ops = mr_model_find(model);
	mr_model_data tokens = {.input = {.rows = 8, .cols = 1, .tokens = true},
				.target = {.rows = 8, .cols = 1, .tokens = true}, .classes = classes};
	mr_model_data numbers = {.input = {.rows = 1, .cols = 12}, .target = {.rows = 1, .cols = 1, .tokens = true},
				 .classes = 5};
	mr_graph *g = NULL;
	mr_values *v;

	tokens.image = tokens.input;
	numbers.image = numbers.input;
	MR_CHECK_OK(mr_values_create(ops->options, &v));
	for (; *keys; keys += 2)
		MR_CHECK_OK(mr_values_set_text(v, keys[0], keys[1]));
	MR_CHECK_OK(ops->build(v, text ? &tokens : &numbers, &g));
	mr_values_destroy(v);
	return g;
}

/* The initial values of the @n parts of each parameter, joined, equal those of the whole. Returns how many are cut. */
static uint32_t check_parts(const mr_graph *whole, uint32_t n)
{
	mr_graph *g[4] = {0};
	uint32_t cut = 0;

	for (uint32_t q = 0; q < n; q++)
		MR_CHECK_OK(mr_share_graph(whole, n, q, false, &g[q]));
	CU_ASSERT_EQUAL_FATAL(g[0]->n_params, whole->n_params);
	for (uint32_t p = 0; p < whole->n_params; p++) {
		const mr_param *of = &whole->params[p];
		size_t bytes = (size_t)of->n * sizeof(double);
		double *all = malloc(bytes), *joined = calloc(1, bytes), *part = malloc(bytes), *back = malloc(bytes);

		mr_graph_init_param(whole, p, 3, MR_F64, all, NULL);
		CU_ASSERT_STRING_EQUAL(g[0]->params[p].name, of->name);
		for (uint32_t q = 0; q < n; q++) {
			const mr_param *mine = &g[q]->params[p];
			int64_t inner = mr_param_inner(mine);

			CU_ASSERT_EQUAL(mine->n, mine->cut.of ? of->n / mine->cut.of : of->n);
			mr_graph_init_param(g[q], p, 3, MR_F64, part, NULL);
			if (!mine->cut.of) {
				CU_ASSERT_EQUAL(memcmp(part, all, bytes), 0);
				memcpy(joined, part, bytes);
				continue;
			}
			mr_param_cut_join(&mine->cut, inner, mine->n, sizeof(double), part, joined);
			mr_param_cut_take(&mine->cut, inner, mine->n, sizeof(double), all, back);
			CU_ASSERT_EQUAL(memcmp(part, back, (size_t)mine->n * sizeof(double)), 0);
		}
		CU_ASSERT_EQUAL(memcmp(joined, all, bytes), 0);
		cut += g[0]->params[p].cut.of > 0;
		free(all);
		free(joined);
		free(part);
		free(back);
	}
	for (uint32_t q = 0; q < n; q++)
		mr_graph_destroy(g[q]);
	return cut;
}

/* Parameters of @name: the dimension that is cut, and the blocks of it; -1: it is whole. */
static int axis_of(const mr_graph *g, const char *name, uint32_t *blocks)
{
	const mr_param *p = &g->params[mr_graph_find_param(g, name)];

	*blocks = p->cut.n_blocks;
	return p->cut.of ? (int)p->cut.axis : -1;
}

static void gpt(void)
{
	static const char *const keys[] = {"layers", "2", "width", "16", "heads", "4", "context", "8", NULL};
	mr_graph *whole = graph_of("gpt", keys, true), *g;
	uint32_t blocks;

	CU_ASSERT_EQUAL(check_parts(whole, 2), 2 * 6); /* of a block four weights and two biases */
	CU_ASSERT_EQUAL(check_parts(whole, 4), 2 * 6);
	MR_CHECK_OK(mr_share_graph(whole, 2, 1, false, &g));
	CU_ASSERT_EQUAL(axis_of(g, "h.0.attn.c_attn.weight", &blocks), 1);
	CU_ASSERT_EQUAL(blocks, 3);
	CU_ASSERT_EQUAL(axis_of(g, "h.0.attn.c_attn.bias", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "h.0.attn.c_proj.weight", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "h.0.attn.c_proj.bias", &blocks), -1);
	CU_ASSERT_EQUAL(axis_of(g, "h.1.mlp.c_fc.weight", &blocks), 1);
	CU_ASSERT_EQUAL(blocks, 1);
	CU_ASSERT_EQUAL(axis_of(g, "lm_head.weight", &blocks), -1);
	CU_ASSERT_EQUAL(axis_of(g, "wte.weight", &blocks), -1);
	CU_ASSERT_EQUAL(mr_graph_largest_exchanged(g, 1, &f64) / 8, 8 * 16);
	CU_ASSERT_EQUAL(mr_graph_exchanged(g, 1, &f64) / 8, 2 * 2 * 2 * 8 * 16);
	mr_graph_destroy(g);
	CU_ASSERT_EQUAL(mr_share_graph(whole, 3, 0, false, &g), MR_ECONFIG);
	CU_ASSERT_PTR_NULL(g);
	mr_graph_destroy(whole);
}

/* Share @self of four of @whole has part @part of @of of the keys of a layer. */
static void check_keys(const mr_graph *whole, uint32_t self, uint32_t part, uint32_t of)
{
	const mr_param *k;
	mr_graph *g;
	uint32_t i;

	MR_CHECK_OK(mr_share_graph(whole, 4, self, false, &g));
	i = mr_graph_find_node(g, "model.layers.1.self_attn.k_proj");
	k = &g->params[g->nodes[i].first_param];
	CU_ASSERT_EQUAL(k->cut.of, of);
	CU_ASSERT_EQUAL(k->cut.self, part);
	CU_ASSERT_EQUAL(g->nodes[i].cfg.copies, 4 / of);
	CU_ASSERT_EQUAL(mr_graph_shown_gradients(g, i), 16 * 4 + (g->nodes[i].n_params > 1 ? 4 : 0));
	CU_ASSERT_EQUAL(mr_graph_shown_gradients(g, mr_graph_find_node(g, "model.layers.1.self_attn.q_proj")), 0);
	mr_graph_destroy(g);
}

/* Grouped heads: two shares have one head of keys and values each, four the same one by twos. */
static void llama(void)
{
	static const char *const keys[] = {"layers", "2", "width", "16", "heads", "4", "kv_heads", "2", "hidden", "24",
					   "context", "8", NULL};
	static const char *const one[] = {"layers", "2", "width", "16", "heads", "4", "kv_heads", "1", "hidden", "24",
					  "bias", "qkv", "context", "8", NULL};
	static const char *const three[] = {"layers", "2", "width", "24", "heads", "6", "kv_heads", "3", "hidden", "24",
					    "context", "8", NULL};
	mr_graph *whole = graph_of("llama", keys, true), *g;
	uint32_t blocks;

	CU_ASSERT_EQUAL(check_parts(whole, 2), 2 * 7);
	CU_ASSERT_EQUAL(check_parts(whole, 4), 2 * 7);
	for (uint32_t q = 0; q < 4; q++)
		check_keys(whole, q, q / 2, 2);
	MR_CHECK_OK(mr_share_graph(whole, 2, 1, false, &g));
	CU_ASSERT_EQUAL(axis_of(g, "model.layers.0.self_attn.q_proj.weight", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "model.layers.0.self_attn.k_proj.weight", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "model.layers.0.self_attn.o_proj.weight", &blocks), 1);
	CU_ASSERT_EQUAL(axis_of(g, "model.layers.1.mlp.down_proj.weight", &blocks), 1);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
	whole = graph_of("llama", one, true); /* all shares have the one head */
	CU_ASSERT_EQUAL(check_parts(whole, 4), 2 * 10);
	check_keys(whole, 3, 0, 1);
	mr_graph_destroy(whole);
	whole = graph_of("llama", three, true); /* no share of two could have whole heads: attention stays whole */
	CU_ASSERT_EQUAL(check_parts(whole, 2), 2 * 3);
	mr_graph_destroy(whole);
}

/* Layers pair up: 0 with 1 and 2 with 3; the last one feeds the loss and stays whole. */
static void mlp(void)
{
	static const char *const keys[] = {"hidden", "[16, 16, 16, 16]", NULL};
	static const char *const gelu[] = {"hidden", "[16, 16]", "activation", "gelu", NULL};
	static const char *const odd[] = {"hidden", "[16, 15, 16, 15]", NULL};
	mr_graph *whole = graph_of("mlp", keys, false), *g;
	uint32_t blocks;

	CU_ASSERT_EQUAL(check_parts(whole, 4), 2 * 3);
	MR_CHECK_OK(mr_share_graph(whole, 2, 0, false, &g));
	CU_ASSERT_EQUAL(axis_of(g, "fc.0.weight", &blocks), 1);
	CU_ASSERT_EQUAL(axis_of(g, "fc.1.weight", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "fc.2.weight", &blocks), 1);
	CU_ASSERT_EQUAL(axis_of(g, "fc.3.weight", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "fc.4.weight", &blocks), -1);
	/* the model's input has no gradient: fc.2 alone has one to add up */
	CU_ASSERT_EQUAL(mr_graph_exchanged(g, 1, &f64) / 8, 3 * 16);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);

	whole = graph_of("mlp", odd, false);
	CU_ASSERT_EQUAL(check_parts(whole, 2), 2 * 3);
	mr_graph_destroy(whole);

	whole = graph_of("mlp", gelu, false); /* the GELU of fc.1 comes before the sum: its pair is fc.1 and fc.2 */
	MR_CHECK_OK(mr_share_graph(whole, 2, 0, false, &g));
	CU_ASSERT_EQUAL(axis_of(g, "fc.0.weight", &blocks), -1);
	CU_ASSERT_EQUAL(axis_of(g, "fc.1.weight", &blocks), 1);
	CU_ASSERT_EQUAL(axis_of(g, "fc.2.weight", &blocks), 0);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
}

/* An embedding and a head of many classes are cut by columns, and by words if they share their weights. */
static void many_classes(void)
{
	static const char *const keys[] = {"layers", "1", "width", "16", "heads", "4", "context", "8", "tied", "false",
					   NULL};
	static const char *const tied[] = {"layers", "1", "width", "16", "heads", "4", "context", "8", "tied", "true",
					   NULL};
	mr_graph *whole, *g;
	uint32_t blocks;

	classes = 300;
	whole = graph_of("gpt", keys, true);
	CU_ASSERT_EQUAL(check_parts(whole, 2), 6 + 3); /* and wte, wpe, lm_head */
	MR_CHECK_OK(mr_share_graph(whole, 2, 1, false, &g));
	CU_ASSERT_EQUAL(axis_of(g, "wte.weight", &blocks), 1);
	CU_ASSERT_EQUAL(axis_of(g, "lm_head.weight", &blocks), 0);
	CU_ASSERT_EQUAL(mr_graph_largest_exchanged(g, 1, &f64) / 8, 8 * 300 / 2);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
	whole = graph_of("gpt", tied, true);
	CU_ASSERT_EQUAL(check_parts(whole, 2), 6 + 2); /* the table, of both, and all positions in each */
	MR_CHECK_OK(mr_share_graph(whole, 4, 3, false, &g));
	CU_ASSERT_EQUAL(axis_of(g, "wte.weight", &blocks), 0);
	CU_ASSERT_EQUAL(axis_of(g, "wpe.weight", &blocks), -1);
	CU_ASSERT_EQUAL(axis_of(g, "lm_head.weight", &blocks), 0);
	CU_ASSERT(mr_graph_tied(g, mr_graph_find_param(g, "wte.weight")));
	CU_ASSERT_EQUAL(g->nodes[0].cfg.first_row, 225);
	/* without the head the block and what the words sum; the head's logits and gradient, and that is all */
	CU_ASSERT_EQUAL(mr_graph_exchanged(g, 1, &f64) / 8, 4 * 8 * 16 + 8 * 16 + 8 * 75 + 8 * 16);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
	classes = 301;
	whole = graph_of("gpt", tied, true);
	CU_ASSERT_EQUAL(check_parts(whole, 2), 6);
	mr_graph_destroy(whole);
	classes = 11;
}

/* --- by rows --- */

static const mr_node *node_of(const mr_graph *g, const char *name)
{
	uint32_t i = mr_graph_find_node(g, name);

	CU_ASSERT_FATAL(i != MR_GRAPH_NO_NODE);
	return &g->nodes[i];
}

/* A block puts rows together twice and sums them twice, in each direction: 8 (n - 1) / n values of rows x width. */
static void norms_by_rows(void)
{
	static const char *const keys[] = {"layers", "2", "width", "16", "heads", "4", "context", "8", "dropout", "0.1",
					   NULL};
	mr_graph *whole = graph_of("gpt", keys, true), *g;

	for (uint32_t n = 2; n <= 4; n += 2) {
		int64_t own = 8 / n * 16, block = 8 * own;

		MR_CHECK_OK(mr_share_graph(whole, n, 1, true, &g));
		CU_ASSERT_EQUAL(node_of(g, "h.0.ln_1")->in_shape[0].rows, 8 / n);
		CU_ASSERT_EQUAL(node_of(g, "h.1.mlp.add")->in_shape[1].rows, 8 / n);
		CU_ASSERT_EQUAL(node_of(g, "h.1.mlp.drop")->cfg.first_row, 8 / n);
		CU_ASSERT_EQUAL(node_of(g, "h.1.mlp.c_fc")->in_shape[0].rows, 8);
		CU_ASSERT_EQUAL(node_of(g, "h.1.attn.c_attn")->n_params, 2);
		CU_ASSERT_EQUAL(node_of(g, "lm_head")->in_shape[0].rows, 8);
		CU_ASSERT_STRING_EQUAL(node_of(g, "drop.rows")->ops->name, "share_rows");
		CU_ASSERT_STRING_EQUAL(node_of(g, "lm_head.join")->ops->name, "share_join");
		/* beside the blocks the gradient of the embedding, and what the head reads; and five norms */
		CU_ASSERT_EQUAL(mr_graph_exchanged(g, 1, &f64) / 8, 2 * block + 2 * own + 5 * 2 * 16);
		CU_ASSERT_EQUAL(mr_graph_exchanged(g, 3, &f64) / 8, 3 * (2 * block + 2 * own) + 5 * 2 * 16);
		CU_ASSERT_EQUAL(mr_graph_largest_exchanged(g, 1, &f64) / 8, 8 * 16);
		mr_graph_destroy(g);
	}
	MR_CHECK_OK(mr_graph_freeze(whole, "ln_f"));
	MR_CHECK_OK(mr_share_graph(whole, 2, 1, true, &g));
	CU_ASSERT_EQUAL(mr_graph_shown_gradients(g, mr_graph_find_node(g, "ln_f")), 0);
	CU_ASSERT_EQUAL(mr_graph_shown_gradients(g, mr_graph_find_node(g, "h.0.ln_1")), 32);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
}

/* The head, cut by columns, takes the rows of all, and sums their gradient by rows. */
static void rows_of_many_classes(void)
{
	static const char *const keys[] = {"layers", "1", "width", "16", "heads", "4", "context", "8", NULL};
	mr_graph *whole, *g;

	classes = 300;
	whole = graph_of("gpt", keys, true);
	MR_CHECK_OK(mr_share_graph(whole, 2, 1, true, &g));
	CU_ASSERT_STRING_EQUAL(node_of(g, "lm_head.in")->ops->name, "share_in");
	CU_ASSERT_EQUAL(node_of(g, "lm_head.in")->cfg.parts, 2);
	CU_ASSERT_EQUAL(mr_graph_shown(g, mr_graph_find_node(g, "lm_head.in"), false), 4 * 16);
	CU_ASSERT_EQUAL(mr_graph_shown(g, mr_graph_find_node(g, "lm_head.in"), true), 4 * 16);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
	classes = 11;
}

/* Samples of one row, and of eight for three shares. */
static void rows_that_do_not_divide(void)
{
	static const char *const keys[] = {"hidden", "[16, 16, 16]", NULL};
	static const char *const gpt_keys[] = {"layers", "1", "width", "18", "heads", "3", "context", "8", NULL};
	mr_graph *whole = graph_of("mlp", keys, false), *g;

	CU_ASSERT_EQUAL(mr_share_graph(whole, 2, 0, true, &g), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "sequence_parallel"));
	mr_graph_destroy(whole);
	whole = graph_of("gpt", gpt_keys, true);
	CU_ASSERT_EQUAL(mr_share_graph(whole, 3, 0, true, &g), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "which 3 shares divide"));
	mr_graph_destroy(whole);
}

static void frozen_and_weighed(void)
{
	static const char *const keys[] = {"hidden", "[16, 16]", NULL};
	mr_graph *whole = graph_of("mlp", keys, false), *g;

	MR_CHECK_OK(mr_graph_freeze(whole, "fc.0"));
	MR_CHECK_OK(mr_graph_weigh(whole));
	whole->class_weight[3] = 2;
	MR_CHECK_OK(mr_share_graph(whole, 2, 1, false, &g));
	CU_ASSERT(g->nodes[mr_graph_find_node(g, "fc.0")].frozen);
	CU_ASSERT_FALSE(g->nodes[mr_graph_find_node(g, "fc.1")].frozen);
	CU_ASSERT_EQUAL(g->class_weight[3], 2);
	mr_graph_destroy(g);
	mr_graph_destroy(whole);
}

void mr_suite_share_graph(void); /* the runner declares it too */

void mr_suite_share_graph(void)
{
	MR_SUITE("share_graph");
	MR_TEST(gpt);
	MR_TEST(llama);
	MR_TEST(mlp);
	MR_TEST(many_classes);
	MR_TEST(norms_by_rows);
	MR_TEST(rows_of_many_classes);
	MR_TEST(rows_that_do_not_divide);
	MR_TEST(frozen_and_weighed);
}
