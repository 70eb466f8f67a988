/*
 * log_sum.h - the largest of many logits, and the logarithm of the sum of their exponentials, as fast as memory gives
 * them: the loops are written so that the compiler makes vectors of them.
 */
#ifndef MR_TRAINED_LOG_SUM_H
#define MR_TRAINED_LOG_SUM_H

#include <stddef.h>
#include <stdint.h>

/** The logarithm of the sum of exp(@x[i]), within some 1e-7 of it; *@best is the first of the largest. Not finite where
 * @x is not. */
double mr_log_sum(const float *x, size_t n, int32_t *best);

#endif
