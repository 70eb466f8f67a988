/*
 * augment.h - shared by the sources of images: normalisation of pixels, and augmentation of training images.
 *
 * A pixel p of channel c, 0 to 255, becomes (p / 255 - mean[c]) / std[c]. A training image may be mirrored, and may be
 * padded with black pixels and cropped at a random place to its own size. What happens to training sample g is a pure
 * function of the seed and of g, on any thread; a validation image is never changed.
 *
 * Thread: after mr_augment_init and mr_augment_normal(s), any threads may read an mr_augment at once.
 */
#ifndef MR_DATA_AUGMENT_H
#define MR_DATA_AUGMENT_H

#include "data/part.h"

#define MR_AUGMENT_CHANNELS 3

/* Options of a source whose images have one size. */
#define MR_AUGMENT_PADDING(def)                                                                          \
	{                                                                                                \
		"padding", MR_OPT_INT, def, 0, 4096, NULL, "pixels",                                     \
			"black pixels around a training image, out of which it is cut at a random place" \
	}
#define MR_AUGMENT_FLIP(def)                                                                                      \
	{                                                                                                         \
		"flip", MR_OPT_BOOL, def, 0, 0, NULL, NULL, "mirror half of the training images, drawn at random" \
	}

typedef struct mr_augment {
	mr_dtype dtype;
	uint64_t seed;
	int64_t rows, cols, channels; /* of an image */
	int64_t padding;              /* black pixels on each side of a training image */
	bool flip;
	double mean[MR_AUGMENT_CHANNELS], std[MR_AUGMENT_CHANNELS];
	double value[MR_AUGMENT_CHANNELS][256]; /* normalised value of each byte of a pixel */
} mr_augment;

/* The augmentation of one image. */
typedef struct mr_augmented {
	int64_t down, right; /* upper left corner of the crop, in rows and columns of the image; may be negative */
	bool flip;
} mr_augmented;

/* Part of an image: its upper left corner and size. */
typedef struct mr_box {
	int64_t down, right, rows, cols;
} mr_box;

/* The random numbers of a training sample: elements of MR_RNG_AUGMENT (base/rng.h). Append only. */
typedef enum mr_augment_draw {
	MR_AUGMENT_DOWN,
	MR_AUGMENT_RIGHT,
	MR_AUGMENT_MIRROR,
	MR_AUGMENT_PART = 16 /* four for each try of mr_augment_part */
} mr_augment_draw;

/** Fill @a for images of @rows x @cols with @channels; padding and flip are read from @values, whose option table must
 * have both. */
void mr_augment_init(mr_augment *a, int64_t rows, int64_t cols, int64_t channels, const mr_values *values,
		     const mr_data_want *want);

/** Set mean and deviation of channel @c, and its normalised values. */
void mr_augment_normal(mr_augment *a, int64_t c, double mean, double std);

/** The same for all channels, from mean and std of @values: lists of one number, or of one per channel. @source: name
 * of the data, for messages. Errors: MR_ECONFIG. */
mr_status mr_augment_normals(mr_augment *a, const char *source, const mr_values *values) MR_MUST_USE;

/** Write sizes and normalisation as fields of an open object, for mr_dataset_ops.form of pictures. @resize: the shorter
 * side of a picture becomes so long before its middle is cut out; 0: a picture has the size. */
void mr_augment_form(const mr_augment *a, int64_t resize, mr_json_writer *w);

/** Write the classes 0 to @n - 1 as `labels`. */
void mr_augment_form_classes(int64_t n, mr_json_writer *w);

/** @fingerprint with all settings of @a that change samples folded in. */
uint64_t mr_augment_fold(const mr_augment *a, uint64_t fingerprint);

/** A random whole number from 0 to @n - 1, @n up to 2^31, for training sample @g. */
int64_t mr_augment_below(const mr_augment *a, uint64_t g, uint64_t draw, int64_t n);

/** The augmentation of training sample @g. */
mr_augmented mr_augment_of(const mr_augment *a, uint64_t g);

/** A random part of training sample @g, an image of @rows x @cols: at least the fraction @least of its area, with an
 * aspect ratio from 3:4 to 4:3. If ten tries find none, the largest part in the middle with such a ratio. */
mr_box mr_augment_part(const mr_augment *a, uint64_t g, int64_t rows, int64_t cols, double least);

/**
 * Write row @y of the augmented image to @image, [rows, cols, channels] numbers of a->dtype. @pixels[c] is row
 * @how.down + @y of channel c of the original image, with @step bytes from one pixel to the next; @pixels is NULL if
 * the original has no such row.
 */
void mr_augment_row(const mr_augment *a, mr_augmented how, int64_t y, const uint8_t *const *pixels, size_t step,
		    void *image);

#endif
