#include "base/result.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"
#include "scratch.h"

static char dir[64], path[96], other[96];

static void make_dir(void)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mr_scratch(dir, sizeof(dir), "result")));
	snprintf(path, sizeof(path), "%s/f", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
}

static void remove_dir(void)
{
	unlink(path);
	unlink(other);
	CU_ASSERT_EQUAL(rmdir(dir), 0); /* so no temporary file is left */
}

/* Not by mr_file_read, which would make it an input. */
static void check_holds(const char *name, const char *expected)
{
	char text[64] = "";
	int fd = open(name, O_RDONLY | O_NONBLOCK);

	CU_ASSERT_TRUE(read(fd, text, sizeof(text) - 1) >= 0);
	CU_ASSERT_STRING_EQUAL(text, expected);
	close(fd);
}

static void test_name_at_the_end(void)
{
	mr_result r;
	struct stat s;

	make_dir();
	MR_CHECK_OK(mr_result_write(path, "old", 3, MR_RESULT_NAMED));
	CU_ASSERT_EQUAL(chmod(path, 0600), 0);
	MR_CHECK_OK(mr_result_begin(&r, path, MR_RESULT_NAMED));
	CU_ASSERT_FALSE(mr_result_is_stream(&r));
	MR_CHECK_OK(mr_result_put(&r, "new", 3));
	fflush(r.file);
	check_holds(path, "old");
	MR_CHECK_OK(mr_result_end(&r, MR_OK));
	check_holds(path, "new");
	CU_ASSERT_TRUE(!stat(path, &s) && (s.st_mode & 0777) == 0600); /* as the old file had it */
	MR_CHECK_OK(mr_result_begin(&r, path, MR_RESULT_UNSYNCED));
	MR_CHECK_OK(mr_result_put(&r, "half", 4));
	MR_CHECK_FAIL(mr_result_end(&r, mr_fail(MR_EDATA, "the reason")), MR_EDATA, "the reason");
	check_holds(path, "new");
	remove_dir();
}

static void test_links_are_kept(void)
{
	struct stat s;

	make_dir();
	CU_ASSERT_EQUAL_FATAL(symlink("f", other), 0);
	MR_CHECK_OK(mr_result_check(other));
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0); /* a check makes no file */
	MR_CHECK_OK(mr_result_write(other, "first", 5, MR_RESULT_NAMED));
	check_holds(path, "first");
	MR_CHECK_OK(mr_result_write(other, "second", 6, MR_RESULT_NAMED));
	CU_ASSERT_TRUE(!lstat(other, &s) && S_ISLNK(s.st_mode));
	CU_ASSERT_TRUE(!lstat(path, &s) && S_ISREG(s.st_mode));
	check_holds(path, "second");
	unlink(other);
	CU_ASSERT_EQUAL_FATAL(symlink("other", other), 0);
	MR_CHECK_FAIL(mr_result_check(other), MR_EIO, "Too many levels of symbolic links");
	MR_CHECK_FAIL(mr_result_write(other, "x", 1, MR_RESULT_NAMED), MR_EIO, "Too many levels of symbolic links");
	remove_dir();
}

/* A link into another folder, whose own target is relative to that folder. */
static void test_link_of_another_folder(void)
{
	char folder[96], inside[128], behind[128];

	make_dir();
	snprintf(folder, sizeof(folder), "%s/sub", dir);
	snprintf(inside, sizeof(inside), "%s/link", folder);
	snprintf(behind, sizeof(behind), "%s/file", folder);
	CU_ASSERT_EQUAL_FATAL(mkdir(folder, 0700), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("sub/link", other), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("file", inside), 0);
	MR_CHECK_OK(mr_result_write(other, "there", 5, MR_RESULT_NAMED));
	check_holds(behind, "there");
	unlink(inside);
	unlink(behind);
	CU_ASSERT_EQUAL(rmdir(folder), 0);
	remove_dir();
}

