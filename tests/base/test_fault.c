/*
 * The environment is read once a process, so tests that set it do so in a forked child, and come before the tests that
 * use the setters here: a child of a process that has read its environment would not read it again.
 */
#include "base/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

void mr_suite_fault(void); /* the runner declares it too */

#ifdef MR_FAULTS

/* Run @body in a child with @name=@value in its environment; returns its wait status. */
static int in_child(const char *name, const char *value, void (*body)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO);
		if (name)
			setenv(name, value, 1);
		body();
		_exit(0);
	}
	CU_ASSERT_TRUE_FATAL(pid > 0);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	return status;
}

static void pass_twice(void)
{
	MR_FAULT_POINT("a.one");
	MR_FAULT_POINT("a.two");
	MR_FAULT_POINT("a.one");
}

static bool was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool was_refused(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 2;
}

static void test_kill_at(void)
{
	CU_ASSERT_TRUE(was_killed(in_child("MR_KILL_AT", "a.one:1", pass_twice)));
	CU_ASSERT_TRUE(was_killed(in_child("MR_KILL_AT", "a.one:2", pass_twice)));
	CU_ASSERT_EQUAL(in_child("MR_KILL_AT", "a.one:3", pass_twice), 0);
	CU_ASSERT_TRUE(was_killed(in_child("MR_KILL_AT", "a.two:1", pass_twice)));
	CU_ASSERT_EQUAL(in_child("MR_KILL_AT", "a.two:2", pass_twice), 0);
	CU_ASSERT_EQUAL(in_child("MR_KILL_AT", "a.on:1", pass_twice), 0);
	CU_ASSERT_EQUAL(in_child(NULL, NULL, pass_twice), 0);
}

/* In the child: the signal comes in at the second pass, is handled there and nowhere else. */
static volatile sig_atomic_t n_caught;

static void catch(int sig)
{
	n_caught += sig == SIGUSR1 ? 1 : 100;
}

static void caught_at_second(void)
{
	signal(SIGUSR1, catch);
	for (int i = 1; i <= 3; i++) {
		MR_FAULT_POINT("a.one");
		if (n_caught != (i >= 2))
			_exit(1);
	}
}

static void test_signal_at(void)
{
	int status = in_child("MR_SIGNAL_AT", "a.one:2:TERM", pass_twice);

	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CU_ASSERT_EQUAL(in_child("MR_SIGNAL_AT", "a.one:3:TERM", pass_twice), 0);
	CU_ASSERT_EQUAL(in_child("MR_SIGNAL_AT", "a.one:2:USR1", caught_at_second), 0);
	CU_ASSERT_NOT_EQUAL(in_child("MR_SIGNAL_AT", "a.one:3:USR1", caught_at_second), 0);
}

