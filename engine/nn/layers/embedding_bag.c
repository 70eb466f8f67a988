/*
 * embedding_bag.c - the sum, or the mean, of some rows of a table for every bag of tokens.
 *
 *	tokens [samples * T, W] int32, of which columns column .. column + bag - 1 are a bag   weight [vocab, C]
 *	F: y[r] = sum over the bag's tokens k of weight[k mod vocab], in their order; mean: divided by their number
 *	W: dweight[v] = sum of dy[r] (mean: over the number in the bag) for all tokens of v, rows and columns ascending
 *
 * A negative token is none: a bag that has only such gives zeros and gets no gradient. Any other number is a row modulo
 * vocab, so tokens may be hashes, and a table can be smaller than its column has values. The row that a token meets
 * twice in one bag counts twice. Tokens have no gradient, so I does nothing.
 *
 * A micro-batch meets few rows of a large table: sums may have only those (nn/row_sum.h), and optimizers step only
 * those (nn/lazy_rows.h). Initial values:
 * uniform between +-sqrt(1 / vocab), as in DLRM. Reads of the configuration: out (C), vocab, column, bag (0: 1), mean.
 */
#include <math.h>
#include <string.h>

#include "nn/layers/shared.h"
#include "nn/lazy_rows.h"
#include "nn/row_index.h"

static int64_t size_of(const mr_layer_cfg *cfg)
{
	return cfg->bag ? cfg->bag : 1;
}

static mr_bags bags_of(const mr_layer_call *c)
{
	return (mr_bags){.rows = mr_layer_rows(c), .pitch = c->in->cols, .size = size_of(c->cfg),
			 .vocab = c->cfg->vocab, .cols = c->cfg->out, .mean = c->cfg->mean};
}

static const int32_t *tokens_of(const mr_layer_call *c)
{
	return (const int32_t *)c->x[0] + c->cfg->column;
}

static mr_status bag_shape(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out)
{
	if (!in[0].tokens)
		return mr_fail(MR_ECONFIG, "embedding_bag takes tokens, got numbers");
	if (cfg->out < 1 || cfg->vocab < 1 || cfg->vocab > INT32_MAX)
		return mr_fail(MR_ECONFIG,
			       "embedding_bag needs at least 1 column and 1 to %d rows, got %lld and %lld", INT32_MAX,
			       (long long)cfg->out, (long long)cfg->vocab);
	if (cfg->column < 0 || cfg->bag < 0 || cfg->column + size_of(cfg) > in[0].cols)
		return mr_fail(MR_ECONFIG, "embedding_bag reads %lld tokens from column %lld on, and there are %lld",
			       (long long)size_of(cfg), (long long)cfg->column, (long long)in[0].cols);
	*out = (mr_shape){.rows = in[0].rows, .cols = cfg->out};
	return MR_OK;
}

static uint32_t bag_params(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS])
{
	spec[0] = (mr_param_spec){
		.suffix = "weight",
		.rank = 2,
		.dim = {cfg->vocab, cfg->out},
		.init = MR_INIT_UNIFORM,
		.std = sqrt(1 / (double)cfg->vocab),
		.decay = true,
		.lazy = in->rows * size_of(cfg),
	};
	return 1;
}

/* Scratch: the index of the rows that are met, and their places in a sum. */
static void bag_needs(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		      mr_layer_needs *out)
{
	int64_t places = samples * in->rows * size_of(cfg);

	*out = (mr_layer_needs){
		.x_w = true,
		.dy_w = true,
		.scratch = k ? mr_row_index_bytes(places) + (size_t)places * sizeof(int32_t) : 0,
	};
}

static mr_status bag_forward(const mr_layer_call *c)
{
	mr_bags b = bags_of(c);
	mr_bag_args o = {.b = &b, .tokens = tokens_of(c), .table = c->w[0], .version = c->version, .y = c->y[0]};

	o.old = c->old_rows && c->version != *c->old_rows->latest ? c->old_rows : NULL;
	return c->k->bag(c->kc, &o);
}

static void clear(const void *args, int64_t lo, int64_t hi)
{
	memset((char *)(uintptr_t)args + lo, 0, (size_t)(hi - lo));
}

