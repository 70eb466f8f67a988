/* Rates and rooflines from counts that were made up, as a processor with all counters would give them. */
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "observe/counted_report.h"

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9 * fabs(b))

/* One core: 100 GFLOP/s, memory 10 GB/s alone and 30 GB/s for all. */
static const mr_bandwidth machine = {
	.n_cores = 4,
	.at = {{1 << 19, 1 << 19, {80e9, 80e9}, {320e9, 320e9}},
	       {4 << 20, 1 << 20, {20e9, 20e9}, {60e9, 60e9}},
	       {64 << 20, 64 << 20, {10e9, 10e9}, {30e9, 30e9}}},
};

static void test_limits(void)
{
	mr_speed_limits one = mr_speed_limits_of(1, 100e9, &machine), four = mr_speed_limits_of(4, 100e9, &machine);

	NEAR(one.bandwidth[MR_BANDWIDTH_MEMORY], 10e9);
	NEAR(four.bandwidth[MR_BANDWIDTH_MEMORY], 30e9); /* not 40: memory is shared */
	NEAR(four.bandwidth[MR_BANDWIDTH_L2], 320e9);
	NEAR(four.peak, 400e9);
	CU_ASSERT_EQUAL(mr_speed_level(1 << 20, &one), MR_BANDWIDTH_L2);
	CU_ASSERT_EQUAL(mr_speed_level(3 << 20, &one), MR_BANDWIDTH_L3);
	CU_ASSERT_EQUAL(mr_speed_level(3 << 20, &four), MR_BANDWIDTH_L2);
	CU_ASSERT_EQUAL(mr_speed_level(9 << 20, &one), MR_BANDWIDTH_MEMORY);
	NEAR(mr_speed_roof(2e9, 1e9, MR_BANDWIDTH_MEMORY, &one), 20e9);   /* 2 FLOP a byte x 10 GB/s */
	NEAR(mr_speed_roof(50e9, 1e9, MR_BANDWIDTH_MEMORY, &one), 100e9); /* the peak */
	one = mr_speed_limits_of(1, 100e9, NULL);
	NEAR(mr_speed_roof(2e9, 1e9, MR_BANDWIDTH_MEMORY, &one), 100e9);
	CU_ASSERT_EQUAL(mr_speed_level(1, &one), MR_BANDWIDTH_MEMORY);
}

static mr_perf_counts counts(void)
{
	mr_perf_counts c;

	c.at[MR_PERF_TASK_CLOCK] = 1.5e9;
	c.at[MR_PERF_FAULTS] = c.at[MR_PERF_SWITCHES] = c.at[MR_PERF_MIGRATIONS] = 0;
	c.at[MR_PERF_CYCLES] = 4.5e9;
	c.at[MR_PERF_INSTRUCTIONS] = 9e9;
	c.at[MR_PERF_STALLED] = 0.9e9;
	c.at[MR_PERF_LLC_MISSES] = 5e9 / 64;
	c.at[MR_PERF_LOCAL] = 3e6;
	c.at[MR_PERF_REMOTE] = 1e6;
	return c;
}

static void test_speed(void)
{
	mr_speed_limits two = mr_speed_limits_of(2, 100e9, &machine);
	mr_perf_counts c = counts();
	mr_speed s = mr_speed_of(20e9, 1, &c, &two);

	NEAR(s.flops, 20e9);
	NEAR(s.peak, 0.1);
	NEAR(s.cores, 1.5);
	NEAR(s.hz, 3e9);
	NEAR(s.ipc, 2.0);
	NEAR(s.stalled, 0.2);
	NEAR(s.bytes, 5e9);
	NEAR(s.remote, 0.25);
	NEAR(s.intensity, 4.0);
	NEAR(s.roof, 20e9 / 80e9); /* 4 FLOP a byte x 20 GB/s of two cores */
	c.at[MR_PERF_CYCLES] = c.at[MR_PERF_LLC_MISSES] = NAN;
	s = mr_speed_of(20e9, 1, &c, &two);
	CU_ASSERT(isnan(s.ipc) && isnan(s.hz) && isnan(s.stalled) && isnan(s.bytes) && isnan(s.roof));
	NEAR(s.cores, 1.5);
	s = mr_speed_of(0, 1, NULL, &two);
	CU_ASSERT(isnan(s.flops) && isnan(s.cores));
}

static char *printed(const mr_counted_row *rows, bool json)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(json ? mr_counted_json(rows, 2, "no such thing", f) : mr_counted_print(rows, 2, f), MR_OK);
	fclose(f);
	return text;
}

static void test_table(void)
{
	mr_speed_limits two = mr_speed_limits_of(2, 100e9, &machine);
	mr_counted_row rows[2] = {
		{.work = {0, "F", 1000, 1, 20e9}, .counts = counts()},
		{.work = {1, "U", 10, 0.5, 0}, .counts = counts()},
	};
	char *text;

	for (int i = 0; i < 2; i++)
		rows[i].speed = mr_speed_of(rows[i].work.flop, rows[i].work.seconds, &rows[i].counts, &two);
	text = printed(rows, false);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "stage  op  times   us each  cores   IPC   GHz  stalled  GFLOP/s   peak  "
					    "DRAM GB/s  remote  FLOP/byte   roof\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "    0  F    1000   1000.00   1.50  2.00  3.00      20%     20.0  10.0%  "
					    "     5.00     25%       4.00  25.0%\n"));
	free(text);
	for (int i = 0; i < 2; i++) {
		rows[i].counts.at[MR_PERF_CYCLES] = rows[i].counts.at[MR_PERF_LLC_MISSES] = NAN;
		rows[i].counts.at[MR_PERF_LOCAL] = NAN;
		rows[i].speed = mr_speed_of(rows[i].work.flop, rows[i].work.seconds, &rows[i].counts, &two);
	}
	text = printed(rows, false); /* columns of which nothing is known are left out */
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "stage  op  times   us each  cores  GFLOP/s   peak\n"));
	free(text);
	text = printed(rows, true);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"cycles\": null"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ipc\": null"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"instructions\": 9000000000.0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"missing\": \"no such thing\""));
	free(text);
}

void mr_suite_speed(void)
{
	CU_pSuite s = CU_add_suite("speed", NULL, NULL);

	CU_add_test(s, "limits", test_limits);
	CU_add_test(s, "speed", test_speed);
	CU_add_test(s, "table and file", test_table);
}
