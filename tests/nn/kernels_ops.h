/*
 * kernels_ops.h - every function of mr_kernels as an operation that runs on any backend: inputs are made from a seed,
 * all outputs come back as one array of doubles. So backends, types and thread counts can be compared without knowing
 * the operation.
 */
#ifndef MR_TESTS_NN_KERNELS_OPS_H
#define MR_TESTS_NN_KERNELS_OPS_H

#include "nn/kernels.h"

typedef struct outputs {
	size_t n, room;
	double *v;
	size_t loose; /* the last ones of which a NaN may be in more than depend on it */
} outputs;

typedef struct op_case {
	const mr_kernels *k;
	mr_kctx *kc;
	int64_t dim[4];    /* meaning: the operation's */
	bool add;
	int variant;       /* act, transposes, ...: the operation's */
	outputs *out;
} op_case;

#define OP_SHAPES 8

typedef struct op {
	const char *name;
	void (*run)(const op_case *c);
	int n_variants;
	int n_adding;          /* the number of variants, from the first on, that know add */
	bool is_gemm;          /* bits may depend on the number of threads */
	double tolerance;      /* f32 against f64: largest difference / (1 + largest value) */
	int64_t dims[OP_SHAPES][4]; /* ends at a zero */
} op;

extern const op ops[];
/* kernels_batch_norm.c */
void run_batch_norm(const op_case *c);
/* A row of an LSTM or GRU, and back (kernels_cell.c). */
void run_cell(const op_case *c);
/* By the same loops in all backends (kernels_loops.c). */
void run_margin(const op_case *c);
void run_pairs(const op_case *c);
void run_bag(const op_case *c);
void run_attend(const op_case *c);
void run_row_product(const op_case *c);
void run_attend_past(const op_case *c);
/* Over images (kernels_images.c). */
void run_conv(const op_case *c);
void run_pool(const op_case *c);
void run_lrn(const op_case *c);
/* Of transformers (kernels_attention.c). */
void run_attn(const op_case *c);
void run_rope(const op_case *c);
void run_swiglu(const op_case *c);
void run_gelu_erf(const op_case *c);
/* Losses, sums of gradients, ranges (kernels_losses.c). */
void run_xent(const op_case *c);
void run_mse(const op_case *c);
void run_sumsq(const op_case *c);
void run_sum_gradients(const op_case *c);
void run_ranges(const op_case *c);
/* What norm_backward promises to give to the bit: its two halves. */
void run_norm_halves(const op_case *c);
/* What gemm_step promises to give to the bit: gemm, then step; here and below with sums of columns, and those by
 * colsum. */
void run_gemm_then_step(const op_case *c);
/* What gemm_sum promises to give to the bit: one product after the other. */
void run_gemms(const op_case *c);
/* What gemm_step_rows promises to give to the bit: gemm, copies of rows, step. */
void run_gemm_rows_step(const op_case *c);
extern const int n_ops;

/* What takes the place of one number of the inputs that are made from @stream (0: of none): at 0 the first, at 1 the
 * last. */
typedef struct plant {
	uint32_t stream;
	double value, where;
} plant;

extern plant planted;
/* Bit s: an input was made from stream s < 32 since this was cleared. */
extern uint32_t made_streams;

/* Numbers in [lo, hi) in type @t, the same ones in each type (rounded to f32 and then to it), and room for @n numbers,
 * each 7. To be freed. */
void *make_of(mr_dtype t, int64_t n, uint32_t stream, double lo, double hi);
void *make_room(mr_dtype t, int64_t n);

/* The same of activations and weights. To be freed. */
void *make_input(const mr_kernels *k, int64_t n, uint32_t stream, double lo, double hi);
int32_t *make_tokens(int64_t n, int64_t vocab, uint32_t stream);

/* The values that act_backward needs for GELU of @z[n], from the 1 x n product 1 z. The caller frees them. */
void *make_gelu_aux(const mr_kernels *k, mr_kctx *kc, int64_t n, const void *z);

/* Of what attention saves. */
size_t saved_bytes(const mr_kernels *k, const mr_attn *a);

/* Room for @n numbers of the backend's type, every one 7: what `add` must add to, and what must be overwritten. */
void *make_output(const mr_kernels *k, int64_t n);

double number_at(const mr_kernels *k, const void *p, int64_t i);
void set_number(const mr_kernels *k, void *p, int64_t i, double x);

/* Append @n numbers of @p, of type @t or activations. */
void put_of(outputs *o, mr_dtype t, const void *p, int64_t n);
void put(outputs *o, const mr_kernels *k, const void *p, int64_t n);
void put_number(outputs *o, double x);

/* Largest difference, divided by 1 + the largest value of @want. Infinity when lengths differ or one is not finite. */
double distance(const outputs *got, const outputs *want);
bool same_bits(const outputs *a, const outputs *b);

/* The tables in bf16 and bf16_pure that this machine has to @out; returns how many. */
#define BF16_TABLES 6
uint32_t bf16_tables(const mr_kernels *out[BF16_TABLES]);

/* Does @k have the operation? In bf16_pure nothing is averaged. */
bool has_op(const mr_kernels *k, const op *o);

/* An op on a context of its own. */
outputs run_op(const op *o, const mr_kernels *k, uint32_t n_threads, const int64_t dim[4], int variant, bool add);

#endif
