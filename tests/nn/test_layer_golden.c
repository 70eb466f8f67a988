/*
 * test_layer_golden.c - each layer against what PyTorch gave in f64 (tests/golden/torch/layers.json, recurrent.json,
 * gnmt.json).
 *
 * Finite differences cannot see a wrong epsilon, a wrong mask or the wrong GELU: F and its gradient would agree.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "layer_rig.h"

#define GOLDEN_TOLERANCE 1e-10 /* both sides are f64 and differ by the order of sums */

static mr_json *load_from(const char *file)
{
	char path[MR_GOLDEN_PATH];
	mr_json *root;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "%s", file), 1 << 20, &root));
	return root;
}

static mr_json *load(void)
{
	return load_from("torch/layers.json");
}

static void fill(const mr_json *one, const char *key, void *buffer, int64_t n)
{
	const mr_json *list = mr_json_get(one, key);

	CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)n);
	for (int64_t i = 0; i < n; i++)
		((double *)buffer)[i] = mr_json_double(mr_json_at(list, (size_t)i));
}

static void compare(const char *name, const mr_json *one, const char *key, const void *got, int64_t n)
{
	const mr_json *list = mr_json_get(one, key);

	CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)n);
	for (int64_t i = 0; i < n; i++) {
		double want = mr_json_double(mr_json_at(list, (size_t)i)), have = ((const double *)got)[i];
		bool ok = fabs(have - want) <= GOLDEN_TOLERANCE * (1 + fabs(want));

		if (!ok)
			fprintf(stderr, "\n%s: %s[%lld] is %.17g, recorded %.17g\n", name, key, (long long)i, have,
				want);
		CU_ASSERT_FATAL(ok);
	}
}

/* Record @name of @root: inputs @keys (x and the parameters in order) and what came out of them. */
static void check_record(mr_json *root, const char *name, const layer_case *what, int64_t samples,
			 const char *const params[2])
{
	const mr_json *one = mr_json_get(root, name);
	layer_rig r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(one);
	rig_init(&r, what, mr_kernels_find("reference", MR_F64), samples, 1);
	if (what->in[0].tokens) {
		int32_t *tokens = r.x[0];
		const mr_json *rows = mr_json_get(one, "tokens");

		for (int64_t i = 0; i < rig_n_x(&r, 0); i++)
			tokens[i] = (int32_t)mr_json_int(mr_json_at(mr_json_at(rows, (size_t)(i / what->in[0].rows)),
								    (size_t)(i % what->in[0].rows)));
	} else {
		fill(one, "x", r.x[0], rig_n_x(&r, 0));
	}
	for (uint32_t i = 0; i < r.n_params; i++)
		fill(one, params[i], r.w[i], rig_n_w(&r, i));
	fill(one, "dy", r.dy[0], rig_n_y(&r, 0));
	rig_forward(&r);
	rig_input(&r);
	rig_weight(&r);
	compare(name, one, "y", r.y[0], rig_n_y(&r, 0));
	if (!what->in[0].tokens)
		compare(name, one, "dx", r.dx[0], rig_n_x(&r, 0));
	for (uint32_t i = 0; i < r.n_params; i++) {
		char key[24];

		snprintf(key, sizeof(key), "d%s", params[i]);
		compare(name, one, key, r.dw[i], rig_n_w(&r, i));
	}
	rig_fini(&r);
	mr_json_destroy(root);
}

static void check_layer(const char *name, const layer_case *what, int64_t samples, const char *const params[2])
{
	check_record(load(), name, what, samples, params);
}

static const char *const w_and_b[2] = {"w", "b"}, *const tables[2] = {"wte", "wpe"}, *const none[2];

static void linear(void)
{
	layer_case what = {.layer = "linear", .cfg = {.out = 3}, .in = {{.rows = 1, .cols = 4}}};

	check_layer("linear_none", &what, 5, w_and_b);
	what.cfg.act = MR_ACT_RELU;
	check_layer("linear_relu", &what, 5, w_and_b);
	what.cfg.act = MR_ACT_GELU;
	check_layer("linear_gelu_tanh", &what, 5, w_and_b);
}

