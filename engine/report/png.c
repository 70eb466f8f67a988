#include "report/png.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/schedule_frame.h"

#define WIDTH 1200
#define ROW 22 /* of a worker, and a gap */
#define BOX 18
#define MOST_WORKERS 128

static void put_u32(mr_strbuf *b, uint32_t x)
{
	char bytes[4] = {(char)(x >> 24), (char)(x >> 16), (char)(x >> 8), (char)x};

	mr_strbuf_append_n(b, bytes, 4);
}

static void put_chunk(mr_strbuf *out, const char *type, const mr_strbuf *data)
{
	put_u32(out, (uint32_t)data->len);
	mr_strbuf_append_n(out, type, 4);
	mr_strbuf_append_n(out, mr_strbuf_text(data), data->len);
	put_u32(out, (uint32_t)crc32_z(crc32_z(0, (const Bytef *)type, 4), (const Bytef *)mr_strbuf_text(data),
				       data->len));
	out->failed = out->failed || data->failed;
}

/* The lines as they are, each behind a byte that says so, compressed. */
static void deflate_lines(const uint8_t *rgb, uint32_t width, uint32_t height, mr_strbuf *to)
{
	size_t line = 3 * (size_t)width;
	uLong len = (uLong)((line + 1) * height);
	uLongf n = compressBound(len);
	Bytef *lines = calloc(1, len), *packed = malloc(n);

	for (uint32_t y = 0; lines && y < height; y++)
		memcpy(lines + y * (line + 1) + 1, rgb + y * line, line);
	if (!lines || !packed || compress(packed, &n, lines, len) != Z_OK)
		to->failed = true;
	else
		mr_strbuf_append_n(to, (const char *)packed, n);
	free(lines);
	free(packed);
}

void mr_png_append(const uint8_t *rgb, uint32_t width, uint32_t height, mr_strbuf *out)
{
	mr_strbuf data = {0};

	mr_strbuf_append_n(out, "\x89PNG\r\n\x1a\n", 8);
	put_u32(&data, width);
	put_u32(&data, height);
	mr_strbuf_append_n(&data, "\x08\x02\0\0\0", 5); /* 8 bits, RGB */
	put_chunk(out, "IHDR", &data);
	mr_strbuf_reset(&data);
	deflate_lines(rgb, width, height, &data);
	put_chunk(out, "IDAT", &data);
	mr_strbuf_reset(&data);
	put_chunk(out, "IEND", &data);
	mr_strbuf_fini(&data);
}

static void fill(uint8_t *rgb, uint32_t x, uint32_t to, uint32_t y, const char *color)
{
	unsigned long c = strtoul(color + 1, NULL, 16);

	for (uint32_t k = y; k < y + BOX; k++)
		for (uint32_t i = x; i < to; i++) {
			uint8_t *p = rgb + 3 * ((size_t)k * WIDTH + i);

			p[0] = (uint8_t)(c >> 16);
			p[1] = (uint8_t)(c >> 8);
			p[2] = (uint8_t)c;
		}
}

mr_status mr_schedule_picture_png(const mr_schedule_picture *p, mr_strbuf *out, uint32_t *width, uint32_t *height)
{
	uint32_t rows = p->n_workers < MOST_WORKERS ? p->n_workers : MOST_WORKERS;
	mr_schedule_frame frame;
	double scale;
	uint8_t *rgb;

	MR_TRY(mr_schedule_frame_find(p, &frame));
	*width = WIDTH;
	*height = rows * ROW + 4;
	rgb = malloc((size_t)*height * WIDTH * 3);
	if (!rgb)
		return mr_fail(MR_ERESOURCE, "no memory for a picture");
	memset(rgb, 0xff, (size_t)*height * WIDTH * 3);
	scale = frame.to > frame.from ? WIDTH / (double)(frame.to - frame.from) : 0;
	for (uint32_t w = 0; w < rows; w++)
		fill(rgb, 0, WIDTH, w * ROW + 4, "#eceff2");
	for (size_t i = 0; i < p->n_rec; i++) {
		const mr_trace_rec *r = &p->rec[i];
		uint32_t x = (uint32_t)((double)(r->begin_ns - frame.from) * scale);
		uint32_t to = (uint32_t)((double)(r->end_ns - frame.from) * scale);

		if (r->worker >= rows || r->end_ns == r->begin_ns)
			continue;
		to = to > WIDTH ? WIDTH : to;
		fill(rgb, x, to > x + 2 ? to - 1 : to, r->worker * ROW + 4, mr_svg_op_fill(r->op)); /* with a gap */
	}
	mr_png_append(rgb, *width, *height, out);
	free(rgb);
	return out->failed ? mr_fail(MR_ERESOURCE, "no memory for a picture") : MR_OK;
}
