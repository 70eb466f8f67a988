#include "base/file.h"
#include "base/result.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "scratch.h"

static char dir[64], path[96];

/* What mr_result_write asks the kernel to make durable is noted here on its way: f a file of @whole bytes, d a folder,
 * capitals where @path is already the new file by then; ? anything else. */
static char syncs[8];
static off_t whole;

/* This program's own definition wins over the C library's. */
int fsync(int fd)
{
	struct stat st, at;
	size_t n = strlen(syncs);
	bool is_new = !stat(path, &at) && at.st_size == whole;

	if (n + 1 < sizeof(syncs) && !fstat(fd, &st)) {
		syncs[n] = S_ISDIR(st.st_mode) ? (is_new ? 'D' : 'd') : st.st_size != whole ? '?' : is_new ? 'F' : 'f';
		syncs[n + 1] = 0;
	}
	return (int)syscall(SYS_fsync, fd);
}

static void make_dir(void)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mr_scratch(dir, sizeof(dir), "file")));
	snprintf(path, sizeof(path), "%s/f", dir);
}

static void remove_dir(void)
{
	unlink(path);
	CU_ASSERT_EQUAL(rmdir(dir), 0); /* so no temporary file is left */
}

static void check_holds(const char *expected)
{
	char *buf;
	size_t len;

	MR_CHECK_OK(mr_file_read(path, 1000, &buf, &len));
	CU_ASSERT_EQUAL(len, strlen(expected));
	CU_ASSERT_STRING_EQUAL(buf, expected);
	free(buf);
}

static void test_read_refuses(void)
{
	char *buf = NULL;
	size_t len;
	int fd;

	make_dir();
	MR_CHECK_FAIL(mr_file_read(path, 10, &buf, &len), MR_EIO, "/f: no such file");
	MR_CHECK_FAIL(mr_file_read(dir, 10, &buf, &len), MR_EIO, "is a directory, expected a file");
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	MR_CHECK_FAIL(mr_file_read(path, 10, &buf, &len), MR_EIO, "/f: is empty");
	CU_ASSERT_EQUAL(write(fd, "0123456789a", 11), 11);
	close(fd);
	MR_CHECK_FAIL(mr_file_read(path, 10, &buf, &len), MR_EIO, "/f: is larger than 10 B");
	CU_ASSERT_PTR_NULL(buf);
	MR_CHECK_OK(mr_file_read(path, 11, &buf, &len));
	CU_ASSERT_EQUAL(len, 11);
	CU_ASSERT_STRING_EQUAL(buf, "0123456789a");
	free(buf);
	MR_CHECK_OK(mr_file_read(path, SIZE_MAX, &buf, &len));
	free(buf);
	remove_dir();
}

/* Without a size beforehand: the buffer grows, and the cap holds all the same. */
static void check_pipe(size_t bytes, size_t max, bool fits)
{
	char name[32], *data = malloc(bytes + 1), *buf;
	int ends[2];
	size_t len;

	memset(data, 'p', bytes);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL_FATAL(write(ends[1], data, bytes), (ssize_t)bytes); /* below a pipe's 64 KiB */
	close(ends[1]);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
	if (fits) {
		MR_CHECK_OK(mr_file_read(name, max, &buf, &len));
		CU_ASSERT_EQUAL(len, bytes);
		CU_ASSERT_EQUAL(memcmp(buf, data, bytes), 0);
		CU_ASSERT_EQUAL(buf[len], '\0');
		free(buf);
	} else {
		MR_CHECK_FAIL(mr_file_read(name, max, &buf, &len), MR_EIO, "is larger than");
	}
	close(ends[0]);
	free(data);
}

static void test_read_pipe(void)
{
	check_pipe(1, 1, true);
	check_pipe(2, 1, false);
	check_pipe(4096, 100000, true);
	check_pipe(4098, 100000, true);
	check_pipe(50000, 50000, true);
	check_pipe(50001, 50000, false);
}

static void test_replace(void)
{
	struct stat st;

	make_dir();
	MR_CHECK_OK(mr_result_write(path, "first", 5, MR_RESULT_OWN));
	check_holds("first");
	MR_CHECK_OK(mr_result_write(path, "2nd", 3, MR_RESULT_OWN));
	check_holds("2nd");
	MR_CHECK_OK(mr_result_write(path, "", 0, MR_RESULT_OWN));
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 0);
	remove_dir();
}

static void test_replace_without_directory_part(void)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);

	make_dir();
	CU_ASSERT_EQUAL_FATAL(chdir(dir), 0);
	MR_CHECK_OK(mr_result_write("f", "x", 1, MR_RESULT_OWN));
	CU_ASSERT_EQUAL(fchdir(here), 0);
	close(here);
	check_holds("x");
	remove_dir();
}

/* All of the file before its name, and the name before the caller goes on: else a power cut leaves an empty file, or
 * the old one. */
static void test_replace_is_durable(void)
{
	make_dir();
	MR_CHECK_OK(mr_result_write(path, "old", 3, MR_RESULT_OWN));
	syncs[0] = 0;
	whole = 5;
	MR_CHECK_OK(mr_result_write(path, "newer", (size_t)whole, MR_RESULT_OWN));
	CU_ASSERT_STRING_EQUAL(syncs, "fD");
	check_holds("newer");
	remove_dir();
}

