/*
 * tensor.h - element types and the shape that a value has for one sample.
 *
 * Tensors are plain row-major arrays of the run's dtype (DTYPE BELONGS TO THE RUN: parameters, gradients, optimizer state,
 * activations and losses all have it); token and label arrays are int32. A value that flows between layers is a matrix
 * [samples * rows, cols]: rows per sample (1 for an mlp, the context length for a gpt), cols features.
 */
#ifndef MR_NN_TENSOR_H
#define MR_NN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mr_dtype { MR_F32, MR_F64, MR_I32 } mr_dtype;

static inline size_t mr_dtype_bytes(mr_dtype t)
{
	return t == MR_F64 ? 8 : 4;
}

/** "f32", "f64" or "i32". */
const char *mr_dtype_name(mr_dtype t);

typedef struct mr_shape {
	int64_t rows;  /* per sample */
	int64_t cols;
	bool tokens;   /* int32 instead of the run's dtype */
} mr_shape;

/* Bytes of one sample of such a value. */
static inline size_t mr_shape_bytes(mr_shape s, mr_dtype dtype)
{
	return (size_t)s.rows * (size_t)s.cols * (s.tokens ? 4 : mr_dtype_bytes(dtype));
}

#endif
