/* test_pixels.c - heads and pixels of PPM and PGM, byte by byte, and what is said of others. */
#include <string.h>

#include "check.h"
#include "formats/picture.h"

static mr_status look(const char *bytes, size_t n, mr_picture *p, bool *more)
{
	return mr_picture_look("it", (const uint8_t *)bytes, n, p, more);
}

static void names(void)
{
	static const char *const good[] = {"a.png", "b/c.JPG", "x.jpeg", "x.y.Ppm", ".pgm"};
	static const char *const bad[] = {"png", "a.heic", "a.png.txt", "a.pngx", "", "a."};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CU_ASSERT(mr_picture_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT(!mr_picture_name(bad[i]));
	CU_ASSERT_EQUAL(mr_picture_name("a.webp"), mr_picture_has_webp());
	CU_ASSERT_EQUAL(mr_picture_name("a.GIF"), mr_picture_has_gif());
}

static void pixels(void)
{
	static const char colours[] = "P6 # two\n2 1\n255\n\001\002\003\377\200\000";
	static const char grey[] = "P5\n1\n# rows\n3\n15 \000\007\017";
	static const uint8_t want[] = {1, 2, 3, 255, 128, 0}, want_grey[] = {0, 0, 0, 119, 119, 119, 255, 255, 255};
	uint8_t rgb[9];
	mr_picture p;
	bool more;

	MR_CHECK_OK(look(colours, sizeof(colours) - 1, &p, &more));
	CU_ASSERT(!more && p.cols == 2 && p.rows == 1 && mr_picture_bytes(&p) == 6 && p.decoding == 0);
	MR_CHECK_OK(mr_picture_decode("it", (const uint8_t *)colours, sizeof(colours) - 1, &p, rgb));
	CU_ASSERT_EQUAL(memcmp(rgb, want, sizeof(want)), 0);
	MR_CHECK_OK(look(grey, sizeof(grey) - 1, &p, &more));
	CU_ASSERT(p.cols == 1 && p.rows == 3);
	MR_CHECK_OK(mr_picture_decode("it", (const uint8_t *)grey, sizeof(grey) - 1, &p, rgb));
	CU_ASSERT_EQUAL(memcmp(rgb, want_grey, sizeof(want_grey)), 0);
}

static void damaged(void)
{
	static const struct {
		const char *bytes, *said;
	} heads[] = {
		{"BM1234", "not a picture of a known format"},   {"P6 2", "damaged head of a P6 file"},
		{"P5 2 x 255 ", "damaged head of a P5 file"},     {"P6 1 1 0 abc", "the largest value is 0"},
		{"P6 1 1 65535 abc", "the largest value is 65535"}, {"P6 0 5 255 ", "0 x 5 pixels by its head"},
		{"P5 99999 99999 255 ", "99999 x 99999 pixels by its head"},
	};
	static const char few[] = "P6 2 1 255 abcde", above[] = "P5 1 1 9 \012", other[] = "P6 1 2 255 abcdef";
	uint8_t rgb[16];
	mr_picture p;
	bool more;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		MR_CHECK_FAIL(look(heads[i].bytes, strlen(heads[i].bytes), &p, &more), MR_EDATA, heads[i].said);
	MR_CHECK_OK(look(few, sizeof(few) - 1, &p, &more));
	MR_CHECK_FAIL(mr_picture_decode("it", (const uint8_t *)few, sizeof(few) - 1, &p, rgb), MR_EDATA,
		      "5 bytes behind the head, but 2 x 1 pixels are 6");
	MR_CHECK_FAIL(mr_picture_decode("it", (const uint8_t *)other, sizeof(other) - 1, &p, rgb), MR_EDATA,
		      "changed while it was in use: 1 x 2 pixels, were 2 x 1");
	MR_CHECK_OK(look(above, sizeof(above) - 1, &p, &more));
	MR_CHECK_FAIL(mr_picture_decode("it", (const uint8_t *)above, sizeof(above) - 1, &p, rgb), MR_EDATA,
		      "a value of 10, above the largest, 9");
}

/* Of a head that is not whole more is asked for, and decoding it is refused. */
static void cut_heads(void)
{
	static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, jpeg[] = {0xff, 0xd8, 0xff, 0xe0};
	uint8_t rgb[16];
	mr_picture p = {.rows = 1, .cols = 1};
	bool more;

	if (mr_picture_has_png("it") == MR_OK) {
		MR_CHECK_OK(look((const char *)png, sizeof(png), &p, &more));
		CU_ASSERT(more);
		MR_CHECK_FAIL(mr_picture_decode("it", png, sizeof(png), &p, rgb), MR_EDATA, "truncated");
	}
	if (mr_picture_has_jpeg("it") == MR_OK) {
		MR_CHECK_OK(look((const char *)jpeg, sizeof(jpeg), &p, &more));
		CU_ASSERT(more);
		MR_CHECK_FAIL(mr_picture_decode("it", jpeg, sizeof(jpeg), &p, rgb), MR_EDATA, "truncated");
	}
}

/* What CMake has found the decoders use: once their definitions went to another folder's files. */
static void libraries(void)
{
#ifdef MR_FOUND_PNG
	CU_ASSERT_STRING_NOT_EQUAL(mr_picture_png_version(), "none");
#endif
#ifdef MR_FOUND_JPEG
	CU_ASSERT_STRING_NOT_EQUAL(mr_picture_jpeg_version(), "none");
#endif
#ifdef MR_FOUND_WEBP
	CU_ASSERT(mr_picture_has_webp());
#endif
#ifdef MR_FOUND_GIF
	CU_ASSERT(mr_picture_has_gif());
#endif
}

void mr_suite_pixels(void);

void mr_suite_pixels(void)
{
	MR_SUITE("pixels");
	MR_TEST(names);
	MR_TEST(pixels);
	MR_TEST(damaged);
	MR_TEST(cut_heads);
	MR_TEST(libraries);
}
