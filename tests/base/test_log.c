#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* Run @body with standard error going to a file, and return what it wrote (in @buf, NUL-terminated). */
static size_t capture(void (*body)(void), char *buf, size_t size)
{
	FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	ssize_t n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fflush(stderr);
	dup2(fileno(f), STDERR_FILENO);
	fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
	body();
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(fileno(f), buf, size - 1, 0);
	fclose(f);
	buf[n > 0 ? n : 0] = '\0';
	return strlen(buf);
}

static void say_all(void)
{
	errno = 42;
	mr_log(MR_LOG_WARN, "base", "first %d", 1);
	mr_log(MR_LOG_INFO, "base", "second\nline");
	mr_log(MR_LOG_DEBUG, "base", "third");
	CU_ASSERT_EQUAL(errno, 42);
}

static void test_levels(void)
{
	char buf[4096];

	setenv("MR_LOG", "warn", 1);
	capture(say_all, buf, sizeof(buf));
	CU_ASSERT_PTR_NOT_NULL(strstr(buf, " base: warning: first 1\n"));
	CU_ASSERT_PTR_NULL(strstr(buf, "second"));
	CU_ASSERT_FALSE(mr_log_wants(MR_LOG_INFO));
	setenv("MR_LOG", "info", 1);
	capture(say_all, buf, sizeof(buf));
	CU_ASSERT_PTR_NOT_NULL(strstr(buf, " base: second line\n"));
	CU_ASSERT_PTR_NULL(strstr(buf, "third"));
	setenv("MR_LOG", "debug", 1);
	capture(say_all, buf, sizeof(buf));
	CU_ASSERT_PTR_NOT_NULL(strstr(buf, " base: third\n"));
	CU_ASSERT_TRUE(buf[2] == ':' && buf[5] == ':' && buf[8] == '.' && buf[12] == ' '); /* 12:34:56.789 */
	unsetenv("MR_LOG");
}

static void say_long(void)
{
	char big[5000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	mr_log(MR_LOG_WARN, "base", "%s", big);
}

static void test_long_line_is_cut(void)
{
	char buf[8192];
	size_t n = capture(say_long, buf, sizeof(buf));

	CU_ASSERT_EQUAL(n, 1000);
	CU_ASSERT_EQUAL(buf[n - 1], '\n');
	CU_ASSERT_PTR_EQUAL(strchr(buf, '\n'), buf + n - 1);
}

#define N_LINES 200

static void *say_many(void *letter)
{
	char text[81];

	memset(text, *(const char *)letter, 80);
	text[80] = '\0';
	for (int i = 0; i < N_LINES; i++)
		mr_log(MR_LOG_WARN, "base", "%s", text);
	return NULL;
}

static void say_in_two_threads(void)
{
	pthread_t other;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, say_many, "a"), 0);
	say_many("b");
	pthread_join(other, NULL);
}

static void test_lines_do_not_mix(void)
{
	static char buf[2 * N_LINES * 200];
	int lines = 0;

	capture(say_in_two_threads, buf, sizeof(buf));
	for (char *line = strtok(buf, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		const char *text = strstr(line, "warning: ");

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_EQUAL(strlen(text), strlen("warning: ") + 80);
		CU_ASSERT_EQUAL(strspn(text + strlen("warning: "), "a") % 80, 0);
	}
	CU_ASSERT_EQUAL(lines, 2 * N_LINES);
}

void mr_suite_log(void); /* the runner declares it too */

void mr_suite_log(void)
{
	MR_SUITE("log");

	MR_TEST(test_levels);
	MR_TEST(test_long_line_is_cut);
	MR_TEST(test_lines_do_not_mix);
}
