/*
 * kernels.h - the arithmetic of layers and optimizers as one table of functions, which each backend fills.
 *
 *	reference   f32, f64, bf16 and bf16_pure: portable C, single-threaded, the textbook order of every sum
 *	            (nn/kernels/reference)
 *	fused       f32, bf16, bf16_pure: our kernels for AVX2 and AVX-512, and oneDNN for the products that they leave
 *	            out (nn/kernels/fused)
 *	onednn      f32, bf16, bf16_pure: oneDNN's primitives wherever it has one, else fused (nn/kernels/onednn)
 *	auto        f32, bf16, bf16_pure: of fused and onednn the one that a table of choices names for the operation
 *	            and its shape (nn/choices.h); in bf16 products also by the kernels of f32 on widened numbers
 *
 * Layers see only the table. nn/kernels.def lists the operations. All have one form: a context and the operation's
 * arguments by name,
 *
 *	MR_TRY(k->sum(kc, &(mr_sum_args){.n = n, .a = a, .b = b, .y = y}));
 *
 * and a status: MR_ERESOURCE where memory ran out, MR_EDNN where oneDNN refused. Only a call that returns MR_OK has
 * computed what its row says.
 *
 * A context belongs to one worker's leader thread: it is created on that thread, with its team's thread count, and used
 * by it alone. It caches primitives by shape (op, shape, threads, ISA: never by the place in the pipeline), so the
 * first call with a shape may allocate and compile; later ones neither allocate nor lock in our code. All matrices are
 * row-major. Determinism: same arguments, same context settings, same bits; with another number of threads see
 * nn/thread_bits.h.
 *
 * "add": false writes the result, true adds it to the destination: dst + result with one rounding, or, for products,
 * the chain of multiply-adds that begins with dst. Which of the two depends on the shape alone.
 *
 * Denormals. The threads of workers flush them (host/group.h): a denormal operand counts as 0, and a denormal result
 * becomes 0 with its sign. Instructions that multiply bf16 do so in any thread. What is rounded to bf16, to the
 * nearest, is never a denormal in any thread either (nn/bf16.h). Only bits that are not computed with stay what they
 * are: a weight in two parts, and a number that is rounded stochastically.
 *
 * A tensor has the type of its class in mr_kernels.types. What layers hand over are activations, but for weights (of
 * products, gains, shifts, tables), gradients (colsum's result, dgain, dshift, dwte, dwpe, colsum_a, colsum_b), and
 * mean, rstd and variance of norms and the numbers of mse's target, which are of the type that is computed in. An
 * operation computes in that type and rounds each element of its result once; attention in bf16 by blocks also rounds P
 * and dS, which are factors of products (nn/kernels/fused/attention/vec_attn_blocks.inc).
 *
 * Products of bf16 numbers: the CPU's instructions for them take denormal factors as 0 and make 0 of denormal sums;
 * what is rounded to a denormal becomes 0 anyway (nn/bf16.h). The reference keeps both. NaN and infinity propagate.
 */
#ifndef MR_NN_KERNELS_H
#define MR_NN_KERNELS_H

#include "base/status.h"
#include "nn/rounding.h"
#include "nn/saved.h"
#include "nn/tensor.h"
#include "nn/window.h"

/* Products take the first three; SiLU is x times sigmoid(x). */
typedef enum mr_act {
	MR_ACT_NONE,
	MR_ACT_RELU,
	MR_ACT_GELU, /* tanh form */
	MR_ACT_TANH,
	MR_ACT_SIGMOID,
	MR_ACT_SILU,
} mr_act;

typedef struct mr_kctx mr_kctx; /* each backend has its own body */

/* Classes of tensors; the first five have the type that mr_types names. */
typedef enum mr_class {
	MR_ACTIVATIONS,
	MR_WEIGHTS,
	MR_GRADIENTS,
	MR_STATE,
	MR_COMPUTED, /* of the type that is computed in */
	MR_REST,     /* int16_t: what masters have beyond weights */
	MR_TOKENS,   /* int32_t */
	MR_NUMBER,   /* double */
	MR_SAVED,    /* bytes in the backend's own form, from forward to backward */
	MR_SCRATCH,  /* bytes, during a call */
} mr_class;

