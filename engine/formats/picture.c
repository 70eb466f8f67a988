#include "formats/picture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_PIXELS 100000000u

/* Tables of a decoder, whatever the size of its picture (measured: libjpeg-turbo and libpng). */
#define TABLES ((uint64_t)192 << 10)

typedef enum kind { PNG, JPEG, PNM, WEBP, GIF, NONE } kind;

bool mr_picture_name(const char *name)
{
	static const char *const ends[] = {"png", "jpg", "jpeg", "ppm", "pgm"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcasecmp(dot + 1, ends[i]))
			return true;
	return dot && ((mr_picture_has_webp() && !strcasecmp(dot, ".webp")) ||
		       (mr_picture_has_gif() && !strcasecmp(dot, ".gif")));
}

static const uint8_t png_magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static kind kind_of(const uint8_t *bytes, size_t n)
{
	if (n >= 8 && !memcmp(bytes, png_magic, 8))
		return PNG;
	if (n >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff)
		return JPEG;
	if (n >= 12 && !memcmp(bytes, "RIFF", 4) && !memcmp(bytes + 8, "WEBP", 4))
		return WEBP;
	if (n >= 6 && (!memcmp(bytes, "GIF87a", 6) || !memcmp(bytes, "GIF89a", 6)))
		return GIF;
	return n >= 3 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6') ? PNM : NONE;
}

static uint32_t big_endian(const uint8_t *b, int n)
{
	uint32_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | b[i];
	return v;
}

/* The head of a PNG is its first chunk. */
static mr_status look_png(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	if (n < 33) {
		*more = true;
		return MR_OK;
	}
	if (memcmp(bytes + 12, "IHDR", 4))
		return mr_fail(MR_EDATA, "%s: damaged PNG: it does not begin with its size", name);
	out->cols = big_endian(bytes + 16, 4);
	out->rows = big_endian(bytes + 20, 4);
	out->grey = (bytes[25] & 3) == 0; /* no colour, no palette */
	/* two rows of four channels of 16 bits and one more as it is unpacked, tables, and zlib's window */
	out->decoding = TABLES + 24 * (uint64_t)out->cols;
	return MR_OK;
}

/* Is marker @m that of a JPEG frame (SOF)? C4, C8 and CC are not. */
static bool is_frame(uint8_t m)
{
	return m >= 0xc0 && m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc;
}

/* The frame header of a JPEG: @at is its marker. Its components follow, 3 bytes each. */
typedef struct frame {
	const uint8_t *at; /* NULL: none has come so far */
	uint8_t n;
} frame;

/* Sampling factors of component @c; 0, which libjpeg refuses, counts as 1. */
static uint32_t across(const frame *f, int c)
{
	uint32_t factor = f->at[11 + 3 * c] >> 4;

	return factor ? factor : 1;
}

static uint32_t down(const frame *f, int c)
{
	uint32_t factor = f->at[11 + 3 * c] & 15;

	return factor ? factor : 1;
}

/* Blocks of 8 along a side of @pixels for a component of factor @sampling, whole units of the largest factor @most. */
static uint64_t blocks(uint32_t pixels, uint32_t sampling, uint32_t most)
{
	uint64_t n = ((uint64_t)pixels * sampling + 8 * (uint64_t)most - 1) / (8 * (uint64_t)most);

	return (n + sampling - 1) / sampling * sampling;
}

/*
 * What libjpeg allocates for a picture of frame @f. Rows under way: ten rows of 8 x 8 blocks' eighths a component, and
 * what becomes of them at full width; tables. If the first scan has not all components, or if scans refine each other,
 * the library keeps all coefficients of all components, 2 bytes each, until the last scan is read.
 */
static uint64_t jpeg_bytes(const frame *f, const mr_picture *p, bool whole)
{
	uint64_t bytes = TABLES, coefficients = 0;
	uint32_t most_across = 1, most_down = 1;

	for (int c = 0; c < f->n; c++) {
		most_across = across(f, c) > most_across ? across(f, c) : most_across;
		most_down = down(f, c) > most_down ? down(f, c) : most_down;
	}
	for (int c = 0; c < f->n; c++) {
		uint64_t wide = blocks(p->cols, across(f, c), most_across);

		bytes += 80 * wide * down(f, c) + (uint64_t)(most_down + 1) * (p->cols + 8 * most_across);
		coefficients += 128 * wide * blocks(p->rows, down(f, c), most_down);
	}
	if (f->n == 4) /* a row of them, which becomes three colours */
		bytes += 4 * (uint64_t)p->cols;
	return bytes + (whole ? coefficients : 0);
}

/* Take the frame header at @at, of which @n bytes are there; false: they are too few. */
static bool take_frame(const uint8_t *at, size_t n, frame *f, mr_picture *out)
{
	if (n < 10 || n < 10 + 3 * (size_t)at[9])
		return false;
	*f = (frame){at, at[9]};
	out->rows = big_endian(at + 5, 2);
	out->cols = big_endian(at + 7, 2);
	return true;
}

