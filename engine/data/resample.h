/*
 * resample.h - resizes a part of a picture and normalises its pixels.
 *
 * Bilinear with antialiasing: each pixel of the result is the mean, weighted by a triangle filter, of the pixels whose
 * distance from its centre is less than one step of the result (at least one pixel); at the edges, of those inside the
 * part. If the size does not change, every pixel is copied. PyTorch: interpolate(mode="bilinear", antialias=True).
 */
#ifndef MR_DATA_RESAMPLE_H
#define MR_DATA_RESAMPLE_H

#include "data/augment.h"

typedef struct mr_resample {
	const uint8_t *pixels; /* of the picture, [rows, cols, 3]: red, green, blue */
	int64_t cols;          /* columns of the picture */
	mr_box part;           /* part of the picture that is used */
	int64_t rows_to, cols_to; /* size of the part after resizing */
	int64_t down, right;   /* upper left corner of the crop in the resized part; its size is that of mr_augment */
	bool flip;
} mr_resample;

/** Write the result to @image, [a->rows, a->cols, 3], normalised by @a. On any thread. Errors: MR_ERESOURCE. */
mr_status mr_resample_put(const mr_resample *r, const mr_augment *a, void *image) MR_MUST_USE;

/** Bytes that mr_resample_put allocates while it runs, for parts of up to @rows x @cols. */
size_t mr_resample_bytes(int64_t rows, int64_t cols, const mr_augment *a);

#endif
