/*
 * layer.h - layers: each is one operation with parameters, as a table of functions.
 *
 * A layer is one file in nn/layers that fills one mr_layer_ops and one line in nn/layers/layers.def. It is written
 * once, against mr_kernels. It owns no memory: its caller passes every buffer, sized by needs(). Backward
 * comes in halves: I (backward_input) gives the gradient of the inputs, W (backward_weight) that of the parameters;
 * full B is I then W with the same buffers, to the bit.
 *
 * Buffers of one micro-batch: aux_i lives from F to I, aux_w from F to W, kept from I to W, scratch during one call.
 * The flags in mr_layer_needs tell which of x, y and dy the backward halves read again.
 *
 * State (running statistics) persists from step to step beside the parameters: it has no version and no gradient,
 * belongs to the stage and is saved in checkpoints. Evaluation reads it, training does not: F writes the contribution
 * of its micro-batch to each state to `seen`, again whenever it is repeated, and I reads it there. Each commit calls
 * fold() for its micro-batches in ascending order, which updates the state. So the state's bits depend on the
 * micro-batches alone.
 *
 * Carried values (of an LSTM) go from one micro-batch to another: those with which F of a micro-batch ends are those
 * with which F of the next micro-batch of the same columns begins (weights/carried.h). No gradient crosses between the
 * two. They have no version, and they are zeros in evaluation.
 */
#ifndef MR_NN_LAYER_H
#define MR_NN_LAYER_H

#include "base/fields.h"
#include "nn/old_rows.h"
#include "nn/sparse_rows.h"
#include "nn/kernels.h"
#include "nn/scores.h"
#include "nn/share.h"

/* The most that a layer may have; its ops give the numbers. */
#define MR_LAYER_INPUTS 8
#define MR_LAYER_OUTPUTS 8
#define MR_LAYER_PARAMS 16
#define MR_LAYER_STATES 4
#define MR_LAYER_CARRIED 2
#define MR_LAYER_SPAN 255 /* micro-batches whose W may be one call */

/*
 * One plain configuration for all layers; each layer's file names the fields that it reads. A field that is 0 counts as
 * absent, so in a new field 0 must mean the behaviour before it existed: a run's identity (checkpoint/identity.h) holds
 * every field of this list that is not 0.
 */