/* The classes of A, B and C. Bias, aux and addend are weights, activations and activations. */
typedef enum mr_gemm_of {
	MR_GEMM_ACTIVATIONS, /* activations, weights, activations */
	MR_GEMM_GRADIENTS,   /* activations, activations, gradients: of a product with ta */
	MR_GEMM_STATE,       /* all of the state's type: an optimizer's own products */
} mr_gemm_of;

/* C[m,n] (+)= op(A)[m,k] * op(B)[k,n], then + bias[n], then act or + addend. op transposes when ta (A stored [k,m]) or
 * tb (B stored [n,k]). Leading dimensions are the stored row lengths; all matrices dense (lda = k or m, ldb = n or k,
 * ldc = n). */
typedef struct mr_gemm {
	mr_gemm_of of;
	int64_t m, n, k;
	bool ta, tb;
	bool add;    /* beta = 1; excludes bias and act; holds for the sums as well */
	bool bias;
	mr_act act;  /* applied to C; with MR_ACT_GELU the input of act_backward goes to @aux */
	void *colsum_a, *colsum_b; /* with ta alone, [m] and [n]: column sums of A and B as stored, the bits of colsum;
	                              or NULL */
	mr_act fuse_act_backward;     /* C is the gradient of this activation's output, and becomes that of its input:
	                                 finally act_backward(fuse_act_backward, fuse_act_backward_aux, C), with the
	                                 same bits. Excludes ta, add, bias, act and addend. NONE: not done */
	const void *fuse_act_backward_aux;
	const void *addend; /* [m, n], not C: added last, with the bits of `sum` afterwards; excludes ta, add and act.
	                       NULL: none */
	void *packed;       /* of products that all have one B: mr_kernels.packed_bytes of memory where the backend
	                       keeps it as it reads it fastest, which the call with @packs fills; in f32 only with bias
	                       beside. NULL: B is read where it lies, with the same bits */
	bool packs;
	bool backward;      /* with @packed, in every second product: B is read from its end, which L2 still holds */
} mr_gemm;

/* The class of operand @which: 0: A, 1: B, 2: C. */
static inline mr_class mr_gemm_class(const mr_gemm *g, int which)
{
	static const mr_class classes[][3] = {
		[MR_GEMM_ACTIVATIONS] = {MR_ACTIVATIONS, MR_WEIGHTS, MR_ACTIVATIONS},
		[MR_GEMM_GRADIENTS] = {MR_ACTIVATIONS, MR_ACTIVATIONS, MR_GRADIENTS},
		[MR_GEMM_STATE] = {MR_STATE, MR_STATE, MR_STATE},
	};

	return classes[g->of][which];
}

/*
 * Batch normalisation of x[rows, cols]: each column shifted and scaled by its mean and variance over all rows (which
 * is sum (x - mean)^2 / rows), and act, NONE or RELU, of the result. A column's sums have one fixed order for any
 * number of threads, but in oneDNN.
 */
typedef struct mr_batch_norm {
	int64_t rows, cols;
	double eps;  /* added to the variance, under the root */
	mr_act act;
	bool given;  /* mean and variance are the caller's, as in evaluation */
} mr_batch_norm;

/* Multi-head attention without its projections. qkv [samples*T, W]: q, k, v side by side; q is heads * dim wide, k and
 * v kv_heads * dim. Query head h sees key and value head h / (heads / kv_heads); gradients of a key or value head are
 * summed over its query heads in ascending order. */
typedef struct mr_attn {
	int64_t samples, t, heads, dim; /* scale 1/sqrt(dim) */
	int64_t kv_heads;               /* divides heads; 0: heads */
	bool bidirectional;             /* all queries see all keys; else query t sees keys 0..t */
} mr_attn;

static inline int64_t mr_attn_kv_heads(const mr_attn *a)
{
	return a->kv_heads ? a->kv_heads : a->heads;
}

/* Query heads that share a key and value head. */
static inline int64_t mr_attn_group(const mr_attn *a)
{
	return a->heads / mr_attn_kv_heads(a);
}

/* Columns of qkv. */
static inline int64_t mr_attn_width(const mr_attn *a)
{
	return (a->heads + 2 * mr_attn_kv_heads(a)) * a->dim;
}

