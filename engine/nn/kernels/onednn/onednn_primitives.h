/*
 * onednn_primitives.h - plain calls for the operations that oneDNN executes.
 *
 * Only nn/kernels/onednn/onednn_*.c include the library's header and use its two C interfaces (2.6 and 3.x). A
 * mr_onednn holds one engine, one stream, one scratchpad and the primitives that its thread has needed so far; only one
 * thread uses it. Two threads must not share a primitive's scratchpad (results would be silently wrong), so nothing is
 * shared.
 *
 * A call allocates when its shape is new; the library itself makes about six small allocations a call. All calls can
 * return MR_EDNN and MR_ERESOURCE.
 */
#ifndef MR_KERNELS_ONEDNN_PRIMITIVES_H
#define MR_KERNELS_ONEDNN_PRIMITIVES_H

#include "nn/kernels.h"

typedef struct mr_onednn mr_onednn;

/** @n_threads: team size of the calling thread; primitives are built for it. Errors: MR_ERESOURCE, MR_EDNN. */
mr_status mr_onednn_create(uint32_t n_threads, mr_onednn **out) MR_MUST_USE;
void mr_onednn_destroy(mr_onednn *d); /* accepts NULL */

/** The bytes of scratchpad and table, and 75 KiB a primitive (measured growth of the process over 100 shapes; AVX2 15
 * KiB). */
size_t mr_onednn_bytes(const mr_onednn *d);

/**
 * c = op(A) op(B), plus bias, addend or the previous C; then GELU when @g says so. The caller executes everything else
 * that @g requests. Allocates: on the first call with a shape; the library itself makes about six small allocations a
 * call.
 */
mr_status mr_onednn_gemm(mr_onednn *d, const mr_gemm *g, const float *a, const float *b, const float *bias,
		       float *c) MR_MUST_USE;

/** The same for A and B in bf16; bias and C stay f32. To be called only where mr_onednn_bf16 returns true. */
mr_status mr_onednn_gemm_bf16(mr_onednn *d, const mr_gemm *g, const uint16_t *a, const uint16_t *b, const float *bias,
			      float *c) MR_MUST_USE;
/** op(A) op(B), or its sum with the previous C, with C in bf16 as well: rounded once. */
mr_status mr_onednn_gemm_rounded(mr_onednn *d, const mr_gemm *g, const uint16_t *a, const uint16_t *b,
				 uint16_t *c) MR_MUST_USE;

/** y[n] = a[n] + b[n]; y may be a or b. */
mr_status mr_onednn_sum(mr_onednn *d, int64_t n, const float *a, const float *b, float *y) MR_MUST_USE;

/** y[n] = GELU(z[n]), tanh form; y may be z. And dz[n] = dy[n] GELU'(z[n]); dz may be dy. */
mr_status mr_onednn_gelu(mr_onednn *d, int64_t n, const float *z, float *y) MR_MUST_USE;
mr_status mr_onednn_gelu_backward(mr_onednn *d, int64_t n, const float *z, const float *dy, float *dz) MR_MUST_USE;

/** Layer norm over rows of x[rows, cols]; saves mean[rows] and variance[rows]. */
mr_status mr_onednn_norm(mr_onednn *d, int64_t rows, int64_t cols, float eps, const float *x, const float *gain,
			 const float *shift, float *y, float *mean, float *variance) MR_MUST_USE;
/** Overwrites dx, dgain and dshift. @variance includes eps. */
mr_status mr_onednn_norm_backward(mr_onednn *d, int64_t rows, int64_t cols, const float *x, const float *gain,
				  const float *mean, const float *variance, const float *dy, float *dx, float *dgain,
				  float *dshift) MR_MUST_USE;

/** The caller applies b->act. */
mr_status mr_onednn_batch_norm(mr_onednn *d, const mr_batch_norm *b, const float *x, const float *gain,
			       const float *shift, float *y, float *mean, float *variance) MR_MUST_USE;
/** Overwrites dx (which may be dy), dgain and dshift. */
mr_status mr_onednn_batch_norm_backward(mr_onednn *d, const mr_batch_norm *b, const float *x, const float *gain,
					const float *mean, const float *variance, const float *dy, float *dx,
					float *dgain, float *dshift) MR_MUST_USE;