#define MR_LAYER_CFG(X) \
	X(int64_t, out)         /* linear, conv, lstm, gru: columns of the output; margin: coordinates; \
	                           dot_interaction: numbers of a vector */ \
	X(int64_t, vocab)       /* embedding, embedding_bag */ \
	X(int64_t, context)     /* embedding: rows of the position table */ \
	X(int64_t, heads)       /* attention, rope */ \
	X(int64_t, parts)       /* split, concat, dot_interaction, share_cat; share_in, share_out, share_rows, \
	                           share_join and layers with ops->rows_apart: of the rows of a sample; \
	                           embedding: of the vocabulary */ \
	X(mr_act, act)          /* linear, activation, conv, batch norm */ \
	X(bool, no_bias)        /* linear, conv */ \
	X(bool, transposed)     /* linear: weight stored [out, in] (a head tied to the token embedding) */ \
	X(double, eps)          /* layer norm, RMS norm, batch norm */ \
	X(double, rate)         /* dropout; embedding: of words; lstm: of weight_hh */ \
	X(double, std)          /* initial standard deviation of the weights; 0: the layer's default */ \
	X(double, value)        /* linear, when std < 0: every weight starts at this value (chain) */ \
	X(bool, first)          /* margin: no sum arrives */ \
	X(double, l2)           /* margin */ \
	X(double, noise)        /* margin */ \
	X(int64_t, kernel_h)    /* conv, max_pool, avg_pool: height of the window (nn/window.h) and so on */ \
	X(int64_t, kernel_w) \
	X(int64_t, stride_h)    /* 0: 1 for conv, the window's height for pools */ \
	X(int64_t, stride_w) \
	X(int64_t, pad_h) \
	X(int64_t, pad_w) \
	X(int64_t, dilation_h)  /* conv; 0: 1 */ \
	X(int64_t, dilation_w) \
	X(int64_t, groups)      /* conv; 0: 1 */ \
	X(bool, count_pad)      /* avg_pool: padding counts as zeros */ \
	X(int64_t, kv_heads)    /* attention, rope: heads of keys and values; 0: heads */ \
	X(bool, bidirectional)  /* attention: queries see all keys */ \
	X(double, theta)        /* rope; 0: 10000 */ \
	X(double, momentum)     /* batch norm */ \
	X(bool, flat)           /* linear: a sample is one row, whatever its dimensions */ \
	X(int64_t, size)        /* lrn */ \
	X(double, alpha)        /* lrn, activation penalty */ \
	X(double, beta)         /* lrn, activation penalty */ \
	X(double, k)            /* lrn */ \
	X(int64_t, patch)       /* patches: height and width of one */ \
	X(bool, reverse)        /* lstm, gru: from the last row to the first */ \
	X(bool, carry)          /* lstm, gru: a micro-batch begins as the one before it of its columns ended */ \
	X(bool, variational)    /* dropout: one mask for all rows of a sample */ \
	X(int64_t, first_row)   /* row_range: the first one; place_rows: where the first one goes; dropout: the first \
	                           one of a sample that comes in parts; embedding: its first word */ \
	X(int64_t, count)       /* row_range: how many; place_rows: rows of the output */ \
	X(int64_t, fold)        /* row_range: columns of the output; 0: those of the input */ \
	X(bool, additive)       /* cross_attention: scores by tanh, not by products */ \
	X(double, smoothing)    /* softmax_xent: part of a target that is spread over all classes */ \
	X(bool, padding)        /* softmax_xent: class 0 as a target is padding, which does not count */ \
	X(bool, per_sample)     /* softmax_xent: the sum over a sample's rows, in place of the mean */ \
	X(int64_t, column)      /* embedding_bag: the first column of the bag */ \
	X(int64_t, bag)         /* embedding_bag: columns of the bag; 0: 1 */ \
	X(bool, mean)           /* embedding_bag: the mean, instead of the sum */ \
	X(double, bias_std)     /* linear: initial standard deviation of the biases */ \
	X(double, bias)         /* linear, conv: initial value of the biases */ \
	X(int64_t, out_h)       /* adaptive_avg_pool: height of the output */ \
	X(int64_t, out_w) \
	X(bool, weighted)       /* softmax_xent, logistic: samples weigh in training as their classes do */ \
	X(bool, bias_elsewhere) /* linear: another share adds the bias in F */ \
	X(int64_t, copies)      /* linear: shares that have the same columns (nn/part_grads.h); 0: 1 */

typedef struct mr_layer_cfg {
	MR_LAYER_CFG(MR_FIELD_MEMBER)
} mr_layer_cfg;

/** The fields of mr_layer_cfg, in the order of its list. */
extern const mr_field mr_layer_cfg_fields[];

typedef enum mr_init { MR_INIT_ZERO, MR_INIT_ONE, MR_INIT_NORMAL, MR_INIT_VALUE, MR_INIT_UNIFORM } mr_init;

typedef struct mr_param_spec {
	const char *suffix;  /* "weight", "bias" */
	uint32_t rank;       /* 1 to MR_MAX_DIMS */
	int64_t dim[MR_MAX_DIMS];
	mr_init init;
	double std;          /* standard deviation, or the value, or the bound on both sides of 0 */
	bool decay;          /* weight decay applies (matrices) */
	int64_t lazy;        /* most rows of this table that one sample looks up; a step leaves the rows that have no
	                        gradient alone (nn/lazy_rows.h). 0: a step goes over all rows */
} mr_param_spec;

/* Elements of such a parameter. */
static inline int64_t mr_param_count(const mr_param_spec *p)
{
	int64_t n = 1;

	for (uint32_t i = 0; i < p->rank; i++)
		n *= p->dim[i];
	return n;
}

/* A state; its numbers are of the compute type. */
typedef struct mr_layer_state {
	const char *suffix;  /* "running_mean" */
	uint32_t rank;       /* 1 to MR_MAX_DIMS */
	int64_t dim[MR_MAX_DIMS];
	double value;        /* of every number at the start */
} mr_layer_state;

/* A value that is carried from one micro-batch to another: a row of numbers for each sample. */
typedef struct mr_layer_carried {
	const char *suffix;  /* "h" */
	int64_t cols;
	bool compute;        /* the numbers are of the compute type; false: of that of activations */
} mr_layer_carried;

