/*
 * fused.h - the context of the backend `fused` and its operations, for the backends `onednn` and `auto`, which have the
 * same context: `onednn` uses the operations for which oneDNN has no primitive, `auto` those for which it does not
 * choose oneDNN.
 */
#ifndef MR_KERNELS_FUSED_H
#define MR_KERNELS_FUSED_H

#include "nn/choices.h"
#include "nn/kernels/fused/attention/angles.h"
#include "nn/kernels/fused/blocks/block_gemm.h"
#include "nn/kernels/fused/blocks/f32_inside.h"
#include "nn/kernels/fused/gemm/gemm.h"
#include "nn/kernels/loops/loops.h"
#include "nn/kernels/onednn/onednn_primitives.h"
#include "nn/kernels/wide.h"
#include "nn/recorder.h"

struct mr_kctx {
	const mr_vec *vec;
	const mr_vec_ops *ops;     /* on activations, which may be in bf16 */
	const mr_loops *loops;
	mr_onednn *onednn;
	uint32_t n_threads;
	mr_scratch attn;           /* the same room for each thread */
	mr_angles *angles;         /* tables of rotary positions that calls have needed */
	mr_gemm_scratch gemm;
	/* In bf16 alone. */
	const mr_vec_blocks *blocks;
	mr_block_engine engine;
	mr_block_scratch block;
	float *masters;            /* of weights that are brought together */
	bool pure;                 /* gradients and state are in bf16 too */
	mr_scratch gradients;      /* before they are rounded, in bf16_pure */
	mr_f32_inside *inside;     /* of the backend `auto` alone */
	bool chooses;              /* of the backend `auto`: who executes what is in */
	mr_chosen chosen;
	mr_scratch room;           /* during a call */
	/* Of the backend `onednn` alone. */
	mr_scratch ones;           /* floats, each 1: a row of them sums columns */
};

/* mr_fused_gemm and so on: the functions of the table. */
#define MR_KERNEL_PART(type, id, args) type mr_fused_##id args;
#define MR_OPERATION(id, fused, onednn, bf16, wide, choice, what) \
	mr_status mr_fused_##id(mr_kctx *kc, const mr_##id##_args *o) MR_MUST_USE;
#include "nn/kernels.def"

/** mr_kernels.packed_bytes in f32. */
size_t mr_fused_packed_bytes(const mr_kernels *k, const mr_gemm *g);

/** Convolutions and their gradients by oneDNN, whatever winograd.h would take. */
mr_status mr_library_conv(mr_kctx *kc, const mr_conv_args *o) MR_MUST_USE;
mr_status mr_library_conv_backward_input(mr_kctx *kc, const mr_conv_backward_input_args *o) MR_MUST_USE;
mr_status mr_library_conv_backward_weight(mr_kctx *kc, const mr_conv_backward_weight_args *o) MR_MUST_USE;
mr_status mr_library_conv_step(mr_kctx *kc, const mr_conv_step_args *o) MR_MUST_USE;

/** *@out is room for @n floats during a call, in kc->room. Errors: MR_ERESOURCE. */
mr_status mr_fused_room(mr_kctx *kc, int64_t n, float **out) MR_MUST_USE;

/** @s in f32, without its gradient. */
mr_vec_step mr_fused_vec_step(const mr_step *s);

/** Does `fused` itself compute this product, in a context that chooses nothing, or oneDNN for it? */
mr_kernel_by mr_fused_executor(const mr_kernels *k, uint32_t n_threads, const mr_kernel_call *c);

#endif