static void test_never_the_input(void)
{
	char *text, hard[96];
	mr_result r;
	size_t len;
	int fd;

	make_dir();
	MR_CHECK_OK(mr_result_write(path, "precious", 8, MR_RESULT_NAMED));
	MR_CHECK_OK(mr_result_write(path, "precious", 8, MR_RESULT_NAMED)); /* written, not read */
	snprintf(hard, sizeof(hard), "%s/hard", dir);
	CU_ASSERT_EQUAL_FATAL(link(path, hard), 0);
	MR_CHECK_OK(mr_file_read(path, 100, &text, &len));
	free(text);
	MR_CHECK_FAIL(mr_result_check(path), MR_EUSAGE, "is read by this command and is left as it is");
	MR_CHECK_FAIL(mr_result_write(path, "x", 1, MR_RESULT_NAMED), MR_EUSAGE, "is read by this command");
	CU_ASSERT_EQUAL_FATAL(symlink("f", other), 0);
	MR_CHECK_FAIL(mr_result_write(other, "x", 1, MR_RESULT_NAMED), MR_EUSAGE, "is read by this command");
	MR_CHECK_FAIL(mr_result_write(hard, "x", 1, MR_RESULT_NAMED), MR_EUSAGE, "is read by this command");
	check_holds(path, "precious");
	MR_CHECK_OK(mr_result_write(path, "own", 3, MR_RESULT_OWN)); /* the program's own files are read and replaced */
	MR_CHECK_OK(mr_file_open(path, &fd, NULL));
	close(fd);
	MR_CHECK_FAIL(mr_result_check(path), MR_EUSAGE, "is read by this command");
	unlink(hard);
	unlink(path);
	MR_CHECK_OK(mr_result_write(path, "precious", 8, MR_RESULT_NAMED));
	MR_CHECK_OK(mr_result_begin(&r, path, MR_RESULT_NAMED));
	MR_CHECK_OK(mr_file_read(path, 100, &text, &len)); /* after it was begun */
	free(text);
	MR_CHECK_OK(mr_result_put(&r, "x", 1));
	MR_CHECK_FAIL(mr_result_end(&r, MR_OK), MR_EUSAGE, "is read by this command");
	check_holds(path, "precious");
	remove_dir();
}

static void *read_later(void *text)
{
	int fd;
	ssize_t n;

	usleep(200000);
	fd = open(path, O_RDONLY);
	n = read(fd, text, 15);
	((char *)text)[n < 0 ? 0 : n] = '\0';
	close(fd);
	return NULL;
}

static void test_streams_are_written_to(void)
{
	char text[16] = "", name[32];
	struct stat s;
	pthread_t reader;
	mr_result r;
	int fd;

	make_dir();
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	MR_CHECK_OK(mr_result_check(path)); /* its reader may come later */
	MR_CHECK_FAIL(mr_result_write(path, "x", 1, MR_RESULT_NAMED), MR_EIO, "it is a pipe that nothing reads");
	CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, read_later, text), 0);
	MR_CHECK_OK(mr_result_begin(&r, path, MR_RESULT_NAMED));
	CU_ASSERT_TRUE(mr_result_is_stream(&r));
	MR_CHECK_OK(mr_result_put(&r, "piped", 5));
	MR_CHECK_OK(mr_result_end(&r, MR_OK));
	pthread_join(reader, NULL);
	CU_ASSERT_STRING_EQUAL(text, "piped");
	CU_ASSERT_TRUE(!lstat(path, &s) && S_ISFIFO(s.st_mode));
	unlink(path);

	MR_CHECK_OK(mr_result_write("/dev/null", "x", 1, MR_RESULT_NAMED));
	CU_ASSERT_TRUE(!lstat("/dev/null", &s) && S_ISCHR(s.st_mode));
	MR_CHECK_FAIL(mr_result_write("/dev/full", "x", 1, MR_RESULT_NAMED), MR_EIO,
				  "/dev/full: cannot write: No space left on device");

	/* writing to an open file continues at its position, as 2>> log and -o /dev/stderr expect */
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CU_ASSERT_EQUAL_FATAL(write(fd, "log ", 4), 4);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	CU_ASSERT_EQUAL_FATAL(symlink(name, other), 0);
	MR_CHECK_OK(mr_result_write(name, "and", 3, MR_RESULT_NAMED));
	MR_CHECK_OK(mr_result_write(other, " more", 5, MR_RESULT_NAMED));
	close(fd);
	check_holds(path, "log and more");
	remove_dir();
}

