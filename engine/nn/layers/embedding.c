/*
 * embedding.c - a row of numbers for every token, plus one for its position.
 *
 *	tokens [samples * T, 1] int32   wte [vocab, C]   wpe [context, C], T <= context
 *	F: y[r] = wte[token[r]] + wpe[r mod T]
 *	W: dwte[v] = sum of dy[r] where token[r] = v, dwpe[t] = sum of dy[r] where r mod T = t, rows ascending
 *
 * Tokens have no gradient, so I does nothing. A context of 0 leaves the position table out. The tables carry their
 * GPT-2 names whatever the node is called. Initial values: normal with cfg.std, by default 0.02 (GPT-2). Reads of the
 * configuration: out (C), vocab, context, std.
 */
#include "nn/layers/shared.h"

#include <string.h>

static mr_status embedding_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	if (!in[0].tokens || in[0].cols != 1)
		return mr_fail(MR_ECONFIG, "embedding takes one token a row, got %lld columns of %s",
			       (long long)in[0].cols, in[0].tokens ? "tokens" : "numbers");
	if (cfg->out < 1 || cfg->vocab < 1)
		return mr_fail(MR_ECONFIG, "embedding needs a width and a vocabulary of at least 1, got %lld and %lld",
			       (long long)cfg->out, (long long)cfg->vocab);
	if (cfg->context != 0 && in[0].rows > cfg->context)
		return mr_fail(MR_ECONFIG, "embedding knows %lld positions, a sample has %lld tokens",
			       (long long)cfg->context, (long long)in[0].rows);
	*out = (mr_shape){.rows = in[0].rows, .cols = cfg->out};
	return MR_OK;
}

static uint32_t embedding_params(const mr_layer_cfg *cfg, mr_shape in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)in;
	spec[0] = (mr_param_spec){
		.suffix = "wte.weight",
		.rank = 2,
		.dim = {cfg->vocab, cfg->out},
		.init = MR_INIT_NORMAL,
		.std = cfg->std > 0 ? cfg->std : 0.02,
		.decay = true,
	};
	if (cfg->context == 0)
		return 1;
	spec[1] = spec[0];
	spec[1].suffix = "wpe.weight";
	spec[1].dim[0] = cfg->context;
	return 2;
}

/* Where in scratch a gradient that goes onto another is made: in the table of those tokens alone that occur. In front of it all
 * stand the tokens' places in that table, [vocab] int32, from 1; 0: it does not occur. */
typedef struct few {
	size_t token;  /* [rows] int32: by place */
	size_t placed; /* [rows] int32: the place of each row's token */
	size_t table;  /* [rows, C] */
	size_t bytes;  /* of all */
} few;

static few few_of(const mr_layer_cfg *cfg, int64_t rows, const mr_kernels *k)
{
	size_t of_rows = mr_layer_align((size_t)rows * sizeof(int32_t));
	few f = {.token = mr_layer_align((size_t)cfg->vocab * sizeof(int32_t))};

	f.placed = f.token + of_rows;
	f.table = f.placed + of_rows;
	f.bytes = f.table + mr_layer_bytes(k, rows * cfg->out);
	return f;
}

static void embedding_needs(const mr_layer_cfg *cfg, mr_shape in, int64_t samples, const mr_kernels *k,
			    mr_layer_needs *out)
{
	*out = (mr_layer_needs){.scratch = k ? few_of(cfg, samples * in.rows, k).bytes : 0, .x_w = true, .dy_w = true};
}

static mr_status embedding_forward(const mr_layer_call *c)
{
	c->k->embed(c->kc, mr_layer_rows(c), c->in.rows, c->out.cols, c->x[0], c->w[0],
		    c->cfg->context ? c->w[1] : NULL, c->y);
	return MR_OK;
}

/* The gradient of the tokens that occur, added to what their rows of dw[0] hold. */
static void add_few(const mr_layer_call *c, void *dwpe)
{
	int64_t rows = mr_layer_rows(c), cols = c->out.cols, n = 0;
	size_t bytes = mr_layer_bytes(c->k, cols);
	few f = few_of(c->cfg, rows, c->k);
	char *scratch = c->scratch, *table = scratch + f.table;
	int32_t *place = c->scratch, *of = (int32_t *)(void *)(scratch + f.token);
	int32_t *placed = (int32_t *)(void *)(scratch + f.placed);
	const int32_t *token = c->x[0];

	memset(place, 0, (size_t)c->cfg->vocab * sizeof(int32_t));
	for (int64_t r = 0; r < rows; r++) {
		if (!place[token[r]]) {
			of[n] = token[r];
			place[token[r]] = (int32_t)++n;
		}
		placed[r] = place[token[r]] - 1;
	}
	c->k->embed_backward(c->kc, rows, c->in.rows, cols, n, placed, c->dy, table, dwpe, false);
	for (int64_t i = 0; i < n; i++) {
		char *dw = (char *)c->dw[0] + (size_t)of[i] * bytes;

		c->k->sum(c->kc, cols, table + (size_t)i * bytes, dw, dw);
	}
}

static mr_status embedding_backward_weight(const mr_layer_call *c)
{
	int64_t t = c->in.rows, cols = c->out.cols, spare = c->cfg->context - t;
	void *dwpe = c->cfg->context ? c->dw[1] : NULL;

	if (c->dw_onto & 1)
		add_few(c, dwpe);
	else
		c->k->embed_backward(c->kc, mr_layer_rows(c), t, cols, c->cfg->vocab, c->x[0], c->dy, c->dw[0], dwpe,
				     c->dw_add);
	if (dwpe && spare > 0 && !c->dw_add) /* positions that this run never uses; the kernel knows t rows only */
		memset((char *)dwpe + mr_layer_bytes(c->k, t * cols), 0, mr_layer_bytes(c->k, spare * cols));
	return MR_OK;
}

const mr_layer_ops mr_layer_embedding = {
	.name = "embedding",
	.summary = "token embedding plus learned positions",
	.n_in = 1,
	.shape = embedding_shape,
	.params = embedding_params,
	.needs = embedding_needs,
	.forward = embedding_forward,
	.backward_input = mr_layer_pass,
	.backward_weight = embedding_backward_weight,
	.onto = 1, /* the table of tokens */
};
