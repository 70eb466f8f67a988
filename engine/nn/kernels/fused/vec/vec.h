/*
 * vec.h - the kernels of the backend `fused` for AVX-512 and for AVX2: everything but the matrix products that oneDNN
 * computes (gemm.h says which).
 *
 * oneDNN's elementwise, norm and softmax primitives take two to four times the time of a plain fused loop, so they are
 * written here. Each kernel is written once, in a file vec_<noun>.inc, with the vector operations of vec_lanes_*.inc,
 * and compiled for each instruction set. Those on activations (mr_vec_ops) are compiled for each of their types as
 * well: they compute in f32, widen what they load and round what they store, so in bf16 they give the bits of f32's
 * result, rounded once. In the structs `void *` stands for activations and weights; all else is f32 whatever their
 * type.
 *
 * A kernel has its arguments in a struct and computes a range [lo, hi) of the dimension that is split over threads
 * (rows, columns, elements, heads). The result of an element never depends on how the range was cut: elementwise
 * kernels use the same instructions in the main loop and in tails; sums run along dimensions that are not split, in one
 * fixed order. So every kernel gives the same bits for any number of threads. Sums of products are fused (one
 * rounding), unlike in the reference backend.
 */
#ifndef MR_KERNELS_VEC_H
#define MR_KERNELS_VEC_H

#include "nn/kernels.h"
#include "nn/kernels/fused/blocks/block_engine.h"
#include "nn/kernels/fused/vec/share.h"

/* Unrolls the loop that follows, so that arrays of vectors become registers. Not under the address sanitizer: each load
 * and store there is a dozen instructions with branches, and bodies of hundreds take compilers a quarter of an hour. */
#if defined(__SANITIZE_ADDRESS__)
#define MR_ROLLED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MR_ROLLED 1
#endif
#endif
#ifdef MR_ROLLED
#define UNROLL(n)
#else
#define UNROLL(n) _Pragma(MR_TEXT_OF(GCC unroll n))
#define MR_TEXT_OF(x) #x
#endif

/** @worker numbers the calling thread from 0: which scratch to use. */
typedef void mr_vec_fn(const void *args, int64_t lo, int64_t hi, uint32_t worker);

typedef struct mr_vec_act {
	mr_act act;
	const void *in, *dy; /* in: forward z, backward the slope, and as mr_kernels.act_backward */
	void *out, *slope;   /* slope: forward; it may be in */
} mr_vec_act;

typedef struct mr_vec_colsum {
	int64_t rows, cols;
	const void *x;
	float *y;
	bool add;
} mr_vec_colsum;

/* The forward call and both halves of the backward call; each uses the fields that it needs. */
typedef struct mr_vec_norm {
	int64_t rows, cols;
	float eps;
	const void *x, *gain, *shift, *dy;
	void *y, *dx;
	float *mean, *rstd;
	const float *saved_mean, *saved_rstd;
	float *dgain, *dshift;
	bool add, add_weight;  /* to dx; to dgain and dshift */
	/* Where both halves are one call: the share of the first rows (their number is given), in one range, in dgain
	 * and dshift, which begins at 0 and is made with their dx. */
	int64_t first;
	float *sums;           /* [2, cols] */
} mr_vec_norm;

typedef struct mr_vec_batch_norm {
	int64_t rows, cols;
	float eps;
	bool relu, given;      /* mean and variance are given */
	const void *x, *gain, *shift, *dy;
	const void *out;       /* backward: y, with relu */
	void *y, *dx;          /* dx: NULL, or dy */
	float *mean, *variance, *dgain, *dshift;
	bool add;              /* to dx */
} mr_vec_batch_norm;

typedef struct mr_vec_attn {
	mr_attn a;
	const void *qkv, *dy;
	void *y, *dqkv;
	float *saved;          /* [samples, heads, 2, t]: largest scaled scores, 1 / sums of exponentials */
	const float *saved_in;
	float *scratch;        /* of worker 0; the others follow at this distance */
	size_t scratch_floats;
	const mr_block_engine *engine; /* of products in bf16; NULL: products are in f32 */
} mr_vec_attn;

typedef struct mr_vec_rope {
	mr_rope r;
	const float *angles;   /* [t, 2, dim/2 in whole vectors of any width] cosines, sines */
	int64_t pitch;         /* of one of the two */
	const void *x[3], *dy;
	void *y, *dx[3];
} mr_vec_rope;

typedef struct mr_vec_dropout {
	int64_t samples, per_sample, first;
	uint32_t threshold;
	float scale;
	mr_mask_key key;
	const void *x;
	void *y;
} mr_vec_dropout;

typedef struct mr_vec_loss {
	int64_t rows, cols;   /* rows: of the whole call (the gradient is of the mean) */
	int64_t first;        /* the row of the call that row 0 of the range is */
	void *x;
	const int32_t *targets;
	const float *y;
	double *row_loss;     /* [hi] */
	float *exps;          /* xent in bf16: room for the exponentials of a row, of worker 0; the others follow at
	                         this distance. NULL: they are made twice */
	int64_t exps_pitch;
} mr_vec_loss;

typedef struct mr_vec_step {
	mr_step_kind kind;
	const float *src, *g;
	float *dst, *m, *v;
	float gscale, couple, rate, keep, mu, b1, a1, b2, a2, root, eps, rate_g;
	bool nesterov;
} mr_vec_step;

typedef struct mr_vec_mix {
	uint32_t n;
	const float *const *src;
	float *const *dst;
	float *reference, *velocity, *mean;
	double alpha, lr, mu;
} mr_vec_mix;

