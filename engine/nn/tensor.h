/*
 * tensor.h - element types and the shape that a value has for one sample.
 *
 * Tensors are plain row-major arrays. The type of an element depends on the tensor's class (mr_types, one set for a
 * run);
 * token and label arrays are int32. A value that flows between layers has up to four dimensions a sample and can be
 * seen as a matrix [samples * rows, cols]: rows per sample (1 for an mlp, the context length for a gpt), cols features.
 */
#ifndef MR_NN_TENSOR_H
#define MR_NN_TENSOR_H

#include "base/dtype.h"

/*
 * The types of a run by class of tensor. Gradients are those of parameters, single and summed; the gradient of an
 * activation is stored like an activation. The state is the optimizer's, and the tensors of corrections and
 * predictions. Inputs that are numbers are activations; targets that are numbers have the type in which the loss
 * computes.
 *
 * The master is the number that the optimizer steps. If it is wider than a weight, a weight is the number nearest to
 * it, and the optimizer keeps the rest beside its state: 16 bits that restore the master exactly (nn/bf16.h). If it is
 * the weight itself and bf16, steps round stochastically (nn/rounding.h).
 */
typedef struct mr_types {
	mr_dtype weights, activations, gradients, state; /* stored */
	mr_dtype master;                                 /* type of the numbers that the optimizer steps */
	mr_dtype compute; /* type in which products, sums and functions of elements are computed */
} mr_types;

/* One type for everything. */
#define MR_TYPES_ALL(t) \
	{ \
		.weights = (t), .activations = (t), .gradients = (t), .state = (t), .master = (t), .compute = (t) \
	}

/* Weights and activations in bf16, the rest in f32. */
#define MR_TYPES_BF16 \
	{ \
		.weights = MR_BF16, .activations = MR_BF16, .gradients = MR_F32, .state = MR_F32, .master = MR_F32, \
		.compute = MR_F32 \
	}

/* All that is stored in bf16; no master is kept. */
#define MR_TYPES_BF16_PURE \
	{ \
		.weights = MR_BF16, .activations = MR_BF16, .gradients = MR_BF16, .state = MR_BF16, .master = MR_BF16, \
		.compute = MR_F32 \
	}

/* Are weights narrow and without a master, so that steps round stochastically? */
static inline bool mr_types_pure(const mr_types *t)
{
	return t->master != t->compute;
}

/* Bytes of the rest of a master, for each element of the weights; 0: a weight is its master. */
static inline size_t mr_types_rest_bytes(const mr_types *t)
{
	return t->master == t->weights ? 0 : sizeof(int16_t);
}

/* The narrowest number that is stored. */
static inline size_t mr_types_least_bytes(const mr_types *t)
{
	size_t w = mr_dtype_bytes(t->weights), g = mr_dtype_bytes(t->gradients), s = mr_dtype_bytes(t->state);
	size_t least = w < g ? w : g;

	return s < least ? s : least;
}

/* The sets of types that a run may have, by the rows of nn/precisions.def. */
typedef enum mr_precision {
#define MR_PRECISION(id, types, backends) MR_AS_##id,
#include "nn/precisions.def"
	MR_N_PRECISIONS
} mr_precision;

const mr_types *mr_types_at(mr_precision p);
mr_precision mr_types_precision(const mr_types *t);
/** Their name in a configuration: "f32", "f64", "bf16" or "bf16_pure". */
const char *mr_types_name(const mr_types *t);

/* The token that fills a sequence up to the rows of its sample. */
#define MR_PADDING 0

#define MR_MAX_DIMS 4

/*
 * Up to four dimensions. Code that needs only a matrix reads rows and cols, for any number of dimensions; code that
 * makes a shape of another number of dimensions calls mr_shape_of.
 */
typedef struct mr_shape {
	int64_t rows;  /* per sample: the product of all dimensions but the last */
	int64_t cols;  /* the last dimension */
	bool tokens;   /* int32 instead of the class's type */
	uint8_t n_dims;           /* 0: two, rows and cols */
	int64_t dim[MR_MAX_DIMS]; /* [n_dims], the last one varies fastest */
} mr_shape;

/** A shape of @n_dims (1 to MR_MAX_DIMS) dimensions @dim. Their product must fit. */
mr_shape mr_shape_of(uint32_t n_dims, const int64_t *dim, bool tokens);
/** Dimension @i; of a matrix dimension 0 is rows and dimension 1 is cols. */
int64_t mr_shape_dim(mr_shape s, uint32_t i);
uint32_t mr_shape_dims(mr_shape s);
/** @s with @cols in place of its last dimension. */
mr_shape mr_shape_with_cols(mr_shape s, int64_t cols);
/** Equal dimensions and kind of element. */
bool mr_shape_same(mr_shape a, mr_shape b);

/* Elements of one sample of such a value. */
static inline int64_t mr_shape_count(mr_shape s)
{
	return s.rows * s.cols;
}

/* Bytes of one sample of such a value. */
static inline size_t mr_shape_bytes(mr_shape s, mr_dtype dtype)
{
	return (size_t)s.rows * (size_t)s.cols * (s.tokens ? 4 : mr_dtype_bytes(dtype));
}

#endif
