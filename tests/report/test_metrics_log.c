/* metrics.jsonl: its lines, reading them back, and cutting the file back to a step. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/room.h"
#include "report/metrics_log.h"

static char path[64];

static void fresh_path(void)
{
	int fd;

	strcpy(path, "/tmp/mr-metrics-XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	close(fd);
}

static void write_text(const char *text, size_t len)
{
	FILE *f = fopen(path, "wb");

	fwrite(text, 1, len, f);
	fclose(f);
}

static void check_text(const char *want)
{
	char *text = NULL;
	size_t len = 0;

	if (*want)
		MR_CHECK_OK(mr_file_read(path, 1 << 20, &text, &len));
	else
		CU_ASSERT_EQUAL(mr_file_read(path, 1 << 20, &text, &len), MR_EIO); /* empty */
	if (text && strcmp(text, want) != 0)
		fprintf(stderr, "\nwant:\n%sgot:\n%s", want, text);
	CU_ASSERT_STRING_EQUAL(text ? text : "", want);
	free(text);
}

/* The file ends in @want. */
static void check_tail(const char *want)
{
	char *text = NULL;
	size_t len;

	MR_CHECK_OK(mr_file_read(path, 1 << 20, &text, &len));
	CU_ASSERT(text && len > strlen(want) && !strcmp(text + len - strlen(want), want));
	free(text);
}

static void lines(void)
{
	mr_figures row = mr_figures_at(0), *rows;
	mr_metrics_log *log;
	size_t n;

	fresh_path();
	MR_CHECK_OK(mr_metrics_log_open(path, &log));
	row.val_loss = 4.5;
	MR_CHECK_OK(mr_metrics_log_put(log, &row));
	row = mr_figures_at(1);
	row.loss = 2.25;
	row.lr = 0.001;
	row.samples = 16;
	row.tokens = 2048;
	row.seconds = 0.5;
	row.grad_norm = 0.75;
	row.stage_grad_norm = 0.25;
	row.rate = 4096;
	row.gflops = 12.5;
	row.bubble = 0.5;
	row.wait_upstream = 0.25;
	row.wait_descheduled = 0;
	MR_CHECK_OK(mr_metrics_log_put(log, &row));
	MR_CHECK_OK(mr_metrics_log_flush(log));
	MR_CHECK_OK(mr_metrics_log_sync(log));
	check_text("{\"step\":0,\"val_loss\":4.5}\n"
		   "{\"step\":1,\"loss\":2.25,\"lr\":0.001,\"samples\":16,\"tokens\":2048,\"seconds\":0.5,\"grad_"
		   "norm\":0.75,"
		   "\"stage_grad_norm\":0.25,\"rate\":4096.0,\"gflops\":12.5,\"bubble\":0.5,\"wait_upstream\":0.25,"
		   "\"wait_descheduled\":0.0}\n");
	row = mr_figures_at(2);
	row.val_loss = 0.5;
	row.val_accuracy = 0.75;
	row.trains_only = true;
	MR_CHECK_OK(mr_metrics_log_put(log, &row));
	row.trains_only = false;
	MR_CHECK_OK(mr_metrics_log_put(log, &row));
	MR_CHECK_OK(mr_metrics_log_close(log));
	MR_CHECK_OK(mr_metrics_read(path, &rows, &n));
	CU_ASSERT_EQUAL_FATAL(n, 4);
	CU_ASSERT(rows[2].val_loss == 0.5 && rows[2].val_accuracy == 0.75);
	CU_ASSERT(rows[2].trains_only && !rows[3].trains_only);
	CU_ASSERT(rows[1].bubble == 0.5 && rows[1].wait_upstream == 0.25 && rows[1].samples == 16);
	CU_ASSERT(isnan(rows[1].wait_data) && isnan(rows[3].wait_upstream));
	CU_ASSERT(rows[3].val_loss == 0.5 && rows[3].val_accuracy == 0.75 && isnan(rows[1].val_accuracy));
	free(rows);
	check_tail("{\"step\":2,\"train_loss\":0.5,\"train_accuracy\":0.75}\n{\"step\":2,\"val_loss\":0.5,\"val_"
		   "accuracy\":0.75}\n");
	MR_CHECK_OK(mr_metrics_log_open(path, &log));
	row = mr_figures_at(2);
	row.loss = INFINITY;
	MR_CHECK_OK(mr_metrics_log_put(log, &row));
	MR_CHECK_OK(mr_metrics_log_close(log));
	MR_CHECK_OK(mr_metrics_log_close(NULL));
	unlink(path);
}