/* A product as in mr_gemm, and optionally the step that consumes it (mr_kernels.gemm_step). Which shapes each order
 * takes, and what it needs: nn/kernels/fused/gemm/gemm.c. */
typedef struct mr_vec_gemm {
	int64_t m, n, k;
	bool ta, tb, add;
	bool by_rows;             /* the range of the call is of rows of C; else of columns */
	mr_share *share;          /* not NULL: the range is ignored, and units are taken from here, */
	uint32_t n_share;         /* which has this many parts */
	mr_act act;
	const float *a, *b, *bias, *addend;
	const float *factor;      /* tall: of each element of C, last of all; NULL: 1 */
	const float *const *as, *const *bs; /* groups: k in pieces of @piece rows each, one behind the other; NULL: a
	                                       and b alone */
	int64_t piece;
	float *packed;            /* packed: B's panels, which the order's pack() makes */
	bool backward;            /* packed: panels are read from the last to the first */
	float *c, *slope;         /* slope: with GELU */
	const mr_vec_step *step;  /* or NULL; its g is not read */
	float *sums;              /* B's, as mr_gemm.colsum_b; NULL: not wanted from this order */
	float *scratch;           /* of worker 0; the others follow at this distance */
	size_t scratch_floats;
} mr_vec_gemm;

/** The number of products that MR_GEMM_STRIPS adds in one chain, of a sum of @k: the sum is cut into as few blocks as
 * possible, equal but for the last. A single chain over the 50257 columns of a head would lose digits. */
static inline int64_t mr_gemm_sum_block(int64_t k)
{
	int64_t most = 1536, blocks = (k + most - 1) / most; /* panels of 128 rows stay in L2 */

	return ((k + blocks - 1) / blocks + 15) / 16 * 16;
}

typedef enum mr_gemm_order {
	MR_GEMM_PANELS,
	MR_GEMM_GROUPS,
	MR_GEMM_STRIPS,
	MR_GEMM_TALL,
	MR_GEMM_PACKED, /* NULL in some sets of instructions */
	MR_N_GEMM_ORDERS
} mr_gemm_order;

typedef struct mr_vec_order {
	mr_vec_fn *run;                          /* rows or columns of C */
	/* Number of units that threads take when they are ready, each of about 20 us of work at most; 0: the shape has
	 * none, and ranges are fixed. */
	int64_t (*units)(const mr_vec_gemm *g);
	size_t (*scratch_floats)(int64_t k);     /* of one worker */
	bool (*sums)(const mr_vec_gemm *g);      /* can it compute g->sums as well? NULL: never */
	int64_t cols;                            /* ranges of columns begin at its multiples */
	mr_vec_fn *pack;                         /* columns of B, into g->packed; NULL: B is not packed apart */
} mr_vec_order;

enum { MR_GEMM_PACKED_ROWS = 28 }; /* most rows of A for MR_GEMM_PACKED */

/* On activations of one type. */
typedef struct mr_vec_ops {
#define MR_OPERATION_VEC(id, onednn, bf16, wide, choice, units, step, weight, what) mr_vec_fn *id;
#include "nn/kernels.def"
	mr_vec_fn *activate, *act_backward;                   /* elements; activate: all but GELU */
	mr_vec_fn *colsum;                                    /* columns */
	mr_vec_fn *norm, *norm_backward_input;                /* rows */
	mr_vec_fn *norm_backward_weight;                      /* columns */
	mr_vec_fn *batch_norm, *batch_norm_backward;          /* columns */
	mr_vec_fn *attn;                                      /* pairs (sample, head) */
	mr_vec_fn *attn_backward;                             /* pairs (sample, key and value head) */
	mr_vec_fn *rope, *rope_backward;                      /* rows */
	mr_vec_fn *dropout;                                   /* groups of dropout_group elements of one sample */
	mr_vec_fn *xent, *mse;                                /* rows */
	/* Of one worker; @engine as in mr_vec_attn. */
	size_t (*attn_scratch_floats)(const mr_attn *a, const mr_block_engine *engine, bool backward);
	int64_t dropout_group;
} mr_vec_ops;

/* All in f32. */
typedef struct mr_vec {
	const mr_vec_order *order[MR_N_GEMM_ORDERS];          /* of products */
	mr_vec_ops ops;
	mr_vec_fn *act;                                       /* elements: GELU and ReLU */
	mr_vec_fn *step[MR_N_STEPS];                          /* elements */
	mr_vec_fn *mix_mean, *mix_outer, *mix_pull;           /* elements */
	double (*sumsq)(int64_t n, const float *x);           /* one thread */
} mr_vec;

/* The orders of an instruction set. */
#define MR_VEC_ORDERS(isa) \
	extern const mr_vec_order mr_vec_panels_##isa, mr_vec_groups_##isa, mr_vec_strips_##isa, mr_vec_tall_##isa
MR_VEC_ORDERS(avx2);
MR_VEC_ORDERS(avx512);
extern const mr_vec_order mr_vec_packed_avx512;
extern const mr_vec mr_vec_avx2;
extern const mr_vec mr_vec_avx512;
extern const mr_vec_ops mr_vec_ops_bf16_avx2;
extern const mr_vec_ops mr_vec_ops_bf16_avx512;      /* rounds by shifts and sums, */
extern const mr_vec_ops mr_vec_ops_bf16_avx512_bf16; /* and by the instruction for it */

#endif
