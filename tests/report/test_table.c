/* Tables: alignment, and the tables of a run to the letter. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/run_tables.h"
#include "screen_help.h"

static FILE *open_text(char **text)
{
	static size_t len;

	*text = NULL;
	return open_memstream(text, &len);
}

static void check_text(char *text, const char *want)
{
	if (strcmp(text, want) != 0)
		fprintf(stderr, "\nwant:\n%sgot:\n%s", want, text);
	CU_ASSERT_STRING_EQUAL(text, want);
	free(text);
}

static void alignment(void)
{
	static const mr_table_column columns[] = {{"name", false}, {"n", true}, {"note", false}};
	mr_table *t;
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_table_create(columns, 3, &t));
	mr_table_put(t, "a");
	mr_table_put(t, "%d", 12345);
	mr_table_put(t, "%s", "");
	mr_table_cells(t, "longer %s\t%d\tx", "name", 1);
	mr_table_put(t, "part");
	MR_CHECK_OK(mr_table_print(t, "  ", f));
	mr_table_destroy(t);
	fclose(f);
	check_text(text, "  name             n  note\n"
			 "  a            12345\n"
			 "  longer name      1  x\n"
			 "  part\n");
	MR_CHECK_FAIL(mr_table_create(columns, 0, &t), MR_EINVAL, "at least one column");
}

/* On a narrow terminal the columns that do not fit stand below, behind the first one again; nothing is lost. */
static void narrow_terminal(void)
{
	static const mr_report_stage_row rows[] = {
		{{0, 0, 0, "embed .. h.1.mlp", 412000},
		 {{1648000, 1648000, 1648000, 3296000, 4194304, 65536, 1024}}, 1, 21, "0", "0", NULL, NULL},
		{{1, 0, 1, "h.2.ln_1 .. loss", 400000}, {{1600000, 0, 1600000, 3200000, 2097152, 0, 1024}}, 1, 24, NULL,
		 NULL, NULL, NULL},
	};

	for (unsigned short columns = 60; columns <= 140; columns = (unsigned short)(columns + 10)) {
		mr_test_screen screen = mr_test_screen_open(columns);
		char *text;

		MR_CHECK_OK(mr_report_stages(rows, 2, screen.out));
		text = mr_test_screen_take(&screen);
		mr_test_screen_close(&screen);
		CU_ASSERT_TRUE(mr_test_widest(text) <= columns);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "stage  on  layers"));
		if (columns == 60)
			CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nstage    grads  optimizer   activ.  boundary  scratch\n"
							   "    0  1.6 MiB    3.1 MiB  4.0 MiB    64 KiB  1.0 KiB\n"));
		for (const char *const *head =
			     (const char *const[]){"params", "grads", "activ.", "boundary", "total", "node", NULL};
		     *head; head++)
			CU_ASSERT_PTR_NOT_NULL(strstr(text, *head));
		free(text);
	}
}

static void stages(void)
{
	static const mr_report_stage_row rows[] = {
		{{0, 0, 0, "embed .. h.1.mlp", 412000},
		 {{1648000, 1648000, 1648000, 3296000, 4194304, 65536, 1024}}, 1, 21, "0", "0", NULL, NULL},
		{{1, 0, 1, "h.2.ln_1 .. loss", 400000}, {{1600000, 0, 1600000, 3200000, 2097152, 0, 1024}}, 1, 24, NULL,
		 NULL, NULL, NULL},
	};
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_stages(rows, 2, f));
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "stage  on  layers"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n    0  w0  21: embed .. h.1.mlp   412 k"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "any       -\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n  all      45                     812 k"));
	free(text);
}

/* Two pipes share the weights: layers and parameters count once. */
static void stages_of_two_pipes(void)
{
	static const mr_report_stage_row rows[] = {
		{{0, 0, 0, "fc.0", 1000}, {{4000, 0, 4000, 8000, 100, 100, 0}}, 2, 1, "0", "0", NULL, NULL},
		{{0, 1, 1, "fc.0", 1000}, {{0, 0, 4000, 0, 100, 100, 0}}, 2, 1, "1", "0", NULL, NULL},
	};
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_stages(rows, 2, f));
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n 0 p0  w0  1: fc.0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n 0 p1  w1  1: fc.0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n  all      1         1.0 k  3.9 KiB      0 B  7.8 KiB"));
	free(text);
}

static void workers(void)
{
	static const mr_report_worker_row rows[] = {
		{0, NAN, "0", {{.elapsed = 2, .busy = 1.8, .upstream = 0.1, .data = 0.05}}, false},
		{1, NAN, "1, 3", {{.elapsed = 0}}, true},
		{2, 1, "2", {{.elapsed = 1e-6, .busy = 0.9e-6, .weights = 0.2e-6}}, true},
	};
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_workers(rows, 3, f));
	fclose(f);
	check_text(text, "worker  stages  training s   busy  upstream  downstream  weights  optimizer  data  engine\n"
			 "w0      0             2.00  90.0%      5.0%        0.0%     0.0%       0.0%  2.5%    2.5%\n"
			 "w1      1, 3          0.00   0.0%      0.0%        0.0%     0.0%       0.0%  0.0%    0.0%\n"
			 "w2.1    2             0.00  90.0%      0.0%        0.0%    20.0%       0.0%  0.0%    0.0%\n");
}

