/*
 * conv_rig.h - a convolution and its gradients by any backend.
 */
#ifndef MR_TESTS_NN_CONV_RIG_H
#define MR_TESTS_NN_CONV_RIG_H

#include "kernels_ops.h"

/** Output, gradient of the input and gradient of the weights; with @add gradients are added to what is there. */
outputs conv_results(const mr_kernels *k, uint32_t n_threads, const mr_conv *g, bool add);

/** conv_step, and conv_sum of one to four gradients, with and without a step, leave the bits of one gradient after the
 * other and a step behind them. */
void conv_check_sums(const mr_kernels *k, uint32_t n_threads, const mr_conv *g, mr_step_kind kind, bool add);

#endif