/** Means of windows, where mr_onednn_has_pool; @dx is overwritten. */
bool mr_onednn_has_pool(const mr_window *w, mr_pool_kind kind);
mr_status mr_onednn_pool(mr_onednn *d, const mr_window *w, mr_pool_kind kind, const float *x, float *y) MR_MUST_USE;
mr_status mr_onednn_pool_backward(mr_onednn *d, const mr_window *w, mr_pool_kind kind, const float *dy,
				  float *dx) MR_MUST_USE;

/** Local response normalisation, where mr_onednn_has_lrn. @dx is overwritten; @room: 3 * pixels * c floats. */
bool mr_onednn_has_lrn(const mr_lrn *l);
mr_status mr_onednn_lrn(mr_onednn *d, const mr_lrn *l, const float *x, float *y) MR_MUST_USE;
mr_status mr_onednn_lrn_backward(mr_onednn *d, const mr_lrn *l, const float *x, const float *dy, float *dx,
				 float *room) MR_MUST_USE;

/** y = softmax of each row of x[rows, cols]; y may be x. */
mr_status mr_onednn_softmax(mr_onednn *d, int64_t rows, int64_t cols, const float *x, float *y) MR_MUST_USE;

/* Types of a convolution's tensors; in bf16 the gradient of its weights is f32. */
typedef enum mr_onednn_conv_types {
	MR_ONEDNN_CONV_F32,
	MR_ONEDNN_CONV_BF16,
	MR_ONEDNN_CONV_WIDE, /* bf16, but the gradient of the input is f32; of mr_onednn_conv_backward_input alone */
} mr_onednn_conv_types;

/** Convolutions (nn/window.h) without ReLU. Weights have the plain layout; gradients are overwritten. */
mr_status mr_onednn_conv(mr_onednn *d, const mr_conv *g, mr_onednn_conv_types types, const void *x, const void *w,
			 const void *bias, void *y) MR_MUST_USE;
mr_status mr_onednn_conv_backward_input(mr_onednn *d, const mr_conv *g, mr_onednn_conv_types types, const void *dy,
					const void *w, void *dx) MR_MUST_USE;

/*
 * A gradient of a convolution's weights in the primitive's format: as the plain one a matrix with a row for each kernel
 * position and input and a column for each output, but columns come in blocks of @width, and within each the rows of
 * @depth inputs lie together. (i, o) of kernel position (r, s) is number r * row + s * col + i / depth * in +
 * o / width * out + i % depth * width + o % width.
 */
typedef struct mr_onednn_blocked {
	const float *at; /* NULL: the gradient is plain */
	int64_t row, col, in, out, depth, width;
} mr_onednn_blocked;

/** The gradient of the weights to @dw or, without a reorder, to memory of the context, where it is valid until the next
 * convolution; *@out says where. */
mr_status mr_onednn_conv_gradient(mr_onednn *d, const mr_conv *g, mr_onednn_conv_types types, const void *x,
				  const void *dy, float *dw, mr_onednn_blocked *out) MR_MUST_USE;

/** An LSTM or GRU over all rows, forward and backward, with all gradients (mr_kernels.recurrence). */
mr_status mr_onednn_recurrence(mr_onednn *d, const mr_recurrence *r, const mr_recurrence_call *q) MR_MUST_USE;
mr_status mr_onednn_recurrence_backward(mr_onednn *d, const mr_recurrence *r, const mr_recurrence_call *q) MR_MUST_USE;
/** The room of both. It builds no primitive. */
mr_status mr_onednn_recurrence_room(const mr_recurrence *r, mr_recurrence_room *out) MR_MUST_USE;

/** True when the library uses AVX-512 (the CPU has it and ONEDNN_MAX_CPU_ISA allows it). */
bool mr_onednn_avx512(void);
bool mr_onednn_avx2(void);
/** The same for instructions that multiply bf16: avx512_bf16 or AMX. */
bool mr_onednn_bf16(void);
/** The same for AMX alone. */
bool mr_onednn_amx(void);

#endif