/* Find the rows that the micro-batch meets; a recorder sees none. */
static void meet(const mr_layer_call *c, const mr_bags *b, mr_row_index *met)
{
	const int32_t *tokens = tokens_of(c);

	*met = (mr_row_index){0};
	if (c->k->recorded)
		return;
	mr_row_index_begin(met, b->rows * b->size, c->scratch);
	for (int64_t i = 0; i < b->rows; i++) {
		for (int64_t k = 0; k < b->size; k++) {
			int32_t token = tokens[i * b->pitch + k];

			if (token >= 0)
				mr_row_index_meet(met, (int32_t)mr_bag_row(b, token), (int32_t)(i * b->size + k));
		}
	}
}

/* The gradient of the whole table. */
static mr_status whole_gradient(const mr_layer_call *c, mr_bag_backward_args *o)
{
	size_t bytes = (size_t)(o->b->vocab * o->b->cols) * mr_dtype_bytes(c->k->types.gradients);

	if (!c->dw_add)
		MR_TRY(c->k->ranges(c->kc, &(mr_ranges_args){.n = (int64_t)bytes, .fn = clear, .args = o->dw}));
	o->place = o->met->row;
	o->rows = o->b->vocab;
	return c->k->bag_backward(c->kc, o);
}

/* The gradients of the rows that are met alone, at the beginning of the table's, and their steps: the work follows from
 * the micro-batch, not from the table. */
static mr_status step_rows(const mr_layer_call *c, mr_bag_backward_args *o)
{
	int64_t cols = o->b->cols;
	size_t row = (size_t)cols * mr_dtype_bytes(c->k->types.gradients);

	o->rows = o->met->n;
	MR_TRY(c->k->bag_backward(c->kc, o));
	for (int32_t i = 0; i < o->met->n; i++) {
		mr_step one = mr_step_shifted(&c->step[0], &c->k->types, o->met->row[i] * cols);

		if (c->old_rows)
			mr_old_rows_save(c->old_rows, o->met->row[i], one.src);
		MR_TRY(mr_lazy_step(c->k, c->kc, cols, cols, &one, (char *)o->dw + (size_t)i * row, NULL));
	}
	return MR_OK;
}

/* Add to a sum of rows, and step those. */
static mr_status sum_rows(const mr_layer_call *c, mr_bag_backward_args *o, const mr_step *step)
{
	mr_row_sum sum = mr_row_sum_at(c->dw[0], c->sum_rows, o->b->cols, c->k->types.gradients);
	int32_t *place = (int32_t *)(void *)((char *)c->scratch + mr_row_index_bytes(o->b->rows * o->b->size));

	if (!c->dw_add && !c->k->recorded)
		mr_row_sum_clear(&sum);
	for (int32_t i = 0; i < o->met->n; i++)
		place[i] = mr_row_sum_place(&sum, o->met->row[i], c->dw_add);
	o->place = place;
	o->dw = sum.value;
	o->rows = sum.most;
	MR_TRY(c->k->bag_backward(c->kc, o));
	return step ? mr_lazy_step_rows(c->k, c->kc, o->b->vocab * o->b->cols, step, &sum, c->old_rows) : MR_OK;
}

static mr_status bag_backward_weight(const mr_layer_call *c)
{
	const mr_step *step = c->step && c->step[0].dst ? &c->step[0] : NULL;
	mr_bags b = bags_of(c);
	mr_row_index met;
	mr_bag_backward_args o = {.b = &b, .met = &met, .tokens = tokens_of(c), .dy = c->dy[0], .dw = c->dw[0],
				  .add = c->dw_add};

	meet(c, &b, &met);
	if (c->sum_rows)
		return sum_rows(c, &o, step);
	if (step && step->dst == step->src && !c->dw_add)
		return step_rows(c, &o);
	MR_TRY(whole_gradient(c, &o));
	return step ? mr_lazy_step(c->k, c->kc, b.cols, b.vocab * b.cols, step, o.dw, c->old_rows) : MR_OK;
}

const mr_layer_ops mr_layer_embedding_bag = {
	.name = "embedding_bag",
	.summary = "sum or mean of the rows of a table that a bag of tokens names",
	.n_in = 1,
	.shape = bag_shape,
	.params = bag_params,
	.needs = bag_needs,
	.forward = bag_forward,
	.backward_input = mr_layer_pass,
	.backward_weight = bag_backward_weight,
	.steps = 1,
};