typedef struct mr_layer_needs {
	mr_saved aux_i, aux_w, kept;   /* for one micro-batch */
	size_t scratch;                /* bytes */
	size_t panels;                 /* bytes of mr_layer_call.panels; 0: it does as well without */
	bool x_i, x_w, y_i, y_w, dy_w;             /* forward input / output read by I / W; upstream gradient read by W
	                                              */
	bool apart_w;                  /* backward_weights, if there is one, gains nothing by several micro-batches;
	                                  without kernels: it is not known, and set */
	double flops_f, flops_i, flops_w;          /* floating-point operations, multiply-add = 2 */
} mr_layer_needs;

/* What a layer keeps of the rows of one sample that came before, when a sample comes in parts (ops->decodes). */
typedef struct mr_layer_past {
	int64_t first; /* rows that came before. With more than one row in a call, 0 */
	int64_t room;  /* rows of a whole sample */
	void *memory;  /* past_bytes() for `room` rows, on a cache line; zeros before row 0 */
} mr_layer_past;

typedef struct mr_layer_call {
	const mr_kernels *k;
	mr_kctx *kc;
	const mr_layer_cfg *cfg;
	const mr_shape *in;        /* [n_in] of the inputs */
	const mr_shape *out;       /* [outputs] of the outputs; of a loss that of input 0 */
	int64_t samples;
	const void *x[MR_LAYER_INPUTS];
	const void *addend;        /* as large as y[0], not y[0]: F of a layer that adds() writes its output plus this.
	                              NULL: only its output */
	void *y[MR_LAYER_OUTPUTS];        /* F writes; a loss has none */
	const void *dy[MR_LAYER_OUTPUTS]; /* gradients of y */
	void *dx[MR_LAYER_INPUTS]; /* NULL: not wanted (the model's input) */
	bool dx_add[MR_LAYER_INPUTS];
	mr_act fuse_act_backward;            /* I of a layer with ops->produces_dz: dx[0] becomes the dz of the layer
	                                        before, which has this activation */
	const void *fuse_act_backward_aux;   /* of that layer aux_i, or y if it has none. Not with
	                                        dx_add. NONE: dx[0] is the gradient of x[0] */
	bool dy_is_pre_activation;             /* such a layer with an activation: dy is already the gradient before it,
	                                          and kept is dy */
	const void *const *w;      /* parameters, in the order of params() */
	void *const *dw;           /* their gradients */
	bool dw_add;               /* false: first micro-batch of the sum, overwrite */
	int64_t sum_rows;          /* above 0: dw[0] is a sum of at most this many rows (nn/row_sum.h). Only where
	                              parameter 0 is lazy */
	const mr_sparse_rows *sparse_rows; /* not NULL, for a layer with ops->sparse_rows: parameter 0 is tied,
	                                              and this call does its part of the step (nn/sparse_rows.h). With a
	                                              step and not with dw_add; dw[0] is work memory for the head, and
	                                              not used by the embedding */
	const mr_step *step;       /* one a parameter: W completes the sum, and its caller then steps. W carries out
	                              those in ops->steps, and their dw is then undefined; but of parameters that
	                              are not lazy none whose state is stored (mr_stored). A step whose dst is
	                              NULL is not taken. NULL: only gradients */
	mr_old_rows *old_rows;     /* parameter 0 is a table of which old versions are known by rows (nn/old_rows.h): F
	                              reads @version, and steps of it save what they change. NULL: w[0] is all */
	uint64_t version;
	double *sumsq;             /* one a parameter, with step: each gradient is completed first, and the sum of its
	                              squares stored here, before its step, which has the same bits; layers never get
	                              such a call. NULL: not requested */
	void *aux_i, *aux_w, *kept, *scratch;
	void *panels;              /* the parameters as F reads them fastest, on a cache line, which outlive the call;
	                              NULL: none. Bits are the same */
	bool packs;                /* this call fills them; false: one with the same parameters has */
	const void *state[MR_LAYER_STATES]; /* read by F if train is false */
	void *seen[MR_LAYER_STATES];        /* shaped like the states; valid from F to the end of the micro-batch, if
	                                       train is true */
	const void *begin[MR_LAYER_CARRIED]; /* carried values [samples, cols] with which the micro-batch begins, read
	                                        by all passes; NULL: zeros */
	void *end[MR_LAYER_CARRIED];         /* F writes those with which it ends; NULL: they are not wanted */
	const mr_layer_past *past; /* F of one sample whose rows come in parts, with train false: these rows begin
	                              behind those before; @in and @out have the rows of this call. NULL: all rows */
	const void *target;        /* loss layers: [samples * rows] int32 or [samples * rows, cols] of the dtype */
	double *loss;              /* loss layers: mean over the micro-batch's samples (tokens) */
	const double *class_weight; /* losses with cfg->weighted: what a sample of each class counts in training */
	mr_judged *judged;         /* loss layers that judge: their counts in these rows (nn/scores.h). NULL: nothing
	                              is counted */
	bool train;                /* false: dropout off, and statistics from the states, not the micro-batch */
	mr_mask_key mask;          /* dropout */
	const mr_shares_face *shares; /* the shares of the worker; NULL: it is none of several */
	uint64_t window;           /* number of the step to which the micro-batch belongs: masks of parameters are those
	                              of the step */
} mr_layer_call;

