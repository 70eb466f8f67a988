/*
 * kernels.h - the arithmetic that layers and optimizers are written against: one table, filled twice.
 *
 * mr_kernels_dnnl (f32; nn/kernels/onednn/onednn_matmul.c is the only file that includes dnnl.h) and mr_kernels_reference (f32 and f64;
 * portable C, single-threaded, the textbook order of every sum). Layers know only the table.
 *
 * A context belongs to one worker's leader thread: it is created on that thread, with its team's thread count, and used by
 * it alone. It caches primitives by shape (op, shape, threads, ISA: never by the place in the pipeline), so the first call
 * with a shape may allocate and compile; later ones neither allocate nor lock in our code. All matrices are row-major.
 * Determinism: same arguments, same context settings, same bits.
 *
 * "add": false writes the result, true adds it to what is there: dst + result with one rounding, or, for products, the chain of
 * multiply-adds begun at dst. Which of the two depends on the shape alone.
 */
#ifndef MR_NN_KERNELS_H
#define MR_NN_KERNELS_H

#include "base/status.h"
#include "nn/tensor.h"

typedef enum mr_act { MR_ACT_NONE, MR_ACT_RELU, MR_ACT_GELU /* tanh form */ } mr_act;

typedef struct mr_kctx mr_kctx; /* each filling has its own body */

/* C[m,n] (+)= op(A)[m,k] * op(B)[k,n], then + bias[n], then act or + addend. op transposes when ta (A stored [k,m]) or tb (B stored
 * [n,k]). Leading dimensions are the stored row lengths; all matrices dense (lda = k or m, ldb = n or k, ldc = n). */
typedef struct mr_gemm {
	int64_t m, n, k;
	bool ta, tb;
	bool add;    /* beta = 1; excludes bias and act; holds for the sums as well */
	bool bias;
	mr_act act;  /* applied to C; with MR_ACT_GELU what act_backward wants of it goes to @aux */
	void *a_sums, *b_sums; /* with ta alone, [m] and [n]: column sums of A and B as stored, the bits of colsum; or NULL */
	mr_act through;     /* C is the gradient of this activation's output, and becomes that of its input: last of all act_backward(through,
	                       through_aux, C), with the same bits. Excludes ta, add, bias, act and addend. NONE: nothing */
	const void *through_aux;
	const void *addend; /* [m, n], not C: added last, with the bits of `sum` afterwards; excludes ta, add and act. NULL: nothing */
} mr_gemm;

/* Causal multi-head attention without its projections. qkv [samples*T, 3C]: q, k, v side by side, each heads * dim wide. */
typedef struct mr_attn {
	int64_t samples, t, heads, dim; /* C = heads * dim; scale 1/sqrt(dim) */
} mr_attn;

/* Which random numbers a dropout mask uses: independent of pipeline, cut and micro-batch (base/rng.h, MR_RNG_DROPOUT). */
typedef struct mr_mask_key {
	uint64_t seed;
	uint64_t first_sample; /* global number of row 0's sample */
	uint32_t layer;        /* number of the layer in the model */
} mr_mask_key;

