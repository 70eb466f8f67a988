/*
 * picture_jpeg.c - JPEG by libjpeg or libjpeg-turbo. The libraries report errors by longjmp, so nothing here owns
 * memory outside of them. After damage they continue with a warning and grey pixels; here a warning is an error, except
 * the one about extraneous bytes between two segments, which some cameras write.
 */
#include "formats/picture.h"

#ifdef MR_JPEG
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>
#include <jerror.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

typedef struct reading {
	struct jpeg_error_mgr errors; /* first: the library hands back this address */
	jmp_buf out;
	char why[JMSG_LENGTH_MAX];
} reading;

static void on_error(j_common_ptr c)
{
	reading *r = (reading *)(void *)c->err;

	c->err->format_message(c, r->why);
	longjmp(r->out, 1);
}

static void on_message(j_common_ptr c, int level)
{
	if (level < 0 && c->err->msg_code != JWRN_EXTRANEOUS_DATA)
		on_error(c);
}

static void give_up(struct jpeg_decompress_struct *c, const char *why)
{
	reading *r = (reading *)(void *)c->err;

	strncpy(r->why, why, sizeof(r->why) - 1);
	longjmp(r->out, 1);
}

/* Cyan, magenta, yellow and black to the three colours that they leave. Adobe's programs write 255 where there is no
 * ink. */
static void mix_inks(const uint8_t *ink, uint32_t cols, bool adobe, uint8_t *rgb)
{
	for (uint32_t x = 0; x < cols; x++, ink += 4, rgb += 3)
		for (int c = 0; c < 3; c++) {
			uint32_t light = adobe ? ink[c] : 255u - ink[c], black = adobe ? ink[3] : 255u - ink[3];

			rgb[c] = (uint8_t)((light * black + 127) / 255);
		}
}

/* May leave by longjmp. */
static void read_all(struct jpeg_decompress_struct *c, const uint8_t *bytes, size_t n, const mr_picture *p,
		     uint8_t *rgb)
{
	JSAMPARRAY wide = NULL;

	jpeg_create_decompress(c);
	jpeg_mem_src(c, bytes, (unsigned long)n);
	jpeg_read_header(c, TRUE);
	c->out_color_space = c->num_components == 4 ? JCS_CMYK : JCS_RGB;
	c->dct_method = JDCT_ISLOW; /* the same bits with all vector instructions */
	jpeg_start_decompress(c);
	if (c->output_width != p->cols || c->output_height != p->rows ||
	    c->output_components != (c->num_components == 4 ? 4 : 3))
		give_up(c, "rows of another size than the head says");
	if (c->output_components == 4)
		wide = c->mem->alloc_sarray((j_common_ptr)c, JPOOL_IMAGE, 4 * p->cols, 1);
	while (c->output_scanline < c->output_height) {
		JSAMPROW row = rgb + (size_t)c->output_scanline * p->cols * 3;

		jpeg_read_scanlines(c, wide ? wide : &row, 1);
		if (wide)
			mix_inks(wide[0], p->cols, c->saw_Adobe_marker, row);
	}
	jpeg_finish_decompress(c);
}

mr_status mr_picture_jpeg(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	struct jpeg_decompress_struct c = {0};
	reading r = {.why = ""};

	c.err = jpeg_std_error(&r.errors);
	r.errors.error_exit = on_error;
	r.errors.emit_message = on_message;
	if (setjmp(r.out)) {
		bool memory = r.errors.msg_code == JERR_OUT_OF_MEMORY;

		jpeg_destroy_decompress(&c);
		return memory ? mr_fail(MR_ERESOURCE, "%s: no memory to decode it", name)
			      : mr_fail(MR_EDATA, "%s: damaged JPEG, or of a kind that cannot be read: %s", name,
					r.why);
	}
	read_all(&c, bytes, n, p, rgb);
	jpeg_destroy_decompress(&c);
	return MR_OK;
}

mr_status mr_picture_has_jpeg(const char *name)
{
	(void)name;
	return MR_OK;
}

const char *mr_picture_jpeg_version(void)
{
#ifdef LIBJPEG_TURBO_VERSION
	return "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION);
#else
	return "libjpeg " TEXT(JPEG_LIB_VERSION);
#endif
}

#else

mr_status mr_picture_has_jpeg(const char *name)
{
	return mr_fail(MR_EDATA,
		       "%s: is a JPEG, and this build has no libjpeg: install the package libjpeg62-turbo-dev (or "
		       "libjpeg-dev) and build again",
		       name);
}

mr_status mr_picture_jpeg(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	(void)bytes;
	(void)n;
	(void)p;
	(void)rgb;
	return mr_picture_has_jpeg(name);
}

const char *mr_picture_jpeg_version(void)
{
	return "none";
}
#endif
