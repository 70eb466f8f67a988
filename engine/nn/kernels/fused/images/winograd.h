/*
 * winograd.h - convolutions of 3 x 3 windows without stride with fewer multiplications, which are in f32.
 *
 * Two by two outputs of one channel are computed from a tile of four by four pixels with 16 products instead of 36
 * (Lavin, Gray: "Fast algorithms for convolutional neural networks", CVPR 2016, F(2 x 2, 3 x 3), after Winograd):
 *
 *	d' = B^T d B         a tile of pixels            w' = G w G^T     a kernel of weights
 *	y  = A^T (d' w') A   summed over the channels    in 16 matrix products: one for each of the 4 x 4 positions
 *
 *	B^T = 1  0 -1  0     G =  1   0   0     A^T = 1  1  1  0
 *	      0  1  1  0         1/2 1/2 1/2          0  1 -1 -1
 *	      0 -1  1  0         1/2 -1/2 1/2
 *	      0  1  0 -1          0   0   1
 *
 * The gradient of the input is such a convolution of dy with the weights turned by 180 degrees and transposed, that of
 * the weights G^T (sum over tiles of d' (A dy A^T)) G. The result is as exact as that of the direct sum: its chains of
 * additions are shorter. But an infinity or NaN among the pixels reaches all outputs of its tiles, as NaN.
 *
 * Larger tiles would save more and lose digits: F(4 x 4, 3 x 3) has ten times the error.
 *
 * Measured on two cores of an EPYC (Zen 5), 32 images, 64 to 256 channels of 32 x 32 to 8 x 8 pixels: 2.4 to 3.1 ms a
 * convolution or gradient, by oneDNN 2.6 4.4 to 6.1. Bits do not depend on the number of threads.
 */
#ifndef MR_KERNELS_WINOGRAD_H
#define MR_KERNELS_WINOGRAD_H

#include "nn/kernels/fused/vec/vec.h"
#include "nn/kernels/scratch.h"

/* Arguments of the vector kernels. Images are [samples, h, w, c] and [samples, out_h, out_w, out]. */
typedef struct mr_vec_winograd {
	int64_t samples, h, w, c, out_h, out_w, out, pad_h, pad_w;
	const void *x, *weights, *bias, *dy; /* bias: or NULL */
	bool turned;          /* weights are those of the convolution whose gradient this one is: [3, 3, out, c] */
	bool relu, add;       /* add: to y, or to dw */
	void *y;
	float *dw;
	float *transformed;   /* weights: [columns of a block of outputs][16][c] */
	float *scratch;       /* of worker 0; the others follow at this distance */
	size_t scratch_floats;
} mr_vec_winograd;

typedef struct mr_vec_winograds {
	mr_vec_fn *weights;   /* input channels, by whole vectors */
	mr_vec_fn *images;    /* units: a block of tiles, and of it a block of outputs */
	mr_vec_fn *few;       /* units: a block of outputs, if there are few tiles; `weights` is not called */
	mr_vec_fn *gradient;  /* input channels, by whole vectors: of the weights */
	int64_t lanes;        /* of a vector */
	int64_t (*images_units)(const mr_vec_winograd *a);
	size_t (*transformed_floats)(const mr_vec_winograd *a);
	size_t (*images_floats)(const mr_vec_winograd *a);   /* scratch of one worker */
	bool (*few_takes)(const mr_vec_winograd *a, uint32_t n_threads);
	size_t (*few_floats)(const mr_vec_winograd *a);
	size_t (*gradient_floats)(const mr_vec_winograd *a);
} mr_vec_winograds;

extern const mr_vec_winograds mr_vec_winograds_avx2, mr_vec_winograds_bf16_avx2;
extern const mr_vec_winograds mr_vec_winograds_avx512, mr_vec_winograds_bf16_avx512;
extern const mr_vec_winograds mr_vec_winograds_bf16_avx512_bf16; /* rounds by an instruction */

/** Is this convolution computed here, with both gradients? */
bool mr_winograd_takes(const mr_conv *g);

/** The same of one pass on bf16 numbers, which are widened to f32. @engine multiplies them in direct convolutions
 * (nn/kernels/fused/blocks/block_engine.h): `f32` is slower than this in all, avx512_bf16 in gradients of weights (by 3
 * to 30 %) and forward over small images (by 15 to 30 %), amx in none. NULL: of the backend `onednn`; false. */
bool mr_winograd_takes_bf16(const mr_conv *g, const char *engine, mr_conv_pass pass);

/** The kernels for images and weights of the type of @ops, with as many lanes. */
const mr_vec_winograds *mr_winograd_kernels(const mr_vec *vec, const mr_vec_ops *ops);

/* How a call is carried out. */
typedef struct mr_winograd {
	const mr_vec_winograds *kernels;
	uint32_t n_threads;
	mr_scratch *room; /* grows here */
} mr_winograd;

/** mr_kernels.conv, conv_backward_input and conv_backward_weight, where mr_winograd_takes(@g). Errors: MR_ERESOURCE. */
mr_status mr_winograd_conv(const mr_winograd *by, const mr_conv *g, const void *x, const void *w, const void *bias,
			   void *y) MR_MUST_USE;
mr_status mr_winograd_backward_input(const mr_winograd *by, const mr_conv *g, const void *dy, const void *w, void *dx,
				     bool add) MR_MUST_USE;
mr_status mr_winograd_backward_weight(const mr_winograd *by, const mr_conv *g, const void *x, const void *dy, float *dw,
				      bool add) MR_MUST_USE;

#endif
