/*
 * embedding.c - a row of numbers for every token, plus one for its position.
 *
 *	tokens [samples * T, 1] int32   wte [vocab, C]   wpe [context, C], T <= context
 *	F: y[r] = wte[token[r]] + wpe[r mod T]
 *	W: dwte[v] = sum of dy[r] where token[r] = v, dwpe[t] = sum of dy[r] where r mod T = t, rows ascending
 *
 * Tokens have no gradient, so I does nothing. The tables carry their GPT-2 names whatever the node is called. A context
 * of 0 leaves the position table out, and the other one is the node's weight. Initial values: normal with cfg.std, by
 * default 0.02 (GPT-2). With a rate, each word of the vocabulary is left out of a step with that probability, wherever
 * it occurs, and the others are multiplied by 1 / (1 - rate) (embedding dropout: Gal, Ghahramani, 2016): I leaves dy
 * through this mask in `kept` for W.
 *
 * With parts, of a share of several: it has the rows of `vocab` words from first_row on alone, and what it writes is 0
 * where the token is another share's; the first share adds the positions, whose gradient is the same at all. y is the
 * sum over shares. Reads of the configuration: out (C), vocab, context, std, rate (without positions), parts (of the
 * vocabulary), first_row.
 */
#include "nn/layers/masks.h"

static mr_status embedding_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	if (!in[0].tokens || in[0].cols != 1)
		return mr_fail(MR_ECONFIG, "embedding takes one token a row, got %lld columns of %s",
			       (long long)in[0].cols, in[0].tokens ? "tokens" : "numbers");
	if (cfg->out < 1 || cfg->vocab < 1)
		return mr_fail(MR_ECONFIG, "embedding needs a width and a vocabulary of at least 1, got %lld and %lld",
			       (long long)cfg->out, (long long)cfg->vocab);
	if (cfg->context != 0 && in[0].rows > cfg->context)
		return mr_fail(MR_ECONFIG, "the embedding has %lld positions, and a sample has %lld tokens",
			       (long long)cfg->context, (long long)in[0].rows);
	if (!(cfg->rate >= 0 && cfg->rate < 1) || (cfg->rate > 0 && cfg->context))
		return mr_fail(MR_ECONFIG, "an embedding needs a rate from 0 to below 1, and 0 with positions, got %g",
			       cfg->rate);
	*out = (mr_shape){.rows = in[0].rows, .cols = cfg->out};
	return MR_OK;
}

static uint32_t embedding_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	(void)in;
	spec[0] = (mr_param_spec){
		.suffix = cfg->context ? "wte.weight" : "weight",
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

/* Scratch for the number of a word of each row; behind it W has room for rows of gradients. */
static size_t words_bytes(int64_t rows)
{
	return mr_layer_align((size_t)rows * sizeof(int32_t));
}

static void embedding_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
			    mr_layer_needs *out)
{
	*out = (mr_layer_needs){.x_w = true, .dy_w = true};
	if (cfg->rate > 0)
		*out = (mr_layer_needs){.x_i = true, .x_w = true};
	if (cfg->rate > 0)
		mr_saved_add(&out->kept, "gradient through the mask of words",
			     mr_layer_bytes(k, samples * in->rows * cfg->out));
	if (k && cfg->parts > 1)
		out->scratch = words_bytes(samples * in->rows) + mr_layer_bytes(k, samples * in->rows * cfg->out);
}

static bool is_masked(const mr_layer_call *c)
{
	return c->train && c->cfg->rate > 0;
}

/* The positions from that of the first row on. */
static const void *positions(const mr_layer_call *c)
{
	int64_t first = c->past ? c->past->first : 0;

	if (!c->cfg->context)
		return NULL;
	return (const char *)c->w[1] + (size_t)(first * c->out->cols) * mr_dtype_bytes(c->k->types.weights);
}

/* Has this share the word of row @r? *@word: its number here. */
static bool has_word(const mr_layer_call *c, int64_t r, int32_t *word)
{
	int64_t i = ((const int32_t *)c->x[0])[r] - c->cfg->first_row;
	bool has = i >= 0 && i < c->cfg->vocab;

	*word = has ? (int32_t)i : 0;
	return has;
}