static void layer_norm(void)
{
	check_layer("layer_norm", &(layer_case){.layer = "layer_norm", .in = {{.rows = 2, .cols = 7}}}, 2, w_and_b);
}

/* The states after all micro-batches of the record, and evaluation by them. */
static void check_states(const char *name, const layer_case *what)
{
	mr_json *root = load_from("torch/batch_norm.json");
	const mr_json *one = mr_json_get(root, name), *micros = mr_json_get(one, "micros");
	layer_rig r;

	rig_init(&r, what, mr_kernels_find("reference", MR_F64), 2, 1);
	fill(one, "w", r.w[0], rig_n_w(&r, 0));
	fill(one, "b", r.w[1], rig_n_w(&r, 1));
	for (size_t m = 0; m < mr_json_size(micros); m++) {
		for (int64_t i = 0; i < rig_n_x(&r, 0); i++)
			((double *)r.x[0])[i] = mr_json_double(mr_json_at(mr_json_at(micros, m), (size_t)i));
		rig_forward(&r);
		rig_forward(&r); /* repeated, it leaves the same */
		r.ops->fold(&what->cfg, what->in, 2, MR_F64, (const void *const *)r.seen, r.state);
	}
	compare(name, one, "running_mean", r.state[0], what->in[0].cols);
	compare(name, one, "running_var", r.state[1], what->in[0].cols);
	fill(one, "x", r.x[0], rig_n_x(&r, 0));
	r.call.train = false;
	rig_poison(&r, r.seen[0], what->in[0].cols);
	rig_poison(&r, r.seen[1], what->in[0].cols);
	rig_forward(&r);
	compare(name, one, "eval_y", r.y[0], rig_n_y(&r, 0));
	compare(name, one, "running_var", r.state[1], what->in[0].cols);
	rig_fini(&r);
	mr_json_destroy(root);
}

static void batch_norm(void)
{
	layer_case what = {.layer = "batch_norm",
			   .in = {{.rows = 6, .cols = 5, .n_dims = 3, .dim = {2, 3, 5}}}};

	check_record(load_from("torch/batch_norm.json"), "batch_norm", &what, 2, w_and_b);
	check_states("batch_norm", &what);
	what.cfg = (mr_layer_cfg){.act = MR_ACT_RELU, .eps = 1e-3, .momentum = 0.3};
	check_record(load_from("torch/batch_norm.json"), "batch_norm_relu", &what, 2, w_and_b);
	check_states("batch_norm_relu", &what);
}

static void attention(void)
{
	layer_case what = {.layer = "attention", .cfg = {.heads = 2}, .in = {{.rows = 5, .cols = 18}}};

	check_layer("attention", &what, 2, none);
	what.cfg.heads = 1;
	what.in[0] = (mr_shape){.rows = 4, .cols = 9};
	check_layer("attention_1_head", &what, 1, none);
	what.cfg.heads = 2;
	what.in[0] = (mr_shape){.rows = 1, .cols = 12};
	check_layer("attention_1_token", &what, 3, none);
}

static void embedding(void)
{
	layer_case what = {
		.layer = "embedding",
		.cfg = {.out = 5, .vocab = 6, .context = 7},
		.in = {{.rows = 4, .cols = 1, .tokens = true}},
	};

	check_layer("embedding", &what, 2, tables);
}