static uint32_t tiff_number(const uint8_t *b, int n, bool big)
{
	uint32_t v = 0;

	for (int i = 0; i < n; i++)
		v = v << 8 | b[big ? i : n - 1 - i];
	return v;
}

/* The orientation in a segment of EXIF with @n bytes at @s, which is a TIFF behind "Exif": that of the tag 0x112 of its
 * first directory; 0: there is none. */
static uint8_t orientation(const uint8_t *s, size_t n)
{
	const uint8_t *t = s + 6;
	uint32_t at, entries;
	bool big;

	if (n < 14 || memcmp(s, "Exif\0", 6) || (memcmp(t, "MM", 2) && memcmp(t, "II", 2)))
		return 0;
	n -= 6;
	big = t[0] == 'M';
	at = tiff_number(t + 4, 4, big);
	if (at > n - 2)
		return 0;
	entries = tiff_number(t + at, 2, big);
	for (at += 2; entries-- && at <= n - 2 && n - at >= 12; at += 12)
		if (tiff_number(t + at, 2, big) == 0x112) {
			uint32_t turn = tiff_number(t + at + 8, 2, big);

			return turn <= 8 ? (uint8_t)turn : 0;
		}
	return 0;
}

/* Count what turning takes, once the size is known. */
static void turn_head(mr_picture *p)
{
	uint32_t rows = p->rows;

	if (p->turn < 2)
		return;
	p->decoding += mr_picture_bytes(p);
	if (p->turn < 5)
		return;
	p->rows = p->cols;
	p->cols = rows;
}

/* Turn @from, which is stored in @rows x @cols, into @to, the picture @p. */
static void turn_pixels(const mr_picture *p, const uint8_t *from, uint32_t rows, uint32_t cols, uint8_t *to)
{
	bool across = p->turn >= 5; /* rows become columns */
	bool up = p->turn == 3 || p->turn == 4 || p->turn == 6 || p->turn == 7;
	bool left = p->turn == 2 || p->turn == 3 || p->turn == 7 || p->turn == 8;

	for (uint32_t r = 0; r < p->rows; r++)
		for (uint32_t c = 0; c < p->cols; c++, to += 3) {
			uint32_t y = across ? c : r, x = across ? r : c;

			y = up ? rows - 1 - y : y;
			x = left ? cols - 1 - x : x;
			memcpy(to, from + 3 * ((size_t)y * cols + x), 3);
		}
}

static mr_status decode_turned(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	mr_picture stored = *p;
	uint8_t *pixels;
	mr_status st;

	if (p->turn < 2)
		return mr_picture_jpeg(name, bytes, n, p, rgb);
	if (p->turn >= 5) {
		stored.rows = p->cols;
		stored.cols = p->rows;
	}
	pixels = malloc(mr_picture_bytes(p));
	if (!pixels)
		return mr_fail(MR_ERESOURCE, "%s: no memory to turn it", name);
	st = mr_picture_jpeg(name, bytes, n, &stored, pixels);
	if (st == MR_OK)
		turn_pixels(p, pixels, stored.rows, stored.cols, rgb);
	free(pixels);
	return st;
}

/* Read segments up to the first scan: the frame header has the size, the scan says how it is decoded. */
static mr_status look_jpeg(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	frame f = {0};
	size_t at = 2;

	while (at + 5 <= n) {
		uint8_t m = bytes[at + 1];

		if (bytes[at] != 0xff || m == 0xd9 || (m == 0xda && !f.at))
			return mr_fail(MR_EDATA, "%s: damaged JPEG: no %s is said before byte %zu", name,
				       f.at ? "scan" : "size", at);
		if (m == 0xff || m == 0x01 || (m >= 0xd0 && m <= 0xd8)) { /* padding; markers without contents */
			at += m == 0xff ? 1 : 2;
			continue;
		}
		if (m == 0xda) {
			bool refined = (f.at[1] & 3) == 2; /* C2, C6, CA, CE: progressive */

			out->decoding = jpeg_bytes(&f, out, refined || bytes[at + 4] < f.n);
			out->grey = f.n == 1;
			turn_head(out);
			return MR_OK;
		}
		if (is_frame(m) && !take_frame(bytes + at, n - at, &f, out))
			break;
		if (m == 0xe1 && !out->turn && at + 2 + big_endian(bytes + at + 2, 2) <= n)
			out->turn = orientation(bytes + at + 4, big_endian(bytes + at + 2, 2) - (size_t)2);
		at += 2 + big_endian(bytes + at + 2, 2);
	}
	*more = true;
	return MR_OK;
}

/* --- PPM and PGM: "P6", columns, rows, largest value, between them blanks and comments; then the bytes --- */

/* Read the number at *@at, after blanks and comments. False: there is none. */
static bool pnm_number(const uint8_t *bytes, size_t n, size_t *at, uint32_t *out)
{
	bool digits = false;

	while (*at < n && (strchr(" \t\n\v\f\r", bytes[*at]) || bytes[*at] == '#') && bytes[*at])
		if (bytes[(*at)++] == '#')
			while (*at < n && bytes[*at] != '\n')
				++*at;
	for (*out = 0; *at < n && bytes[*at] >= '0' && bytes[*at] <= '9' && *out < 100000000u; ++*at, digits = true)
		*out = *out * 10 + (bytes[*at] - '0');
	return digits && *at < n;
}

