/*
 * attention.c - multi-head self-attention between its projections, which are linear layers of their own.
 *
 *	qkv [samples * T, (H + 2 K) d]: q, k, v side by side, of H, K and K heads, each d wide   y [samples * T, H d]
 *	per sample and head: S = q k^T / sqrt(d), row t sees columns 0..t (bidirectional: all); P = softmax(S); y = P v
 *	I: dv = P^T dy, dP = dy v^T, dS = P * (dP - rowsum(dP * P)), dq = dS k / sqrt(d), dk = dS^T q / sqrt(d)
 *
 * Vaswani et al.: "Attention is all you need", 2017, eq. 1. With K < H, heads of q share k and v by groups of H / K
 * that follow each other, whose dk and dv are summed (Ainslie et al.: "GQA", 2023). What F saves for I (the
 * probabilities) is the kernels' business. FLOPs count the full T x T square (4 T^2 H d forward, 8 T^2 H d backward),
 * causal or not, as model FLOPs usually do. Reads of the configuration: heads, kv_heads, bidirectional.
 */
#include "nn/layers/shared.h"

/* Heads of q, k and v. */
static int64_t all_heads(const mr_layer_cfg *cfg)
{
	return cfg->heads + 2 * (cfg->kv_heads ? cfg->kv_heads : cfg->heads);
}

static mr_attn describe(const mr_layer_cfg *cfg, mr_shape in, int64_t samples)
{
	return (mr_attn){.samples = samples, .t = in.rows, .heads = cfg->heads, .dim = in.cols / all_heads(cfg),
			 .kv_heads = cfg->kv_heads, .bidirectional = cfg->bidirectional};
}

static mr_status attention_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers("attention", in[0]));
	MR_TRY(mr_layer_check_heads("attention", cfg));
	if (cfg->kv_heads && in[0].cols % all_heads(cfg) != 0)
		return mr_fail(MR_ECONFIG, "attention cannot share %lld columns among %lld heads of q, %lld of k and v",
			       (long long)in[0].cols, (long long)cfg->heads, (long long)cfg->kv_heads);
	if (in[0].cols % 3 != 0 && !cfg->kv_heads)
		return mr_fail(MR_ECONFIG, "attention takes q, k and v side by side: %lld columns are no multiple of 3",
			       (long long)in[0].cols);
	if (in[0].cols % all_heads(cfg) != 0)
		return mr_fail(MR_ECONFIG, "attention cannot share a width of %lld among %lld heads",
			       (long long)in[0].cols / 3, (long long)cfg->heads);
	*out = (mr_shape){.rows = in[0].rows, .cols = in[0].cols / all_heads(cfg) * cfg->heads};
	return MR_OK;
}

static void attention_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			    mr_layer_needs *out)
{
	mr_attn a = describe(cfg, in[0], samples);
	double square = (double)a.t * (double)a.t * (double)(a.heads * a.dim) * (double)samples;
	size_t dqkv = mr_layer_bytes(k, mr_layer_count(in[0], samples)); /* one that is to be added to what is there */

	*out = (mr_layer_needs){.x_i = true, .flops_f = 4 * square, .flops_i = 8 * square};
	if (k) {
		k->attn_saved(&a, &out->aux_i);
		out->scratch = mr_layer_align(k->attn_scratch_bytes(&a)) + dqkv;
	}
}

/* Of one sample: keys and values [kv_heads, room, dim] of the rows so far, and scratch of attend_past. */
typedef struct past {
	size_t heads;    /* bytes of keys, as many as of values */
	size_t scores;
} past;

static past past_of(const mr_attn *a, int64_t room, const mr_kernels *k)
{
	return (past){.heads = mr_layer_align(mr_layer_bytes(k, mr_attn_kv_heads(a) * room * a->dim)),
		      .scores = mr_layer_align(mr_layer_compute_bytes(k, a->heads * (room + a->dim)))};
}

static size_t attention_past_bytes(const mr_layer_cfg *cfg, const mr_shape *in, const mr_kernels *k)
{
	mr_attn a = describe(cfg, in[0], 1);
	past p = past_of(&a, in->rows, k);

	return 2 * p.heads + p.scores;
}

static bool attention_decodes(const mr_layer_cfg *cfg)
{
	return !cfg->bidirectional;
}

/* Keys and values of the first rows go to where those of the next ones find them. */
static void keep(const mr_layer_call *c, const mr_attn *a)
{
	int64_t kv = mr_attn_kv_heads(a), pitch = mr_attn_width(a);
	past p = past_of(a, c->past->room, c->k);
	size_t one = mr_layer_bytes(c->k, 1), row = (size_t)a->dim * one;
	const char *k = (const char *)c->x[0] + (size_t)(a->heads * a->dim) * one;
	char *keys = c->past->memory, *values = keys + p.heads;

	for (int64_t h = 0; h < kv; h++)
		for (int64_t i = 0; i < a->t; i++) {
			size_t from = (size_t)(i * pitch + h * a->dim) * one;
			size_t to = (size_t)(h * c->past->room + i) * row;

			mr_layer_copy(c, keys + to, k + from, row);
			mr_layer_copy(c, values + to, k + (size_t)(kv * a->dim) * one + from, row);
		}
}

static mr_status attend_next(const mr_layer_call *c, const mr_attn *a)
{
	past p = past_of(a, c->past->room, c->k);
	char *keys = c->past->memory;

	return c->k->attend_past(c->kc, &(mr_attend_past_args){.p = a, .first = c->past->first, .room = c->past->room,
							       .qkv = c->x[0], .keys = keys, .values = keys + p.heads,
							       .scores = keys + 2 * p.heads, .y = c->y[0]});
}

static mr_status attention_forward(const mr_layer_call *c)
{
	mr_attn a = describe(c->cfg, c->in[0], c->samples);

	if (mr_layer_is_next_row(c))
		return attend_next(c, &a);
	if (c->past)
		keep(c, &a);
	return c->k->attn(c->kc, &(mr_attn_args){.a = &a, .qkv = c->x[0], .y = c->y[0], .saved = c->aux_i,
						 .scratch = c->scratch});
}

static mr_status attention_backward_input(const mr_layer_call *c)
{
	mr_attn a = describe(c->cfg, c->in[0], c->samples);
	void *dqkv = c->dx[0];

	if (!dqkv)
		return MR_OK;
	if (c->dx_add[0])
		dqkv = (char *)c->scratch + mr_layer_align(c->k->attn_scratch_bytes(&a));
	MR_TRY(c->k->attn_backward(c->kc, &(mr_attn_backward_args){.a = &a, .qkv = c->x[0], .saved = c->aux_i,
								   .dy = c->dy[0], .dqkv = dqkv,
								   .scratch = c->scratch}));
	return mr_layer_add_made(c, 0, dqkv);
}

const mr_layer_ops mr_layer_attention = {
	.name = "attention",
	.summary = "multi-head self-attention without its projections, causal or not",
	.n_in = 1,
	.shape = attention_shape,
	.needs = attention_needs,
	.forward = attention_forward,
	.decodes = attention_decodes,
	.past_bytes = attention_past_bytes,
	.backward_input = attention_backward_input,
};
