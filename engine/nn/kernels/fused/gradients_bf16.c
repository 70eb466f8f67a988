#include "nn/kernels/fused/gradients_bf16.h"

#include <stdio.h>
#include <stdlib.h>

#include "nn/bf16.h"
#include "nn/kernels/backend.h"
#include "nn/kernels/embed_rounded.h"
#include "nn/kernels/fused/fused.h"
#include "nn/kernels/fused/products_bf16.h"

/* Numbers whose squares are added at a time. */
enum { PIECE = 4096 };

/* Returns a buffer of at least @n floats; NULL: no memory, and ctx_status fails. */
static float *room(mr_kctx *kc, int64_t n)
{
	if (kc->gradient_floats >= (size_t)n)
		return kc->gradients;
	free(kc->gradients);
	kc->gradients = malloc((size_t)n * sizeof(float));
	kc->gradient_floats = kc->gradients ? (size_t)n : 0;
	if (!kc->gradients) {
		kc->failed = MR_ERESOURCE;
		snprintf(kc->why, sizeof(kc->why), "no memory for %lld numbers of a gradient", (long long)n);
	}
	return kc->gradients;
}

/* Widens the @n numbers to which a gradient is added; does nothing without @add or if @from is NULL. */
static void widen(const uint16_t *from, int64_t n, bool add, float *to)
{
	for (int64_t i = 0; add && from && i < n; i++)
		to[i] = mr_bf16_widen(from[i]);
}

static void rounded(const float *from, int64_t n, uint16_t *to)
{
	for (int64_t i = 0; to && i < n; i++)
		to[i] = mr_bf16_round(from[i]);
}

void mr_pure_colsum(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, void *y, bool add)
{
	float *wide = room(kc, cols);

	if (!wide)
		return;
	widen(y, cols, add, wide);
	mr_fused_colsum(kc, rows, cols, x, wide, add);
	rounded(wide, cols, y);
}

void mr_pure_norm_backward_weight(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				  const void *rstd, const void *dy, void *dgain, void *dshift, bool add)
{
	float *wide = room(kc, 2 * cols);

	if (!wide)
		return;
	widen(dgain, cols, add, wide);
	widen(dshift, cols, add, wide + cols);
	mr_fused_norm_backward_weight(kc, rows, cols, x, mean, rstd, dy, wide, dshift ? wide + cols : NULL, add);
	rounded(wide, cols, dgain);
	rounded(wide + cols, cols, dshift);
}

void mr_pure_norm_backward(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean,
			   const void *rstd, const void *dy, void *dx, bool add, void *dgain, void *dshift,
			   bool add_weight)
{
	float *wide = room(kc, 2 * cols);

	if (!wide)
		return;
	widen(dgain, cols, add_weight, wide);
	widen(dshift, cols, add_weight, wide + cols);
	mr_fused_norm_backward(kc, rows, cols, x, gain, mean, rstd, dy, dx, add, wide, dshift ? wide + cols : NULL,
			       add_weight);
	rounded(wide, cols, dgain);
	rounded(wide + cols, cols, dshift);
}

void mr_pure_batch_norm_backward(mr_kctx *kc, const mr_batch_norm *b, const void *x, const void *y, const void *gain,
				 const void *mean, const void *variance, const void *dy, void *dx, bool add,
				 void *dgain, void *dshift)
{
	float *wide = room(kc, 2 * b->cols);

	if (!wide)
		return;
	mr_fused_batch_norm_backward(kc, b, x, y, gain, mean, variance, dy, dx, add, wide, wide + b->cols);
	rounded(wide, b->cols, dgain);
	rounded(wide + b->cols, b->cols, dshift);
}

void mr_pure_embed_backward(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, int64_t vocab, const int32_t *tokens,
			    const void *dy, void *dwte, void *dwpe, bool add)
{
	int64_t positions = dwpe ? t * cols : 0;
	float *wide = room(kc, rows * cols + positions + vocab + 2 * rows);
	mr_embed_rounded e = {.base = &mr_kernels_fused_bf16, .kc = kc, .rows = rows, .t = t, .cols = cols,
			      .vocab = vocab, .tokens = tokens, .dy = dy, .dwte = dwte, .dwpe = dwpe, .add = add};

	if (!wide)
		return;
	e.wide = wide;
	e.wide_wpe = dwpe ? wide + rows * cols : NULL;
	e.numbers = wide + rows * cols + positions;
	mr_embed_backward_rounded(&e);
}

mr_status mr_pure_conv_backward_weight(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add)
{
	int64_t n = mr_conv_weights(g);
	float *wide = room(kc, n);

	if (!wide)
		return mr_fused_ctx_status(kc);
	widen(dw, n, add, wide);
	MR_TRY(mr_bf16_conv_backward_weight(kc, g, x, dy, wide, add));
	rounded(wide, n, dw);
	return MR_OK;
}

mr_status mr_pure_conv_step(mr_kctx *kc, const mr_conv *g, const void *x, const void *dy, void *dw, bool add,
			    const mr_step *s)
{
	MR_TRY(mr_pure_conv_backward_weight(kc, g, x, dy, dw, add));
	mr_bf16_step(kc, mr_conv_weights(g), s, dw);
	return MR_OK;
}

double mr_pure_sumsq(mr_kctx *kc, int64_t n, const void *x)
{
	const uint16_t *low = x;
	double squares = 0;

	for (int64_t i = 0; i < n; i += PIECE) {
		float wide[PIECE];
		int64_t len = n - i < PIECE ? n - i : PIECE;

		widen(low + i, len, true, wide);
		squares += mr_fused_sumsq(kc, len, wide);
	}
	return squares;
}
