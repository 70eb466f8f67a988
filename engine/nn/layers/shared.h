/*
 * shared.h - code that several layers share. Only for the files of this folder.
 *
 * Each file ends in its mr_layer_ops; the header of the folder's contract is nn/layer.h.
 */
#ifndef MR_NN_LAYERS_SHARED_H
#define MR_NN_LAYERS_SHARED_H

#include <string.h>

#include "nn/layer.h"

#define MR_LAYER(id) extern const mr_layer_ops mr_layer_##id;
#include "nn/layers/layers.def"
#undef MR_LAYER

/* Rows of a micro-batch's input 0. */
static inline int64_t mr_layer_rows(const mr_layer_call *c)
{
	return c->samples * c->in->rows;
}

/* Elements of a micro-batch of @samples values of shape @s. */
static inline int64_t mr_layer_count(mr_shape s, int64_t samples)
{
	return samples * mr_shape_count(s);
}

/* Bytes of @n elements of an activation; 0 without kernels. */
static inline size_t mr_layer_bytes(const mr_kernels *k, int64_t n)
{
	return k ? (size_t)n * mr_dtype_bytes(k->types.activations) : 0;
}

/* The same for data kept in the compute type. */
static inline size_t mr_layer_compute_bytes(const mr_kernels *k, int64_t n)
{
	return k ? (size_t)n * mr_dtype_bytes(k->types.compute) : 0;
}

/* A start within scratch, or the next part of it: parts begin on cache lines. */
static inline size_t mr_layer_align(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

/* What a layer does with its tensors beside operations; to a recorder, which has none, it does not matter. */
static inline void mr_layer_copy(const mr_layer_call *c, void *to, const void *from, size_t bytes)
{
	if (!c->k->recorded)
		memcpy(to, from, bytes);
}

static inline void mr_layer_clear(const mr_layer_call *c, void *to, size_t bytes)
{
	if (!c->k->recorded)
		memset(to, 0, bytes);
}

/* Add the gradient @made, of input @i, to what is in dx, unless it is there already. */
static inline mr_status mr_layer_add_made(const mr_layer_call *c, int i, const void *made)
{
	if (!c->dx[i] || made == c->dx[i])
		return MR_OK;
	return c->k->sum(c->kc, &(mr_sum_args){.n = mr_layer_count(c->in[i], c->samples), .a = c->dx[i], .b = made,
					       .y = c->dx[i]});
}

/* Where the gradient of input @i is made: in scratch if it is then added to what is in dx. */
static inline void *mr_layer_made(const mr_layer_call *c, int i)
{
	return c->dx_add[i] ? c->scratch : c->dx[i];
}

/* @n numbers of the gradient of input @i at @dx are, or with dx_add are increased by, those at @dy. */
static inline mr_status mr_layer_take(const mr_layer_call *c, int i, void *dx, const void *dy, int64_t n)
{
	if (c->dx_add[i])
		return c->k->sum(c->kc, &(mr_sum_args){.n = n, .a = dx, .b = dy, .y = dx});
	if (dx != dy)
		mr_layer_copy(c, dx, dy, mr_layer_bytes(c->k, n));
	return MR_OK;
}

/* The step of weight @which, if W is to carry it out; else NULL. */
static inline const mr_step *mr_layer_step_of(const mr_layer_call *c, int which)
{
	return c->step && c->step[which].dst && !c->step[which].stored.form ? &c->step[which] : NULL;
}

/* The gradient of weight @which, the product @g of @a and @b, and the weight's step where W is to take it. */
static inline mr_status mr_layer_weight_product(const mr_layer_call *c, int which, const mr_gemm *g, const void *a,
						const void *b)
{
	const mr_step *step = mr_layer_step_of(c, which);

	return step ? c->k->gemm_step(c->kc, &(mr_gemm_step_args){.g = g, .a = a, .b = b, .c = c->dw[which], .s = step})
		    : c->k->gemm(c->kc, &(mr_gemm_args){.g = g, .a = a, .b = b, .c = c->dw[which]});
}

/* needs() of a layer that saves nothing and multiplies no matrices. */
static inline void mr_layer_needs_nothing(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples,
					  const mr_kernels *k, mr_layer_needs *out)
{
	(void)cfg;
	(void)in;
	(void)samples;
	(void)k;
	*out = (mr_layer_needs){0};
}

/* decodes() of a layer whose rows do not know each other in evaluation. */
static inline bool mr_layer_by_rows(const mr_layer_cfg *cfg)
{
	(void)cfg;
	return true;
}

/* Is this the next row of a sample, by itself? */
static inline bool mr_layer_is_next_row(const mr_layer_call *c)
{
	return c->past && c->in->rows == 1;
}

/* A backward_input that does nothing: tokens have no gradient, and a loss made its gradient in F. */
static inline mr_status mr_layer_pass(const mr_layer_call *c)
{
	(void)c;
	return MR_OK;
}

/* Input @s must be numbers, not tokens. */
static inline mr_status mr_layer_check_numbers(const char *layer, mr_shape s)
{
	return s.tokens ? mr_fail(MR_ECONFIG, "%s takes numbers, got tokens", layer) : MR_OK;
}

/* Both inputs must be numbers of one shape, which @layer @joins ("adds"); it is the output's. */
static inline mr_status mr_layer_check_pair(const char *layer, const char *joins, const mr_shape *in, mr_shape *out)
{
	MR_TRY(mr_layer_check_numbers(layer, in[0]));
	MR_TRY(mr_layer_check_numbers(layer, in[1]));
	if (!mr_shape_same(in[0], in[1]))
		return mr_fail(MR_ECONFIG, "%s %s equal shapes, got %lld x %lld and %lld x %lld", layer, joins,
			       (long long)in[0].rows, (long long)in[0].cols, (long long)in[1].rows,
			       (long long)in[1].cols);
	*out = in[0];
	return MR_OK;
}

/* Input @s must be @rows tokens, one a row. */
static inline mr_status mr_layer_check_tokens(const char *layer, mr_shape s, int64_t rows)
{
	if (!s.tokens || s.cols != 1 || s.rows != rows)
		return mr_fail(MR_ECONFIG, "%s needs %lld tokens, one for each row, got %lld x %lld %s", layer,
			       (long long)rows, (long long)s.rows, (long long)s.cols, s.tokens ? "tokens" : "numbers");
	return MR_OK;
}

/* Tokens of a sample of @n in front of the first padding. */
static inline int64_t mr_layer_length(const int32_t *tokens, int64_t n)
{
	int64_t length = 0;

	while (length < n && tokens[length] != MR_PADDING)
		length++;
	return length;
}

/* Heads of attention, and of keys and values, that fit each other. */
static inline mr_status mr_layer_check_heads(const char *layer, const mr_layer_cfg *cfg)
{
	if (cfg->heads < 1)
		return mr_fail(MR_ECONFIG, "%s needs at least 1 head, got %lld", layer, (long long)cfg->heads);
	if (cfg->kv_heads < 0 || (cfg->kv_heads && cfg->heads % cfg->kv_heads != 0))
		return mr_fail(MR_ECONFIG, "%s cannot group %lld heads by %lld heads of keys and values", layer,
			       (long long)cfg->heads, (long long)cfg->kv_heads);
	return MR_OK;
}

#endif
