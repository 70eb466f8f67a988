/* test_graph.c - building, checking and querying a graph: names, ties, cut points, counts, initial values. */
#include "planner/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"

static const mr_shape numbers = {.rows = 1, .cols = 4}, token_rows = {.rows = 3, .cols = 1, .tokens = true};

static uint16_t add(mr_graph *g, const char *layer, const char *name, mr_layer_cfg cfg, uint16_t a, uint16_t b)
{
	const mr_layer_ops *ops = mr_layer_find(layer);
	uint16_t in[2] = {a, b}, out;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_graph_add(g, ops, name, &cfg, in, ops->n_in, &out));
	return out;
}

/* The picture at the top of graph.h. */
static mr_graph *branched(void)
{
	mr_graph *g;
	uint16_t x, h;

	MR_CHECK_OK(mr_graph_create(numbers, (mr_shape){.rows = 1, .cols = 6}, &g));
	x = add(g, "linear", "fc.0", (mr_layer_cfg){.out = 6}, 0, 0);
	h = add(g, "layer_norm", "ln_1", (mr_layer_cfg){0}, x, 0);
	h = add(g, "linear", "fc.1", (mr_layer_cfg){.out = 6}, h, 0);
	x = add(g, "residual", "add", (mr_layer_cfg){0}, h, x);
	CU_ASSERT_EQUAL(add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0), MR_GRAPH_NO_VALUE);
	return g;
}

static void a_stage_begins_anywhere_but_at_the_loss(void)
{
	mr_graph *g = branched();
	static const uint16_t want[5][2] = {{0}, {1}, {1, 2}, {1, 3}, {4}};
	static const uint32_t n[] = {1, 1, 2, 2, 1};

	MR_CHECK_OK(mr_graph_finish(g));
	for (uint32_t i = 0; i < 5; i++) {
		uint16_t live[5];
		size_t bytes = n[i] * 6 * 8;

		CU_ASSERT_EQUAL_FATAL(mr_graph_live(g, i, NULL), n[i]);
		mr_graph_live(g, i, live);
		CU_ASSERT_EQUAL(memcmp(live, want[i], n[i] * sizeof(*live)), 0);
		CU_ASSERT_EQUAL(mr_graph_cut_ok(g, i), i < 4);
		CU_ASSERT_EQUAL(mr_graph_is_narrow(g, i), i < 2);
		CU_ASSERT_EQUAL(mr_graph_crossing(g, i, MR_F64, true), i ? bytes : 0);
		if (i)
			CU_ASSERT_EQUAL(mr_graph_crossing(g, i, MR_F64, false), bytes);
	}
	CU_ASSERT_EQUAL(mr_graph_live(g, 5, NULL), 0);
	CU_ASSERT_EQUAL(mr_graph_max_stages(g), 4);
	CU_ASSERT_EQUAL(mr_graph_narrow_stages(g), 2);
	mr_graph_destroy(g);
}

/* A layer of @act and the sum of its output and value 1, with a norm between them, or with another reader of the output
 * behind them. */
static mr_graph *sum_behind(const char *layer, mr_act act, bool turned, bool between, bool read)
{
	mr_layer_cfg cfg = {.out = 4, .act = act};
	mr_graph *g;
	uint16_t x, h;

	MR_CHECK_OK(mr_graph_create(numbers, numbers, &g));
	x = add(g, "linear", "first", (mr_layer_cfg){.out = 4}, 0, 0);
	h = add(g, layer, "branch", cfg, x, 0);
	if (between)
		h = add(g, "layer_norm", "between", (mr_layer_cfg){0}, h, 0);
	x = add(g, "residual", "sum", (mr_layer_cfg){0}, turned ? x : h, turned ? h : x);
	if (read)
		x = add(g, "residual", "sum.2", (mr_layer_cfg){0}, x, h);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	return g;
}

/* Which node may add which value to its output; none where @node is MR_GRAPH_NO_NODE. */
static void expect_addend(mr_graph *g, uint32_t node, uint16_t value)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		CU_ASSERT_EQUAL(g->nodes[i].addend, i == node ? value : MR_GRAPH_NO_VALUE);
		CU_ASSERT_EQUAL(g->nodes[i].added, node != MR_GRAPH_NO_NODE && i == node + 1);
		CU_ASSERT_FALSE(g->nodes[i].added && mr_graph_is_narrow(g, i));
	}
	mr_graph_destroy(g);
}

