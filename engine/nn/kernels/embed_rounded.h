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
	const mr_embed_backward_args *o; /* dy in the type that base reads */
	void *numbers;          /* scratch, [vocab + 2 rows] of 32 bits */
	float *wide;            /* scratch, [rows, cols] */
	float *wide_wpe;        /* scratch, [t, cols]; NULL without o->dwpe */
} mr_embed_rounded;

/** mr_kernels.embed_backward. */
mr_status mr_embed_backward_rounded(const mr_embed_rounded *e) MR_MUST_USE;

#endif
