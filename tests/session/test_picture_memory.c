/* What a picture's decoder allocates is what its head promises: no more, so that no limit is passed, and hardly less.
 * The pictures are large, of one colour, and made here; the kernel's peak is what counts. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"
#include "formats/picture.h"
#include "host/memory.h"

#define KIB ((uint64_t)1 << 10)

/* --- files --- */

typedef struct bytes {
	uint8_t *at;
	size_t n, room;
} bytes;

static void put(bytes *b, const void *more, size_t n)
{
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->at = realloc(b->at, b->room);
		CU_ASSERT_FATAL(b->at != NULL);
	}
	if (more)
		memcpy(b->at + b->n, more, n);
	else
		memset(b->at + b->n, 0, n);
	b->n += n;
}

static void put_word(bytes *b, uint32_t v, int n)
{
	for (int i = n - 1; i >= 0; i--)
		put(b, &(uint8_t){(uint8_t)(v >> 8 * i)}, 1);
}

static void put_marker(bytes *b, uint8_t marker, uint32_t length)
{
	put_word(b, 0xff00u | marker, 2);
	put_word(b, length, 2);
}

/* How a JPEG is made: its frame's marker, its components, each in a scan of its own or all in one, and whether colours
 * have half the width and height. */
typedef struct jpeg {
	const char *name;
	uint32_t rows, cols;
	uint8_t frame, n;
	bool apart, halved;
} jpeg;

/* A scan of the components [@first, @first + @n): zeros are differences of 0 and ends of blocks, a bit each. */
static void put_scan(bytes *b, const jpeg *j, uint8_t first, uint8_t n)
{
	uint64_t blocks = ((uint64_t)j->rows / 8 + 2) * (j->cols / 8 + 2) * (n > 1 ? n : 1);
	bool progressive = j->frame == 0xc2;

	put_marker(b, 0xda, 6 + 2u * n);
	put_word(b, n, 1);
	for (uint8_t i = 0; i < n; i++)
		put_word(b, (first + i + 1u) << 8, 2);
	put_word(b, progressive ? 0 : 63 << 8, 3);
	put(b, NULL, blocks * (progressive ? 1 : 2) / 8 + 64);
}

static bytes jpeg_of(const jpeg *j)
{
	bytes b = {0};

	put_word(&b, 0xffd8, 2);
	put_marker(&b, 0xdb, 67);
	put_word(&b, 0, 1);
	for (int i = 0; i < 64; i++)
		put_word(&b, 1, 1);
	put_marker(&b, j->frame, 8 + 3u * j->n);
	put_word(&b, 8, 1);
	put_word(&b, j->rows, 2);
	put_word(&b, j->cols, 2);
	put_word(&b, j->n, 1);
	for (uint8_t i = 0; i < j->n; i++) {
		put_word(&b, i + 1u, 1);
		put_word(&b, j->halved && i == 0 ? 0x22 : 0x11, 1);
		put_word(&b, 0, 1);
	}
	for (uint32_t table = 0; table < 2; table++) { /* one symbol, 0, of one bit */
		put_marker(&b, 0xc4, 20);
		put_word(&b, table << 4, 1);
		put_word(&b, 1, 1);
		put(&b, NULL, 15 + 1);
	}
	for (uint8_t i = 0; i < (j->apart ? j->n : 1); i++)
		put_scan(&b, j, i, j->apart ? 1 : j->n);
	put_word(&b, 0xffd9, 2);
	return b;
}

static void put_chunk(bytes *b, const char *kind, const void *data, size_t n)
{
	size_t begin;

	put_word(b, (uint32_t)n, 4);
	begin = b->n;
	put(b, kind, 4);
	put(b, data, n);
	put_word(b, (uint32_t)crc32(0, b->at + begin, (uInt)(n + 4)), 4);
}