/* Time that other programs had the cores is a cause of its own. */
static void descheduled(void)
{
	static const mr_report_worker_row rows[] = {
		{0, NAN, "0", {{.elapsed = 1e-6, .busy = 0.3e-6, .upstream = 0.1e-6, .descheduled = 0.55e-6}}, true},
		{1, NAN, "1", {{.elapsed = 1e-6, .busy = 0.9e-6, .data = 0.1e-6}}, true},
	};
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_workers(rows, 2, f));
	fclose(f);
	check_text(text, "worker  stages  training s   busy  upstream  downstream  weights  optimizer   data  "
			 "descheduled  engine\n"
			 "w0      0             0.00  30.0%     10.0%        0.0%     0.0%       0.0%   0.0%        "
			 "55.0%    5.0%\n"
			 "w1      1             0.00  90.0%      0.0%        0.0%     0.0%       0.0%  10.0%         "
			 "0.0%    0.0%\n");
}

static void staleness(void)
{
	static const uint64_t first[] = {1, 0, 99}, second[] = {100};
	const mr_staleness_row rows[] = {{0, MR_COUNTS(first, 3)}, {1, MR_COUNTS(second, 1)}};
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_staleness(rows, 2, f));
	fclose(f);
	check_text(text, "stage  stale 0  stale 2\n"
			 "    0        1       99\n"
			 "    1      100        0\n");
}

static const mr_usage_row uses[] = {
	{0, 0, 3, 4, 4096, 5120, 1024, 1024, 0, 2048},
	{1, 1, 1, 1, 0, 0, 512, 512, 64, 64},
};

/* A figure and its prediction are not torn apart. */
static void narrow_pairs(void)
{
	mr_test_screen screen = mr_test_screen_open(60);
	char *text;

	MR_CHECK_OK(mr_report_usage(uses, 2, screen.out));
	text = mr_test_screen_take(&screen);
	mr_test_screen_close(&screen);
	check_text(text, "stage  versions  predicted  weights  predicted\n"
			 " 0 p0         3          4  4.0 KiB    5.0 KiB\n"
			 " 1 p1         1          1      0 B        0 B\n"
			 "stage   activ.  predicted  boundary  predicted\n"
			 " 0 p0  1.0 KiB    1.0 KiB       0 B    2.0 KiB\n"
			 " 1 p1    512 B      512 B      64 B       64 B\n");
}

static void usage(void)
{
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_usage(uses, 2, f));
	fclose(f);
	check_text(text, "stage  versions  predicted  weights  predicted   activ.  predicted  boundary  predicted\n"
			 " 0 p0         3          4  4.0 KiB    5.0 KiB  1.0 KiB    1.0 KiB       0 B    2.0 KiB\n"
			 " 1 p1         1          1      0 B        0 B    512 B      512 B      64 B       64 B\n");
}

static void usage_json(void)
{
	const mr_json *second, *x;
	mr_json *j = NULL;
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_usage_json(12, uses, 2, f));
	fclose(f);
	MR_CHECK_OK(mr_json_read_text(text, strlen(text), &j));
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(j, "step")), 12);
	second = mr_json_at(mr_json_get(j, "stages"), 1);
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(second, "pipe")), 1);
	x = mr_json_get(mr_json_at(mr_json_get(j, "stages"), 0), "versions");
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(x, "measured")), 3);
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(x, "predicted")), 4);
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(mr_json_get(second, "boundary_bytes"), "measured")), 64);
	mr_json_destroy(j);
	free(text);
}

static void memory(void)
{
	char *text;
	FILE *f = open_text(&text);

	MR_CHECK_OK(mr_report_memory(104857600, 110100480, f));
	MR_CHECK_OK(mr_report_memory(104857600, 0, f));
	fclose(f);
	check_text(text, "peak memory  predicted 100 MiB  measured 105 MiB  (+5.0%)\n"
			 "peak memory  predicted 100 MiB  measured unknown\n");
}

void mr_suite_table(void);
void mr_suite_table(void)
{
	MR_SUITE("table");
	MR_TEST(alignment);
	MR_TEST(narrow_terminal);
	MR_TEST(stages);
	MR_TEST(stages_of_two_pipes);
	MR_TEST(workers);
	MR_TEST(descheduled);
	MR_TEST(staleness);
	MR_TEST(usage);
	MR_TEST(narrow_pairs);
	MR_TEST(usage_json);
	MR_TEST(memory);
}
