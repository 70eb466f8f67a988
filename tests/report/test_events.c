/* Event files, read by a reader of their own: checksums, messages, what a resumed run begins with; and PNG. */
#include "report/events.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/str.h"
#include "check.h"
#include "report/png.h"

static char folder[64];

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/mr-events-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The paths of the folder's files by name; returns their number. */
static size_t list(char path[4][400])
{
	DIR *d = opendir(folder);
	size_t n = 0;

	for (struct dirent *f = readdir(d); f && n < 4; f = readdir(d))
		if (strstr(f->d_name, "tfevents"))
			snprintf(path[n++], 400, "%s/%s", folder, f->d_name);
	closedir(d);
	qsort(path, n, 400, by_name);
	return n;
}

static void remove_folder(void)
{
	char path[4][400];

	for (size_t n = list(path); n-- > 0;)
		unlink(path[n]);
	rmdir(folder);
}

/* By the definition, bit by bit. */
static uint32_t masked_crc(const uint8_t *data, size_t len)
{
	uint32_t c = ~0u;

	for (size_t i = 0; i < len; i++)
		for (int k = 0; k < 8; k++)
			c = ((c ^ (uint32_t)data[i] >> k) & 1) ? c >> 1 ^ 0x82F63B78u : c >> 1;
	c = ~c;
	return ((c >> 15) | (c << 17)) + 0xa282ead8u;
}

static uint64_t fixed(const uint8_t *p, unsigned n)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < n; i++)
		x |= (uint64_t)p[i] << 8 * i;
	return x;
}

static uint64_t varint(const uint8_t **p)
{
	uint64_t x = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *(*p)++;

		x |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return x;
	}
}

/* Print the message in [@p, @end) as "field=value", nested messages of the fields in @nested in parentheses. */
static void print_message(const uint8_t *p, const uint8_t *end, const char *nested, mr_strbuf *out)
{
	while (p < end) {
		uint64_t key = varint(&p), field = key >> 3, len;
		float x;

		mr_strbuf_printf(out, " %u=", (unsigned)field);
		switch (key & 7) {
		case 0: mr_strbuf_printf(out, "%llu", (unsigned long long)varint(&p)); break;
		case 1:
			mr_strbuf_append(out, "time");
			p += 8;
			break;
		case 5:
			memcpy(&x, p, 4);
			mr_strbuf_printf(out, "%g", (double)x);
			p += 4;
			break;
		case 2:
			len = varint(&p);
			if (*nested && strchr(nested, (int)('0' + field))) {
				mr_strbuf_append(out, "(");
				print_message(p, p + len, field == 5 ? "1" : field == 1 ? "489" : "12", out);
				mr_strbuf_append(out, ")");
			} else {
				mr_strbuf_printf(out, "%.*s", (int)len, (const char *)p);
			}
			p += len;
			break;
		default: CU_FAIL_FATAL("wire type");
		}
	}
	CU_ASSERT_PTR_EQUAL(p, end);
}

/* The events of a file, a line each. The caller frees it. */
static char *read_events(const char *path, size_t *n)
{
	char *data;
	size_t len;
	mr_strbuf out = {0};

	*n = 0;
	MR_CHECK_OK(mr_file_read(path, 1 << 24, &data, &len));
	for (const uint8_t *p = (uint8_t *)data, *end = p + len; p < end; ++*n) {
		uint64_t size = fixed(p, 8);

		CU_ASSERT_EQUAL_FATAL(fixed(p + 8, 4), masked_crc(p, 8));
		CU_ASSERT_FATAL(p + 16 + size <= end);
		CU_ASSERT_EQUAL(fixed(p + 12 + size, 4), masked_crc(p + 12, size));
		print_message(p + 12, p + 12 + size, "57", &out);
		mr_strbuf_append(&out, "\n");
		p += 16 + size;
	}
	free(data);
	return mr_strbuf_take(&out);
}

static void scalars_and_texts(void)
{
	mr_figures row = mr_figures_at(300);
	char path[4][400], *text;
	mr_events *e;
	size_t n;

	make_folder();
	MR_CHECK_OK(mr_events_open(folder, 0, &e));
	row.loss = 2.5;
	row.tokens = 4096;
	row.wait_data = 0.25;
	MR_CHECK_OK(mr_events_row(e, &row));
	row = mr_figures_at(300);
	row.val_loss = 1.5;
	row.val_accuracy = 0.5;
	MR_CHECK_OK(mr_events_row(e, &row));
	row.trains_only = true;
	MR_CHECK_OK(mr_events_row(e, &row));
	MR_CHECK_OK(mr_events_text(e, 0, "run/about", "a | b"));
	MR_CHECK_OK(mr_events_picture(e, 300, "run/timeline", 7, 5, "PNG", 3));
	MR_CHECK_OK(mr_events_close(e));
	CU_ASSERT_EQUAL_FATAL(list(path), 1);
	text = read_events(path[0], &n);
	CU_ASSERT_EQUAL(n, 6);
	CU_ASSERT_STRING_EQUAL(
		text, " 1=time 2=0 3=brain.Event:2\n"
		      " 1=time 2=300 5=( 1=( 1=train/loss 2=2.5) 1=( 1=train/tokens 2=4096) 1=( 1=wait/data 2=0.25))\n"
		      " 1=time 2=300 5=( 1=( 1=validation/loss 2=1.5) 1=( 1=validation/accuracy 2=0.5))\n"
		      " 1=time 2=300 5=( 1=( 1=all_training_samples/loss 2=1.5) 1=( "
		      "1=all_training_samples/accuracy 2=0.5))\n"
		      " 1=time 2=0 5=( 1=( 1=run/about 8=( 1=7 2=() 8=a | b) 9=( 1=( 1=text))))\n"
		      " 1=time 2=300 5=( 1=( 1=run/timeline 4=( 1=5 2=7 3=3 4=PNG)))\n");
	free(text);
	MR_CHECK_OK(mr_events_row(NULL, &row));
	MR_CHECK_OK(mr_events_close(NULL));
	remove_folder();
}

