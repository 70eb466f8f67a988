/* Memory that is left for what is read by the size of a file: each reader asks before it takes any. */
#include "base/room.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/line_reader.h"
#include "check.h"

#define MIB ((size_t)1 << 20)

static char path[64];

/* A file of @bytes bytes; those behind @text are a hole. */
static void make_file(const char *text, size_t bytes)
{
	int fd;

	strcpy(path, "/tmp/mr_room_XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	CU_ASSERT_EQUAL(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static void without_a_limit_everything_fits(void)
{
	CU_ASSERT(!mr_room_is_limited());
	MR_CHECK_OK(mr_room_check("x", "the file", UINT64_MAX));
	CU_ASSERT_EQUAL(mr_room_limit(1), 0);
	CU_ASSERT(mr_room_is_limited());
	MR_CHECK_OK(mr_room_check("x", "the file", 1000)); /* does not count */
	MR_CHECK_FAIL(mr_room_check("x", "the file", MIB), MR_ERESOURCE,
		      "x: the file may take 1.0 MiB of memory, and 0 B are left below the limit of 1 B");
	MR_CHECK_FAIL(mr_room_check(NULL, "its JSON", MIB), MR_ERESOURCE, "its JSON may take 1.0 MiB");
	CU_ASSERT_EQUAL(mr_room_limit(UINT64_MAX), 1);
	MR_CHECK_OK(mr_room_check("x", "the file", (uint64_t)1 << 60));
	CU_ASSERT_EQUAL(mr_room_limit(0), UINT64_MAX);
}

static void files_and_lines_are_judged_before_they_are_read(void)
{
	mr_line_reader r;
	char *buf, *line;
	size_t len;

	make_file("a", 64 * MIB);
	mr_room_limit(1);
	MR_CHECK_FAIL(mr_file_read(path, 100 * MIB, &buf, &len), MR_ERESOURCE, ": the file may take 64 MiB");
	MR_CHECK_OK(mr_line_reader_open(&r, path, 100 * MIB, NULL));
	MR_CHECK_FAIL(mr_line_reader_next(&r, &line, &len), MR_ERESOURCE, ": a line may take 256 KiB");
	mr_line_reader_close(&r);
	mr_room_limit(0);
	MR_CHECK_OK(mr_file_read(path, 100 * MIB, &buf, &len));
	free(buf);
	unlink(path);
}

/* @first, then @n times @each, then @last. */
static char *text_of(const char *first, const char *each, int n, const char *last)
{
	char *text, *at;
	size_t width = strlen(each);

	text = malloc(strlen(first) + (size_t)n * (width + 8) + strlen(last) + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	at = stpcpy(text, first);
	for (int i = 0; i < n; i++) {
		at += sprintf(at, "%s", i ? "," : "");
		at += sprintf(at, each, i);
	}
	strcpy(at, last);
	return text;
}

static size_t in_use(void)
{
#ifdef __GLIBC__
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#else
	return 0;
#endif
}

/* What is announced is at least what a tree takes, and not many times as much: of each kind that takes most. */
static void check_tree(const char *first, const char *each, const char *last)
{
	char *text = text_of(first, each, 20000, last);
	uint64_t announced = mr_json_tree_bytes(text, strlen(text));
	size_t before = in_use(), taken;
	mr_json *root;

	MR_CHECK_OK(mr_json_read_text(text, strlen(text), &root));
	taken = in_use() - before;
	if (taken) { /* some allocators do not count */
		if (announced < taken || announced > 3 * (uint64_t)taken)
			printf("%s: announced %zu, taken %zu\n", each, (size_t)announced, taken);
		CU_ASSERT(announced >= taken);
		CU_ASSERT(announced <= 3 * (uint64_t)taken);
	}
	mr_json_destroy(root);
	mr_room_limit(1);
	MR_CHECK_FAIL(mr_json_read_text(text, strlen(text), &root), MR_ERESOURCE, "its JSON may take ");
	mr_room_limit(0);
	free(text);
}

static void trees_of_json_are_announced(void)
{
	check_tree("[", "1", "]");
	check_tree("[", "[]", "]");
	check_tree("[", "{}", "]");
	check_tree("[", "\"\"", "]");
	check_tree("[", "\"a \\\" {[,\"", "]");
	check_tree("{", "\"%d\":1", "}");
	check_tree("{", "\"%d\":\"a\"", "}");
	check_tree("{", "\"%d\":{}", "}");
	check_tree("{", "\"h.%d.w\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}", "}");
	check_tree("{\"merges\":[", "[\"a\",\"b\"]", "]}");
}

void mr_suite_room(void); /* the runner declares it too */

void mr_suite_room(void)
{
	MR_SUITE("room");

	MR_TEST(without_a_limit_everything_fits);
	MR_TEST(files_and_lines_are_judged_before_they_are_read);
	MR_TEST(trees_of_json_are_announced);
}
