/*
 * llama.c - Llama: a decoder-only transformer with RMS norms, rotary positions, gated units and grouped heads.
 *
 *	model.embed_tokens -> [model.layers.0] -> ... -> [model.layers.L-1] -> model.norm -> lm_head -> loss
 *
 *	block:  n = input_layernorm(x)
 *	        h = x + self_attn.o_proj(attention(rope(self_attn.q_proj(n), self_attn.k_proj(n)), self_attn.v_proj(n)))
 *	        n = post_attention_layernorm(h)
 *	        y = h + mlp.down_proj(silu(mlp.gate_proj(n)) * mlp.up_proj(n))
 *
 * Touvron et al.: "LLaMA", 2023; grouped heads as in Llama 2. Parameters carry the names and shapes of Hugging Face's
 * LlamaForCausalLM: matrices are [out, in] (y = x W^T), and the two numbers of a rotated pair are half a head apart.
 * There are no biases, but with `bias` queries, keys and values have one each, as in Qwen2ForCausalLM, or all four
 * projections of the attention, as with attention_bias of Hugging Face's Llama; they start at 0. A tied head uses
 * model.embed_tokens.weight, and lm_head.weight then has no storage.
 *
 * Initial weights as there: normal with deviation init_std, gains 1. A stage may begin at any layer; in front of
 * input_layernorm, post_attention_layernorm, model.norm and lm_head a single value crosses the boundary.
 */
#include "models/compose.h"

#include <stdio.h>
#include <string.h>

static const mr_option options[] = {
	{"layers", MR_OPT_INT, "4", 1, 1000, NULL, NULL, "number of blocks"},
	{"width", MR_OPT_INT, "128", 1, 1000000, NULL, NULL, "width of the residual stream"},
	{"heads", MR_OPT_INT, "4", 1, 1000000, NULL, NULL, "attention heads; must divide the width into even numbers"},
	{"kv_heads", MR_OPT_INT, "0", 0, 1000000, NULL, NULL,
	 "heads of keys and values, shared by equal groups of attention heads; 0: as many as heads"},
	{"hidden", MR_OPT_INT, "0", 0, 10000000, NULL, NULL,
	 "width of the gated unit; 0: 8/3 of the width, rounded up to a multiple of 16"},
	{"context", MR_OPT_INT, "128", 1, 1000000, NULL, "tokens", "length of a sample"},
	{"rope_theta", MR_OPT_FLOAT, "10000", 1, 1e12, NULL, NULL, "base of the rotary positions' wavelengths"},
	{"eps", MR_OPT_FLOAT, "1e-5", 1e-12, 1, NULL, NULL, "what RMS norms add to the mean square"},
	{"bias", MR_OPT_ENUM, "none", 0, 0, "none|qkv|attention", NULL,
	 "biases: none, as Llama; of queries, keys and values, as Qwen2; or also of the attention's output"},
	{"tied", MR_OPT_BOOL, "false", 0, 0, NULL, NULL, "the head shares the weights of the token embedding"},
	{"init_std", MR_OPT_FLOAT, "0.02", 1e-6, 10, NULL, NULL,
	 "standard deviation of initial weights; Llama has 0.02, a narrow model learns sooner with about 0.7 / "
	 "sqrt(width)"},
	MR_COMPOSE_SMOOTHING,
	{NULL},
};

typedef struct mr_llama {
	mr_compose m;
	int64_t layers, width, heads, kv_heads, hidden;
	double theta, eps, std;
	bool qkv_bias, out_bias;
} mr_llama;

static int64_t llama_context(const mr_values *values)
{
	return mr_values_int(values, "context");
}

static uint16_t norm(mr_llama *l, const char *name, uint16_t x)
{
	return mr_compose_add(&l->m, "rms_norm", name, &(mr_layer_cfg){.eps = l->eps}, x);
}

static uint16_t biased(mr_llama *l, const char *name, int64_t out, bool bias, uint16_t x)
{
	mr_layer_cfg cfg = {.out = out, .no_bias = !bias, .transposed = true, .std = l->std};

	return mr_compose_add(&l->m, "linear", name, &cfg, x);
}

static uint16_t linear(mr_llama *l, const char *name, int64_t out, uint16_t x)
{
	return biased(l, name, out, false, x);
}

