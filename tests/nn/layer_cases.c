/* layer_cases.c - the configurations under which the layer suites try each layer of layers.def; each needs one. */
#include "layer_rig.h"

#define TOKENS(t) {.rows = (t), .cols = 1, .tokens = true}
#define NUMBERS(t, c) {.rows = (t), .cols = (c)}

static const layer_case cases[] = {
	{.layer = "linear", .label = "plain", .cfg = {.out = 3}, .in = {NUMBERS(1, 4)}},
	{.layer = "linear", .label = "relu", .cfg = {.out = 5, .act = MR_ACT_RELU}, .in = {NUMBERS(2, 4)}},
	{.layer = "linear", .label = "gelu", .cfg = {.out = 6, .act = MR_ACT_GELU}, .in = {NUMBERS(2, 3)}},
	{.layer = "linear", .label = "no bias", .cfg = {.out = 4, .no_bias = true}, .in = {NUMBERS(2, 3)}},
	{.layer = "linear",
	 .label = "gelu without bias",
	 .cfg = {.out = 4, .no_bias = true, .act = MR_ACT_GELU},
	 .in = {NUMBERS(1, 3)}},
	{.layer = "linear",
	 .label = "transposed without bias",
	 .cfg = {.out = 7, .no_bias = true, .transposed = true},
	 .in = {NUMBERS(3, 4)}},
	{.layer = "linear",
	 .label = "transposed, relu",
	 .cfg = {.out = 4, .transposed = true, .act = MR_ACT_RELU},
	 .in = {NUMBERS(1, 5)}},
	{.layer = "linear",
	 .label = "one weight",
	 .cfg = {.out = 1, .no_bias = true, .std = -1, .value = 0.5},
	 .in = {NUMBERS(1, 1)}},
	{.layer = "linear",
	 .label = "wide, gelu",
	 .cfg = {.out = 40, .act = MR_ACT_GELU},
	 .in = {NUMBERS(3, 19)}},
	{.layer = "embedding",
	 .label = "positions to spare",
	 .cfg = {.out = 3, .vocab = 6, .context = 7},
	 .in = {TOKENS(4)}},
	{.layer = "embedding",
	 .label = "all positions",
	 .cfg = {.out = 5, .vocab = 11, .context = 4},
	 .in = {TOKENS(4)}},
	{.layer = "embedding", .label = "tokens only", .cfg = {.out = 4, .vocab = 5}, .in = {TOKENS(3)}},
	{.layer = "layer_norm", .label = "default eps", .in = {NUMBERS(2, 7)}},
	{.layer = "layer_norm", .label = "large eps", .cfg = {.eps = 0.5}, .in = {NUMBERS(1, 4)}},
	{.layer = "attention", .label = "two heads", .cfg = {.heads = 2}, .in = {NUMBERS(5, 18)}},
	{.layer = "attention", .label = "one head", .cfg = {.heads = 1}, .in = {NUMBERS(4, 9)}},
	{.layer = "attention", .label = "one token", .cfg = {.heads = 2}, .in = {NUMBERS(1, 12)}},
	{.layer = "attention", .label = "wide head", .cfg = {.heads = 1}, .in = {NUMBERS(9, 51)}},
	{.layer = "residual", .label = "", .in = {NUMBERS(2, 5), NUMBERS(2, 5)}},
	{.layer = "dropout", .label = "0.4", .cfg = {.rate = 0.4}, .in = {NUMBERS(3, 7)}},
	{.layer = "dropout", .label = "rate 0", .cfg = {.rate = 0}, .in = {NUMBERS(1, 4)}},
	{.layer = "dropout", .label = "evaluation", .cfg = {.rate = 0.4}, .in = {NUMBERS(2, 4)}, .eval = true},
	{.layer = "softmax_xent", .label = "sequence", .in = {NUMBERS(3, 5)}, .target = TOKENS(3)},
	{.layer = "softmax_xent", .label = "many classes", .in = {NUMBERS(1, 37)}, .target = TOKENS(1)},
	{.layer = "mse", .label = "", .in = {NUMBERS(2, 3)}, .target = NUMBERS(2, 3)},
	{.layer = "margin", .label = "first of two", .cfg = {.out = 5, .first = true}, .in = {NUMBERS(1, 9)}},
	{.layer = "margin", .label = "last, alone", .cfg = {.out = 4}, .in = {NUMBERS(1, 5)}},
	{.layer = "margin", .label = "with penalty", .cfg = {.out = 6, .l2 = 0.3}, .in = {NUMBERS(1, 11)}},
	{.layer = "margin",
	 .label = "all, with penalty",
	 .cfg = {.out = 7, .first = true, .l2 = 0.5},
	 .in = {NUMBERS(1, 7)}},
	{.layer = "logistic", .label = "margin alone", .in = {NUMBERS(1, 1)}, .target = NUMBERS(1, 1)},
	{.layer = "logistic", .label = "with penalty", .in = {NUMBERS(1, 2)}, .target = NUMBERS(1, 1)},
	{.layer = "mse", .label = "one number", .in = {NUMBERS(1, 1)}, .target = NUMBERS(1, 1)},
};

const layer_case *layer_case_at(size_t i)
{
	return i < sizeof(cases) / sizeof(cases[0]) ? &cases[i] : NULL;
}