static inline int64_t mr_attn_rows(const mr_attn *a)
{
	return a->samples * a->t;
}

/* Of @products of scores or gradients, each over the pairs of a query and a key that attention sees. */
static inline double mr_attn_flops(const mr_attn *a, int products)
{
	double pairs = (double)a->t * (double)(a->bidirectional ? a->t : a->t + 1) / (a->bidirectional ? 1 : 2);

	return 2.0 * products * pairs * (double)(a->samples * a->heads * a->dim);
}

/* Rotary positions: of each head's numbers x_j and x_{j + dim/2} are the coordinates of a point, turned by the angle
 * position * theta^(-2j / dim), j < dim/2; row r of a sample has position first + r. Angles are f64. */
typedef struct mr_rope {
	int64_t samples, t, heads, kv_heads, dim; /* dim even */
	int64_t first;
	double theta;
} mr_rope;

static inline int64_t mr_rope_rows(const mr_rope *r)
{
	return r->samples * r->t;
}

/* Columns of queries, keys and values side by side. */
static inline int64_t mr_rope_width(const mr_rope *r)
{
	return (r->heads + 2 * r->kv_heads) * r->dim;
}

/* What goes from row to row in a recurrent layer (nn/layers/recurrent.h). */
typedef enum mr_cell_kind { MR_CELL_LSTM, MR_CELL_GRU } mr_cell_kind;

/* Gates of an element of y. */
static inline int64_t mr_cell_gates(mr_cell_kind kind)
{
	return kind == MR_CELL_LSTM ? 4 : 3;
}

/* One row of each of @samples. In a tensor of all rows, the rows of two samples that follow each other are @pitch rows
 * apart; a pointer names that of sample 0. Rows of gates have mr_cell_gates() times as many columns. */
typedef struct mr_cell {
	mr_cell_kind kind;
	int64_t samples, width; /* columns of y */
	int64_t pitch;
} mr_cell;

/* Rows of a tensor of all rows, from that of sample 0 to that of the last one. */
static inline int64_t mr_cell_rows(const mr_cell *c)
{
	return (c->samples - 1) * c->pitch + 1;
}

/* A whole LSTM or GRU: all rows of its samples at once. Equations, gates and weights are those of
 * nn/layers/recurrent.h. */
typedef struct mr_recurrence {
	mr_cell_kind kind;
	int64_t samples, t;  /* rows of a sample */
	int64_t in, width;   /* columns of x, and of y */
	bool reverse;        /* from the last row to the first */
} mr_recurrence;

/* Forward is one of @products, backward two: of the gradients of what it multiplies. */
static inline double mr_recurrence_flops(const mr_recurrence *r, int products)
{
	int64_t gates = mr_cell_gates(r->kind) * r->width;

	return 2.0 * products * (double)(r->samples * r->t) * (double)gates * (double)(r->in + r->width);
}

/* The memory of its two passes beside their tensors. */
typedef struct mr_recurrence_room {
	mr_saved saved;      /* from forward to backward */
	size_t scratch;      /* bytes, during a call */
	size_t library;      /* bytes that a context allocates */
} mr_recurrence_room;

typedef struct mr_recurrence_call {
	const void *x;       /* [samples, t, in] */
	const void *w[4];    /* weight_ih, weight_hh, bias_ih, bias_hh */
	const void *begin_y, *begin_c; /* [samples, width] before the first row; NULL: 0 */
	void *y;             /* [samples, t, width]: forward writes, backward reads */
	void *end_c;         /* forward writes the cells after the last row; NULL: not wanted, or a GRU */
	void *saved, *scratch;
	/* Of backward alone. */
	const void *dy;
	void *dx;            /* NULL: not wanted */
	bool dx_add;
	void *dw;            /* gradients of the four weights, one after the other without gaps, overwritten */
} mr_recurrence_call;

/* Bags of tokens: of @size each, and the first ones of two bags are @pitch apart. A token names row token mod @vocab of
 * a table of @cols columns, a negative one none. */
typedef struct mr_bags {
	int64_t rows, pitch, size; /* rows: bags */
	int64_t vocab, cols;
	bool mean;                 /* of the rows that a bag names, in place of their sum */
} mr_bags;