static void check_bag(const mr_json *root, const char *name, const layer_case *what)
{
	const mr_json *one = mr_json_get(root, name), *tokens = mr_json_get(one, "tokens");
	int64_t samples = (int64_t)mr_json_size(tokens) / what->in[0].cols;
	layer_rig r;

	rig_init(&r, what, mr_kernels_find("reference", MR_F64), samples, 1);
	for (int64_t i = 0; i < rig_n_x(&r, 0); i++)
		((int32_t *)r.x[0])[i] = (int32_t)mr_json_int(mr_json_at(tokens, (size_t)i));
	fill(one, "w", r.w[0], rig_n_w(&r, 0));
	fill(one, "dy", r.dy[0], rig_n_y(&r, 0));
	rig_forward(&r);
	rig_weight(&r);
	compare(name, one, "y", r.y[0], rig_n_y(&r, 0));
	compare(name, one, "dw", r.dw[0], rig_n_w(&r, 0));
	rig_fini(&r);
}

/* Bags with equal tokens, tokens beyond the table, and none; vectors in two inputs. */
static void bags_and_their_interaction(void)
{
	layer_case what = {.layer = "embedding_bag",
			   .cfg = {.out = 5, .vocab = 6, .bag = 4},
			   .in = {{.rows = 1, .cols = 4, .tokens = true}}};
	mr_json *root = load_from("torch/dlrm.json");
	const mr_json *one = mr_json_get(root, "interaction");
	layer_rig r;

	check_bag(root, "bag_sum", &what);
	what.cfg.mean = true;
	check_bag(root, "bag_mean", &what);
	what = (layer_case){.layer = "dot_interaction",
			    .cfg = {.out = 7},
			    .in = {{.rows = 5, .cols = 7}}};
	rig_init(&r, &what, mr_kernels_find("reference", MR_F64), 3, 1);
	fill(one, "x", r.x[0], rig_n_x(&r, 0));
	fill(one, "dy", r.dy[0], rig_n_y(&r, 0));
	rig_forward(&r);
	rig_input(&r);
	compare("interaction", one, "y", r.y[0], rig_n_y(&r, 0));
	compare("interaction", one, "dx", r.dx[0], rig_n_x(&r, 0));
	rig_fini(&r);
	mr_json_destroy(root);
}

static void recurrent(void)
{
	static const char *const params[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
	layer_case what = {.layer = "lstm", .cfg = {.out = 4}, .in = {{.rows = 6, .cols = 5}}};

	check_record(load_from("torch/recurrent.json"), "lstm", &what, 3, params);
	what.cfg.reverse = true;
	check_record(load_from("torch/recurrent.json"), "lstm_backwards", &what, 3, params);
	what.layer = "gru";
	check_record(load_from("torch/recurrent.json"), "gru_backwards", &what, 3, params);
	what.cfg.reverse = false;
	check_record(load_from("torch/recurrent.json"), "gru", &what, 3, params);
}

/* Record @name: queries, keys and values, of which the second sample has more than the first. */
static void check_attention(const char *name, bool additive)
{
	static const char *const input[] = {"queries", "keys", "values"};
	static const char *const param[] = {"linear_att", "normalize_bias", "normalize_scalar"};
	const layer_case what = {.layer = "cross_attention",
				 .cfg = {.additive = additive, .vocab = 6},
				 .in = {{.rows = 3, .cols = 4},
					{.rows = 5, .cols = 4},
					{.rows = 5, .cols = 6},
					{.rows = 5, .cols = 1, .tokens = true}}};
	mr_json *root = load_from("torch/gnmt.json");
	const mr_json *one = mr_json_get(mr_json_get(root, "attention"), name);
	char key[32];
	layer_rig r;

	rig_init(&r, &what, mr_kernels_find("reference", MR_F64), 2, 1);
	for (int64_t i = 0; i < rig_n_x(&r, 3); i++)
		((int32_t *)r.x[3])[i] = (int32_t)mr_json_int(mr_json_at(mr_json_get(one, "tokens"), (size_t)i));
	for (int i = 0; i < 3; i++)
		fill(one, input[i], r.x[i], rig_n_x(&r, i));
	for (uint32_t i = 0; i < r.n_params; i++)
		fill(one, param[i], r.w[i], rig_n_w(&r, i));
	fill(one, "dy", r.dy[0], rig_n_y(&r, 0));
	rig_forward(&r);
	rig_input(&r);
	rig_weight(&r);
	compare(name, one, "y", r.y[0], rig_n_y(&r, 0));
	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "d%s", input[i]);
		compare(name, one, key, r.dx[i], rig_n_x(&r, i));
	}
	CU_ASSERT_EQUAL(r.n_params, additive ? 3 : 0);
	for (uint32_t i = 0; i < r.n_params; i++) {
		snprintf(key, sizeof(key), "d%s", param[i]);
		compare(name, one, key, r.dw[i], rig_n_w(&r, i));
	}
	rig_fini(&r);
	mr_json_destroy(root);
}

