/*
 * optim.h - optimizers: one file in nn/optim, one line in optim.def each.
 *
 * A step goes out of place: it reads the latest weights at @src and writes the next version at @dst (which may be
 * @src), so stashing a version costs no copy. State belongs to the latest version only. Scalars are computed in f64 in
 * every dtype. Constants and forms: PyTorch's, but that decay is decoupled (w *= 1 - lr wd, first) unless an option
 * makes it coupled (g += wd w, where g is the mean gradient, clipped).
 */
#ifndef MR_NN_OPTIM_H
#define MR_NN_OPTIM_H

#include "base/option.h"
#include "nn/kernels.h"
#include "nn/old_rows.h"
#include "nn/state_form.h"

#define MR_OPTIM_STATES 2
#define MR_OPTIM_FACTORS 4
#define MR_OPTIM_PRODUCTS 8
#define MR_OPTIM_MOST_WAIT 20

typedef struct mr_optim mr_optim;

/* A tensor as a hidden matrix: the weight of a layer between the embedding and the head, stored [rows,
 * cols]. */
typedef struct mr_optim_matrix {
	int64_t rows, cols; /* 0: no hidden matrix */
	bool out_first;     /* a row for each output, instead of a column */
} mr_optim_matrix;

/* A square matrix that an optimizer keeps of a hidden one. */
typedef struct mr_factor {
	void *at;     /* [side, side], of the type of the states; NULL: there is none */
	int64_t side;
} mr_factor;

typedef struct mr_optim_call {
	const void *src;
	void *dst;
	const int16_t *src_rest; /* see mr_step */
	int16_t *dst_rest;
	void *state[MR_OPTIM_STATES];
	mr_stored stored; /* see mr_step */
	mr_factor factor[MR_OPTIM_FACTORS]; /* of a hidden matrix */
	double lr;
	uint64_t t;      /* number of this commit, from 1 */
	mr_rounding rounding; /* see mr_step */
	double gscale;   /* 1 / count of summed micro-batches, times the clipping factor */
	bool decay;      /* weight decay applies to this tensor, whatever its scope */
	int64_t lazy_cols; /* columns of a table whose rows without a gradient a step leaves alone
	                      (nn/lazy_rows.h); 0: all numbers are stepped */
	int64_t sum_rows;  /* of such a tensor: its gradient sums at most this many rows (nn/row_sum.h); 0: all */
	mr_old_rows *old_rows; /* of such a tensor: where a step saves what it changes; NULL: nowhere */
	mr_optim_matrix matrix;
	void *work;      /* work_bytes(&matrix) bytes, aligned to cache lines; only for optimizers that have step_matrix
	                    */
} mr_optim_call;

/* The direction in which later weights are predicted: that of the last step, times the rate. */
typedef enum mr_along {
	MR_ALONG_NOTHING,  /* no direction is kept: predictions are refused */
	MR_ALONG_MOMENTUM, /* state 0 */
	MR_ALONG_ADAM,     /* the corrected mean over the root of the corrected mean of squares: states 0 and 1, with
	                      the constants of fill() */
} mr_along;

typedef struct mr_optim_ops {
	const char *name;
	const char *summary;
	const mr_option *options;      /* without lr, which the learning-rate schedule owns */
	uint32_t n_states;             /* tensors of state a parameter: 0, 1 or 2 */
	const char *const *state_names; /* "momentum"; "exp_avg", "exp_avg_sq" */
	uint32_t n_factors;            /* square matrices that a hidden matrix has beside these, see factor_side */
	const char *const *factor_names;
	mr_along along;
	bool blends;                   /* fill() uses mr_optim.blends */
	bool looks_ahead;              /* Nesterov's step on the mean of memory b1 */
	bool averages;                 /* state 0 is an average of the weights: see mr_optim.average_from */
	bool suffers;                  /* published runs got worse with stale gradients: warn if there is no
	                                  mitigation */
	void (*init)(mr_optim *o, const mr_values *values);
	/** The call as a step that kernels carry out: alone, or right after the product that makes the gradient. */
	void (*fill)(const mr_optim *o, const mr_optim_call *c, mr_step *out);
	/** Optimizers that need the whole gradient of a matrix at once: the step of a hidden matrix, and the bytes of
	 * its work memory. Both NULL for optimizers that go element by element. Errors: MR_EDNN, MR_ERESOURCE. */
	mr_status (*step_matrix)(const mr_optim *o, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc,
				 const void *g);
	size_t (*work_bytes)(const mr_optim_matrix *m, mr_dtype t);
	/** Rows, and columns, of factor @i of @m, of the type of the states, zeros at first; 0: there is none. NULL
	 * without factors. */
	int64_t (*factor_side)(const mr_optim *o, const mr_optim_matrix *m, uint32_t i);
	/** The products of that step, each shape once, and zeros behind them. NULL: it has none. */
	void (*products)(const mr_optim_matrix *m, mr_gemm out[MR_OPTIM_PRODUCTS]);
} mr_optim_ops;

