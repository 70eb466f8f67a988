#include "nn/layers/masks.h"

#include "base/rng.h"
#include "nn/element.h"
#include "nn/kernels/backend.h"

/* What the mask multiplies element @i by. */
static double factor(const mr_layer_call *c, uint64_t i)
{
	uint32_t word = mr_rng_u32(c->mask.seed, MR_RNG_DROPOUT, c->window, c->mask.layer, i);

	return word < mr_dropout_threshold(c->cfg->rate) ? 0 : 1 / (1 - c->cfg->rate);
}

mr_status mr_mask_weights(const mr_layer_call *c, int64_t n, mr_dtype type, const void *from, void *to)
{
	mr_mask_key key = {.seed = c->mask.seed, .first_sample = c->window, .layer = c->mask.layer};

	if (type == c->k->types.activations) {
		MR_TRY(c->k->dropout(c->kc, &(mr_dropout_args){.samples = 1, .per_sample = n, .rate = c->cfg->rate,
							       .key = &key, .x = from, .y = to}));
		return MR_OK;
	}
	for (int64_t i = 0; i < n && !c->k->recorded; i++) /* gradients in f32 of weights in bf16 */
		mr_element_put(type, to, i, mr_element(type, from, i) * factor(c, (uint64_t)i));
	return MR_OK;
}

void mr_mask_words(const mr_layer_call *c, int64_t rows, int64_t cols, const int32_t *word, const void *from, void *to)
{
	mr_dtype type = c->k->types.activations;

	for (int64_t r = 0; r < rows && !c->k->recorded; r++) {
		double by = factor(c, (uint64_t)word[r]);

		for (int64_t j = r * cols; j < (r + 1) * cols; j++)
			mr_element_put(type, to, j, by == 0 ? 0 : mr_element(type, from, j) * by);
	}
}