/* Two linear layers, the first one with @act; between them a norm, or behind them another reader of the first one's
 * output. */
static bool second_goes_through(mr_act act, bool between, bool read)
{
	mr_graph *g;
	uint16_t x, h;
	bool fused;

	MR_CHECK_OK(mr_graph_create(numbers, numbers, &g));
	x = h = add(g, "linear", "first", (mr_layer_cfg){.out = 4, .act = act}, 0, 0);
	if (between)
		h = add(g, "layer_norm", "between", (mr_layer_cfg){0}, h, 0);
	h = add(g, "linear", "second", (mr_layer_cfg){.out = 4}, h, 0);
	if (read)
		h = add(g, "residual", "sum", (mr_layer_cfg){0}, x, h);
	add(g, "mse", "loss", (mr_layer_cfg){0}, h, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	fused = g->nodes[between ? 2 : 1].fuse_act_backward;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		CU_ASSERT_EQUAL(g->nodes[i].fuse_act_backward, fused && i == 1);
	mr_graph_destroy(g);
	return fused;
}

static void a_gradient_may_go_through_the_activation_in_front(void)
{
	CU_ASSERT(second_goes_through(MR_ACT_GELU, false, false));
	CU_ASSERT(second_goes_through(MR_ACT_RELU, false, false));
	CU_ASSERT_FALSE(second_goes_through(MR_ACT_NONE, false, false));
	CU_ASSERT_FALSE(second_goes_through(MR_ACT_GELU, true, false));
	CU_ASSERT_FALSE(second_goes_through(MR_ACT_GELU, false, true));
}

static void a_layer_may_add_for_the_sum_behind_it(void)
{
	mr_graph *g = branched();

	MR_CHECK_OK(mr_graph_finish(g));
	expect_addend(g, 2, 1);
	expect_addend(sum_behind("linear", MR_ACT_NONE, false, false, false), 1, 1);
	expect_addend(sum_behind("linear", MR_ACT_NONE, true, false, false), 1, 1);
	expect_addend(sum_behind("linear", MR_ACT_RELU, true, false, false), MR_GRAPH_NO_NODE, 0);
	expect_addend(sum_behind("linear", MR_ACT_NONE, true, true, false), MR_GRAPH_NO_NODE, 0);
	expect_addend(sum_behind("linear", MR_ACT_NONE, true, false, true), MR_GRAPH_NO_NODE, 0);
	expect_addend(sum_behind("layer_norm", MR_ACT_NONE, true, false, false), MR_GRAPH_NO_NODE, 0);
}

/* Matrices of optimizers: neither biases, nor the head, nor what reads tokens, nor what is tied. */
static void hidden_matrices(void)
{
	mr_graph *g;
	mr_optim_matrix m;
	uint16_t x;

	MR_CHECK_OK(mr_graph_create(token_rows, token_rows, &g));
	x = add(g, "embedding", "embed", (mr_layer_cfg){.out = 4, .vocab = 5, .context = 3}, 0, 0);
	x = add(g, "linear", "fc.0", (mr_layer_cfg){.out = 6}, x, 0);
	x = add(g, "linear", "fc.1", (mr_layer_cfg){.out = 4, .transposed = true}, x, 0);
	x = add(g, "linear", "head", (mr_layer_cfg){.out = 5, .transposed = true, .no_bias = true}, x, 0);
	add(g, "softmax_xent", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	for (uint32_t p = 0; p < g->n_params; p++) {
		bool want = !strcmp(g->params[p].name, "fc.0.weight") || !strcmp(g->params[p].name, "fc.1.weight");

		m = mr_graph_matrix(g, p);
		CU_ASSERT_EQUAL(m.rows != 0, want);
	}
	m = mr_graph_matrix(g, mr_graph_find_param(g, "fc.0.weight"));
	CU_ASSERT(m.rows == 4 && m.cols == 6 && !m.out_first);
	m = mr_graph_matrix(g, mr_graph_find_param(g, "fc.1.weight"));
	CU_ASSERT(m.rows == 4 && m.cols == 6 && m.out_first);
	mr_graph_destroy(g);
}

static void values_know_their_life(void)
{
	mr_graph *g = branched();

	MR_CHECK_OK(mr_graph_finish(g));
	CU_ASSERT_EQUAL_FATAL(g->n_values, 5);
	CU_ASSERT_EQUAL(g->values[0].producer, MR_GRAPH_NO_NODE);
	CU_ASSERT(g->values[1].producer == 0 && g->values[1].last_use == 3);
	CU_ASSERT_EQUAL(g->values[1].n_uses, 2);
	CU_ASSERT(g->values[4].last_use == 4 && g->values[4].n_uses == 1);
	CU_ASSERT(!mr_graph_wants_dx(g, 0, 0));
	CU_ASSERT(mr_graph_wants_dx(g, 3, 0) && mr_graph_wants_dx(g, 3, 1));
	mr_graph_destroy(g);
}

static void a_layer_may_read_a_value_twice(void)
{
	mr_graph *g;
	uint16_t x;

	MR_CHECK_OK(mr_graph_create(numbers, numbers, &g));
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 4}, 0, 0);
	x = add(g, "residual", "twice", (mr_layer_cfg){0}, x, x);
	x = add(g, "linear", "fc2", (mr_layer_cfg){.out = 4}, x, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	CU_ASSERT_EQUAL(g->values[1].n_uses, 2);
	CU_ASSERT(mr_graph_is_narrow(g, 1) && mr_graph_is_narrow(g, 2));
	mr_graph_destroy(g);
}

static void parameters_are_named_and_found(void)
{
	mr_graph *g;
	uint16_t x;
	uint32_t p;

	MR_CHECK_OK(mr_graph_create(token_rows, token_rows, &g));
	x = add(g, "embedding", "enc.embed", (mr_layer_cfg){.out = 5, .vocab = 7, .context = 3}, 0, 0);
	x = add(g, "layer_norm", "h.1.ln_1", (mr_layer_cfg){0}, x, 0);
	x = add(g, "linear", "h.10.fc", (mr_layer_cfg){.out = 7}, x, 0);
	add(g, "softmax_xent", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	CU_ASSERT_EQUAL_FATAL(g->n_params, 6);
	CU_ASSERT_STRING_EQUAL(g->params[0].name, "enc.wte.weight");
	CU_ASSERT_STRING_EQUAL(g->params[1].name, "enc.wpe.weight");
	CU_ASSERT_STRING_EQUAL(g->params[2].name, "h.1.ln_1.weight");
	p = mr_graph_find_param(g, "h.10.fc.bias");
	CU_ASSERT_EQUAL_FATAL(p, 5);
	CU_ASSERT(g->params[p].node == 2 && g->params[p].index == 1 && g->params[p].n == 7 && !g->params[p].decay);
	CU_ASSERT(g->params[4].rank == 2 && g->params[4].dim[0] == 5 && g->params[4].dim[1] == 7 && g->params[4].decay);
	CU_ASSERT_EQUAL(mr_graph_find_param(g, "h.10.fc"), UINT32_MAX);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "h.10.fc"), 2);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "h.1"), 1);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "h.10"), 2);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, "h.2"), MR_GRAPH_NO_NODE);
	CU_ASSERT_EQUAL(mr_graph_find_node(g, ""), MR_GRAPH_NO_NODE);
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 5 * 7 + 5 * 3 + 2 * 5 + 5 * 7 + 7);
	mr_graph_destroy(g);
}