/* From the first token to the last one. */
static inline int64_t mr_bag_tokens(const mr_bags *b)
{
	return (b->rows - 1) * b->pitch + b->size;
}

/* The row of a token; 0 of one that is none. */
static inline int64_t mr_bag_row(const mr_bags *b, int32_t token)
{
	return token < 0 ? 0 : token < b->vocab ? token : token % b->vocab;
}

enum { MR_PAIRS_INPUTS = 8, MR_PAIRS_VECTORS = 256 /* at most */ };

/* Vectors of @width numbers, of which each of @parts tensors has some side by side for each sample. */
typedef struct mr_pairs {
	int64_t samples, parts, of_part[MR_PAIRS_INPUTS];
	int64_t n, width; /* n: of all parts */
} mr_pairs;

/* Numbers of a sample of y. */
static inline int64_t mr_pairs_out(const mr_pairs *p)
{
	return p->width + p->n * (p->n - 1) / 2;
}

/* One block of coordinates of a linear objective (nn/layers/margin.c). Columns of x: sum and penalty so far, @block
 * coordinates, @rest; of y: sum, penalty where there is one, @rest. */
typedef struct mr_margin_block {
	int64_t rows, head, block, rest; /* head: 0, 1 or 2 columns */
	double l2, noise;                /* l2 > 0: there is a penalty */
} mr_margin_block;

static inline int64_t mr_margin_in(const mr_margin_block *m)
{
	return m->head + m->block + m->rest;
}

static inline int64_t mr_margin_out(const mr_margin_block *m)
{
	return 1 + (m->l2 > 0) + m->rest;
}

/* Attention of @t queries to @s keys, both of @h numbers; the first @length keys are no padding. */
typedef struct mr_attend {
	int64_t t, s, length, h;
	bool additive; /* scores by sums and a vector, not by products */
} mr_attend;

/* Which random numbers a dropout mask uses: independent of pipeline, cut and micro-batch (base/rng.h, MR_RNG_DROPOUT).
 */
typedef struct mr_mask_key {
	uint64_t seed;
	uint64_t first_sample; /* global number of row 0's sample */
	uint32_t layer;        /* number of the layer in the model */
} mr_mask_key;

/* Elements of a sample whose masks are drawn together: mr_dropout_args.first is a multiple of it. */
#define MR_DROPOUT_BLOCK 4

/* The rules of steps: MR_STEP_SGD, MR_STEP_MOMENTUM, ..., each defined in an optimizer's file
 * (nn/optim/optim.def). */
typedef enum mr_step_kind {
#define MR_OPTIM_LIST
#define MR_OPTIM(id)
#define MR_STEP(kind, id, states, passes, rate, rate_g) MR_STEP_##kind,
#include "nn/optim/optim.def"
#undef MR_STEP
#undef MR_OPTIM
#undef MR_OPTIM_LIST
	MR_N_STEPS
} mr_step_kind;

/*
 * One optimizer step of one tensor, elementwise, without its gradient g. Per element g' = g gscale + couple w, and with
 * w from @src, the result to @dst (which may be @src):
 *
 *	sgd       w = w (1 - decay) - lr g'
 *	momentum  m = mu m + g';  w = w (1 - decay) - lr (nesterov ? g' + mu m : m)
 *	blend     m as momentum;  w = w (1 - decay) - lr (cg g' + cm m)
 *	adam      m = b1 m + (1-b1) g';  v = b2 v + (1-b2) g'^2;  w = w (1 - decay) - lr (m / c1) / (sqrt(v / c2) + eps)
 *	nadam     m, v as adam;  w = w (1 - decay) - lr (cg g' + cm m) / (sqrt(v / c2) + eps)
 *	lion      w = w (1 - decay) - lr sign(b1 m + (1-b1) g');  m = b2 m + (1-b2) g'
 *	averaged  w as sgd;  m = b1 m + (1-b1) w
 *
 * Scalars in f64; fields that the kind does not name are not read. decay = lr * weight_decay of decoupled decay (0:
 * none); couple = weight_decay of coupled decay (0: none, and nothing is added); c1, c2: bias corrections. w is the
 * master where it is wider than a weight.
 */