/* A link is still there, and what it leads to is replaced, or made; what is no file stays as it is. */
static void test_replace_keeps_what_is_there(void)
{
	char fifo[128], link[128];
	struct stat s;

	make_dir();
	snprintf(fifo, sizeof(fifo), "%s/pipe", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
	MR_CHECK_FAIL(mr_result_write(fifo, "piped", 5, MR_RESULT_OWN), MR_EIO, "is a pipe, expected a file");
	CU_ASSERT_TRUE(!lstat(fifo, &s) && S_ISFIFO(s.st_mode));
	unlink(fifo);
	MR_CHECK_FAIL(mr_result_write("/dev/null", "x", 1, MR_RESULT_OWN), MR_EIO, "is a device, expected a file");

	MR_CHECK_OK(mr_result_write(path, "old", 3, MR_RESULT_OWN));
	CU_ASSERT_EQUAL_FATAL(symlink("f", link), 0);
	MR_CHECK_OK(mr_result_write(link, "newer", 5, MR_RESULT_OWN));
	CU_ASSERT_TRUE(!lstat(link, &s) && S_ISLNK(s.st_mode));
	check_holds("newer");
	unlink(path);
	MR_CHECK_OK(mr_result_write(link, "alone", 5, MR_RESULT_OWN)); /* it leads to no file yet */
	CU_ASSERT_TRUE(!lstat(link, &s) && S_ISLNK(s.st_mode));
	check_holds("alone");
	unlink(link);
	CU_ASSERT_EQUAL_FATAL(symlink("link", link), 0);
	MR_CHECK_FAIL(mr_result_write(link, "x", 1, MR_RESULT_OWN), MR_EIO, "Too many levels of symbolic links");
	unlink(link);
	remove_dir();
}

/* None of these is waited for, and a device without an end is not read. */
static void test_open_takes_regular_files(void)
{
	char fifo[128], link[128], *buf;
	uint64_t bytes = 0;
	size_t len;
	FILE *f;
	int fd;

	make_dir();
	snprintf(fifo, sizeof(fifo), "%s/pipe", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
	MR_CHECK_FAIL(mr_file_open(fifo, &fd, NULL), MR_EIO, "/pipe: is a pipe, expected a file");
	MR_CHECK_FAIL(mr_file_read_regular(fifo, 10, &buf, &len), MR_EIO, "is a pipe, expected a file");
	MR_CHECK_FAIL(mr_file_read(fifo, 10, &buf, &len), MR_EIO, "/pipe: is empty"); /* nothing writes */
	MR_CHECK_FAIL(mr_file_stream(fifo, MR_FILE_APPEND, &f), MR_EIO, "is a pipe, expected a file");
	MR_CHECK_FAIL(mr_file_stream(fifo, MR_FILE_CHANGE, &f), MR_EIO, "is a pipe, expected a file");
	MR_CHECK_FAIL(mr_file_open("/dev/zero", &fd, NULL), MR_EIO, "/dev/zero: is a device, expected a file");
	MR_CHECK_FAIL(mr_file_read("/dev/zero", 10, &buf, &len), MR_EIO, "/dev/zero: is a device, expected a file");
	MR_CHECK_FAIL(mr_file_stream("/dev/null", MR_FILE_APPEND, &f), MR_EIO, "is a device, expected a file");
	MR_CHECK_FAIL(mr_file_open(dir, &fd, NULL), MR_EIO, "is a directory, expected a file");
	MR_CHECK_FAIL(mr_file_open(path, &fd, NULL), MR_EIO, "/f: no such file");
	CU_ASSERT_EQUAL_FATAL(symlink("f", link), 0);
	MR_CHECK_OK(mr_result_write(path, "12345", 5, MR_RESULT_OWN));
	MR_CHECK_OK(mr_file_open(link, &fd, &bytes));
	CU_ASSERT_EQUAL(bytes, 5);
	close(fd);
	MR_CHECK_OK(mr_file_stream(link, MR_FILE_APPEND, &f));
	fputs("6", f);
	fclose(f);
	check_holds("123456");
	unlink(link);
	unlink(fifo);
	remove_dir();
}

/* A link under the temporary file's name is an attack, or left over: what it leads to stays as it is. */
static void test_replace_follows_no_link(void)
{
	char old[128], trap[128];
	struct stat s;

	make_dir();
	snprintf(old, sizeof(old), "%s.tmp%ld", path, (long)getpid());
	snprintf(trap, sizeof(trap), "%s.tmp%ld-0", path, (long)getpid());
	CU_ASSERT_EQUAL_FATAL(symlink("victim", old), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("victim", trap), 0);
	MR_CHECK_OK(mr_result_write(path, "secret", 6, MR_RESULT_OWN));
	check_holds("secret");
	CU_ASSERT_TRUE(!lstat(trap, &s) && S_ISLNK(s.st_mode));
	CU_ASSERT_EQUAL(unlink(trap), 0);
	CU_ASSERT_EQUAL(unlink(old), 0);
	remove_dir(); /* which fails when the link's file was made */
}

static void test_replace_failures(void)
{
	char inside[128];

	make_dir();
	snprintf(inside, sizeof(inside), "%s/none/f", dir);
	MR_CHECK_FAIL(mr_result_write(inside, "x", 1, MR_RESULT_OWN), MR_EIO, "/none/f: cannot write: No such file");
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
	MR_CHECK_FAIL(mr_result_write(path, "x", 1, MR_RESULT_OWN), MR_EIO, "is a directory, expected a file");
	CU_ASSERT_EQUAL(rmdir(path), 0);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
	MR_CHECK_FAIL(mr_file_sync_dir(dir), MR_EIO, "cannot open directory");
}

void mr_suite_file(void); /* the runner declares it too */

void mr_suite_file(void)
{
	MR_SUITE("file");

	MR_TEST(test_read_refuses);
	MR_TEST(test_read_pipe);
	MR_TEST(test_replace);
	MR_TEST(test_replace_without_directory_part);
	MR_TEST(test_replace_is_durable);
	MR_TEST(test_replace_keeps_what_is_there);
	MR_TEST(test_open_takes_regular_files);
	MR_TEST(test_replace_follows_no_link);
	MR_TEST(test_replace_failures);
}