static void put_deflated(bytes *b, const char *kind, const char *front, size_t n_front, size_t zeros)
{
	uLongf n = compressBound(zeros);
	uint8_t *from = calloc(1, zeros), *to = malloc(n_front + n);

	CU_ASSERT_FATAL(from && to);
	memcpy(to, front, n_front);
	CU_ASSERT_EQUAL(compress2(to + n_front, &n, from, zeros, 1), Z_OK);
	put_chunk(b, kind, to, n_front + n);
	free(from);
	free(to);
}

/* @kind: PNG's colour type; @note: bytes of a compressed text in it. */
typedef struct png {
	const char *name;
	uint32_t rows, cols;
	uint8_t depth, kind, interlaced;
	size_t note;
} png;

static bytes png_of(const png *p)
{
	static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
	uint64_t row = 1 + ((uint64_t)p->cols * channels[p->kind] * p->depth + 7) / 8;
	uint8_t palette[6] = {0};
	bytes head = {0}, b = {0};

	put(&b, "\x89PNG\r\n\x1a\n", 8);
	put_word(&head, p->cols, 4);
	put_word(&head, p->rows, 4);
	put_word(&head, (uint32_t)p->depth << 8 | p->kind, 2);
	put_word(&head, p->interlaced, 3);
	put_chunk(&b, "IHDR", head.at, head.n);
	free(head.at);
	if (p->note)
		put_deflated(&b, "zTXt", "note\0", 6, p->note);
	if (p->kind == 3)
		put_chunk(&b, "PLTE", palette, sizeof(palette));
	put_deflated(&b, "IDAT", "", 0, row * p->rows + (p->interlaced ? row + 8 * (uint64_t)p->rows : 0));
	put_chunk(&b, "IEND", NULL, 0);
	return b;
}

/* --- measuring --- */

static bool forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, "5", 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

/* The code of the library itself is no part of a promise: touch it. */
static void warm_up(bytes b)
{
	uint8_t rgb[3 * 64];
	mr_picture p;
	bool more;

	MR_CHECK_OK(mr_picture_look("small", b.at, b.n, &p, &more));
	CU_ASSERT_FATAL(mr_picture_bytes(&p) <= sizeof(rgb));
	MR_CHECK_OK(mr_picture_decode("small", b.at, b.n, &p, rgb));
	free(b.at);
}

/* Decode @b and compare the growth of the process with the promise; @least: part of the promise that must be used. */
static void decode(const char *name, bytes b, double least)
{
	uint64_t before, grown;
	mr_picture p;
	uint8_t *rgb;
	bool more;
	mr_status st;

	MR_CHECK_OK(mr_picture_look(name, b.at, b.n, &p, &more));
	CU_ASSERT_FALSE_FATAL(more);
	rgb = malloc(mr_picture_bytes(&p));
	CU_ASSERT_FATAL(rgb != NULL);
	memset(rgb, 1, mr_picture_bytes(&p));
	mr_memory_give_back();
	CU_ASSERT_FATAL(forget_peak());
	before = mr_memory_resident_bytes();
	st = mr_picture_decode(name, b.at, b.n, &p, rgb);
	grown = mr_memory_peak_bytes() - before;
	if (st != MR_OK)
		fprintf(stderr, "\n%s\n", mr_error_text());
	CU_ASSERT_EQUAL(st, MR_OK);
	if (grown > p.decoding || (double)grown + 256 * (double)KIB < least * (double)p.decoding)
		fprintf(stderr, "\n%s: the decoder takes %llu KiB, promised were %llu\n", name,
			(unsigned long long)(grown / KIB), (unsigned long long)(p.decoding / KIB));
	CU_ASSERT(grown <= p.decoding);
	CU_ASSERT((double)grown + 256 * (double)KIB >= least * (double)p.decoding);
	free(rgb);
	free(b.at);
}

/* A sanitizer has memory of its own. */
static bool measures(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return false;
#else
	return forget_peak();
#endif
}

