/*
 * png.h - pictures as PNG, for readers that take nothing else: RGB, compressed by zlib.
 */
#ifndef MR_REPORT_PNG_H
#define MR_REPORT_PNG_H

#include "base/str.h"
#include "report/schedule_picture.h"

/** Append the pixels @rgb [height][width][3], rows from the top, as a PNG file. Failure shows in @out. */
void mr_png_append(const uint8_t *rgb, uint32_t width, uint32_t height, mr_strbuf *out);

/** Draw the schedule @p without texts: a row for each worker, colours as in the SVG. *@width and *@height are those of
 * the picture. Errors: MR_EINVAL as mr_schedule_picture_svg; MR_ERESOURCE. */
mr_status mr_schedule_picture_png(const mr_schedule_picture *p, mr_strbuf *out, uint32_t *width,
				  uint32_t *height) MR_MUST_USE;

#endif
