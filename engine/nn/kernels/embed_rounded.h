/*
 * embed_rounded.h - gradients of token and position tables in bf16: the rows of the tokens that occur are summed in f32
 * and rounded once.
 */
#ifndef MR_KERNELS_EMBED_ROUNDED_H
#define MR_KERNELS_EMBED_ROUNDED_H

#include "nn/kernels.h"

typedef struct mr_embed_rounded {
	const mr_kernels *base; /* whose embed_backward sums in f32, and @kc of it */
	mr_kctx *kc;
	int64_t rows, t, cols, vocab;
	const int32_t *tokens;
	const void *dy;         /* as base reads it */
	uint16_t *dwte, *dwpe;  /* dwpe may be NULL */
	bool add;
	void *numbers;          /* [vocab + 2 rows] of 32 bits, */
	float *wide;            /* [rows, cols] and */
	float *wide_wpe;        /* [t, cols] to work in; without @dwpe NULL */
} mr_embed_rounded;

/** mr_kernels.embed_backward. */
void mr_embed_backward_rounded(const mr_embed_rounded *e);

#endif
