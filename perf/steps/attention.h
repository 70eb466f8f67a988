/*
 * attention.h - causal attention alone, forward and backward, as a step of a case: one call of each kernel.
 *
 * Every burst starts a team of its own, pinned as a worker's is, and a context of kernels, which are not timed.
 */
#ifndef PERF_STEPS_ATTENTION_H
#define PERF_STEPS_ATTENTION_H

#include "host/topo.h"
#include "nn/kernels.h"

typedef struct mr_attention mr_attention;

/** Buffers for @a with @threads threads on the first cores of @t, by the backend @backend in @dtype. Errors:
 * MR_ECONFIG, MR_ERESOURCE. */
mr_status mr_attention_open(const mr_attn *a, const char *backend, mr_dtype dtype, const mr_topo *t, int threads,
			    mr_attention **out) MR_MUST_USE;
void mr_attention_close(mr_attention *x); /* accepts NULL */

/** @warm steps and then @steps timed ones; *@ms of one. Errors: those of the kernels, MR_ERESOURCE. */
mr_status mr_attention_burst(mr_attention *x, int warm, int steps, double *ms) MR_MUST_USE;

/** Floating-point operations of a step: the products under the diagonal, two forward and four backward. */
double mr_attention_flops(const mr_attn *a);

#endif
