/*
 * vec_block.h - what products of bf16 numbers need besides their blocks (block.h): packed operands, what becomes of a
 * block, and optimizer steps of masters that lie as weights and rests (nn/bf16.h). Written once, in vec_block_*.inc,
 * and compiled for AVX2 and for AVX-512.
 */
#ifndef MR_KERNELS_VEC_BLOCK_H
#define MR_KERNELS_VEC_BLOCK_H

#include "nn/kernels/fused/blocks/block.h"
#include "nn/kernels/fused/vec/vec.h"
#include "nn/rounding.h"

/* A part of A or B to be packed: @n rows of A, or columns of B, of which @k numbers are there. */
typedef struct mr_block_pack {
	const uint16_t *src;
	int64_t pitch;     /* numbers from one row as stored to the next */
	const uint16_t *const *row; /* of `rows` and `rows_turned`: the stored rows, in place of @src; or NULL */
	int64_t k, n;
	int64_t pairs;     /* to make; those beyond k are 0 */
	uint32_t *dst;
	int64_t dst_pitch; /* pairs from one row of A to the next, or from one panel of B to the next */
} mr_block_pack;

/* A step, its rule and state as in f32; instead of its weights: */
typedef struct mr_block_step {
	mr_vec_step rule;
	const uint16_t *src;
	uint16_t *dst;
	const int16_t *src_rest; /* NULL: the weights are their masters */
	int16_t *dst_rest;       /* NULL: the rest is lost */
	const void *g;           /* of a step by itself: f32, or with @along or @rounding bf16 */
	bool along;
	const mr_rounding *rounding; /* bf16_pure: state and gradient are bf16, there are no rests, and this rounds what
	                                the step makes; else NULL */
} mr_block_step;

/* What becomes of C[m, n]. The fields are those of mr_gemm. */
typedef struct mr_block_out {
	int64_t n;
	void *c;                   /* activations, and gradients in bf16; or with @gradient f32 */
	bool gradient, add;        /* add to a gradient in f32: its block begins at what is there */
	const mr_block_step *step; /* of a gradient: instead of storing it; or NULL */
	const uint16_t *bias, *addend, *through_aux;
	uint16_t *aux;
	mr_act act, through;
} mr_block_out;

typedef void mr_block_pack_fn(const mr_block_pack *p);

/* Masters and what they consist of. */
typedef struct mr_block_masters {
	const uint16_t *from;
	const int16_t *from_rest;
	uint16_t *to;
	int16_t *to_rest;
	float *wide;
} mr_block_masters;

typedef struct mr_vec_blocks {
	mr_block_pack_fn *rows, *rows_turned;     /* of A, stored [m, k]; stored [k, m] */
	mr_block_pack_fn *panels, *panels_turned; /* of B, stored [k, n]; stored [n, k] */
	/** Rows i.. and columns j.. of C, @rows and @cols of them, from @sum, whose rows are @pitch apart, and whose
	 * panels of 32 columns @panel. */
	void (*finish)(const mr_block_out *o, const float *sum, int64_t pitch, int64_t panel, int64_t i, int64_t j,
		       int64_t rows, int64_t cols);
	/** to[n] += from[n] */
	void (*add)(int64_t n, const float *from, float *to);
	mr_vec_fn *step[MR_N_STEPS];              /* mr_block_step: elements */
	mr_vec_fn *step_rounded[MR_N_STEPS];      /* the same with @rounding */
	mr_vec_fn *join, *split;                  /* mr_block_masters: elements */
	mr_block_fn *block;                       /* by multiply-adds in f32 */
} mr_vec_blocks;

extern const mr_vec_blocks mr_vec_blocks_avx2;
extern const mr_vec_blocks mr_vec_blocks_avx512;
extern const mr_vec_blocks mr_vec_blocks_avx512_bf16; /* rounds by an instruction */

#endif