static void test_malformed_settings_are_refused(void)
{
	static const char *const bad[][2] = {
		{"MR_KILL_AT", ""},		{"MR_KILL_AT", "a.one"},     {"MR_KILL_AT", "a.one:0"},
		{"MR_SIGNAL_AT", "a.one:1"},	{"MR_SIGNAL_AT", "a.one:1:STOPPED"},
		{"MR_KILL_AT", "a.one:x"},	{"MR_KILL_AT", "a.one:1:2"}, {"MR_FAIL_AT", "w:1"},
		{"MR_FAIL_AT", "w:1:ENOTHING"}, {"MR_FAIL_AT", "w:1:5:5"},   {"MR_DELAY", "1:2"},
		{"MR_DELAY", "1:2:3x"},		{"MR_KILL_LIST", "/none/x"},
		{"MR_SLOW", "a.one"},		{"MR_SLOW", "a.one:5x"},
		{"MR_LATE", "link"},		{"MR_LATE", "link:5x"},
		{"MR_HURRY", "0"},		{"MR_HURRY", "2x"},	     {"MR_BLOCK", "0"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_TRUE(was_refused(in_child(bad[i][0], bad[i][1], pass_twice)));
}

static void test_kill_list(void)
{
	char path[] = "/tmp/mr_fault_XXXXXX", buf[64] = "";
	int fd = mkstemp(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	for (int run = 0; run < 2; run++) /* a second process adds to the list of the first */
		CU_ASSERT_EQUAL(in_child("MR_KILL_LIST", path, pass_twice), 0);
	CU_ASSERT_EQUAL(read(fd, buf, sizeof(buf) - 1), 36);
	CU_ASSERT_STRING_EQUAL(buf, "a.one\na.two\na.one\na.one\na.two\na.one\n");
	close(fd);
	unlink(path);
}

/* In the child: the second call of "w" fails with what the environment says, all others pass. */
static void fail_second(void)
{
	int err = 0;

	for (int i = 1; i <= 3; i++) {
		bool failed = mr_fault_io("w", &err);

		if (failed != (i == 2) || (failed && (err != ENOSPC || errno != ENOSPC)) || mr_fault_io("x", &err))
			_exit(1);
	}
}

static void expect_delays(void)
{
	uint64_t largest = 0;

	for (uint64_t n = 0; n < 100; n++)
		largest = mr_fault_delay_ns(0, n) > largest ? mr_fault_delay_ns(0, n) : largest;
	_exit(largest > 400000 && largest < 500000 ? 0 : 1);
}

/* In the child: three passes, two of which take 20 ms each. */
static void expect_slow(void)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	pass_twice();
	clock_gettime(CLOCK_MONOTONIC, &b);
	_exit((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 40000000 ? 0 : 1);
}

/* In the child: a fourth of the time. */
static void expect_hurry(void)
{
	_exit(mr_fault_hurry(1000) == 250 && mr_fault_block(1000) == 1000 ? 0 : 1);
}

static void expect_block(void)
{
	_exit(mr_fault_block(1000) == 7 ? 0 : 1);
}

static void test_hurry(void)
{
	CU_ASSERT_EQUAL(in_child("MR_HURRY", "4", expect_hurry), 0);
	CU_ASSERT_NOT_EQUAL(in_child("MR_HURRY", "1", expect_hurry), 0);
	CU_ASSERT_EQUAL(in_child("MR_BLOCK", "7", expect_block), 0);
}

/* In the child: the one thing that is named is late. */
static void expect_late(void)
{
	_exit(mr_fault_late_ns("link") == 5000 && !mr_fault_late_ns("other") ? 0 : 1);
}

static void test_environment(void)
{
	CU_ASSERT_EQUAL(in_child("MR_LATE", "link:5", expect_late), 0);
	CU_ASSERT_NOT_EQUAL(in_child(NULL, NULL, expect_late), 0);
	CU_ASSERT_EQUAL(in_child("MR_SLOW", "a.one:20", expect_slow), 0);
	CU_ASSERT_EQUAL(in_child("MR_FAIL_AT", "w:2:ENOSPC", fail_second), 0);
	CU_ASSERT_EQUAL(in_child("MR_FAIL_AT", "w:2:28", fail_second), 0);
	CU_ASSERT_NOT_EQUAL(in_child("MR_FAIL_AT", "w:1:ENOSPC", fail_second), 0);
	CU_ASSERT_EQUAL(in_child("MR_DELAY", "500:2:9", expect_delays), 0);
	CU_ASSERT_NOT_EQUAL(in_child(NULL, NULL, expect_delays), 0);
}

static void test_set_fail(void)
{
	int err = 0;

	mr_fault_set_fail("disk", 2, EIO);
	CU_ASSERT_FALSE(mr_fault_io("disk", &err));
	CU_ASSERT_TRUE(mr_fault_io("disk", &err));
	CU_ASSERT_EQUAL(err, EIO);
	CU_ASSERT_FALSE(mr_fault_io("disk", &err));
	mr_fault_set_fail("disk", 1, EIO); /* the count begins again */
	CU_ASSERT_TRUE(mr_fault_io("disk", &err));
	mr_fault_set_fail(NULL, 0, 0);
	CU_ASSERT_FALSE(mr_fault_io("disk", &err));
}

static void kill_by_setter(void)
{
	mr_fault_set_kill("here", 2);
	MR_FAULT_POINT("here");
	mr_fault_set_kill(NULL, 0);
	MR_FAULT_POINT("here");
	mr_fault_set_kill("here", 1);
	MR_FAULT_POINT("here");
}

static void test_set_kill(void)
{
	CU_ASSERT_TRUE(was_killed(in_child(NULL, NULL, kill_by_setter)));
}

static void test_delay(void)
{
	struct timespec a, b;
	unsigned delayed = 0, differ = 0;
	uint64_t sum = 0;

	CU_ASSERT_EQUAL(mr_fault_delay_ns(0, 0), 0);
	mr_fault_set_delay(100, 5, 7);
	for (uint64_t n = 0; n < 5000; n++) {
		uint64_t ns = mr_fault_delay_ns(1, n);

		CU_ASSERT_TRUE_FATAL(ns < 100000);
		CU_ASSERT_EQUAL_FATAL(ns, mr_fault_delay_ns(1, n));
		delayed += ns > 0;
		sum += ns;
		differ += ns != mr_fault_delay_ns(2, n);
	}
	CU_ASSERT_TRUE(delayed > 850 && delayed < 1150); /* 1000, sigma 28 */
	CU_ASSERT_TRUE(sum / delayed > 45000 && sum / delayed < 55000);
	CU_ASSERT_TRUE(differ > 1500);
	mr_fault_set_delay(1000000000, 1, 7); /* 1000 s */
	sum = 0;
	for (uint64_t n = 0; n < 5000; n++)
		sum += mr_fault_delay_ns(1, n) / 1000000;
	CU_ASSERT_TRUE(sum / 5000 > 450000 && sum / 5000 < 550000);
	mr_fault_set_delay(3000, 1, 7);
	for (uint64_t n = 0; n < 3; n++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		mr_fault_delay(0, n);
		clock_gettime(CLOCK_MONOTONIC, &b);
		CU_ASSERT_TRUE((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >=
			       (long)mr_fault_delay_ns(0, n));
	}
	mr_fault_set_delay(0, 0, 0);
	CU_ASSERT_EQUAL(mr_fault_delay_ns(1, 3), 0);
}

void mr_suite_fault(void)
{
	MR_SUITE("fault");

	MR_TEST(test_kill_at);
	MR_TEST(test_signal_at);
	MR_TEST(test_malformed_settings_are_refused);
	MR_TEST(test_hurry);
	MR_TEST(test_kill_list);
	MR_TEST(test_environment);
	MR_TEST(test_set_fail);
	MR_TEST(test_set_kill);
	MR_TEST(test_delay);
}

#else

/* Without MR_FAULTS the settings have no effect, whatever the environment says. */
static void test_nothing_happens(void)
{
	int err = 0;

	setenv("MR_KILL_AT", "here:1", 1);
	MR_FAULT_POINT("here");
	CU_ASSERT_FALSE(mr_fault_io("disk", &err));
	mr_fault_delay(0, 1);
	unsetenv("MR_KILL_AT");
}

void mr_suite_fault(void)
{
	MR_SUITE("fault");

	MR_TEST(test_nothing_happens);
}

#endif
