#include "host/probe.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "host/clock.h"
#include "host/topo.h"

static void test_pair(void)
{
	mr_probe_pingpong p;
	cpu_set_t before, after;
	uint64_t begin;
	mr_topo t;

	MR_CHECK_OK(mr_topo_detect(&t));
	MR_CHECK_FAIL(mr_probe_pair(3, 3, 1000, &p), MR_EINVAL, "CPU 3 twice");
	MR_CHECK_FAIL(mr_probe_pair(t.core[0].cpu, 1001, 1000, &p), MR_ERESOURCE, "Invalid argument");
	MR_CHECK_FAIL(mr_probe_pair(1001, t.core[0].cpu, 1000, &p), MR_ERESOURCE, "Invalid argument");
	if (t.n_usable > 1) {
		sched_getaffinity(0, sizeof(before), &before);
		begin = mr_clock_ns();
		MR_CHECK_OK(mr_probe_pair(t.core[0].cpu, t.core[1].cpu, 1000, &p));
		CU_ASSERT(mr_clock_ns() - begin < 5000000000u);
		/* Light needs about 1 ns; a busy machine may take its time. */
		CU_ASSERT(p.one_way_ns > 2);
		CU_ASSERT(p.low_ns <= p.one_way_ns && p.one_way_ns <= p.high_ns);
		CU_ASSERT_EQUAL(p.distance, p.one_way_ns < MR_PROBE_FAR_NS ? MR_PROBE_NEAR : MR_PROBE_FAR);
		sched_getaffinity(0, sizeof(after), &after);
		CU_ASSERT_TRUE(CPU_EQUAL(&before, &after));
	}
	CU_ASSERT_STRING_EQUAL(mr_probe_name(MR_PROBE_NEAR), "NEAR");
	CU_ASSERT_STRING_EQUAL(mr_probe_name(MR_PROBE_FAR), "FAR");
	mr_topo_fini(&t);
}

static void test_peak(void)
{
	const char *isa = NULL;
	double gflops = mr_probe_peak_gflops(&isa);

	CU_ASSERT_PTR_NOT_NULL_FATAL(isa);
	/* Between an old core without FMA and two 512-bit units at 6 GHz. */
	CU_ASSERT(gflops > 0.05 && gflops < 400);
	if (strcmp(isa, "generic"))
		CU_ASSERT(gflops > 4);
}

/* Does the kernel list @flag among those of the CPU? */
static bool has_flag(const char *flag)
{
	static char line[16384];
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		for (char *word = strtok(line, " \t\n"); word && !found; word = strtok(NULL, " \t\n"))
			found = !strcmp(word, flag);
	if (f)
		fclose(f);
	return found;
}

static void test_peak_bf16(void)
{
	const char *isa = "none";
	double gflops = mr_probe_peak_bf16_gflops(&isa);
	bool pairs = has_flag("avx512_bf16"), tiles = has_flag("amx_bf16");

	if (!isa) {
		CU_ASSERT(!pairs && gflops == 0);
		return;
	}
	CU_ASSERT(tiles || !strcmp(isa, "avx512_bf16"));
	CU_ASSERT(pairs || !strcmp(isa, "amx_bf16"));
	CU_ASSERT(gflops > 4 && gflops < 10000);
}

void mr_suite_probe(void); /* the runner declares it too */

void mr_suite_probe(void)
{
	MR_SUITE("probe");
	MR_TEST(test_pair);
	MR_TEST(test_peak);
	MR_TEST(test_peak_bf16);
}
