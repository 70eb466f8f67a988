/*
 * picture.h - decoding of PNG, JPEG, WEBP, GIF, PPM and PGM in memory, to rows of red, green and blue bytes.
 *
 * Grey becomes three equal channels, cyan, magenta, yellow and black become three colours, and a palette is replaced by
 * its colours. A JPEG is turned as its EXIF orientation says. Transparency is dropped, 16 bits per channel become 8,
 * and gamma and colour profiles are ignored. PNG is read by libpng, JPEG by libjpeg, WEBP by libwebp, and the first
 * picture of a GIF by giflib; a build without the library rejects pictures of that kind. A truncated or damaged picture
 * is rejected, as far as its format can detect the damage, and never partly decoded.
 *
 * Thread: pure functions of their arguments, on any thread; they allocate memory while they decode.
 */
#ifndef MR_FORMATS_PICTURE_H
#define MR_FORMATS_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Contents of the head of a file. */
typedef struct mr_picture {
	uint32_t rows, cols; /* as it is seen, so after it is turned */
	uint8_t turn;      /* orientation by EXIF, 2 to 8; 0 and 1: as it is stored */
	bool grey;         /* it has one channel */
	uint64_t decoding; /* bytes that the library allocates at most besides file and result */
} mr_picture;

/** Does @name end in .png, .jpg, .jpeg, .ppm or .pgm, in lower or upper case; or in .webp or .gif, where the build
 * reads them? */
bool mr_picture_name(const char *name);

/**
 * Read the head of the picture @name, whose first @n bytes are at @bytes. *@more: more bytes are needed, and *@out is
 * not set. Errors: MR_EDATA with the name, for an unknown kind, a kind that the build cannot read, or a picture that is
 * too large.
 */
mr_status mr_picture_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more) MR_MUST_USE;

/** Bytes of the decoded picture. */
static inline size_t mr_picture_bytes(const mr_picture *p)
{
	return (size_t)p->rows * p->cols * 3;
}

/**
 * Decode the picture @name of @n bytes, whose size must still be @size, into @rgb, [rows, cols, 3] bytes. Errors:
 * MR_EDATA with the name; MR_ERESOURCE.
 */
mr_status mr_picture_decode(const char *name, const uint8_t *bytes, size_t n, const mr_picture *size,
			    uint8_t *rgb) MR_MUST_USE;

/** Give @n pixels at @rgb three equal channels: their brightness (ITU-R BT.601). Grey ones stay as they are. */
void mr_picture_to_grey(uint8_t *rgb, size_t n);

/** MR_OK if the build has the library, else MR_EDATA with @name and the missing package. */
mr_status mr_picture_has_png(const char *name) MR_MUST_USE;
mr_status mr_picture_has_jpeg(const char *name) MR_MUST_USE;

/** Does the build have the library? */
bool mr_picture_has_webp(void);
bool mr_picture_has_gif(void);

/* The heads of these kinds, as mr_picture_look. */
mr_status mr_picture_webp_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
	MR_MUST_USE;
mr_status mr_picture_gif_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
	MR_MUST_USE;

/* The decoder of each kind. @bytes begins with the signature of the kind, and the picture is stored in the size of
 * @p. */
mr_status mr_picture_png(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
	MR_MUST_USE;
mr_status mr_picture_jpeg(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
	MR_MUST_USE;
mr_status mr_picture_webp(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
	MR_MUST_USE;
mr_status mr_picture_gif(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
	MR_MUST_USE;

/** Versions of the libraries, or "none". */
const char *mr_picture_png_version(void);
const char *mr_picture_jpeg_version(void);

#endif