static mr_graph *with_head(bool transposed)
{
	mr_graph *g;
	uint16_t x;

	MR_CHECK_OK(mr_graph_create(token_rows, token_rows, &g));
	x = add(g, "embedding", "embed", (mr_layer_cfg){.out = 5, .vocab = 7}, 0, 0);
	x = add(g, "linear", "head", (mr_layer_cfg){.out = 7, .no_bias = true, .transposed = transposed}, x, 0);
	add(g, "softmax_xent", "loss", (mr_layer_cfg){0}, x, 0);
	return g;
}

static void tied_parameters_share_storage(void)
{
	mr_graph *g = with_head(true);
	double owner[35], tied[35];

	MR_CHECK_OK(mr_graph_tie(g, 1, 0));
	MR_CHECK_OK(mr_graph_finish(g));
	CU_ASSERT(g->params[1].tied_to == 0 && g->params[0].tied_to == -1);
	CU_ASSERT_EQUAL(mr_graph_n_params(g), 35);
	mr_graph_init_param(g, 0, 3, MR_F64, owner, NULL);
	mr_graph_init_param(g, 1, 3, MR_F64, tied, NULL);
	CU_ASSERT(!memcmp(owner, tied, sizeof(owner)));
	mr_graph_destroy(g);
}

static void ties_that_do_not_fit_are_refused(void)
{
	mr_graph *g = with_head(false);

	MR_CHECK_FAIL(mr_graph_tie(g, 1, 0), MR_ECONFIG, "(5 x 7) cannot share the storage of embed.weight");
	MR_CHECK_FAIL(mr_graph_tie(g, 0, 1), MR_ECONFIG, "earlier parameter");
	mr_graph_destroy(g);
}