static void cross_attention(void)
{
	check_attention("additive", true);
	check_attention("dot", false);
}

/* A loss: x and targets in, the mean and its gradient out. @one belongs to @root, which is destroyed. */
static void check_loss_of(mr_json *root, const mr_json *one, const char *name, const layer_case *what, int64_t samples)
{
	const mr_json *targets = mr_json_get(one, "targets");
	layer_rig r;

	rig_init(&r, what, mr_kernels_find("reference", MR_F64), samples, 1);
	fill(one, "x", r.x[0], rig_n_x(&r, 0));
	for (size_t i = 0; i < mr_json_size(targets); i++) {
		if (what->target.tokens)
			((int32_t *)r.target)[i] = (int32_t)mr_json_int(mr_json_at(targets, i));
		else
			((double *)r.target)[i] = mr_json_double(mr_json_at(targets, i));
	}
	rig_forward(&r);
	CU_ASSERT_DOUBLE_EQUAL(r.loss, mr_json_double(mr_json_get(one, "loss")), GOLDEN_TOLERANCE);
	compare(name, one, "dx", r.dx[0], rig_n_x(&r, 0));
	rig_fini(&r);
	mr_json_destroy(root);
}

static void check_loss(const char *name, const layer_case *what, int64_t samples)
{
	mr_json *root = load();

	check_loss_of(root, mr_json_get(root, name), name, what, samples);
}

/* With label smoothing and a sum over each sample; and the mean over what is no padding. */
static void masked_losses(void)
{
	layer_case what = {.layer = "softmax_xent",
			   .cfg = {.smoothing = 0.1, .padding = true, .per_sample = true},
			   .in = {{.rows = 4, .cols = 6}},
			   .target = {.rows = 4, .cols = 1, .tokens = true}};
	mr_json *root = load_from("torch/gnmt.json");

	check_loss_of(root, mr_json_get(root, "loss"), "smoothed", &what, 3);
	what.cfg = (mr_layer_cfg){.padding = true};
	root = load_from("torch/gnmt.json");
	check_loss_of(root, mr_json_get(mr_json_get(root, "loss"), "masked"), "masked", &what, 3);
}

static void losses(void)
{
	layer_case what = {.layer = "softmax_xent",
			   .in = {{.rows = 3, .cols = 5}},
			   .target = {.rows = 3, .cols = 1, .tokens = true}};

	check_loss("softmax_cross_entropy", &what, 2);
	what = (layer_case){.layer = "mse", .in = {{.rows = 1, .cols = 3}}, .target = {.rows = 1, .cols = 3}};
	check_loss("mse", &what, 4);
}

void mr_suite_layer_golden(void); /* the runner declares it too */

void mr_suite_layer_golden(void)
{
	MR_SUITE("layer_golden");
	MR_TEST(linear);
	MR_TEST(layer_norm);
	MR_TEST(batch_norm);
	MR_TEST(attention);
	MR_TEST(embedding);
	MR_TEST(bags_and_their_interaction);
	MR_TEST(recurrent);
	MR_TEST(losses);
	MR_TEST(cross_attention);
	MR_TEST(masked_losses);
}
