/*
 * part_grads.h - gradients of the parameters of a layer that has a part of the rows of a sample (mr_layer_cfg.parts).
 *
 * Each share has such a layer's parameters whole and sees other rows of every sample (nn/share.h). Its W computes the
 * gradient of its own rows of one micro-batch in scratch, and shows it; all add what all have shown, in the order of
 * shares, and this, the gradient of all rows, is added to the sum of micro-batches. So all have the same bits.
 */
#ifndef MR_NN_PART_GRADS_H
#define MR_NN_PART_GRADS_H

#include "nn/layer.h"

/** Bytes of scratch for the gradients of @numbers parameters; 0 where rows are not divided, or without kernels. */
size_t mr_part_grads_bytes(const mr_layer_cfg *cfg, int64_t numbers, const mr_kernels *k);

/* A call whose gradients go to scratch. */
typedef struct mr_part_grads {
	mr_layer_call call;
	void *dw[MR_LAYER_PARAMS];
	int64_t count[MR_LAYER_PARAMS];
	uint32_t n;
} mr_part_grads;

/** Does W of such a call see a part of the rows alone? */
static inline bool mr_part_grads_wanted(const mr_layer_ops *ops, const mr_layer_call *c)
{
	return ops->rows_apart && ops->params && c->cfg->parts > 1;
}

/** Make @p->call of @c: its backward passes then leave the gradients of its rows, and take no steps. */
void mr_part_grads_begin(mr_part_grads *p, const mr_layer_ops *ops, const mr_layer_call *c);

/** Sum these over the shares, to the gradients of @c. Errors: MR_ESTOPPED. */
mr_status mr_part_grads_end(const mr_part_grads *p, const mr_layer_call *c) MR_MUST_USE;

#endif
