/*
 * embed_rounded.h - gradients of token and position tables in bf16: the rows of the tokens that occur are summed in f32
 * and rounded once.
 */
#ifndef MR_KERNELS_EMBED_ROUNDED_H
#define MR_KERNELS_EMBED_ROUNDED_H

#include "nn/kernels.h"

typedef struct mr_embed_rounded {
	const mr_kernels *base; /* its embed_backward sums in f32; @kc is its context */
	mr_kctx *kc;
	int64_t rows, t, cols, vocab;
	const int32_t *tokens;
	const void *dy;         /* in the type that base reads */
	uint16_t *dwte, *dwpe;  /* dwpe may be NULL */
	bool add;
	void *numbers;          /* scratch, [vocab + 2 rows] of 32 bits */
	float *wide;            /* scratch, [rows, cols] */
	float *wide_wpe;        /* scratch, [t, cols]; NULL without @dwpe */
} mr_embed_rounded;

/** mr_kernels.embed_backward. */
void mr_embed_backward_rounded(const mr_embed_rounded *e);

#endif