typedef struct mr_state_form mr_state_form;

/* A state that is stored in other numbers than a kernel steps (nn/state_form.h). */
typedef struct mr_stored {
	const mr_state_form *form; /* NULL: m and v are of the state's type */
	float *scale[2];           /* of the blocks of m and v; NULL: the form has none */
	int64_t cols;              /* of a row that is stepped by itself; 0: there is none */
	int64_t room_n;            /* elements that @room has room for (mr_stored_room) */
	void *room;
} mr_stored;

typedef struct mr_step {
	mr_step_kind kind;
	bool nesterov;
	bool along_weights; /* g is a tensor of weights, in place of a gradient */
	const void *src;
	void *dst, *m, *v;
	const int16_t *src_rest; /* of the masters at @src; NULL: the weights are their masters */
	int16_t *dst_rest;       /* for the rest of the result (may be src_rest); NULL: it is lost */
	mr_rounding rounding;    /* of bf16 numbers without a master; without its step to the nearest */
	mr_stored stored;        /* kernels never get such a step: mr_stored_step */
	double gscale, couple, lr, decay, mu, b1, b2, eps, c1, c2, cg, cm;
} mr_step;

/* Rows of a product that are returned, beside the step that consumes the whole product. */
typedef struct mr_gemm_rows {
	int64_t n;
	const int32_t *row; /* [n] which */
	void *out;          /* [n, columns of the product] */
	void *room;         /* [g->k, n] to work in */
} mr_gemm_rows;

typedef enum mr_averaging_kind { MR_AVERAGING_MEAN, MR_AVERAGING_OUTER, MR_AVERAGING_PULL } mr_averaging_kind;

/*
 * The average of @n copies x_r of the weights, elementwise. In f64 for every type; each sum, product and quotient is
 * rounded by itself, and copies are added in ascending order; mean(x) is that sum / n. x_r comes from src[r], and its
 * new value goes to dst[r] (which may be src[r]):
 *
 *	mean   x_r = mean(x)
 *	outer  d = reference - mean(x);  velocity = mu velocity + d;  x_r = reference = reference - lr (d + mu velocity)
 *	pull   before = mean(x);  x_r -= alpha (x_r - reference);  reference += before - mean;  mean = mean(x)
 *
 * with a velocity of 0 where there is none (NULL), and the x_r of the last mean as they were stored. Fields that the
 * kind does not name are not read. Every backend gives the same bits.
 *
 * With @weights, x_r and reference are weights, and their masters are averaged; else they are of the
 * state's type, as velocity and mean always are. Not in bf16_pure: means of neighbours in bf16 are all halves, which
 * rounding would turn into a drift.
 */
#define MR_AVERAGING_MOST 255 /* copies */

typedef struct mr_averaging {
	mr_averaging_kind kind;
	bool weights;
	uint32_t n;
	const void *const *src;
	void *const *dst;
	void *reference, *velocity, *mean;
	int16_t *const *rest; /* [n] of the masters, both of src[r] and of dst[r]; NULL: the weights are their masters
			       */
	int16_t *reference_rest; /* the same of the reference */
	double alpha, lr, mu;
} mr_averaging;

/* Work on elements [lo, hi). Several ranges are processed at once; the result for an element must not depend on its
 * range. */
typedef void mr_range_fn(const void *args, int64_t lo, int64_t hi);

typedef struct mr_kernels mr_kernels;
struct mr_kernel_call;
struct mr_old_rows;
struct mr_row_index;

/* The arguments of each operation, by the names of its row. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) typedef struct mr_##id##_args {
#define MR_OPERATION_WHOLE(id, what) typedef struct mr_##id##_args {
#define MR_PARAMETER(type, id) type id;
#define MR_OPERAND(pointer, id, class, used, count, read, written) pointer id;
#define MR_END(id) } mr_##id##_args;
#include "nn/kernels.def"

/* The code that executes an operation: portable C, our kernels, a primitive of oneDNN, or for a product in bf16 our
 * kernels of f32 (nn/kernels/fused/blocks/f32_inside.h). */
typedef enum mr_kernel_by { MR_BY_REFERENCE, MR_BY_FUSED, MR_BY_ONEDNN, MR_BY_F32, MR_N_KERNEL_BY } mr_kernel_by;

