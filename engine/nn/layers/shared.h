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