static void additions_that_do_not_fit_are_refused(void)
{
	mr_graph *g = branched();
	const mr_layer_ops *linear = mr_layer_find("linear"), *residual = mr_layer_find("residual");
	mr_layer_cfg cfg = {.out = 3};
	char name[64];
	uint32_t n_nodes = g->n_nodes, n_params = g->n_params;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	MR_CHECK_FAIL(mr_graph_add(g, linear, name, &cfg, (uint16_t[]){0}, 1, NULL), MR_ECONFIG, "longer than 47");
	MR_CHECK_FAIL(mr_graph_add(g, linear, "fc.1", &cfg, (uint16_t[]){0}, 1, NULL), MR_ECONFIG, "exists already");
	MR_CHECK_FAIL(mr_graph_add(g, linear, "a", &cfg, (uint16_t[]){9}, 1, NULL), MR_ECONFIG, "a: input 0 is");
	MR_CHECK_FAIL(mr_graph_add(g, residual, "b", &cfg, (uint16_t[]){1}, 1, NULL), MR_ECONFIG, "takes 2 inputs");
	MR_CHECK_FAIL(mr_graph_add(g, residual, "b", &cfg, (uint16_t[]){0, 1}, 2, NULL), MR_ECONFIG, "1 x 4 and 1 x 6");
	cfg.out = (int64_t)1 << 39;
	MR_CHECK_FAIL(mr_graph_add(g, linear, "c", &cfg, (uint16_t[]){1}, 1, NULL), MR_ECONFIG, "2^40");
	cfg.out = INT64_MAX;
	MR_CHECK_FAIL(mr_graph_add(g, linear, "c", &cfg, (uint16_t[]){1}, 1, NULL), MR_ECONFIG, "2^40");
	CU_ASSERT(g->n_nodes == n_nodes && g->n_params == n_params);
	MR_CHECK_OK(mr_graph_finish(g));
	mr_graph_destroy(g);
}

static mr_graph *begin(mr_shape input, mr_shape target)
{
	mr_graph *g;

	MR_CHECK_OK(mr_graph_create(input, target, &g));
	return g;
}

static void refuse_finish(mr_graph *g, const char *part)
{
	MR_CHECK_FAIL(mr_graph_finish(g), MR_ECONFIG, part);
	mr_graph_destroy(g);
}

static void unfinished_models_are_refused(void)
{
	mr_graph *g = begin(numbers, numbers);
	uint16_t x;

	refuse_finish(g, "at least one layer and a loss");

	g = begin(numbers, numbers);
	x = add(g, "linear", "fc.0", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "linear", "fc.1", (mr_layer_cfg){.out = 4}, x, 0);
	refuse_finish(g, "the last layer, fc.1, is no loss");

	g = begin(numbers, numbers);
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	add(g, "linear", "more", (mr_layer_cfg){.out = 4}, x, 0);
	refuse_finish(g, "loss is a loss, but not the last");

	g = begin(numbers, numbers);
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 4, .act = MR_ACT_RELU}, 0, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	refuse_finish(g, "loss overwrites the output of fc");

	g = begin(numbers, numbers);
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "linear", "spare", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	refuse_finish(g, "nothing reads the output of spare");

	g = begin(numbers, numbers);
	add(g, "linear", "fc", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, 0, 0);
	refuse_finish(g, "loss reads the model's input");

	g = begin(numbers, numbers);
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "linear", "also", (mr_layer_cfg){.out = 4}, x, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	refuse_finish(g, "another layer reads that too");

	g = begin(numbers, (mr_shape){.rows = 1, .cols = 5});
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 4}, 0, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	refuse_finish(g, "loss: mse compares");
}

