/*
 * recorder.h - records the operations that a program over kernels calls, and what executes each: a table of kernels
 * that computes nothing and notes every call.
 *
 * The recorder stands for a backend: it has that backend's types and sizes, and the same code would execute each call.
 * Tensors are never touched, so any pointers will do. One thread.
 */
#ifndef MR_NN_RECORDER_H
#define MR_NN_RECORDER_H

#include "nn/kernels.h"

typedef enum mr_kernel_id {
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) MR_KERNEL_##id,
#define MR_KERNEL_WHOLE(type, id, args, what) MR_KERNEL_##id,
#include "nn/kernels.def"
	MR_N_KERNELS
} mr_kernel_id;

typedef struct mr_kernel_call {
	mr_kernel_id id;
	bool is_gemm, steps; /* a product, whose result goes into an optimizer's step */
	mr_gemm gemm;        /* of a product; its pointers have no meaning */
	bool is_conv;        /* a convolution or one of its gradients, */
	mr_conv conv;        /* and which */
	double flops;        /* of a product, convolution, attention or recurrence, a multiply-add is 2; else 0 */
	uint64_t library;    /* bytes that a context allocates for a recurrence */
	int64_t rows, cols;  /* of anything else: rows 1 where it goes element by element */
	mr_act act;          /* act_backward */
	bool no_mean;        /* norms: rows are not shifted */
	bool no_primitive;   /* pools and lrn: oneDNN has none for this kind or size */
} mr_kernel_call;

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

/** The calls so far, in their order. Errors: MR_ERESOURCE when one could not be kept. */
mr_status mr_recorder_calls(const mr_recorder *r, const mr_recorded **calls, size_t *n) MR_MUST_USE;

/** "gemm", "norm_backward", ... */
const char *mr_kernel_name(mr_kernel_id id);
/** "reference", "fused", "onednn", "f32 inside" */
const char *mr_kernel_by_name(mr_kernel_by e);

#endif
