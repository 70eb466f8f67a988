/* picture_png.c - PNG by libpng, which reports errors by longjmp, so nothing here owns memory outside of it. */
#include "formats/picture.h"

#ifdef MR_PNG
#include <png.h>
#include <string.h>

typedef struct reading {
	const char *name;
	const uint8_t *bytes;
	size_t n, at;
	char why[160];
} reading;

static void on_error(png_structp png, png_const_charp text)
{
	reading *r = png_get_error_ptr(png);

	strncpy(r->why, text, sizeof(r->why) - 1);
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static void on_read(png_structp png, png_bytep to, size_t n)
{
	reading *r = png_get_io_ptr(png);

	if (n > r->n - r->at)
		png_error(png, "the file ends too early");
	memcpy(to, r->bytes + r->at, n);
	r->at += n;
}

/* Text, profiles and the like are not unpacked: they change no pixel, and a small file may hold gigabytes of them. */
static void skip_notes(png_structp png)
{
#ifdef PNG_HANDLE_AS_UNKNOWN_SUPPORTED
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
#else
	png_set_chunk_cache_max(png, 1);
	png_set_chunk_malloc_max(png, 1 << 16);
#endif
}

/* May leave by longjmp. */
static void read_all(png_structp png, png_infop info, const mr_picture *p, uint8_t *rgb)
{
	int passes;

	png_read_info(png, info);
	png_set_strip_16(png);
	png_set_palette_to_rgb(png);
	if (png_get_color_type(png, info) == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8)
		png_set_expand_gray_1_2_4_to_8(png);
	png_set_gray_to_rgb(png);
	png_set_strip_alpha(png);
	passes = png_set_interlace_handling(png);
	png_read_update_info(png, info);
	if (png_get_rowbytes(png, info) != 3 * (size_t)p->cols || png_get_image_height(png, info) != p->rows)
		png_error(png, "rows of another size than the head says");
	for (int i = 0; i < passes; i++)
		for (uint32_t y = 0; y < p->rows; y++)
			png_read_row(png, rgb + (size_t)y * p->cols * 3, NULL);
	png_read_end(png, NULL);
}

mr_status mr_picture_png(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	reading r = {.name = name, .bytes = bytes, .n = n};
	png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info) {
		png_destroy_read_struct(&png, NULL, NULL);
		return mr_fail(MR_ERESOURCE, "%s: no memory to decode it", name);
	}
	if (setjmp(png_jmpbuf(png))) {
		png_destroy_read_struct(&png, &info, NULL);
		return mr_fail(MR_EDATA, "%s: damaged PNG: %s", name, r.why);
	}
	png_set_read_fn(png, &r, on_read);
	skip_notes(png);
	read_all(png, info, p, rgb);
	png_destroy_read_struct(&png, &info, NULL);
	return MR_OK;
}

mr_status mr_picture_has_png(const char *name)
{
	(void)name;
	return MR_OK;
}

const char *mr_picture_png_version(void)
{
	return PNG_LIBPNG_VER_STRING;
}

#else

mr_status mr_picture_has_png(const char *name)
{
	return mr_fail(MR_EDATA,
		       "%s: is a PNG, and this build has no libpng: install the package libpng-dev and build again",
		       name);
}

mr_status mr_picture_png(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	(void)bytes;
	(void)n;
	(void)p;
	(void)rgb;
	return mr_picture_has_png(name);
}

const char *mr_picture_png_version(void)
{
	return "none";
}
#endif
