/*
 * recorder.h - records the operations that a program over kernels calls, and what executes each: a table of kernels
 * that computes nothing and notes every call.
 *
 * The recorder stands for a backend: it has that backend's types and sizes, and the same code would execute each call.
 * Tensors are never touched, so any pointers will do, but for NULL in place of an operand that the call uses: it is
 * refused (MR_EINVAL). One thread.
 */
#ifndef MR_NN_RECORDER_H
#define MR_NN_RECORDER_H

#include "nn/operation.h"

typedef struct mr_recorded {
	mr_kernel_call call;
	mr_kernel_by by;
} mr_recorded;

typedef struct mr_recorder mr_recorder;

/** Make a recorder of the backend @of for contexts with @n_threads. Errors: MR_ERESOURCE. */
mr_status mr_recorder_create(const mr_kernels *of, uint32_t n_threads, mr_recorder **out) MR_MUST_USE;
void mr_recorder_destroy(mr_recorder *r); /* accepts NULL */

const mr_kernels *mr_recorder_kernels(const mr_recorder *r);
mr_kctx *mr_recorder_context(mr_recorder *r);

/** The calls so far, in their order. */
void mr_recorder_calls(const mr_recorder *r, const mr_recorded **calls, size_t *n);

/** "reference", "fused", "onednn", "f32 inside" */
const char *mr_kernel_by_name(mr_kernel_by e);

#endif
