/* test_layer_refusals.c - configurations, shapes and targets that do not fit a layer, and the message that says so. */
#include <math.h>

#include "check.h"
#include "nn/layer.h"

#define IMAGES(h, w, c) {.rows = (h) * (w), .cols = (c), .n_dims = 3, .dim = {(h), (w), (c)}}

/* Shapes that do not fit, and a part of the message. */
static const struct {
	const char *layer;
	mr_layer_cfg cfg;
	mr_shape in[4];
	const char *part;
} bad[] = {
	{"linear", {.out = 3}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"linear", {.out = 0}, {{.rows = 1, .cols = 4}}, "got 0"},
	{"embedding", {.out = 3, .vocab = 5}, {{.rows = 4, .cols = 1}}, "numbers"},
	{"embedding", {.out = 3, .vocab = 5}, {{.rows = 4, .cols = 2, .tokens = true}}, "2 columns"},
	{"embedding", {.out = 3, .vocab = 0}, {{.rows = 4, .cols = 1, .tokens = true}}, "3 and 0"},
	{"embedding", {.out = 3, .vocab = 5, .context = 3}, {{.rows = 4, .cols = 1, .tokens = true}},
	 "3 positions"},
	{"embedding_bag", {.out = 3, .vocab = 5}, {{.rows = 1, .cols = 4}}, "tokens, got numbers"},
	{"embedding_bag", {.out = 3}, {{.rows = 1, .cols = 4, .tokens = true}}, "got 3 and 0"},
	{"embedding_bag", {.out = 3, .vocab = 5, .column = 3, .bag = 2}, {{.rows = 1, .cols = 4, .tokens = true}},
	 "2 tokens from column 3 on, and there are 4"},
	{"mixed_numbers", {.out = 5}, {{.rows = 1, .cols = 4, .tokens = true}}, "1 to 4 columns, got 5"},
	{"mixed_numbers", {.out = 2}, {{.rows = 1, .cols = 4}}, "got numbers"},
	{"dot_interaction", {.out = 3}, {{.rows = 1, .cols = 7}}, "of 3 numbers in 7"},
	{"dot_interaction", {.out = 0}, {{.rows = 1, .cols = 7}}, "got 0 of 0"},
	{"dot_interaction", {.out = 1}, {{.rows = 1, .cols = 257}}, "at most 256 vectors, got 257"},
	{"dot_interaction", {.out = 1, .parts = 9}, {{.rows = 1, .cols = 2}}, "got 9 of 1"},
	{"dot_interaction", {.out = 1}, {{.rows = 1, .cols = 2, .tokens = true}}, "tokens"},
	{"layer_norm", {.eps = -1}, {{.rows = 4, .cols = 2}}, "-1"},
	{"rms_norm", {.eps = -1}, {{.rows = 4, .cols = 2}}, "-1"},
	{"rms_norm", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"layer_norm", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"batch_norm", {.eps = -1}, {{.rows = 4, .cols = 2}}, "-1"},
	{"batch_norm", {.momentum = 1.5}, {{.rows = 4, .cols = 2}}, "1.5"},
	{"batch_norm", {.act = MR_ACT_GELU}, {{.rows = 4, .cols = 2}}, "ReLU"},
	{"batch_norm", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"row_range", {.first_row = 3, .count = 2}, {{.rows = 4, .cols = 6}}, "2 rows from row 3 on"},
	{"row_range", {.count = 3, .fold = 4}, {{.rows = 4, .cols = 6}}, "18 numbers in rows of 4"},
	{"place_rows", {.first_row = 3, .count = 6}, {{.rows = 4, .cols = 6}}, "4 rows from row 3 on among 6"},
	{"place_rows", {.count = 3}, {{.rows = 4, .cols = 6}}, "4 rows from row 0 on among 3"},
	{"row_range", {0}, {{.rows = 4, .cols = 6}}, "0 rows"},
	{"reverse_rows", {0}, {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 1}}, "4 tokens, one for each row"},
	{"cross_attention",
	 {0},
	 {{.rows = 2, .cols = 6}, {.rows = 4, .cols = 5}, {.rows = 4, .cols = 6}},
	 "queries of 6 columns with keys of 5"},
	{"cross_attention",
	 {0},
	 {{.rows = 2, .cols = 6}, {.rows = 4, .cols = 6}, {.rows = 3, .cols = 6}},
	 "4 keys and 3 values"},
	{"cross_attention",
	 {0},
	 {{.rows = 2, .cols = 6},
	  {.rows = 4, .cols = 6},
	  {.rows = 4, .cols = 6},
	  {.rows = 3, .cols = 1, .tokens = true}},
	 "got 3 x 1 tokens"},
	{"softmax_xent", {.smoothing = 1}, {{.rows = 4, .cols = 6}}, "below 1, got 1"},
	{"lstm", {.out = 0}, {{.rows = 4, .cols = 6}}, "lstm needs at least 1 output column, got 0"},
	{"lstm", {.out = 2, .rate = 1}, {{.rows = 4, .cols = 6}}, "lstm needs a rate from 0 to below 1, got 1"},
	{"gru",
	 {.out = 2, .carry = true, .reverse = true},
	 {{.rows = 4, .cols = 6}},
	 "a gru that goes from the last row to the first carries no state"},
	{"embedding",
	 {.out = 2, .vocab = 3, .context = 4, .rate = 0.1},
	 {{.rows = 4, .cols = 1, .tokens = true}},
	 "0 with positions, got 0.1"},
	{"activation_penalty", {.beta = -1}, {{.rows = 4, .cols = 6}}, "at least 0, got 0 and -1"},
	{"gru", {.out = 2}, {{.rows = 4, .cols = 1, .tokens = true}}, "gru takes numbers, got tokens"},
	{"attention", {.heads = 0}, {{.rows = 4, .cols = 6}}, "got 0"},
	{"attention", {.heads = 1}, {{.rows = 4, .cols = 7}}, "7 columns"},
	{"attention", {.heads = 4}, {{.rows = 4, .cols = 18}}, "6 among 4 heads"},
	{"attention", {.heads = 4, .kv_heads = 3}, {{.rows = 4, .cols = 20}}, "4 heads by 3"},
	{"attention", {.heads = 4, .kv_heads = -1}, {{.rows = 4, .cols = 20}}, "4 heads by -1"},
	{"attention", {.heads = 4, .kv_heads = 2}, {{.rows = 4, .cols = 20}}, "20 columns among 4 heads"},
	{"rope", {.heads = 0}, {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 6}, {.rows = 4, .cols = 6}},
	 "head, got 0"},
	{"rope", {.heads = 2}, {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 6}, {.rows = 4, .cols = 6}},
	 "2 heads of 6 columns"},
	{"rope", {.heads = 2, .kv_heads = 1},
	 {{.rows = 4, .cols = 8}, {.rows = 4, .cols = 4}, {.rows = 4, .cols = 8}}, "of 4 x 4, got 4 x 8"},
	{"rope", {.heads = 1}, {{.rows = 4, .cols = 6}, {.rows = 3, .cols = 6}, {.rows = 4, .cols = 6}},
	 "values of 4 x 6, got 3 x 6"},
	{"rope", {.heads = 1, .theta = -1},
	 {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 6}, {.rows = 4, .cols = 6}}, "got -1"},
	{"swiglu", {0}, {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 7}}, "4 x 6 and 4 x 7"},
	{"swiglu", {0}, {{.rows = 4, .cols = 1, .tokens = true}, {.rows = 4, .cols = 1}}, "tokens"},
	{"gelu", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"patches", {.patch = 2}, {{.rows = 4, .cols = 6}}, "got 2 dimensions"},
	{"patches", {.patch = 4}, {{.rows = 24, .cols = 3, .n_dims = 3, .dim = {4, 6, 3}}},
	 "4 x 6 into squares of 4"},
	{"patches", {0}, {{.rows = 24, .cols = 3, .n_dims = 3, .dim = {4, 6, 3}}}, "squares of 0"},
	{"class_token", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"first_row", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"residual", {0}, {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 7}}, "4 x 6 and 4 x 7"},
	{"add_relu", {0}, {{.rows = 4, .cols = 6}, {.rows = 4, .cols = 7}}, "4 x 6 and 4 x 7"},
	{"split", {.parts = 2}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"split", {.parts = 1}, {{.rows = 4, .cols = 6}}, "got 1"},
	{"split", {.parts = 9}, {{.rows = 4, .cols = 9}}, "2 to 8 parts, got 9"},
	{"split", {.parts = 4}, {{.rows = 4, .cols = 6}}, "4 equal parts of 6 columns"},
	{"linear", {.out = 3, .act = MR_ACT_TANH}, {{.rows = 1, .cols = 4}}, "activation has others"},
	{"activation", {.act = MR_ACT_GELU}, {{.rows = 1, .cols = 4}}, "ReLU, tanh, sigmoid or SiLU"},
	{"activation", {.act = MR_ACT_TANH}, {{.rows = 1, .cols = 1, .tokens = true}}, "tokens"},
	{"concat", {.parts = 1}, {{.rows = 1, .cols = 4}}, "got 1"},
	{"concat", {.parts = 2}, {{.rows = 1, .cols = 4}, {.rows = 2, .cols = 4}}, "last dimension"},
	{"concat", {.parts = 2}, {{.rows = 4, .cols = 4}, IMAGES(2, 2, 4)}, "last dimension"},
	{"lrn", {.size = 0, .alpha = 1, .beta = 1, .k = 1}, {IMAGES(4, 4, 2)}, "got 0"},
	{"lrn", {.size = 5, .alpha = 1, .beta = 0.75}, {IMAGES(4, 4, 2)}, "got 0, 1 and 0.75"},
	{"conv", {.out = 3, .kernel_h = 3, .kernel_w = 3}, {{.rows = 16, .cols = 2}}, "got 2"},
	{"conv", {.out = 3, .kernel_h = 3, .kernel_w = 3}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"conv", {.out = 3, .kernel_h = 3, .kernel_w = 0}, {IMAGES(4, 4, 2)}, "got 3 x 0"},
	{"conv", {.out = 0, .kernel_h = 3, .kernel_w = 3}, {IMAGES(4, 4, 2)}, "got 0"},
	{"conv", {.out = 3, .kernel_h = 3, .kernel_w = 7, .pad_w = 1}, {IMAGES(4, 4, 2)},
	 "over 3 x 7 pixels is larger than the padded image of 4 x 6"},
	{"conv", {.out = 3, .kernel_h = 3, .kernel_w = 3, .dilation_h = 2}, {IMAGES(4, 4, 2)}, "5 x 3"},
	{"conv", {.out = 3, .kernel_h = 1, .kernel_w = 1, .stride_w = -2}, {IMAGES(4, 4, 2)}, "0 and -2"},
	{"conv", {.out = 3, .kernel_h = 1, .kernel_w = 1, .pad_h = -1}, {IMAGES(4, 4, 2)}, "-1 and 0"},
	{"conv", {.out = 3, .kernel_h = 1, .kernel_w = 1, .dilation_h = -1}, {IMAGES(4, 4, 2)}, "-1 and 0"},
	{"conv", {.out = 4, .kernel_h = 1, .kernel_w = 1, .groups = 4}, {IMAGES(4, 4, 6)},
	 "6 input and 4 output channels into 4 groups"},
	{"conv", {.out = 3, .kernel_h = 1, .kernel_w = 1, .groups = 2}, {IMAGES(4, 4, 6)}, "3 output"},
	{"conv", {.out = 3, .kernel_h = 1, .kernel_w = 1, .act = MR_ACT_GELU}, {IMAGES(4, 4, 6)}, "ReLU"},
	{"max_pool", {.kernel_h = 17, .kernel_w = 16}, {IMAGES(20, 20, 1)}, "at most 256 pixels, got 17 x 16"},
	{"max_pool", {.kernel_h = 2, .kernel_w = 2, .pad_h = 2}, {IMAGES(4, 4, 1)}, "2 and 0"},
	{"avg_pool", {.kernel_h = 2, .kernel_w = 2, .dilation_w = 2}, {IMAGES(4, 4, 1)}, "dilation"},
	{"avg_pool", {.kernel_h = 5, .kernel_w = 2}, {IMAGES(4, 4, 1)}, "5 x 2"},
	{"adaptive_avg_pool", {.out_h = 2}, {IMAGES(4, 4, 1)}, "at least 1 x 1 pixels, got 2 x 0"},
	{"global_avg_pool", {0}, {{.rows = 4, .cols = 4}}, "got 2"},
	{"dropout", {.rate = 1}, {{.rows = 4, .cols = 6}}, "got 1"},
	{"dropout", {.rate = NAN}, {{.rows = 4, .cols = 6}}, "got nan"},
	{"dropout", {.rate = 0.1, .first_row = 1}, {{.rows = 4, .cols = 6}}, "a multiple of 4 elements, not at 6"},
	{"share_rows", {.parts = 2}, {{.rows = 3, .cols = 4}}, "2 shares cannot have equal parts of 3 rows"},
	{"share_cat", {.parts = 100}, {{.rows = 3, .cols = 4}}, "got 100"},
	{"softmax_xent", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
	{"mse", {0}, {{.rows = 4, .cols = 1, .tokens = true}}, "tokens"},
};