struct mr_optim {
	const mr_optim_ops *ops;
	const mr_state_form *form; /* of the states; NULL: they are of the precision's type */
	double mu, b1, b2, eps, psi, weight_decay;
	bool nesterov;
	bool coupled;     /* decay is a part of the gradient */
	bool decay_all;   /* decay is for every tensor, not for matrices alone */
	bool blends;      /* momentum, ema: along blend_g g + blend_m buf instead of buf */
	double blend_g, blend_m;
	uint32_t rounds;  /* muon: of Newton-Schulz */
	uint32_t wait;    /* nt_asgd: evaluations (session/average_trigger.h) */
	uint64_t average_from; /* of an optimizer that averages: the step behind which it does; 0: not yet. Changed only
	                          while no worker runs */
	int64_t max_side; /* soap, rotated_adam: a larger side of a matrix keeps its coordinates */
	uint64_t frequency;   /* and of how many steps one turns them */
	double mean_memory;   /* soap: of the means whose eigenvectors they are */
	bool of_momentum, one_sided, by_delay, correct_bias; /* rotated_adam: see its options */
	double interval;      /* rotated_adam: the same at a stage, on average; INFINITY: never */
	double rest_rate; /* muon: learning rate of tensors that are no hidden matrix, as a multiple */
};

const mr_optim_ops *mr_optim_at(uint32_t i);
const mr_optim_ops *mr_optim_find(const char *name);

/** Fill @o from the values of @ops->options. */
void mr_optim_init(mr_optim *o, const mr_optim_ops *ops, const mr_values *values);

/** May its steps be carried out inside a backward pass, where a gradient exists only piece by piece? */
static inline bool mr_optim_elementwise(const mr_optim *o)
{
	return !o->ops->step_matrix;
}

/** The type of a number of a state of @o as it is stored, with kernels of @t. */
static inline mr_dtype mr_optim_state_type(const mr_optim *o, const mr_types *t)
{
	return o->form ? o->form->type : t->state;
}

/** Let @o, which mr_optim_init has filled, step what kernels of @t do. Errors: MR_ECONFIG. */
mr_status mr_optim_fit(mr_optim *o, const mr_types *t) MR_MUST_USE;

/** One step of @n elements with the gradient @g. Errors: of step_matrix. */
mr_status mr_optim_step(const mr_optim *o, const mr_optim_call *c, const mr_kernels *k, mr_kctx *kc, int64_t n,
			const void *g) MR_MUST_USE;

/*
 * Learning rate as a function of the commit number t: linear warm-up to base over `warmup` commits, except for
 * one_cycle; then
 *
 *	constant      base
 *	cosine        half a cosine down to base min_ratio at commit `total`, and that value afterwards
 *	linear        a line to the same
 *	step          base times gamma for every milestone that is behind (t > milestone), and for every `every` commits
 *	one_cycle     no warm-up, but half a cosine up from base start_ratio at commit 1 to base at commit `warmup` (0:
 *	              MR_LR_RISE of the commits), then half a cosine down to base min_ratio at `total`
 *	inverse_sqrt  base sqrt(warmup / t), of 1 without warm-up
 *	wsd           base, and over the last `cooldown` commits down to base min_ratio along `curve`: a line, half a
 *	              cosine, or 1 - sqrt
 *
 * PyTorch's MultiStepLR, StepLR and OneCycleLR at their step t - 1; the warm-up-stable-decay of transformers at t; and
 * with base = (width warmup)^-0.5 the rate of Vaswani et al., "Attention is all you need", 2017.
 */
typedef enum mr_lr_kind {
	MR_LR_CONSTANT,
	MR_LR_COSINE,
	MR_LR_LINEAR,
	MR_LR_STEP,
	MR_LR_ONE_CYCLE,
	MR_LR_INVERSE_SQRT,
	MR_LR_WSD
} mr_lr_kind;

typedef enum mr_lr_curve { MR_LR_COOL_LINEAR, MR_LR_COOL_COSINE, MR_LR_COOL_SQRT } mr_lr_curve;

#define MR_LR_MILESTONES 16
#define MR_LR_RISE 0.3

typedef struct mr_lr {
	mr_lr_kind kind;
	mr_lr_curve curve;
	double base, min_ratio, start_ratio, gamma;
	uint64_t warmup, total;
	uint64_t every, cooldown; /* 0: none */
	uint32_t n_milestones;
	uint64_t milestone[MR_LR_MILESTONES];
} mr_lr;

/** Learning rate of commit @t (from 1). */
double mr_lr_at(const mr_lr *lr, uint64_t t);

#endif