typedef struct mr_layer_ops {
	const char *name;
	const char *summary;
	uint8_t n_in;        /* where inputs is NULL */
	bool loss;           /* ends a model: overwrites x[0] by its gradient in F and has no output */
	bool errs;           /* a loss over numbers, which also counts their errors where a target is one number */
	bool judges;         /* a loss over classes, which also counts its predictions (mr_layer_call.judged) */
	bool identity_backward;      /* the gradient of every input is dy[0] itself (residual): the caller may alias the
	                                buffers, and then does not call backward_input */
	bool rows_apart;     /* every row by itself, in training too: of several shares each may have a part of the rows
	                        (cfg.parts), and gradients of parameters are then summed over them (nn/part_grads.h) */
	bool is_sum;         /* y[0] = x[0] + x[1], which a layer that adds() may have computed before */
	bool produces_dz;       /* linear: I supports mr_layer_call.fuse_act_backward and, if cfg.act is an activation,
	                           dy_is_pre_activation. The bits are the same */
	/** The number of inputs of this configuration: 1 to MR_LAYER_INPUTS if shape() accepts it. NULL: n_in. */
	uint32_t (*inputs)(const mr_layer_cfg *cfg);
	/** The number of outputs of this configuration, after shape() has accepted it: 1 to MR_LAYER_OUTPUTS. NULL:
	 * one, or none for a loss. */
	uint32_t (*outputs)(const mr_layer_cfg *cfg);
	/** Shapes of the outputs for these inputs to @out, which has room for MR_LAYER_OUTPUTS, or MR_ECONFIG with a
	 * message. Loss layers check and leave out[0] as input 0. */
	mr_status (*shape)(const mr_layer_cfg *cfg, const mr_shape *in, mr_shape *out);
	/** Loss layers: does a target of this shape fit input 0 of shape @in? Else MR_ECONFIG. Others: NULL. */
	mr_status (*target)(const mr_layer_cfg *cfg, mr_shape in, mr_shape target);
	/** Fills @spec, returns the number of parameters. NULL: none. A suffix with a dot is a whole name
	 * (planner/graph.h).
	 */
	uint32_t (*params)(const mr_layer_cfg *cfg, const mr_shape *in, mr_param_spec spec[MR_LAYER_PARAMS]);
	/** Fills @spec, returns the number of states. NULL: none. Suffixes are like those of parameters. */
	uint32_t (*states)(const mr_layer_cfg *cfg, const mr_shape *in, mr_layer_state spec[MR_LAYER_STATES]);
	/** Updates @state with @seen, the contribution of a micro-batch of @samples; numbers of @dtype. Not NULL if
	 * there are states. */
	void (*fold)(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, mr_dtype dtype,
		     const void *const *seen, void *const *state);
	/** Fills @spec, returns the number of carried values. NULL: none. */
	uint32_t (*carried)(const mr_layer_cfg *cfg, mr_layer_carried spec[MR_LAYER_CARRIED]);
	/** Does forward give the rows of a causal sample one after the other (mr_layer_call.past), each as the whole
	 * sample would have it, but for the order of sums? NULL: no. */
	bool (*decodes)(const mr_layer_cfg *cfg);
	/** Bytes of mr_layer_past.memory for samples of shape @in. NULL: none. */
	size_t (*past_bytes)(const mr_layer_cfg *cfg, const mr_shape *in, const mr_kernels *k);
	uint32_t least_rows; /* rows of all samples that a micro-batch must have in training; 0: any */
	/** Fills all of @out. FLOPs are those of matrix products and attention only (model FLOPs). @k may be NULL: the
	 * flags and FLOPs are then filled, and the sizes are 0. */
	void (*needs)(const mr_layer_cfg *cfg, const mr_shape *in, int64_t samples, const mr_kernels *k,
		      mr_layer_needs *out);
	mr_status (*forward)(const mr_layer_call *c);
	/** May forward get mr_layer_call.addend? Its result has the bits of a sum afterwards, and no backward
	 * half reads y. NULL: no. */
	bool (*adds)(const mr_layer_cfg *cfg);
	/** Called once for every micro-batch that goes backward, even when no dx is wanted: it also fills kept. */
	mr_status (*backward_input)(const mr_layer_call *c);
	mr_status (*backward_weight)(const mr_layer_call *c); /* NULL: no parameters. Reads no weight */
	/** backward_input and then backward_weight, with their bits, for a layer in which both read the same. NULL: it
	 * would save nothing. */
	mr_status (*backward)(const mr_layer_call *c);
	/** backward_weight of @n (2 to MR_LAYER_SPAN) micro-batches at once: @c[j] are the calls that backward_weight
	 * would get one after the other (c[0] begins the sum or adds to it, the others add, the last one has the step),
	 * and the bits are the same. NULL: it would save nothing. */
	mr_status (*backward_weights)(const mr_layer_call *c, uint32_t n);
	uint32_t steps;      /* bit j: with mr_layer_call.step, backward_weight carries out the step of parameter j
	                        itself; useful if the gradient can go into it without being written */
	mr_sparse_rows_role sparse_rows;     /* its part when backward_weight gets mr_layer_call.sparse_rows */
} mr_layer_ops;