static void shapes_that_do_not_fit_are_refused(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const mr_layer_ops *ops = mr_layer_find(bad[i].layer);
		mr_shape out[MR_LAYER_OUTPUTS];

		MR_CHECK_FAIL(ops->shape(&bad[i].cfg, bad[i].in, out), MR_ECONFIG, bad[i].part);
	}
}

static void targets_that_do_not_fit_are_refused(void)
{
	const mr_layer_ops *xent = mr_layer_find("softmax_xent"), *mse = mr_layer_find("mse");
	mr_layer_cfg none = {0};
	mr_shape logits = {.rows = 4, .cols = 9};

	MR_CHECK_OK(xent->target(&none, logits, (mr_shape){.rows = 4, .cols = 1, .tokens = true}));
	MR_CHECK_FAIL(xent->target(&none, logits, (mr_shape){.rows = 4, .cols = 9}), MR_ECONFIG, "36 numbers");
	MR_CHECK_FAIL(xent->target(&none, logits, (mr_shape){.rows = 1, .cols = 1, .tokens = true}), MR_ECONFIG,
		      "needs 4 targets");
	MR_CHECK_FAIL(xent->target(&none, logits, (mr_shape){.rows = 4, .cols = 2, .tokens = true}), MR_ECONFIG,
		      "4 x 2");
	MR_CHECK_OK(mse->target(&none, logits, logits));
	MR_CHECK_FAIL(mse->target(&none, logits, (mr_shape){.rows = 4, .cols = 1, .tokens = 1}), MR_ECONFIG, "classes");
	MR_CHECK_FAIL(mse->target(&none, logits, (mr_shape){.rows = 4, .cols = 8}), MR_ECONFIG, "4 x 8");
}

void mr_suite_layer_refusals(void); /* the runner declares it too */

void mr_suite_layer_refusals(void)
{
	MR_SUITE("layer_refusals");
	MR_TEST(shapes_that_do_not_fit_are_refused);
	MR_TEST(targets_that_do_not_fit_are_refused);
}