struct mr_kernels {
	const char *name; /* of the backend: "reference", "fused", "onednn", "auto" */
	mr_types types;   /* of its tensors; mr_types_name is the configuration's name for them */
	const char *gelu_aux; /* the numbers that gemm stores in @aux with GELU, by name, for mr_saved_add */
	bool recorded;    /* of a recorder: calls are noted, and no tensor is there (nn/recorder.h) */
	const struct mr_choices *choices; /* of the backend `auto`, for its contexts; else NULL */
	const char *(*refusal)(void); /* why this CPU cannot use it, or NULL; itself NULL: every CPU can */
	uint64_t l2_bytes; /* of a core, by which products are cut; 0: not known. No bit depends on it */
	/** The code that executes this call in a context with @n_threads. (nn/recorder.h) */
	mr_kernel_by (*executor)(const mr_kernels *k, uint32_t n_threads, const struct mr_kernel_call *c);
	/** Bytes of mr_gemm.packed for this product; 0: it is as fast without. NULL: always 0. */
	size_t (*packed_bytes)(const mr_kernels *k, const mr_gemm *g);
	/** The same where other work comes between the products, so that the caches hold nothing of B. */
	size_t (*panel_bytes)(const mr_kernels *k, const mr_gemm *g);
	/** Is conv_sum of this one a single product? Otherwise it is no faster than one gradient after the other. NULL:
	 * it never is. For planning. */
	bool (*joins_conv)(const mr_kernels *k, const mr_conv *g);
	/* NULL in backends without mr_kernels.recurrence, in which an LSTM goes row by row by products and `cell`. */
	/** Does `recurrence` execute this one, in every context? The room that it needs. For planning: slow. */
	bool (*recurrence_room)(const mr_kernels *k, const mr_recurrence *r, mr_recurrence_room *out);
	/** The same answer without the room. */
	bool (*takes_recurrence)(const mr_kctx *kc, const mr_recurrence *r);
#define MR_KERNEL_PART(type, id, args) type (*id) args;
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	mr_status (*id)(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#define MR_OPERATION_WHOLE(id, what) mr_status (*id)(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#include "nn/kernels.def"
};

/* Bytes that attention saves from forward to backward. */
static inline int64_t mr_attn_saved_bytes(const mr_kernels *k, const mr_attn *a)
{
	mr_saved all = {0};

	k->attn_saved(a, &all);
	return (int64_t)all.bytes;
}

/**
 * The table of the backend that a configuration calls @backend, for weights of @dtype (of several sets of types the
 * first, which keeps masters); NULL with a message in mr_error_text()
 * when there is none (fused with f64, or a build without oneDNN).
 */
const mr_kernels *mr_kernels_find(const char *backend, mr_dtype dtype);

/** The same for the types of @precision. */
const mr_kernels *mr_kernels_of(const char *backend, mr_precision precision);

/** A backend by the name that users write, in the order of the list; false past the end. */
typedef struct mr_backend {
	const char *name, *summary;
} mr_backend;

bool mr_backend_at(uint32_t i, mr_backend *out);

/** The @i-th operation of nn/kernels.def and what executes it in each backend; false past the end. */
typedef struct mr_operation {
	const char *name, *what, *reference, *fused, *onednn, *chosen; /* @chosen: by the backend `auto` */
} mr_operation;

bool mr_operation_at(uint32_t i, mr_operation *out);

/** The instruction set of the kernels of `fused` on this machine, by its name in tables of choices: "avx512", "avx2",
 * "none"; in bf16 that of products, if it has one of its own: "amx", "avx512_bf16". */
const char *mr_kernels_isa(mr_dtype dtype);

/** By which instructions @k multiplies bf16 numbers: "avx512_bf16, not amx: this CPU has no AMX with bf16". NULL where
 * nn/kernels/fused/blocks/block_engine.h has no part in it. Valid until the thread's next call. */
const char *mr_kernels_bf16_engine(const mr_kernels *k);

/** Library name, version and ISA for --version, such as "oneDNN 2.6.3 (AVX-512)"; "none" without it. */
const char *mr_kernels_library(void);

#endif
