#include "nn/squares.h"

#include <math.h>

#define AT_ONCE 256 /* blocks between which all threads meet */

typedef struct squares {
	const mr_kernels *k;
	mr_kctx *kc;
	int64_t n;
	const uint8_t *x;
	size_t each;
	double *out;
} squares;

/* The blocks that begin in numbers [@lo, @hi). */
static void add_blocks(const void *args, int64_t lo, int64_t hi)
{
	const squares *s = args;

	for (int64_t i = mr_squares_n_blocks(lo); i * MR_SQUARES_BLOCK < hi; i++) {
		int64_t first = i * MR_SQUARES_BLOCK, left = s->n - first;

		if (s->k->sumsq(s->kc, &(mr_sumsq_args){.n = left < MR_SQUARES_BLOCK ? left : MR_SQUARES_BLOCK,
							.x = s->x + (size_t)first * s->each,
							.sum = &s->out[i]}) != MR_OK)
			s->out[i] = NAN; /* no norm is finite then */
	}
}

mr_status mr_squares_blocks(const mr_kernels *k, mr_kctx *kc, int64_t n, const void *x, double *out)
{
	squares s = {k, kc, n, x, mr_dtype_bytes(k->types.gradients), out};

	if (n > MR_SQUARES_BLOCK)
		return k->ranges(kc, &(mr_ranges_args){.n = n, .fn = add_blocks, .args = &s});
	add_blocks(&s, 0, n);
	return MR_OK;
}

mr_status mr_squares(const mr_kernels *k, mr_kctx *kc, int64_t n, const void *x, double *sum)
{
	int64_t most = (int64_t)AT_ONCE * MR_SQUARES_BLOCK;
	double block[AT_ONCE];

	*sum = 0;
	for (int64_t first = 0; first < n; first += most) {
		int64_t len = n - first < most ? n - first : most;

		MR_TRY(mr_squares_blocks(
			k, kc, len, (const uint8_t *)x + (size_t)first * mr_dtype_bytes(k->types.gradients), block));
		for (int64_t i = 0; i < mr_squares_n_blocks(len); i++)
			*sum += block[i];
	}
	return MR_OK;
}