/* The byte that says that the segment at @b's first scan is one. */
static uint8_t *first_scan(const bytes *b)
{
	size_t at = 2;

	while (b->at[at + 1] != 0xda)
		at += 2 + ((size_t)b->at[at + 2] << 8 | b->at[at + 3]);
	return b->at + at + 1;
}

static void jpegs(void)
{
	static const jpeg cases[] = {
		{"one scan", 1500, 2001, 0xc0, 3, false, false},
		{"one scan, halved", 1500, 2001, 0xc0, 3, false, true},
		{"three scans", 1500, 2001, 0xc0, 3, true, false},
		{"three scans, halved", 1500, 2001, 0xc0, 3, true, true},
		{"three extended scans", 1500, 2001, 0xc1, 3, true, false},
		{"progressive", 1500, 2001, 0xc2, 3, false, false},
		{"progressive, halved", 1500, 2001, 0xc2, 3, true, true},
		{"grey", 1500, 2001, 0xc0, 1, true, false},
		{"progressive grey", 1500, 2001, 0xc2, 1, true, false},
		{"wide", 30, 65000, 0xc0, 3, false, true},
		{"wide, three scans", 30, 65000, 0xc0, 3, true, true},
		{"high", 65000, 30, 0xc0, 3, true, true},
		{"dot, three scans", 1, 1, 0xc0, 3, true, true},
	};
	bytes b;
	mr_picture p;
	bool more;

	if (!measures() || mr_picture_has_jpeg("x") != MR_OK)
		return;
	warm_up(jpeg_of(&(jpeg){"", 8, 8, 0xc0, 3, true, true}));
	warm_up(jpeg_of(&(jpeg){"", 8, 8, 0xc2, 3, false, false}));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		decode(cases[i].name, jpeg_of(&cases[i]), 0.8);
	b = jpeg_of(&(jpeg){"", 8, 8, 0xc0, 3, true, true});
	*first_scan(&b) = 0xd9;
	MR_CHECK_FAIL(mr_picture_look("a", b.at, b.n, &p, &more), MR_EDATA, "a: damaged JPEG: no scan is said before");
	free(b.at);
	/* one in three scans where its first look said one */
	b = jpeg_of(&cases[0]);
	MR_CHECK_OK(mr_picture_look("a", b.at, b.n, &p, &more));
	free(b.at);
	b = jpeg_of(&cases[2]);
	MR_CHECK_FAIL(mr_picture_decode("a", b.at, b.n, &p, NULL), MR_EDATA, "a: the file was changed while it was in "
									      "use: decoding takes more memory");
	free(b.at);
}

static void pngs(void)
{
	static const png cases[] = {
		{"colours", 1000, 2001, 8, 2, 0, 0},
		{"interlaced colours", 1000, 2001, 8, 2, 1, 0},
		{"16 bits with transparency, interlaced", 1000, 2001, 16, 6, 1, 0},
		{"grey of 1 bit", 1000, 2001, 1, 0, 1, 0},
		{"grey of 16 bits with transparency", 1000, 2001, 16, 4, 0, 0},
		{"palette", 1000, 2001, 8, 3, 0, 0},
		{"palette of 4 bits, interlaced", 1000, 2001, 4, 3, 1, 0},
		{"as wide as libpng takes", 3, 1000000, 16, 6, 1, 0},
		{"high", 1000000, 3, 16, 6, 1, 0},
		{"with a text of 7 MB", 20, 20, 8, 2, 0, 7000000},
	};

	if (!measures() || mr_picture_has_png("x") != MR_OK)
		return;
	warm_up(png_of(&(png){"", 8, 8, 16, 6, 1, 0}));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		decode(cases[i].name, png_of(&cases[i]), 0.3);
}

void mr_suite_picture_memory(void);
void mr_suite_picture_memory(void)
{
	MR_SUITE("picture_memory");
	MR_TEST(jpegs);
	MR_TEST(pngs);
}
