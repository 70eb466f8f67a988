/*
 * masks.h - dropout masks of parameters: of the elements of a weight (DropConnect), and of the rows of a table.
 *
 * A mask is a function of (seed, step, layer, element), so it is the same for all micro-batches of a step, and F, its
 * repetition and the backward halves make it anew. Numbers that are kept are multiplied by 1 / (1 - rate).
 */
#ifndef MR_NN_LAYERS_MASKS_H
#define MR_NN_LAYERS_MASKS_H

#include "nn/layers/shared.h"

/** @to = @from [n] of @type through the mask of the step; @to may be @from. The rate is the configuration's. */
mr_status mr_mask_weights(const mr_layer_call *c, int64_t n, mr_dtype type, const void *from, void *to) MR_MUST_USE;

/** @to = @from, rows [rows, cols] of activations, each row through the mask of its word @word; @to may be @from. */
void mr_mask_words(const mr_layer_call *c, int64_t rows, int64_t cols, const int32_t *word, const void *from, void *to);

#endif
