/*
 * part_grads.h - gradients of parameters that several shares have whole, each of which sees a part of what they do
 * (nn/share.h): a part of the rows of every sample (mr_layer_cfg.parts), or of the heads that read their columns
 * (mr_layer_cfg.copies; shares q with the same q / copies have the same columns).
 *
 * W of such a layer computes its own part of the gradient of one micro-batch in scratch, and shows it; the shares that
 * have the parameters add what they have shown, in the order of shares, and this, the whole gradient, is added to the
 * sum of micro-batches. So they have the same bits.
 */
#ifndef MR_NN_PART_GRADS_H
#define MR_NN_PART_GRADS_H

#include "nn/layer.h"

/* The shares that add up their gradients of a layer; 1: this one alone. */
static inline uint32_t mr_part_grads_among(const mr_layer_ops *ops, const mr_layer_cfg *cfg)
{
	int64_t n = ops->rows_apart && ops->params ? cfg->parts : cfg->copies;

	return n > 1 ? (uint32_t)n : 1;
}

/** Bytes of scratch for the gradients of @numbers parameters; 0 where they are whole, or without kernels. */
size_t mr_part_grads_bytes(const mr_layer_cfg *cfg, int64_t numbers, const mr_kernels *k);

/* A call whose gradients go to scratch. */
typedef struct mr_part_grads {
	mr_layer_call call;
	void *dw[MR_LAYER_PARAMS];
	int64_t count[MR_LAYER_PARAMS];
	uint32_t n, among; /* parameters, and shares */
} mr_part_grads;

/** Make @p->call of @c: its backward passes then leave its own gradients, and take no steps. */
void mr_part_grads_begin(mr_part_grads *p, const mr_layer_ops *ops, const mr_layer_call *c);

/** Sum these over the shares, to the gradients of @c. Errors: MR_ESTOPPED. */
mr_status mr_part_grads_end(const mr_part_grads *p, const mr_layer_call *c) MR_MUST_USE;

#endif
