/*
 * eigen.h - eigenvectors of a symmetric matrix, in f64 on one thread: Householder's reflections to a tridiagonal
 * matrix, and implicit QL steps from there. They are orthogonal to the rounding of f64, also where eigenvalues are
 * equal.
 *
 * Source: Bowdler, Martin, Reinsch and Wilkinson, "The QR and QL algorithms for symmetric matrices", Numerische
 * Mathematik 11, 1968; Golub and Van Loan, "Matrix computations", sections 8.3.1 and 8.3.3.
 */
#ifndef MR_NN_EIGEN_H
#define MR_NN_EIGEN_H

#include <stdint.h>

/** The eigenvectors of the symmetric matrix @a [n, n] become its rows, of the largest eigenvalue first; @values [n]:
 * these. @room [n n + 3 n] to work in. A matrix with numbers that are not finite has the axes. */
void mr_eigen(int64_t n, double *a, double *values, double *room);

#endif
