/*
 * thread_bits.h - which calls of kernels may give other bits with another number of threads.
 *
 * Our kernels never do: threads share the elements of a result, and no sum is cut by the number of threads. Two things
 * are left. oneDNN promises equal bits for one number of threads only; its primitives that sum over rows cut such sums
 * among the threads (gradients of weights, statistics of norms). And what executes a call may depend on the number of
 * threads: tables of choices have lines for one thread and for teams, and fused/gemm/gemm.h leaves tall products to
 * oneDNN when each thread would have too few rows.
 */
#ifndef MR_NN_THREAD_BITS_H
#define MR_NN_THREAD_BITS_H

#include "nn/recorder.h"

/** What executes the call @c of backend @k with @n_threads, and with one. */
typedef struct mr_thread_bits {
	bool depend; /* the bits may be others than those of one thread; false: they are the same */
	mr_kernel_by by, by_one;
} mr_thread_bits;

mr_thread_bits mr_thread_bits_of(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

#endif