/** Number of outputs of @layer with this configuration: a loss has none. */
static inline uint32_t mr_layer_outputs(const mr_layer_ops *layer, const mr_layer_cfg *cfg)
{
	return layer->loss ? 0 : layer->outputs ? layer->outputs(cfg) : 1;
}

static inline uint32_t mr_layer_inputs(const mr_layer_ops *layer, const mr_layer_cfg *cfg)
{
	return layer->inputs ? layer->inputs(cfg) : layer->n_in;
}

/* Bytes of such a value for one sample. */
static inline size_t mr_layer_carried_row(const mr_layer_carried *c, const mr_types *types)
{
	return (size_t)c->cols * mr_dtype_bytes(c->compute ? types->compute : types->activations);
}

/* Number of values that @layer carries with this configuration, and what they are. */
static inline uint32_t mr_layer_n_carried(const mr_layer_ops *layer, const mr_layer_cfg *cfg,
					  mr_layer_carried spec[MR_LAYER_CARRIED])
{
	return layer->carried ? layer->carried(cfg, spec) : 0;
}

/** backward_weight, if there is one, and then the steps of c->step that it leaves to its caller, with a gradient that
 * is still in the cache. Backward passes call this. */
mr_status mr_layer_weight(const mr_layer_ops *ops, const mr_layer_call *c) MR_MUST_USE;

/** Both halves: backward_input, if there is one, and then mr_layer_weight. Not for a loss. */
mr_status mr_layer_backward(const mr_layer_ops *ops, const mr_layer_call *c) MR_MUST_USE;

/** mr_layer_weight for @n calls, at once if the layer can. */
mr_status mr_layer_weights(const mr_layer_ops *ops, const mr_layer_call *c, uint32_t n) MR_MUST_USE;

/** The registered layers, in the order of layers.def; NULL past the end. */
const mr_layer_ops *mr_layer_at(uint32_t i);

/** The layer called @name, or NULL. */
const mr_layer_ops *mr_layer_find(const char *name);

#endif
