/*
 * onednn_matmul.h - matrix products by oneDNN, for the backend `fused`.
 *
 * onednn_matmul.c is the only file that includes the library's header, and the only one that knows its two C interfaces (2.6 and
 * 3.x). A mr_onednn holds one engine, one stream, one scratchpad and the primitives that its thread has needed so far; it
 * is used by one thread. Two threads may not share a primitive's scratchpad (results are silently wrong), so nothing is
 * shared.
 */
#ifndef MR_KERNELS_ONEDNN_MATMUL_H
#define MR_KERNELS_ONEDNN_MATMUL_H

#include "nn/kernels.h"

typedef struct mr_onednn mr_onednn;

/** @n_threads: of the calling thread's team; primitives are built for it. Errors: MR_ERESOURCE, MR_EDNN. */
mr_status mr_onednn_create(uint32_t n_threads, mr_onednn **out) MR_MUST_USE;
void mr_onednn_destroy(mr_onednn *d); /* accepts NULL */

/** Scratchpad, table and 75 KiB a primitive (measured growth of the process over 100 shapes; AVX2 15 KiB). */
size_t mr_onednn_bytes(const mr_onednn *d);

/**
 * As mr_kernels.gemm, but the activation is not applied: @c gets op(A) op(B) + bias.
 * Allocates: on the first call with a shape; the library itself makes about six small allocations a call.
 */
mr_status mr_onednn_gemm(mr_onednn *d, const mr_gemm *g, const float *a, const float *b, const float *bias,
		       float *c) MR_MUST_USE;

/** True when the library uses AVX-512 (the CPU has it and ONEDNN_MAX_CPU_ISA allows it). */
bool mr_onednn_avx512(void);
bool mr_onednn_avx2(void);

#endif
