#include "base/line_reader.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/result.h"
#include "check.h"

static char path[64];

static void write_file(const char *bytes, size_t n)
{
	strcpy(path, "/tmp/mr_lines_XXXXXX");
	close(mkstemp(path));
	MR_CHECK_OK(mr_result_write(path, bytes, n, MR_RESULT_NAMED));
}

static void check_line(mr_line_reader *r, const char *bytes, size_t n)
{
	size_t len;
	char *line;

	MR_CHECK_OK(mr_line_reader_next(r, &line, &len));
	CU_ASSERT_PTR_NOT_NULL_FATAL(line);
	CU_ASSERT_EQUAL_FATAL(len, n);
	CU_ASSERT_EQUAL(memcmp(line, bytes, n), 0);
	CU_ASSERT_EQUAL(line[n], '\0');
}

static void check_end(mr_line_reader *r)
{
	size_t len;
	char *line;

	MR_CHECK_OK(mr_line_reader_next(r, &line, &len));
	CU_ASSERT_PTR_NULL(line);
	mr_line_reader_close(r);
	unlink(path);
}

static void test_lines(void)
{
	mr_line_reader r;
	uint64_t bytes;

	write_file("a\n\nb\0c\nend", 10);
	MR_CHECK_OK(mr_line_reader_open(&r, path, 100, &bytes));
	CU_ASSERT_EQUAL(bytes, 10);
	check_line(&r, "a\n", 2);
	check_line(&r, "\n", 1);
	check_line(&r, "b\0c\n", 4);
	CU_ASSERT_EQUAL(r.offset, 7);
	check_line(&r, "end", 3);
	check_end(&r);
	write_file("", 0);
	MR_CHECK_OK(mr_line_reader_open(&r, path, 100, NULL));
	check_end(&r);
}

/* Lines of all lengths about the reader's room of 64 KiB, so that each place where a read may end is met. */
static void test_lengths(void)
{
	enum { N = 300, BASE = 65536 - 150 };
	size_t total = 0;
	char *all = malloc(N * (BASE + N)), *line = malloc(BASE + N);
	mr_line_reader r;

	memset(line, 'x', BASE + N);
	for (size_t i = 0; i < N; i++) {
		memset(all + total, 'x', BASE + i);
		total += BASE + i;
		all[total++] = '\n';
	}
	write_file(all, total);
	MR_CHECK_OK(mr_line_reader_open(&r, path, 1 << 20, NULL));
	for (size_t i = 0; i < N; i++) {
		line[BASE + i] = '\n';
		check_line(&r, line, BASE + i + 1);
		line[BASE + i] = 'x';
	}
	check_end(&r);
	free(all);
	free(line);
}

/* A hole of a terabyte costs neither memory nor time. */
static void test_longest(void)
{
	mr_line_reader r;
	size_t len;
	char *line;

	write_file("first\n", 6);
	if (truncate(path, (off_t)1 << 40)) { /* the file system has no holes */
		unlink(path);
		return;
	}
	MR_CHECK_OK(mr_line_reader_open(&r, path, 1 << 20, NULL));
	check_line(&r, "first\n", 6);
	MR_CHECK_FAIL(mr_line_reader_next(&r, &line, &len), MR_EIO, "the line at byte 6 is longer than 1.0 MiB");
	mr_line_reader_close(&r);
	unlink(path);
	MR_CHECK_FAIL(mr_line_reader_open(&r, path, 100, NULL), MR_EIO, "no such file");
	mr_line_reader_close(&r);
}

void mr_suite_line_reader(void); /* the runner declares it too */

void mr_suite_line_reader(void)
{
	MR_SUITE("line_reader");
	MR_TEST(test_lines);
	MR_TEST(test_lengths);
	MR_TEST(test_longest);
}