/* --- counts and initial values --- */

static void flops_are_model_flops(void)
{
	mr_graph *g = branched();
	double w0 = 4 * 6, w1 = 6 * 6;

	MR_CHECK_OK(mr_graph_finish(g));
	CU_ASSERT_EQUAL(mr_graph_flops_train(g), 6 * (w0 + w1) - 2 * w0);
	mr_graph_destroy(g);
}

static void initial_values_have_their_moments(void)
{
	mr_graph *g = begin((mr_shape){.rows = 1, .cols = 200}, (mr_shape){.rows = 1, .cols = 300});
	double *w = malloc(60000 * sizeof(*w)), sum = 0, squares = 0;
	float *f = malloc(60000 * sizeof(*f));
	double b[300];
	uint16_t x;

	CU_ASSERT_FATAL(w && f);
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 300, .act = MR_ACT_RELU}, 0, 0);
	x = add(g, "layer_norm", "ln", (mr_layer_cfg){0}, x, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	mr_graph_init_param(g, 0, 11, MR_F64, w, NULL);
	mr_graph_init_param(g, 0, 11, MR_F32, f, NULL);
	for (int i = 0; i < 60000; i++) {
		sum += w[i];
		squares += w[i] * w[i];
		CU_ASSERT_EQUAL(f[i], (float)w[i]);
	}
	/* He: variance 2 / 200; the standard deviations of mean and variance are 4e-4 and 5.8e-5 */
	CU_ASSERT(fabs(sum / 60000) < 2e-3);
	CU_ASSERT(fabs(squares / 60000 - 0.01) < 3e-4);
	mr_graph_init_param(g, 1, 11, MR_F64, b, NULL);
	CU_ASSERT(b[0] == 0 && b[299] == 0);
	mr_graph_init_param(g, 2, 11, MR_F64, b, NULL);
	CU_ASSERT(b[0] == 1 && b[299] == 1);
	free(w);
	free(f);
	mr_graph_destroy(g);
}