static void append_and_read(void)
{
	mr_figures *rows, row;
	mr_metrics_log *log;
	size_t n;

	fresh_path();
	for (uint64_t i = 1; i <= 3; i++) {
		MR_CHECK_OK(mr_metrics_log_open(path, &log));
		row = mr_figures_at(i);
		row.loss = i == 3 ? INFINITY : 1.0 / (double)i;
		row.tokens = 128 * (double)i;
		MR_CHECK_OK(mr_metrics_log_put(log, &row));
		MR_CHECK_OK(mr_metrics_log_close(log));
	}
	MR_CHECK_OK(mr_metrics_read(path, &rows, &n));
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_EQUAL(rows[1].loss, 0.5);
	CU_ASSERT_EQUAL(rows[1].tokens, 256);
	CU_ASSERT_TRUE(isinf(rows[2].loss));
	CU_ASSERT_TRUE(isnan(rows[0].val_loss));
	free(rows);
	unlink(path);
}

static void cut_back(void)
{
	static const char text[] =
		"{\"step\":1,\"loss\":1.0}\n{\"step\":2,\"loss\":1.0}\n{\"step\":2,\"val_loss\":3.0}\n"
		"{\"step\":3,\"loss\":1.0}\n";

	fresh_path();
	write_text(text, strlen(text));
	MR_CHECK_OK(mr_metrics_truncate(path, 9));
	check_text(text);
	MR_CHECK_OK(mr_metrics_truncate(path, 2));
	check_text("{\"step\":1,\"loss\":1.0}\n{\"step\":2,\"loss\":1.0}\n{\"step\":2,\"val_loss\":3.0}\n");
	MR_CHECK_OK(mr_metrics_truncate(path, 1));
	check_text("{\"step\":1,\"loss\":1.0}\n");
	MR_CHECK_OK(mr_metrics_truncate(path, 0));
	check_text("");
	MR_CHECK_OK(mr_metrics_truncate(path, 0));
	unlink(path);
	MR_CHECK_OK(mr_metrics_truncate(path, 5));
}

/* A crash leaves any prefix, and a power cut may leave zeros behind it: what is whole stays. */
static void torn_at_every_byte(void)
{
	static const char text[] = "{\"step\":1,\"loss\":1.0}\n{\"step\":2,\"loss\":0.5}\n";
	size_t first = (size_t)(strchr(text, '\n') + 1 - text);
	char zeros[sizeof(text) + 16];

	fresh_path();
	for (size_t len = 1; len < sizeof(text); len++) {
		write_text(text, len);
		MR_CHECK_OK(mr_metrics_truncate(path, 100));
		check_text(len < first ? "" : len < sizeof(text) - 1 ? "{\"step\":1,\"loss\":1.0}\n" : text);
		memset(zeros, 0, sizeof(zeros));
		memcpy(zeros, text, len);
		write_text(zeros, sizeof(zeros));
		MR_CHECK_OK(mr_metrics_truncate(path, 100));
		check_text(len < first ? "" : len < sizeof(text) - 1 ? "{\"step\":1,\"loss\":1.0}\n" : text);
	}
	unlink(path);
}

