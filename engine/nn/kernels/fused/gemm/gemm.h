/*
 * gemm.h - the products that the backend `fused` computes itself, by the vector kernels of vec_gemm.inc.
 *
 * oneDNN has no product whose result an optimizer step consumes, and at the batch sizes of a pipeline (some dozens to
 * hundreds of rows) it waits for weights: measured on two AVX-512 cores with 2 MiB of L2 each, 1024 x 1024 weights and
 * 32 rows, it runs at 51-57 % of the peak of one core where these reach 61-90 % with the step included. The choice
 * depends only on shape and number of threads, and a product computed here has the same bits for any number of threads
 * (oneDNN guarantees equal bits only for one number of threads).
 *
 * A mr_gemm_scratch belongs to one context.
 */
#ifndef MR_KERNELS_GEMM_H
#define MR_KERNELS_GEMM_H

#include "nn/kernels/fused/vec/vec.h"
#include "nn/kernels/scratch.h"

typedef struct mr_gemm_scratch {
	mr_scratch room;       /* [n_threads, floats], and behind them, */
	mr_share *share;       /* [n_threads] */
	size_t floats;         /* of the last call */
} mr_gemm_scratch;

/** y[cols] (+)= the column sums of x[rows, cols]: see mr_kernels.colsum. */
void mr_gemm_colsum(const mr_vec_ops *ops, uint32_t n_threads, int64_t rows, int64_t cols, const void *x, float *y,
		    bool add);

/** Compute the sums of columns that @g requests, without its product. */
void mr_gemm_sums(const mr_vec *vec, uint32_t n_threads, const mr_gemm *g, const float *a, const float *b);

/** Is this product computed here, by a team of @n_threads? @step: the result goes to a step. */
bool mr_gemm_has_kernel(const mr_gemm *g, uint32_t n_threads, bool step);

/** mr_kernels.packed_bytes. */
size_t mr_gemm_packed_bytes(const mr_vec *vec, const mr_gemm *g);

/** Is it computed here with an addend, too? */
bool mr_gemm_adds(const mr_gemm *g, uint32_t n_threads);

/** Is it computed here together with the backward of the activation that it names? */
bool mr_gemm_fuses_act_backward(const mr_gemm *g, uint32_t n_threads);

/**
 * The sum of @n such products of equal shape (g->k: of one), g->ta only, as one product over all their rows: each
 * element is one chain, begun at 0 or at C, so that it has the bits of @n products that add to each other. Errors:
 * MR_ERESOURCE, as below.
 */
mr_status mr_gemm_run_sum(const mr_vec *vec, uint32_t n_threads, mr_gemm_scratch *s, const mr_gemm *g, uint32_t n,
			  const float *const *as, const float *const *bs, float *c,
			  const mr_vec_step *step) MR_MUST_USE;

/**
 * Compute the product and the sums that @g requests. mr_gemm_has_kernel() must be true for it; with an addend
 * mr_gemm_adds(); with an activation's backward mr_gemm_fuses_act_backward(). @slope: of GELU, with the shape of C;
 * @step may be NULL.
 * Allocates on the first call that needs more scratch. Errors: MR_ERESOURCE, and then nothing was computed.
 */
mr_status mr_gemm_run(const mr_vec *vec, uint32_t n_threads, mr_gemm_scratch *s, const mr_gemm *g, const float *a,
		      const float *b, const float *bias, float *c, float *slope, const mr_vec_step *step) MR_MUST_USE;

#endif