/* A resumed run: a further file, later by name, that takes back the steps after the one that it goes on from. */
static void resumed(void)
{
	char path[4][400], *text;
	mr_events *e;
	size_t n;

	make_folder();
	for (uint64_t step = 0; step <= 200; step += 100) {
		MR_CHECK_OK(mr_events_open(folder, step, &e));
		MR_CHECK_OK(mr_events_close(e));
	}
	CU_ASSERT_EQUAL_FATAL(list(path), 3);
	for (size_t i = 0; i < 3; i++) {
		text = read_events(path[i], &n);
		CU_ASSERT_STRING_EQUAL(text, i == 0   ? " 1=time 2=0 3=brain.Event:2\n"
					     : i == 1 ? " 1=time 2=100 3=brain.Event:2\n 1=time 2=101 7=( 1=1)\n"
						      : " 1=time 2=200 3=brain.Event:2\n 1=time 2=201 7=( 1=1)\n");
		free(text);
	}
	remove_folder();
	MR_CHECK_FAIL(mr_events_open("/dev/null/x", 0, &e), MR_EIO, "/dev/null/x");
}

/* Many fast steps: a thousand rows, and evaluations. */
static void fast_steps(void)
{
	mr_figures row;
	char path[4][400], *text;
	mr_events *e;
	size_t n;

	make_folder();
	MR_CHECK_OK(mr_events_open(folder, 0, &e));
	for (uint64_t i = 1; i <= 1500; i++) {
		row = mr_figures_at(i);
		row.loss = 1;
		MR_CHECK_OK(mr_events_row(e, &row));
	}
	row = mr_figures_at(1500);
	row.val_loss = 1;
	MR_CHECK_OK(mr_events_row(e, &row));
	MR_CHECK_OK(mr_events_close(e));
	CU_ASSERT_EQUAL_FATAL(list(path), 1);
	text = read_events(path[0], &n);
	CU_ASSERT(n >= 1 + 1000 + 1 && n < 1 + 1500 + 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "validation/loss"));
	free(text);
	remove_folder();
}

/* The picture of a schedule: size, colours of two boxes, checksums. */
static void pictures(void)
{
	mr_trace_rec rec[] = {{.end_ns = 10, .op = MR_OP_F},
			      {.begin_ns = 10, .end_ns = 20, .op = MR_OP_B, .worker = 1}};
	mr_schedule_picture p = {.rec = rec, .n_rec = 2, .n_workers = 2, .unit = 1};
	uint32_t width, height;
	const char *at, *line;
	Bytef *lines;
	uLongf len;
	size_t n;
	mr_strbuf png = {0};

	MR_CHECK_OK(mr_schedule_picture_png(&p, &png, &width, &height));
	CU_ASSERT(width == 1200 && height == 48);
	at = png.data;
	CU_ASSERT_EQUAL_FATAL(memcmp(at, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\xb0\0\0\0\x30\x08\x02\0\0\0", 29), 0);
	CU_ASSERT_EQUAL_FATAL(memcmp(at + 37, "IDAT", 4), 0);
	n = ((size_t)(uint8_t)at[35] << 8) + (uint8_t)at[36];
	CU_ASSERT_FATAL(at[33] == 0 && at[34] == 0 && png.len == 41 + n + 4 + 12);
	CU_ASSERT(n < 5000);
	len = (uLongf)((3 * width + 1) * height);
	lines = malloc(len);
	CU_ASSERT_FATAL(lines && uncompress(lines, &len, (const Bytef *)at + 41, n) == Z_OK);
	CU_ASSERT_EQUAL(len, (3 * width + 1) * height);
	for (uint32_t y = 0; y < height; y++) {
		line = (const char *)lines + (size_t)y * (3 * width + 1);
		CU_ASSERT_EQUAL(*line++, 0); /* no filter */
		if (y == 10) /* worker 0: F on the left, idle on the right */
			CU_ASSERT(!memcmp(line + 30, "\x9e\xcb\xf2", 3) && !memcmp(line + 3 * 900, "\xec\xef\xf2", 3));
		if (y == 32)
			CU_ASSERT(!memcmp(line + 30, "\xec\xef\xf2", 3) && !memcmp(line + 3 * 900, "\xf8\xc6\x84", 3));
	}
	free(lines);
	CU_ASSERT_EQUAL(memcmp(png.data + png.len - 12, "\0\0\0\0IEND\xae\x42\x60\x82", 12), 0);
	mr_strbuf_fini(&png);
}

void mr_suite_events(void);
void mr_suite_events(void)
{
	MR_SUITE("events");
	MR_TEST(scalars_and_texts);
	MR_TEST(resumed);
	MR_TEST(fast_steps);
	MR_TEST(pictures);
}
