/*
 * qr.h - the orthogonal factor of a square matrix, by Householder's reflections.
 *
 * The signs are LAPACK's (dgeqrf, dorgqr): the reflection of column k makes the k-th number of the diagonal of R
 * -sign(a) |x|, of the column's rest x with first number a; where all numbers below are 0 there is no reflection. In
 * f64 whatever the run's types are: Q of a matrix in f32 is as orthogonal as that type can store it.
 *
 * Columns are worked on in panels that stay in the caches, and shared out to the team: each column takes the
 * reflections in the same order whatever the number of threads, so the bits do not depend on it.
 */
#ifndef MR_NN_QR_H
#define MR_NN_QR_H

#include "nn/kernels.h"

/** The matrix whose column j is @a[j n .. j n + n) becomes the Q of its QR factorization, stored likewise; @tau [n] to
 * work in. Errors: none but the backend's. */
mr_status mr_qr(const mr_kernels *k, mr_kctx *kc, int64_t n, double *a, double *tau) MR_MUST_USE;

#endif