static uint16_t block(mr_llama *l, uint16_t x)
{
	mr_layer_cfg heads = {.heads = l->heads, .kv_heads = l->kv_heads}, turns = heads;
	int64_t kv_width = l->width / l->heads * l->kv_heads;
	uint16_t n, h, qkv[3];

	turns.theta = l->theta;
	n = norm(l, "input_layernorm", x);
	qkv[0] = biased(l, "self_attn.q_proj", l->width, l->qkv_bias, n);
	qkv[1] = biased(l, "self_attn.k_proj", kv_width, l->qkv_bias, n);
	qkv[2] = biased(l, "self_attn.v_proj", kv_width, l->qkv_bias, n);
	h = mr_compose_gather(&l->m, "rope", "self_attn.rope", &turns, qkv, 3);
	h = mr_compose_add(&l->m, "attention", "self_attn.core", &heads, h);
	h = biased(l, "self_attn.o_proj", l->width, l->out_bias, h);
	x = mr_compose_join(&l->m, "residual", "self_attn.add", x, h);

	n = norm(l, "post_attention_layernorm", x);
	h = linear(l, "mlp.gate_proj", l->hidden, n);
	h = mr_compose_join(&l->m, "swiglu", "mlp.swiglu", h, linear(l, "mlp.up_proj", l->hidden, n));
	h = linear(l, "mlp.down_proj", l->width, h);
	return mr_compose_join(&l->m, "residual", "mlp.add", x, h);
}

static mr_status check(const mr_llama *l, const mr_model_data *data)
{
	if (!data->input.tokens || data->classes < 1)
		return mr_fail(MR_ECONFIG, "takes tokens, the data has %lld x %lld numbers a sample",
			       (long long)data->input.rows, (long long)data->input.cols);
	if (l->width % (2 * l->heads) != 0)
		return mr_fail(MR_ECONFIG, "heads: %lld heads cannot share a width of %lld in even numbers",
			       (long long)l->heads, (long long)l->width);
	if (l->heads % l->kv_heads != 0)
		return mr_fail(MR_ECONFIG, "kv_heads: %lld heads cannot share %lld heads of keys and values evenly",
			       (long long)l->heads, (long long)l->kv_heads);
	return MR_OK;
}

static mr_status llama_build(const mr_values *values, const mr_model_data *data, mr_graph **out)
{
	const char *bias = mr_values_string(values, "bias");
	int64_t kv_heads = mr_values_int(values, "kv_heads"), hidden = mr_values_int(values, "hidden");
	mr_llama l = {
		.layers = mr_values_int(values, "layers"),
		.width = mr_values_int(values, "width"),
		.heads = mr_values_int(values, "heads"),
		.theta = mr_values_float(values, "rope_theta"),
		.eps = mr_values_float(values, "eps"),
		.std = mr_values_float(values, "init_std"),
		.qkv_bias = strcmp(bias, "none") != 0,
		.out_bias = !strcmp(bias, "attention"),
	};
	mr_layer_cfg embed = {.out = l.width, .vocab = data->classes, .std = l.std};
	char stem[48];
	uint16_t x;

	*out = NULL;
	l.kv_heads = kv_heads ? kv_heads : l.heads;
	l.hidden = hidden ? hidden : ((8 * l.width + 2) / 3 + 15) / 16 * 16;
	MR_TRY(check(&l, data));
	mr_compose_init(&l.m, data);
	x = mr_compose_add(&l.m, "embedding", "model.embed_tokens", &embed, 0);
	for (int64_t i = 0; i < l.layers; i++) {
		snprintf(stem, sizeof(stem), "model.layers.%lld", (long long)i);
		l.m.stem = stem;
		x = block(&l, x);
	}
	l.m.stem = NULL;
	x = linear(&l, "lm_head", data->classes, norm(&l, "model.norm", x));
	mr_compose_classify(&l.m, values, &(mr_layer_cfg){0}, x);
	if (mr_values_bool(values, "tied"))
		mr_compose_tie(&l.m, "lm_head.weight", "model.embed_tokens.weight");
	return mr_compose_finish(&l.m, out);
}

const mr_model_ops mr_model_llama = {
	.name = "llama",
	.summary = "Llama: RMS norms, rotary positions, gated units, grouped heads",
	.options = options,
	.context = llama_context,
	.build = llama_build,
};
