/*
 * onednn.h - the operations of the backend `onednn`, for the backend `auto`, which has the same context.
 */
#ifndef MR_KERNELS_ONEDNN_H
#define MR_KERNELS_ONEDNN_H

#include "nn/recorder.h"

/* mr_by_onednn_gemm and so on: the functions in the table of those operations that have a primitive. */
#define MR_KERNEL_PART(type, id, args)
#define MR_KERNEL(type, id, args, fused, onednn, chosen, what) type mr_by_onednn_##id args;
#define MR_KERNEL_WHOLE(type, id, args, what) type mr_by_onednn_##id args;
#include "nn/kernels.def"

/** mr_kernels.recurrence_room of `onednn`, which takes all of them. */
bool mr_by_onednn_recurrence_room(const mr_kernels *k, const mr_recurrence *r, mr_recurrence_room *out);

/** Does a primitive execute this call? */
mr_kernel_by mr_onednn_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

#endif