static void test_refuses(void)
{
	char inside[128];

	make_dir();
	MR_CHECK_FAIL(mr_result_write(dir, "x", 1, MR_RESULT_NAMED), MR_EIO, "is a directory, expected a file");
	MR_CHECK_FAIL(mr_result_check(dir), MR_EIO, "is a directory, expected a file");
	snprintf(inside, sizeof(inside), "%s/none/f", dir);
	MR_CHECK_FAIL(mr_result_check(inside), MR_EIO, "/none/f: cannot write: No such file");
	MR_CHECK_FAIL(mr_result_write(inside, "x", 1, MR_RESULT_NAMED), MR_EIO, "/none/f: cannot write: No such file");
	MR_CHECK_OK(mr_result_write(path, "f", 1, MR_RESULT_NAMED));
	snprintf(inside, sizeof(inside), "%s/f", path);
	MR_CHECK_FAIL(mr_result_check(inside), MR_EIO, "Not a directory");
	remove_dir();
}

/* A writer that knows of a stream alone, and of that no more than that it failed. */
static mr_status write_bytes(FILE *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fputc('x', f);
	fputc('\n', f);
	return ferror(f) ? mr_fail(MR_EIO, "cannot write a table") : MR_OK;
}

/* Whatever has reached the file by then, the message names it and the reason. By the limit of a file's size, which
 * fails as a full disk does. */
static void test_no_room(void)
{
	static const struct {
		mr_result_kind kind;
		mr_status code;
	} kinds[] = {{MR_RESULT_NAMED, MR_EIO}, {MR_RESULT_OWN, MR_ERESOURCE}, {MR_RESULT_UNSYNCED, MR_ERESOURCE}};
	struct rlimit was, low;
	char message[128];
	mr_result r;

	make_dir();
	MR_CHECK_OK(mr_result_write(path, "old", 3, MR_RESULT_NAMED));
	snprintf(message, sizeof(message), "%s: cannot write: File too large", path);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &was), 0);
	low = was;
	signal(SIGXFSZ, SIG_IGN);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t limit = 0; limit <= 5000; limit += 2500) /* within a buffer, and none */
			for (size_t more = 1; more <= 3 * BUFSIZ; more += more % 1024 < 3 ? 1 : 1021) {
				low.rlim_cur = limit;
				setrlimit(RLIMIT_FSIZE, &low);
				MR_CHECK_OK(mr_result_begin(&r, path, kinds[k].kind));
				MR_CHECK_FAIL(mr_result_end(&r, write_bytes(r.file, limit + more)), kinds[k].code,
					      message);
				MR_CHECK_OK(mr_result_begin(&r, path, kinds[k].kind));
				MR_CHECK_FAIL(mr_result_end(&r, mr_result_put(&r, (char[4 * BUFSIZ]){0}, 4 * BUFSIZ)),
					      kinds[k].code, message);
				setrlimit(RLIMIT_FSIZE, &was);
			}
	signal(SIGXFSZ, SIG_DFL);
	check_holds(path, "old");
	/* The reason of a writer that failed for another one stays. */
	MR_CHECK_OK(mr_result_begin(&r, path, MR_RESULT_OWN));
	MR_CHECK_FAIL(mr_result_end(&r, mr_fail(MR_EIO, "x: cannot read")), MR_EIO, "x: cannot read");
	remove_dir();
}

void mr_suite_result(void); /* the runner declares it too */

void mr_suite_result(void)
{
	MR_SUITE("result");
	MR_TEST(test_name_at_the_end);
	MR_TEST(test_links_are_kept);
	MR_TEST(test_link_of_another_folder);
	MR_TEST(test_never_the_input);
	MR_TEST(test_streams_are_written_to);
	MR_TEST(test_refuses);
	MR_TEST(test_no_room);
}
