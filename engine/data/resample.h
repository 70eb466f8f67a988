/*
 * resample.h - a part of a picture, resized, as normal values.
 *
 * Bilinear with antialiasing: each pixel of the result is a mean of those within one of its own steps (at least one
 * pixel) of its centre, weighted by a triangle, and at the part's edges of those that are there. Where nothing is
 * resized every pixel stays as it is. It is what PyTorch's interpolate calls bilinear with antialias.
 */
#ifndef MR_DATA_RESAMPLE_H
#define MR_DATA_RESAMPLE_H

#include "data/augment.h"

typedef struct mr_resample {
	const uint8_t *pixels; /* of the picture: rows of red, green, blue */
	int64_t cols;          /* in a row of it */
	mr_box part;           /* of the picture */
	int64_t rows_to, cols_to; /* the part is resized to this */
	int64_t down, right;   /* and of that the result begins here; it has the size of the images of mr_augment */
	bool flip;
} mr_resample;

/** The result into @image with the normal values of @a. Errors: MR_ERESOURCE. */
mr_status mr_resample_put(const mr_resample *r, const mr_augment *a, void *image) MR_MUST_USE;

/** Bytes that this takes while it runs, of parts of up to @rows x @cols. */
size_t mr_resample_bytes(int64_t rows, int64_t cols, const mr_augment *a);

#endif