/* The rules by which steps go: MR_STEP_SGD, MR_STEP_MOMENTUM, ..., each stated by an optimizer's file (nn/optim/optim.def). */
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
 * One optimizer step of one tensor, elementwise, without its gradient g. Per element g' = g gscale, and with w from @src,
 * the result to @dst (which may be @src):
 *
 *	sgd       w = w (1 - decay) - lr g'
 *	momentum  m = mu m + g';  w = w (1 - decay) - lr (nesterov ? g' + mu m : m)
 *	blend     m as momentum;  w = w (1 - decay) - lr (cg g' + cm m)
 *	adam      m = b1 m + (1-b1) g';  v = b2 v + (1-b2) g'^2;  w = w (1 - decay) - lr (m / c1) / (sqrt(v / c2) + eps)
 *	nadam     m, v as adam;  w = w (1 - decay) - lr (cg g' + cm m) / (sqrt(v / c2) + eps)
 *	lion      w = w (1 - decay) - lr sign(b1 m + (1-b1) g');  m = b2 m + (1-b2) g'
 *
 * Scalars in f64; fields that the kind does not name are not read. decay = lr * weight_decay (0: none); c1, c2: bias
 * corrections.
 */
typedef struct mr_step {
	mr_step_kind kind;
	bool nesterov;
	const void *src;
	void *dst, *m, *v;
	double gscale, lr, decay, mu, b1, b2, eps, c1, c2, cg, cm;
} mr_step;

/* Rows of a product that are wanted for themselves, beside the step that consumes all of it. */
typedef struct mr_gemm_rows {
	int64_t n;
	const int32_t *row; /* [n] which */
	void *out;          /* [n, columns of the product] */
	void *room;         /* [g->k, n] to work in */
} mr_gemm_rows;

typedef enum mr_mix_kind { MR_MIX_MEAN, MR_MIX_OUTER, MR_MIX_PULL } mr_mix_kind;

/*
 * @n copies x_r of the weights brought together, elementwise. In f64 whatever the type, each sum, product and quotient rounded by
 * itself, copies added in ascending order; mean(x) is that sum / n. x_r comes from src[r], what becomes of it goes to dst[r] (which
 * may be src[r]):
 *
 *	mean   x_r = mean(x)
 *	outer  d = reference - mean(x);  velocity = mu velocity + d;  x_r = reference = reference - lr (d + mu velocity)
 *	pull   before = mean(x);  x_r -= alpha (x_r - reference);  reference += before - mean;  mean = mean(x)
 *
 * with a velocity of 0 where there is none (NULL), and the x_r of the last mean as they were stored. Fields that the kind does not
 * name are not read. Every filling gives the same bits.
 */
typedef struct mr_mix {
	mr_mix_kind kind;
	uint32_t n;
	const void *const *src;
	void *const *dst;
	void *reference, *velocity, *mean;
	double alpha, lr, mu;
} mr_mix;

/* Work on elements [lo, hi). Several ranges are worked on at once; what becomes of an element must not depend on its range. */
typedef void mr_range_fn(const void *args, int64_t lo, int64_t hi);

typedef struct mr_kernels {
	const char *name; /* "dnnl", "reference" */
	mr_dtype dtype;

	/** On the leader's thread, after its team is set up. */
	mr_status (*ctx_create)(uint32_t n_threads, mr_kctx **out) MR_MUST_USE;
	void (*ctx_destroy)(mr_kctx *kc); /* accepts NULL; on the thread that made it */
	/** Bytes of scratch that calls have used and an estimate for primitives that the context holds (for the memory table). */
	size_t (*ctx_bytes)(const mr_kctx *kc);

	/** @bias and @aux [m,n] may be NULL when unused. Errors: MR_EDNN, MR_ERESOURCE. */
	mr_status (*gemm)(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, const void *bias, void *c, void *aux);
	/** y[cols] (+)= sum over rows of x[rows, cols], rows in ascending order. */
	void (*colsum)(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, void *y, bool add);
	/** dz[n] = dy * act': @aux is the activation's output for ReLU; for GELU what gemm of the same filling left there, which may be
	 * what the activation was applied to, or its slope there. dz may be dy. */
	void (*act_backward)(mr_kctx *kc, mr_act act, int64_t n, const void *aux, const void *dy, void *dz);

	/** y = (x - mean) * rstd * gain + shift over the last dimension; saves mean[rows], rstd[rows]. With @mean, @shift and @dshift
	 * NULL in all four: rows are not shifted, and rstd = 1 / sqrt(mean of squares + eps). */
	void (*norm)(mr_kctx *kc, int64_t rows, int64_t cols, double eps, const void *x, const void *gain, const void *shift,
		     void *y, void *mean, void *rstd);
	void (*norm_backward_input)(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain,
				    const void *mean, const void *rstd, const void *dy, void *dx, bool add);
	void (*norm_backward_weight)(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *mean,
				     const void *rstd, const void *dy, void *dgain, void *dshift, bool add);
	/** The two, one after the other, with their bits: here x and dy are read once, as far as it goes. */
	void (*norm_backward)(mr_kctx *kc, int64_t rows, int64_t cols, const void *x, const void *gain, const void *mean,
			      const void *rstd, const void *dy, void *dx, bool add, void *dgain, void *dshift, bool add_weight);

	/** Bytes per call of @probs (saved from forward to backward) and of scratch for attention. */
	size_t (*attn_saved_bytes)(const mr_attn *a);
	size_t (*attn_scratch_bytes)(const mr_attn *a);
	mr_status (*attn)(mr_kctx *kc, const mr_attn *a, const void *qkv, void *y, void *saved, void *scratch);
	mr_status (*attn_backward)(mr_kctx *kc, const mr_attn *a, const void *qkv, const void *saved, const void *dy,
				   void *dqkv, void *scratch);

	/** y[rows, cols] = wte[token[r]] + wpe[r mod t]; @wpe may be NULL. Tokens are in range (the data layer checks). */
	void (*embed)(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, const int32_t *tokens, const void *wte,
		      const void *wpe, void *y);
	/** dwte[vocab, cols], dwpe[t, cols]; rows in ascending order. add = false clears both first. */
	void (*embed_backward)(mr_kctx *kc, int64_t rows, int64_t t, int64_t cols, int64_t vocab, const int32_t *tokens,
			       const void *dy, void *dwte, void *dwpe, bool add);

	/** y = a + b; y may be a or b. */
	void (*sum)(mr_kctx *kc, int64_t n, const void *a, const void *b, void *y);
	/** y = x * mask / (1 - rate); the same call serves the gradient. @per_sample elements a sample; y may be x. */
	void (*dropout)(mr_kctx *kc, int64_t samples, int64_t per_sample, double rate, const mr_mask_key *key, const void *x,
			void *y);

	/** Softmax cross-entropy. Overwrites logits[rows, classes] by their gradient of the mean loss, returns that mean
	 * (f64 sum over rows in ascending order). */
	double (*xent)(mr_kctx *kc, int64_t rows, int64_t classes, void *logits, const int32_t *targets);
	/** sum (a - y)^2 / (2 rows); overwrites a[rows, cols] by its gradient. */
	double (*mse)(mr_kctx *kc, int64_t rows, int64_t cols, void *a, const void *y);

	/** Sum of squares in f64, one fixed order for any thread count. */
	double (*sumsq)(mr_kctx *kc, int64_t n, const void *x);

	/** @fn over [0, @n), shared out to the threads of the team as the element-wise kernels are. */
	void (*ranges)(mr_kctx *kc, int64_t n, mr_range_fn *fn, const void *args);

	/** @n elements of copies of the weights brought together. */
	void (*mix)(mr_kctx *kc, int64_t n, const mr_mix *m);
	/** One optimizer step of @n elements with the gradient @g, which is not @src, @dst, m or v. */
	void (*step)(mr_kctx *kc, int64_t n, const mr_step *s, const void *g);
	/**
	 * C as by gemm (no bias, no act), then the step of its m * n elements with the gradient C: the same bits as gemm
	 * followed by step. What @c holds afterwards is undefined; with g->add it brings the sum so far. Errors: MR_EDNN,
	 * MR_ERESOURCE, and then nothing was stepped.
	 */
	mr_status (*gemm_step)(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c,
			       const mr_step *s) MR_MUST_USE;
	/**
	 * C (+)= the sum of @n products op(A_j) op(B_j) of one shape (g->k: of one; g->ta, no bias, no act), j ascending, and with
	 * @s the step as in gemm_step: the same bits as @n calls of gemm that add to each other, so also the sums of columns. Errors:
	 * as gemm_step; @c may then hold a part of the sum.
	 */
	mr_status (*gemm_sum)(mr_kctx *kc, const mr_gemm *g, uint32_t n, const void *const *a, const void *const *b, void *c,
			      const mr_step *s) MR_MUST_USE;
	/** gemm_step, and the rows @r of C besides: the same bits as gemm, copies of those rows, and step. g->ta and not g->add. Errors: as
	 * gemm_step; r->out may then hold anything. */
	mr_status (*gemm_step_rows)(mr_kctx *kc, const mr_gemm *g, const void *a, const void *b, void *c, const mr_step *s,
				    const mr_gemm_rows *r) MR_MUST_USE;
} mr_kernels;

/** The filling called @backend ("dnnl", "reference") for @dtype; NULL with a sentence in mr_error_text() when there is none
 * (dnnl with f64, or a build without oneDNN). */
const mr_kernels *mr_kernels_find(const char *backend, mr_dtype dtype);

/** Library name, version and ISA for --version, such as "oneDNN 2.6.3 (AVX-512)"; "none" without it. */
const char *mr_kernels_library(void);

#endif