static mr_status pnm_head(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, uint32_t *largest,
			  size_t *begin)
{
	size_t at = 2;

	if (!pnm_number(bytes, n, &at, &out->cols) || !pnm_number(bytes, n, &at, &out->rows) ||
	    !pnm_number(bytes, n, &at, largest))
		return mr_fail(MR_EDATA,
			       "%s: damaged head of a P%c file: width, height and largest value were expected in the "
			       "first %zu bytes",
			       name, bytes[1], n);
	if (*largest < 1 || *largest > 255)
		return mr_fail(MR_EDATA, "%s: the largest value is %u, expected 1 to 255", name, *largest);
	*begin = at + 1;
	return MR_OK;
}

static mr_status decode_pnm(const char *name, const uint8_t *bytes, size_t n, const mr_picture *p, uint8_t *rgb)
{
	size_t each = bytes[1] == '6' ? 3 : 1, count = (size_t)p->rows * p->cols, begin;
	uint32_t largest;
	mr_picture head;

	MR_TRY(pnm_head(name, bytes, n, &head, &largest, &begin));
	if (n - begin != count * each)
		return mr_fail(MR_EDATA, "%s: %zu bytes behind the head, but %u x %u pixels are %zu", name, n - begin,
			       p->cols, p->rows, count * each);
	if (each == 3 && largest == UINT8_MAX) {
		memcpy(rgb, bytes + begin, 3 * count);
		return MR_OK;
	}
	for (size_t i = 0; i < 3 * count; i++) {
		uint32_t v = bytes[begin + (each == 3 ? i : i / 3)];

		if (v > largest)
			return mr_fail(MR_EDATA, "%s: damaged: a value of %u, above the largest, %u", name, v, largest);
		rgb[i] = (uint8_t)((v * 255 + largest / 2) / largest);
	}
	return MR_OK;
}

/* --- all kinds --- */

mr_status mr_picture_look(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	uint32_t largest;
	size_t begin;

	*out = (mr_picture){0};
	*more = false;
	switch (kind_of(bytes, n)) {
	case PNG:
		MR_TRY(mr_picture_has_png(name));
		MR_TRY(look_png(name, bytes, n, out, more));
		break;
	case JPEG:
		MR_TRY(mr_picture_has_jpeg(name));
		MR_TRY(look_jpeg(name, bytes, n, out, more));
		break;
	case WEBP:
		MR_TRY(mr_picture_webp_look(name, bytes, n, out, more));
		break;
	case GIF:
		MR_TRY(mr_picture_gif_look(name, bytes, n, out, more));
		break;
	case PNM:
		MR_TRY(pnm_head(name, bytes, n, out, &largest, &begin));
		out->grey = bytes[1] == '5';
		break;
	default:
		return mr_fail(MR_EDATA,
			       "%s: is not a picture of a known format: PNG, JPEG, WEBP, GIF, PPM (P6) or PGM (P5)",
			       name);
	}
	if (!*more && (!out->rows || !out->cols || (uint64_t)out->rows * out->cols > MAX_PIXELS))
		return mr_fail(MR_EDATA, "%s: %u x %u pixels by its head, expected 1 to %u", name, out->cols, out->rows,
			       MAX_PIXELS);
	return MR_OK;
}

mr_status mr_picture_decode(const char *name, const uint8_t *bytes, size_t n, const mr_picture *size, uint8_t *rgb)
{
	mr_picture now;
	bool more;

	MR_TRY(mr_picture_look(name, bytes, n, &now, &more));
	if (more)
		return mr_fail(MR_EDATA, "%s: truncated: it ends within its head", name);
	if (now.rows != size->rows || now.cols != size->cols || now.turn != size->turn)
		return mr_fail(MR_EDATA, "%s: the file was changed while it was in use: %u x %u pixels, were %u x %u",
			       name, now.cols, now.rows, size->cols, size->rows);
	if (now.decoding > size->decoding) /* which nobody has planned */
		return mr_fail(MR_EDATA, "%s: the file was changed while it was in use: decoding takes more memory",
			       name);
	switch (kind_of(bytes, n)) {
	case PNG:
		return mr_picture_png(name, bytes, n, size, rgb);
	case JPEG:
		return decode_turned(name, bytes, n, size, rgb);
	case WEBP:
		return mr_picture_webp(name, bytes, n, size, rgb);
	case GIF:
		return mr_picture_gif(name, bytes, n, size, rgb);
	default:
		return decode_pnm(name, bytes, n, size, rgb);
	}
}

void mr_picture_to_grey(uint8_t *rgb, size_t n)
{
	for (size_t i = 0; i < n; i++, rgb += 3)
		rgb[0] = rgb[1] = rgb[2] = (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}
