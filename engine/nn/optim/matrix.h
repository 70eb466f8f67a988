/* matrix.h - element by element, for optimizers that step whole matrices: on the leader of a team alone. */
#ifndef MR_OPTIM_MATRIX_H
#define MR_OPTIM_MATRIX_H

#include "nn/optim.h"

/** out = a x + b y, in f64; @y may be NULL, @out may be either. */
void mr_matrix_mix(mr_dtype t, int64_t n, double a, const void *x, double b, const void *y, void *out);

/** The weights of @c, or their masters, become a times what they were plus b @y. */
void mr_matrix_step(const mr_types *t, int64_t n, double a, double b, const void *y, const mr_optim_call *c);

/** Bytes of a matrix of type @t, and of a square one, in work memory. */
size_t mr_matrix_bytes(int64_t rows, int64_t cols, mr_dtype t);

#endif
