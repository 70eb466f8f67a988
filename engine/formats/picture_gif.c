/* picture_gif.c - GIF by giflib: the first picture of the file, on black where it does not cover the whole. */
#include "formats/picture.h"

#include <string.h>

mr_status mr_picture_gif_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	if (!mr_picture_has_gif())
		return mr_fail(MR_EDATA,
			       "%s: is a GIF, and this build has no giflib: install the package libgif-dev and build "
			       "again", name);
	*more = n < 13;
	if (*more)
		return MR_OK;
	out->cols = bytes[6] | (uint32_t)bytes[7] << 8;
	out->rows = bytes[8] | (uint32_t)bytes[9] << 8;
	out->decoding = ((uint64_t)64 << 10) + out->cols; /* tables of the decoder, and a row of numbers of colours */
	return MR_OK;
}

#ifdef MR_GIF
#include <stdlib.h>

#include <gif_lib.h>

typedef struct reading {
	const uint8_t *bytes;
	size_t n, at;
} reading;

static int on_read(GifFileType *g, GifByteType *to, int n)
{
	reading *r = g->UserData;
	size_t len = (size_t)n < r->n - r->at ? (size_t)n : r->n - r->at;

	memcpy(to, r->bytes + r->at, len);
	r->at += len;
	return (int)len;
}

/* Does the file end with its trailer, ";", zeros behind it aside? A cut one does not. */
static bool is_whole(const uint8_t *bytes, size_t n)
{
	while (n && !bytes[n - 1])
		n--;
	return n && bytes[n - 1] == ';';
}

/* Move to the first picture; its description is in g->Image then. */
static bool find_picture(GifFileType *g)
{
	GifRecordType type;

	while (DGifGetRecordType(g, &type) == GIF_OK && type != TERMINATE_RECORD_TYPE) {
		GifByteType *block;
		int code;

		if (type == IMAGE_DESC_RECORD_TYPE)
			return DGifGetImageDesc(g) == GIF_OK;
		if (type != EXTENSION_RECORD_TYPE || DGifGetExtension(g, &code, &block) != GIF_OK)
			return false;
		while (block)
			if (DGifGetExtensionNext(g, &block) != GIF_OK)
				return false;
	}
	return false;
}

/* Row @i of the file is this row of the picture: interlaced ones come in four passes. */
static uint32_t row_of(uint32_t i, uint32_t rows, bool interlaced)
{
	static const uint32_t first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};

	for (int pass = 0; interlaced && pass < 4; pass++) {
		uint32_t n = rows > first[pass] ? (rows - first[pass] + step[pass] - 1) / step[pass] : 0;

		if (i < n)
			return first[pass] + i * step[pass];
		i -= n;
	}
	return i;
}

static bool read_rows(GifFileType *g, const mr_picture *p, GifPixelType *line, uint8_t *rgb)
{
	const GifImageDesc *d = &g->Image;
	const ColorMapObject *map = d->ColorMap ? d->ColorMap : g->SColorMap;

	if (!map || d->Left < 0 || d->Top < 0 || d->Width < 1 || (uint32_t)(d->Left + d->Width) > p->cols ||
	    (uint32_t)(d->Top + d->Height) > p->rows)
		return false;
	memset(rgb, 0, mr_picture_bytes(p));
	for (uint32_t i = 0; i < (uint32_t)d->Height; i++) {
		uint32_t y = (uint32_t)d->Top + row_of(i, (uint32_t)d->Height, d->Interlace);
		uint8_t *to = rgb + 3 * ((size_t)y * p->cols + (uint32_t)d->Left);

		if (DGifGetLine(g, line, d->Width) != GIF_OK)
			return false;
		for (int x = 0; x < d->Width; x++, to += 3) {
			GifColorType c = map->Colors[line[x] < map->ColorCount ? line[x] : 0];

			to[0] = c.Red;
			to[1] = c.Green;
			to[2] = c.Blue;
		}
	}
	return true;
}

mr_status mr_picture_gif(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	reading r = {.bytes = bytes, .n = n};
	GifPixelType *line = malloc(p->cols);
	GifFileType *g = line ? DGifOpen(&r, on_read, NULL) : NULL;
	bool good = g && is_whole(bytes, n) && find_picture(g) && read_rows(g, p, line, rgb);

	if (g)
		DGifCloseFile(g, NULL);
	free(line);
	return good ? MR_OK : mr_fail(MR_EDATA, "%s: damaged GIF", name);
}

bool mr_picture_has_gif(void)
{
	return true;
}

#else

mr_status mr_picture_gif(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	(void)p;
	(void)rgb;
	return mr_picture_gif_look(name, bytes, n, &(mr_picture){0}, &(bool){false});
}

bool mr_picture_has_gif(void)
{
	return false;
}
#endif
