/*
 * picture.h - decoding of PNG, JPEG, PPM and PGM in memory, to rows of red, green and blue bytes.
 *
 * Grey becomes three equal channels, a palette its colours; transparency is dropped, 16 bits a channel become 8, and
 * what a file says of gamma, profiles and orientation is not looked at. PNG is read by libpng and JPEG by libjpeg,
 * where the build has them: without, a picture of that kind is refused. A picture that is cut short or damaged, as far
 * as its format can tell, is refused and not half decoded.
 *
 * Thread: pure functions of what they are given; they take memory while they decode.
 */
#ifndef MR_DATA_PICTURE_H
#define MR_DATA_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What the head of a file says. */
typedef struct mr_picture {
	uint32_t rows, cols;
	uint64_t decoding; /* bytes that the library may take beside file and result */
} mr_picture;

/** Is @name that of a picture: .png, .jpg, .jpeg, .ppm or .pgm, in small or capital letters? */
bool mr_picture_name(const char *name);

/**
 * Read the head of the picture @name, whose first @n bytes are at @bytes. *@more: they do not reach far enough, and
 * *@out is not set. Errors: MR_EDATA with the name: of none of the kinds, of one that the build cannot read, too large.
 */
mr_status mr_picture_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more) MR_MUST_USE;

/** Bytes of the decoded picture. */
static inline size_t mr_picture_bytes(const mr_picture *p)
{
	return (size_t)p->rows * p->cols * 3;
}

/**
 * Decode the picture @name of @n bytes, whose size must still be @size, into @rgb. Errors: MR_EDATA with the name;
 * MR_ERESOURCE.
 */
mr_status mr_picture_decode(const char *name, const uint8_t *bytes, size_t n, const mr_picture *size,
			    uint8_t *rgb) MR_MUST_USE;

/** MR_OK where the build has the library, else MR_EDATA with @name and the package that is missing. */
mr_status mr_picture_has_png(const char *name) MR_MUST_USE;
mr_status mr_picture_has_jpeg(const char *name) MR_MUST_USE;

/* The decoders of the kinds. What they are given begins as their kind does and has the size of @p. */
mr_status mr_picture_png(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
	MR_MUST_USE;
mr_status mr_picture_jpeg(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
	MR_MUST_USE;

/** Versions of the libraries, or "none". */
const char *mr_picture_png_version(void);
const char *mr_picture_jpeg_version(void);

#endif
