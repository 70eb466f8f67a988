/* status.json written, read, refused; and its screen. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/run_status.h"

static mr_run_status sample(uint32_t n_workers)
{
	mr_run_status s = {
		.row = {.state = "trains", .host = "elsewhere", .name = "tiny", .model = "mlp", .system = "pipedream",
			.pid = 12, .updated = (double)time(NULL), .rate_name = "tok/s"},
		.now = mr_figures_at(50),
		.n_workers = n_workers, .n_stages = n_workers,
	};

	s.now.steps = 200;
	s.now.seconds = 61;
	s.now.loss = 2.5;
	s.now.eta_seconds = 123;
	s.now.resident_bytes = 3 << 20;
	s.now.peak_bytes = 4 << 20;
	s.now.predicted_bytes = 5 << 20;
	s.worker = calloc(n_workers, sizeof(*s.worker));
	s.stage = calloc(n_workers, sizeof(*s.stage));
	for (uint32_t i = 0; i < n_workers; i++) {
		mr_worker_row *row = &s.worker[i].row;

		row->worker = i;
		row->share = NAN;
		snprintf(row->stages, sizeof(row->stages), "%u", i);
		snprintf(row->cores, sizeof(row->cores), "%u", i);
		snprintf(row->doing, sizeof(row->doing), "B s%u m7", i);
		s.worker[i].part = mr_times_unknown();
		s.worker[i].part.row.busy = i ? 0.25 : 0.5;
		s.worker[i].part.row.upstream = 0.125;
		s.worker[i].part.row.data = i ? 0.5 : 0;
		s.stage[i] = (mr_weights_row){i, (uint16_t)i, 50 + i, 1};
	}
	return s;
}

static char *screen(const mr_run_status *s, unsigned columns, unsigned rows)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT_EQUAL(mr_run_status_screen(s, columns, rows, f), MR_OK);
	fclose(f);
	return text;
}

static void test_file(void)
{
	char path[] = "/tmp/millrace-status-XXXXXX";
	mr_run_status s = sample(2), r;
	char *a, *b;
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(mr_run_status_write(&s, path), MR_OK);
	CU_ASSERT_EQUAL_FATAL(mr_run_status_read(path, &r), MR_OK);
	CU_ASSERT_EQUAL(r.now.step, 50);
	CU_ASSERT_EQUAL(r.now.loss, 2.5);
	CU_ASSERT(isnan(r.now.val_loss));
	CU_ASSERT_EQUAL(r.worker[1].part.row.data, 0.5);
	CU_ASSERT_EQUAL(r.stage[1].version, 51);
	a = screen(&s, 80, 24);
	b = screen(&r, 80, 24);
	CU_ASSERT_STRING_EQUAL(a, b);
	free(a);
	free(b);
	mr_run_status_fini(&r);
	mr_run_status_fini(&s);
	CU_ASSERT_EQUAL(truncate(path, 3), 0); /* no JSON */
	CU_ASSERT_EQUAL(mr_run_status_read(path, &r), MR_EDATA);
	CU_ASSERT_EQUAL(truncate(path, 0), 0);
	close(fd);
	unlink(path);
	CU_ASSERT_EQUAL(mr_run_status_read(path, &r), MR_EDATA);
	CU_ASSERT_EQUAL(mr_run_status_read("/tmp", &r), MR_EDATA);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "status.json"));
}

/* Every line fits, and there are no more than asked for. */
static unsigned lines_of(const char *text, unsigned columns)
{
	unsigned n = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1, n++)
		CU_ASSERT(end - text <= (long)columns);
	return n;
}

static void test_screen(void)
{
	mr_run_status s = sample(2), many = sample(64), wide = sample(200);
	char *text = screen(&s, 80, 24);

	CU_ASSERT_PTR_NOT_NULL(strstr(text, "tiny   mlp under pipedream   pid 12 on elsewhere\ntrains\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "] step 50 of 200  1:01, to go 2:03\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "versions s0 50, s1 51\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "w0    0        0       ######......  50%  upstream 12%    B s0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "w1    1        1       ###.........  25%  data 50% "));
	lines_of(text, 80);
	free(text);
	text = screen(&many, 80, 23);
	CU_ASSERT_EQUAL(lines_of(text, 80), 23);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "and w13 to w63: busy 25% to 25% (--json has each)\n"));
	free(text);
	snprintf(s.row.state, sizeof(s.row.state), "failed");
	snprintf(s.row.error, sizeof(s.row.error), "the loss is not finite");
	text = screen(&s, 60, 12);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "failed: the loss is not finite\n"));
	lines_of(text, 60);
	free(text);
	text = screen(&many, 20, 4); /* as narrow and as low as terminals are */
	CU_ASSERT_EQUAL(lines_of(text, 20), 4);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "[#....] step 50 of 2\n"));
	free(text);
	text = screen(&many, 2, 4); /* the least that a terminal tells */
	CU_ASSERT_EQUAL(lines_of(text, 2), 4);
	free(text);
	text = screen(&wide, 1026, 24); /* more columns than the line of versions may have */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "...\n"));
	free(text);
	text = screen(&many, 44, 24); /* there is no place for the time to go, which would be cut */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "step 50 of 200  1:01\n"));
	free(text);
	mr_run_status_fini(&s);
	mr_run_status_fini(&many);
	mr_run_status_fini(&wide);
}

/* Shares of a worker have rows of their own, in the file too. */
static void test_shares(void)
{
	char path[] = "/tmp/millrace-status-XXXXXX", *text;
	mr_run_status s = sample(2), r;

	close(mkstemp(path));
	s.worker[1].row.worker = 0;
	for (uint32_t i = 0; i < 2; i++)
		s.worker[i].row.share = i;
	CU_ASSERT_EQUAL(mr_run_status_write(&s, path), MR_OK);
	CU_ASSERT_EQUAL_FATAL(mr_run_status_read(path, &r), MR_OK);
	text = screen(&r, 80, 24);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nw0.0  0        0       ######......  50%  upstream 12%    B s0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nw0.1  1        1       ###.........  25%  data 50% "));
	free(text);
	unlink(path);
	mr_run_status_fini(&r);
	mr_run_status_fini(&s);
}

/* A run is over by its own word, or when its process is gone. */
static void test_over(void)
{
	mr_run_status s = sample(1);

	CU_ASSERT_FALSE(mr_run_status_over(&s)); /* on another host nobody knows */
	snprintf(s.row.state, sizeof(s.row.state), "ended");
	CU_ASSERT_TRUE(mr_run_status_over(&s));
	snprintf(s.row.state, sizeof(s.row.state), "trains");
	CU_ASSERT_EQUAL(gethostname(s.row.host, sizeof(s.row.host)), 0);
	s.row.pid = getpid();
	CU_ASSERT_FALSE(mr_run_status_over(&s));
	s.row.pid = 0x7ffffff0; /* above any limit of the kernel */
	CU_ASSERT_TRUE(mr_run_status_over(&s));
	mr_run_status_fini(&s);
}

void mr_suite_run_status(void)
{
	CU_pSuite s = CU_add_suite("run_status", NULL, NULL);

	CU_add_test(s, "the file", test_file);
	CU_add_test(s, "the screen", test_screen);
	CU_add_test(s, "shares", test_shares);
	CU_add_test(s, "over", test_over);
}
