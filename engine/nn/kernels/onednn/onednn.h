/*
 * onednn.h - the operations of the backend `onednn`, for the backend `auto`, which has the same context.
 */
#ifndef MR_KERNELS_ONEDNN_H
#define MR_KERNELS_ONEDNN_H

#include "nn/recorder.h"

/* mr_by_onednn_gemm and so on: the functions in the table of those operations that have a primitive. */
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) MR_OPERATION_WHOLE(id, what)
#define MR_OPERATION_WHOLE(id, what) mr_status mr_by_onednn_##id(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#include "nn/kernels.def"

/** mr_kernels.recurrence_room of `onednn`, which takes all of them. */
bool mr_by_onednn_recurrence_room(const mr_kernels *k, const mr_recurrence *r, mr_recurrence_room *out);

/** Does a primitive execute this call? */
mr_kernel_by mr_onednn_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

#endif