/* Large parameters, of several parts, normal and uniform: element by element. */
static void initial_values_of_large_ones(void)
{
	mr_graph *g = begin((mr_shape){.rows = 2, .cols = 300}, (mr_shape){.rows = 2, .cols = 151});
	float *x = malloc(151 * 4 * 300 * sizeof(*x));
	int64_t uniform = 0;
	uint16_t at;

	CU_ASSERT_PTR_NOT_NULL_FATAL(x);
	at = add(g, "linear", "fc", (mr_layer_cfg){.out = 300}, 0, 0);
	at = add(g, "lstm", "cell", (mr_layer_cfg){.out = 151}, at, 0);
	at = add(g, "linear", "head", (mr_layer_cfg){.out = 151}, at, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, at, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	for (uint32_t p = 0; p < g->n_params; p++) {
		const mr_param *param = &g->params[p];
		uint32_t layer = g->nodes[param->node].number;

		mr_graph_init_param(g, p, 9, MR_F32, x, NULL);
		for (int64_t i = 0; i < param->n && param->init == MR_INIT_NORMAL; i++)
			CU_ASSERT_EQUAL_FATAL(x[i], (float)(param->std * mr_rng_normal(9, MR_RNG_INIT, param->index,
											layer, (uint64_t)i)));
		for (int64_t i = 0; i < param->n && param->init == MR_INIT_UNIFORM; i++, uniform++)
			CU_ASSERT_EQUAL_FATAL(x[i], (float)(param->std * (2 * mr_rng_uniform(9, MR_RNG_INIT,
											      param->index, layer,
											      (uint64_t)i) - 1)));
	}
	CU_ASSERT(uniform > 2 << 16);
	CU_ASSERT(mr_graph_init_parts(g, 0) > 1);
	free(x);
	mr_graph_destroy(g);
}

static void initial_values_are_addressed(void)
{
	mr_graph *g = branched();
	double a[36], b[36];

	MR_CHECK_OK(mr_graph_finish(g));
	mr_graph_init_param(g, 0, 5, MR_F64, a, NULL);
	for (uint64_t i = 0; i < 24; i++)
		CU_ASSERT_EQUAL(a[i], g->params[0].std * mr_rng_normal(5, MR_RNG_INIT, 0, 0, i));
	mr_graph_init_param(g, 4, 5, MR_F64, a, NULL); /* fc.1: its layer number is 2 */
	for (uint64_t i = 0; i < 36; i++)
		CU_ASSERT_EQUAL(a[i], g->params[4].std * mr_rng_normal(5, MR_RNG_INIT, 0, 2, i));
	mr_graph_init_param(g, 4, 6, MR_F64, b, NULL);
	CU_ASSERT(memcmp(a, b, sizeof(a)) != 0);
	mr_graph_destroy(g);

	g = begin(token_rows, token_rows);
	add(g, "embedding", "embed", (mr_layer_cfg){.out = 5, .vocab = 7, .context = 7}, 0, 0);
	mr_graph_init_param(g, 1, 5, MR_F64, a, NULL); /* the second parameter of its layer */
	for (uint64_t i = 0; i < 35; i++)
		CU_ASSERT_EQUAL(a[i], 0.02 * mr_rng_normal(5, MR_RNG_INIT, 1, 0, i));
	mr_graph_destroy(g);
}

/* Three parts of a row: the first one read twice, the last one by the sum that ends all. */
static mr_graph *in_parts(bool reads_all)
{
	mr_graph *g;
	uint16_t x, a, b;

	MR_CHECK_OK(mr_graph_create(numbers, (mr_shape){.rows = 1, .cols = 2}, &g));
	x = add(g, "linear", "fc", (mr_layer_cfg){.out = 6}, 0, 0);
	x = add(g, "split", "parts", (mr_layer_cfg){.parts = 3}, x, 0);
	CU_ASSERT_EQUAL(x, 2);
	a = add(g, "residual", "sum.0", (mr_layer_cfg){0}, x, (uint16_t)(x + 1));
	CU_ASSERT_EQUAL(a, 5);
	b = add(g, "residual", "sum.1", (mr_layer_cfg){0}, a, x);
	if (reads_all)
		b = add(g, "residual", "sum.2", (mr_layer_cfg){0}, b, (uint16_t)(x + 2));
	add(g, "mse", "loss", (mr_layer_cfg){0}, b, 0);
	return g;
}

static void a_layer_may_write_several_values(void)
{
	/* in front of each node */
	static const uint16_t want[6][4] = {{0}, {1}, {2, 3, 4}, {2, 4, 5}, {4, 6}, {7}};
	static const uint32_t n[] = {1, 1, 3, 3, 2, 1};
	mr_graph *g = in_parts(true);

	MR_CHECK_OK(mr_graph_finish(g));
	CU_ASSERT(g->n_values == 8 && g->nodes[1].out == 2 && g->nodes[1].n_out == 3 && g->nodes[5].n_out == 0);
	for (uint16_t v = 0; v < g->n_values; v++) {
		CU_ASSERT_EQUAL(mr_shape_count(g->values[v].shape), v == 0 ? 4 : v == 1 ? 6 : 2);
		CU_ASSERT_EQUAL(g->values[v].producer, v == 0 ? MR_GRAPH_NO_NODE : v < 2 ? 0u : v < 5 ? 1u : v - 3u);
	}
	for (uint32_t i = 0; i < 6; i++) {
		uint16_t live[8];

		CU_ASSERT_EQUAL_FATAL(mr_graph_live(g, i, live), n[i]);
		CU_ASSERT_EQUAL(g->n_live[i], n[i]);
		CU_ASSERT_EQUAL(memcmp(live, want[i], n[i] * sizeof(*live)), 0);
		for (uint32_t j = 0; j < g->nodes[i].n_out; j++)
			CU_ASSERT(mr_shape_same(g->nodes[i].out_shape[j], g->values[g->nodes[i].out + j].shape));
	}
	mr_graph_destroy(g);
	g = in_parts(false);
	MR_CHECK_FAIL(mr_graph_finish(g), MR_ECONFIG, "nothing reads output 3 of the 3 of parts");
	mr_graph_destroy(g);
}

/* Which of fc.0, fc.1 and h.1.fc are frozen by @patterns. */
static unsigned frozen_by(const char *const *patterns, double *flops)
{
	uint16_t x = 0;
	unsigned set = 0;
	mr_graph *g;

	MR_CHECK_OK(mr_graph_create(numbers, numbers, &g));
	x = add(g, "linear", "fc.0", (mr_layer_cfg){.out = 4}, x, 0);
	x = add(g, "linear", "fc.1", (mr_layer_cfg){.out = 4}, x, 0);
	x = add(g, "linear", "h.1.fc", (mr_layer_cfg){.out = 4}, x, 0);
	add(g, "mse", "loss", (mr_layer_cfg){0}, x, 0);
	MR_CHECK_OK(mr_graph_finish(g));
	for (; *patterns; patterns++)
		MR_CHECK_OK(mr_graph_freeze(g, *patterns));
	for (uint32_t i = 0; i < 3; i++)
		set |= (unsigned)g->nodes[i].frozen << i;
	*flops = mr_graph_flops_train(g) / mr_graph_needs(g, 0, 1).flops_f;
	MR_CHECK_FAIL(mr_graph_freeze(g, "fc.?.x"), MR_ECONFIG, "no layer with parameters is called \"fc.?.x\"");
	MR_CHECK_FAIL(mr_graph_freeze(g, "loss"), MR_ECONFIG, "no layer with parameters is called \"loss\"");
	MR_CHECK_FAIL(mr_graph_freeze(g, ""), MR_ECONFIG, "no layer with parameters is called \"\"");
	mr_graph_destroy(g);
	return set;
}

/* F of the three equal layers, I of those behind one that trains, W of those that do. */
static void layers_are_frozen_by_name(void)
{
	static const struct {
		const char *by[4];
		unsigned set, flops;
	} cases[] = {
		{{NULL}, 0, 3 + 2 + 3},       {{"fc.0"}, 1, 3 + 1 + 2},	 {{"fc"}, 3, 3 + 0 + 1},
		{{"h.1"}, 4, 3 + 2 + 2},      {{"fc.?"}, 3, 3 + 0 + 1},	 {{"*.fc"}, 4, 3 + 2 + 2},
		{{"*", "!h"}, 3, 3 + 0 + 1},  {{"*"}, 7, 3 + 0 + 0},	 {{"*", "!*.1"}, 1, 3 + 1 + 2},
		{{"*", "!*", "*c.1"}, 2, 3 + 2 + 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double flops;

		CU_ASSERT_EQUAL(frozen_by(cases[i].by, &flops), cases[i].set);
		CU_ASSERT_DOUBLE_EQUAL(flops, cases[i].flops, 1e-12);
	}
}

void mr_suite_graph(void); /* the runner declares it too */

void mr_suite_graph(void)
{
	MR_SUITE("graph");
	MR_TEST(a_stage_begins_anywhere_but_at_the_loss);
	MR_TEST(a_layer_may_add_for_the_sum_behind_it);
	MR_TEST(a_gradient_may_go_through_the_activation_in_front);
	MR_TEST(a_layer_may_write_several_values);
	MR_TEST(hidden_matrices);
	MR_TEST(values_know_their_life);
	MR_TEST(a_layer_may_read_a_value_twice);
	MR_TEST(parameters_are_named_and_found);
	MR_TEST(tied_parameters_share_storage);
	MR_TEST(ties_that_do_not_fit_are_refused);
	MR_TEST(additions_that_do_not_fit_are_refused);
	MR_TEST(unfinished_models_are_refused);
	MR_TEST(flops_are_model_flops);
	MR_TEST(layers_are_frozen_by_name);
	MR_TEST(initial_values_have_their_moments);
	MR_TEST(initial_values_are_addressed);
	MR_TEST(initial_values_of_large_ones);
}