static void damage_in_the_middle(void)
{
	static const char text[] = "{\"step\":1}\n{\"stp\":2}\n{\"step\":3}\n";
	mr_figures *rows;
	size_t n;

	fresh_path();
	write_text(text, strlen(text));
	MR_CHECK_FAIL(mr_metrics_truncate(path, 100), MR_EIO, ":2: no metrics line, but line 3 is one again");
	check_text(text);
	MR_CHECK_FAIL(mr_metrics_read(path, &rows, &n), MR_EIO, ":2: no metrics line");
	unlink(path);
	MR_CHECK_FAIL(mr_metrics_read(path, &rows, &n), MR_EIO, path);
}

/* By the limit of a file's size, which fails as a full disk does. */
static void disk_full(void)
{
	mr_figures row = mr_figures_at(1);
	struct rlimit was, none;
	mr_metrics_log *log;

	fresh_path();
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	signal(SIGXFSZ, SIG_IGN);
	MR_CHECK_OK(mr_metrics_log_open(path, &log));
	MR_CHECK_OK(mr_metrics_log_put(log, &row));
	setrlimit(RLIMIT_FSIZE, &none);
	MR_CHECK_FAIL(mr_metrics_log_flush(log), MR_ERESOURCE, ": cannot write: File too large");
	errno = 0; /* later calls tell the reason of the first */
	MR_CHECK_FAIL(mr_metrics_log_put(log, &row), MR_ERESOURCE, ": cannot write: File too large");
	CU_ASSERT_EQUAL(mr_metrics_log_close(log), MR_ERESOURCE);
	setrlimit(RLIMIT_FSIZE, &was);
	signal(SIGXFSZ, SIG_DFL);
	unlink(path);
	MR_CHECK_FAIL(mr_metrics_log_open("/nonexistent/m", &log), MR_EIO, "/nonexistent/m: no such file");
}

/* None of them is waited for, or read without an end. */
static void what_is_no_file(void)
{
	mr_figures *rows = NULL;
	mr_metrics_log *log;
	size_t n;

	MR_CHECK_FAIL(mr_metrics_read("/dev/zero", &rows, &n), MR_EIO, "/dev/zero: is a device, expected a file");
	MR_CHECK_FAIL(mr_metrics_truncate("/dev/zero", 1), MR_EIO, "/dev/zero: is a device, expected a file");
	MR_CHECK_FAIL(mr_metrics_log_open("/dev/zero", &log), MR_EIO, "/dev/zero: is a device, expected a file");
	fresh_path();
	unlink(path);
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	MR_CHECK_FAIL(mr_metrics_read(path, &rows, &n), MR_EIO, ": is a pipe, expected a file");
	MR_CHECK_FAIL(mr_metrics_truncate(path, 1), MR_EIO, ": is a pipe, expected a file");
	MR_CHECK_FAIL(mr_metrics_log_open(path, &log), MR_EIO, ": is a pipe, expected a file");
	unlink(path);
}

/* A run of many steps has many lines, which are numbers in memory. */
static void many_lines_are_judged(void)
{
	mr_figures *rows;
	FILE *f;
	size_t n;

	fresh_path();
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 1; i <= 20000; i++)
		fprintf(f, "{\"step\":%d,\"loss\":1}\n", i);
	fclose(f);
	mr_room_limit(1);
	MR_CHECK_FAIL(mr_metrics_read(path, &rows, &n), MR_ERESOURCE, ": its lines may take ");
	mr_room_limit(0);
	MR_CHECK_OK(mr_metrics_read(path, &rows, &n));
	CU_ASSERT_EQUAL(n, 20000);
	free(rows);
	unlink(path);
}

void mr_suite_metrics_log(void);
void mr_suite_metrics_log(void)
{
	MR_SUITE("metrics_log");
	MR_TEST(lines);
	MR_TEST(append_and_read);
	MR_TEST(cut_back);
	MR_TEST(torn_at_every_byte);
	MR_TEST(damage_in_the_middle);
	MR_TEST(disk_full);
	MR_TEST(what_is_no_file);
	MR_TEST(many_lines_are_judged);
}