/* The share's own rows, and 0 or the position elsewhere. */
static mr_status look_up_own(const mr_layer_call *c)
{
	size_t row = mr_layer_bytes(c->k, c->out->cols);
	const char *wpe = c->cfg->first_row ? NULL : positions(c);
	int32_t *word = c->scratch, none;
	char *y = c->y[0];

	for (int64_t r = 0; !c->k->recorded && r < mr_layer_rows(c); r++)
		has_word(c, r, &word[r]);
	MR_TRY(c->k->embed(c->kc, &(mr_embed_args){.rows = mr_layer_rows(c), .t = c->in->rows, .cols = c->out->cols,
						   .vocab = c->cfg->vocab, .tokens = word, .wte = c->w[0], .wpe = wpe,
						   .y = y}));
	for (int64_t r = 0; !c->k->recorded && r < mr_layer_rows(c); r++) {
		if (has_word(c, r, &none))
			continue;
		if (wpe)
			memcpy(y + (size_t)r * row, wpe + (size_t)(r % c->in->rows) * row, row);
		else
			memset(y + (size_t)r * row, 0, row);
	}
	return MR_OK;
}

static mr_status embedding_forward(const mr_layer_call *c)
{
	if (c->cfg->parts > 1)
		MR_TRY(look_up_own(c));
	else
		MR_TRY(c->k->embed(c->kc, &(mr_embed_args){.rows = mr_layer_rows(c), .t = c->in->rows,
							   .cols = c->out->cols, .vocab = c->cfg->vocab,
							   .tokens = c->x[0], .wte = c->w[0], .wpe = positions(c),
							   .y = c->y[0]}));
	if (is_masked(c))
		mr_mask_words(c, mr_layer_rows(c), c->out->cols, c->x[0], c->y[0], c->y[0]);
	return MR_OK;
}

static mr_status embedding_backward_input(const mr_layer_call *c)
{
	if (is_masked(c))
		mr_mask_words(c, mr_layer_rows(c), c->out->cols, c->x[0], c->dy[0], c->kept);
	return MR_OK;
}

/* The gradient of the share's own rows, and that of all positions, as if they were words. */
static mr_status gradient_of_own(const mr_layer_call *c, const void *dy, void *dwpe)
{
	int64_t n = 0, rows = mr_layer_rows(c), t = c->in->rows, cols = c->out->cols;
	size_t row = mr_layer_bytes(c->k, cols);
	int32_t *word = c->scratch;
	char *own = (char *)c->scratch + words_bytes(rows);
	mr_embed_backward_args e = {.t = t, .cols = cols, .tokens = word, .add = c->dw_add};

	for (int64_t r = 0; !c->k->recorded && r < rows; r++)
		if (has_word(c, r, &word[n]))
			memcpy(own + (size_t)n++ * row, (const char *)dy + (size_t)r * row, row);
	e.rows = c->k->recorded ? rows : n;
	e.vocab = c->cfg->vocab;
	e.dy = own;
	e.dwte = c->dw[0];
	MR_TRY(c->k->embed_backward(c->kc, &e));
	for (int64_t r = 0; !c->k->recorded && r < rows; r++)
		word[r] = (int32_t)(r % t);
	e.rows = rows;
	e.vocab = t;
	e.dy = dy;
	e.dwte = dwpe;
	return dwpe ? c->k->embed_backward(c->kc, &e) : MR_OK;
}

static mr_status embedding_backward_weight(const mr_layer_call *c)
{
	int64_t t = c->in->rows, cols = c->out->cols, spare = c->cfg->context - t;
	size_t each = mr_dtype_bytes(c->k->types.gradients);
	void *dwpe = c->cfg->context ? c->dw[1] : NULL;
	const void *dy = is_masked(c) ? c->kept : c->dy[0];
	const mr_sparse_rows *f = c->sparse_rows; /* then the table has but the tokens that occur */

	if (c->cfg->parts > 1)
		MR_TRY(gradient_of_own(c, dy, dwpe));
	else
		MR_TRY(c->k->embed_backward(
			c->kc, &(mr_embed_backward_args){.rows = mr_layer_rows(c), .t = t, .cols = cols,
							 .vocab = f ? f->n : c->cfg->vocab,
							 .tokens = f ? f->placed : c->x[0], .dy = dy,
							 .dwte = f ? f->last : c->dw[0], .dwpe = dwpe,
							 .add = c->dw_add}));
	if (f && f->whole)
		MR_TRY(mr_sparse_rows_add(f, c->k, c->kc));
	else if (f)
		MR_TRY(mr_sparse_rows_step(f, c->k, c->kc, &c->step[0]));
	if (dwpe && spare > 0 && !c->dw_add) /* positions that this run never uses; the kernel writes t rows only */
		mr_layer_clear(c, (char *)dwpe + (size_t)(t * cols) * each, (size_t)(spare * cols) * each);
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
	.decodes = mr_layer_by_rows, /* which know their position */
	.backward_input = embedding_backward_input,
	.backward_weight = embedding_backward_weight,
	.sparse_rows = MR_SPARSE_ROWS_LAST,
};
