#include "data/picture.h"

#include <string.h>
#include <strings.h>

#define MAX_PIXELS 100000000u

typedef enum kind { PNG, JPEG, PNM, NONE } kind;

bool mr_picture_name(const char *name)
{
	static const char *const ends[] = {"png", "jpg", "jpeg", "ppm", "pgm"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcasecmp(dot + 1, ends[i]))
			return true;
	return false;
}

static const uint8_t png_magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

static kind kind_of(const uint8_t *bytes, size_t n)
{
	if (n >= 8 && !memcmp(bytes, png_magic, 8))
		return PNG;
	if (n >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff)
		return JPEG;
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
	return MR_OK;
}

/* Is marker @m that of a JPEG frame (SOF)? C4, C8 and CC are not. */
static bool is_frame(uint8_t m)
{
	return m >= 0xc0 && m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc;
}

/* Read segments up to the frame header, which has the size. */
static mr_status look_jpeg(const char *name, const uint8_t *bytes, size_t n, mr_picture *out, bool *more)
{
	size_t at = 2;

	while (at + 4 <= n) {
		uint8_t m = bytes[at + 1];

		if (bytes[at] != 0xff || m == 0xd9 || m == 0xda)
			return mr_fail(MR_EDATA, "%s: damaged JPEG: no size is said before byte %zu", name, at);
		if (m == 0xff || m == 0x01 || (m >= 0xd0 && m <= 0xd8)) { /* padding; markers without contents */
			at += m == 0xff ? 1 : 2;
			continue;
		}
		if (is_frame(m) && at + 9 <= n) {
			out->rows = big_endian(bytes + at + 5, 2);
			out->cols = big_endian(bytes + at + 7, 2);
			/* progressive decoding keeps all coefficients, 2 bytes each */
			out->decoding = m == 0xc2 ? 2 * (uint64_t)3 * (out->rows + 16) * (out->cols + 16) : 0;
			return MR_OK;
		}
		if (is_frame(m))
			break;
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
	case PNM:
		MR_TRY(pnm_head(name, bytes, n, out, &largest, &begin));
		break;
	default:
		return mr_fail(MR_EDATA,
			       "%s: is not a picture of a known format: PNG, JPEG, PPM (P6) or PGM (P5)", name);
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
		return mr_fail(MR_EDATA, "%s: truncated: it ends before its size is said", name);
	if (now.rows != size->rows || now.cols != size->cols)
		return mr_fail(MR_EDATA, "%s: the file was changed while it was in use: %u x %u pixels, were %u x %u",
			       name, now.cols, now.rows, size->cols, size->rows);
	switch (kind_of(bytes, n)) {
	case PNG:
		return mr_picture_png(name, bytes, n, size, rgb);
	case JPEG:
		return mr_picture_jpeg(name, bytes, n, size, rgb);
	default:
		return decode_pnm(name, bytes, n, size, rgb);
	}
}
