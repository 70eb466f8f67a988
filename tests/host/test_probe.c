#include "host/probe.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "host/bandwidth.h"
#include "host/clock.h"
#include "host/foreign_load.h"
#include "host/pin.h"
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
		CU_ASSERT(mr_clock_ns() - begin < 60000000000u);
		/* Light needs about 1 ns; a busy machine may take its time. */
		CU_ASSERT(isnan(p.one_way_ns) || p.one_way_ns > 2);
		CU_ASSERT_EQUAL(p.distance, p.one_way_ns < MR_PROBE_FAR_NS ? MR_PROBE_NEAR : MR_PROBE_FAR);
		sched_getaffinity(0, sizeof(after), &after);
		CU_ASSERT_TRUE(CPU_EQUAL(&before, &after));
	}
	CU_ASSERT_STRING_EQUAL(mr_probe_name(MR_PROBE_NEAR), "NEAR");
	CU_ASSERT_STRING_EQUAL(mr_probe_name(MR_PROBE_FAR), "FAR");
	mr_topo_fini(&t);
}

static pid_t keep_busy(uint32_t cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(60);
	if (mr_pin(&cpu, 1))
		_exit(1);
	for (;;)
		;
}

/* Where other programs leave the two threads hardly any time, the answer is that nothing is known, and comes soon. */
static int measure_beside_others(const mr_topo *t)
{
	struct sched_param none = {0};
	pid_t other[2] = {keep_busy(t->core[0].cpu), keep_busy(t->core[1].cpu)};
	mr_probe_pingpong p = {0};
	uint64_t begin = mr_clock_ns();
	mr_status st;

	sched_setscheduler(0, SCHED_IDLE, &none);
	st = mr_probe_pair(t->core[0].cpu, t->core[1].cpu, 1000, &p);
	for (int i = 0; i < 2; i++)
		kill(other[i], SIGKILL);
	if (st != MR_OK || !(isnan(p.one_way_ns) || p.one_way_ns > 2))
		return 1;
	return mr_clock_ns() - begin < 30000000000u ? 0 : 2;
}

static void test_busy_pair(void)
{
	mr_topo t;
	int status = 0;

	MR_CHECK_OK(mr_topo_detect(&t));
	if (t.n_usable > 1) {
		pid_t pid = fork();

		if (!pid)
			_exit(measure_beside_others(&t));
		CU_ASSERT(pid > 0 && waitpid(pid, &status, 0) == pid);
		CU_ASSERT_EQUAL(status, 0);
	}
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

/* Between a slow disk and eight lines a cycle at 6 GHz. */
static bool is_possible(mr_bandwidth_rates r, uint32_t cores)
{
	return r.read > 1e6 && r.triad > 1e6 && r.read < 3.1e12 * cores && r.triad < 3.1e12 * cores;
}

static void test_bandwidth(void)
{
	mr_bandwidth_rates r = {0};
	uint32_t cpu[2], nowhere = 1001, node;
	cpu_set_t before, after;
	mr_topo t;

	MR_CHECK_OK(mr_topo_detect(&t));
	cpu[0] = cpu[1] = t.core[0].cpu;
	node = t.node[0].os_index;
	sched_getaffinity(0, sizeof(before), &before);
	MR_CHECK_FAIL(mr_bandwidth_measure(cpu, 0, 1 << 20, NULL, &r), MR_EINVAL, "not on 0");
	MR_CHECK_FAIL(mr_bandwidth_measure(cpu, 1, 4095, NULL, &r), MR_EINVAL, "and 4095");
	MR_CHECK_FAIL(mr_bandwidth_measure(&nowhere, 1, 1 << 20, NULL, &r), MR_ERESOURCE, "Invalid argument");
	MR_CHECK_OK(mr_bandwidth_measure(cpu, 1, 4096, NULL, &r));
	CU_ASSERT(is_possible(r, 1));
	/* Two threads on one CPU find each other though only one of them runs; the memory is that of a given node. */
	cpu[1] = cpu[0];
	r = (mr_bandwidth_rates){0};
	MR_CHECK_OK(mr_bandwidth_measure(cpu, 2, 1 << 20, (uint32_t[]){node, node}, &r));
	CU_ASSERT(is_possible(r, 2));
	sched_getaffinity(0, sizeof(after), &after);
	CU_ASSERT_TRUE(CPU_EQUAL(&before, &after));
	mr_topo_fini(&t);
}

static void test_bandwidth_levels(void)
{
	mr_bandwidth b;
	size_t bytes;
	char *text;
	FILE *out;
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("numa:2 l3:1 core:4 pu:1", &t));
	MR_CHECK_FAIL(mr_bandwidth_of(&t, &b), MR_EINVAL, "not here");
	mr_topo_fini(&t);
	MR_CHECK_OK(mr_topo_detect(&t));
	MR_CHECK_OK(mr_bandwidth_of(&t, &b));
	CU_ASSERT_EQUAL(b.n_cores, t.n_usable);
	for (int level = 0; level < MR_N_BANDWIDTH_LEVELS; level++)
		if (b.at[level].one_bytes) {
			CU_ASSERT(is_possible(b.at[level].one, 1));
			CU_ASSERT(!b.at[level].all_bytes || is_possible(b.at[level].all, t.n_usable));
		}
	CU_ASSERT(b.at[MR_BANDWIDTH_MEMORY].one_bytes > b.at[MR_BANDWIDTH_L3].one_bytes);
	CU_ASSERT(b.at[MR_BANDWIDTH_MEMORY].one_bytes > t.l3[0].bytes);
	CU_ASSERT(b.at[MR_BANDWIDTH_L2].one_bytes <= t.l2_bytes);
	out = open_memstream(&text, &bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	mr_bandwidth_print(&b, out);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nmemory "));
	free(text);
	mr_topo_fini(&t);
}

/* What /proc/stat counts, less what this process used. */
static void test_foreign_load(void)
{
	mr_foreign_load then = mr_foreign_load_of("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n", 0.01), now;

	CU_ASSERT(then.known);
	CU_ASSERT_DOUBLE_EQUAL(then.busy_s, 1.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(then.idle_s, 8.5, 1e-9);
	now = mr_foreign_load_of("cpu  150 10 60 820 50 5 5 0 0 0\n", 0.01); /* 0.8 s busy, 0.2 idle */
	now.own_s = 0.3;
	CU_ASSERT_DOUBLE_EQUAL(mr_foreign_load_between(&then, &now), 0.5, 1e-9);
	now.own_s = 0.9; /* ticks are coarse */
	CU_ASSERT_EQUAL(mr_foreign_load_between(&then, &now), 0);
	now.own_s = -5; /* a clock that stands still: not more than all */
	CU_ASSERT_EQUAL(mr_foreign_load_between(&then, &now), 1);
	now = mr_foreign_load_of("nothing\n", 0.01);
	CU_ASSERT(!now.known);
	CU_ASSERT_EQUAL(mr_foreign_load_between(&then, &now), 0);
	CU_ASSERT(mr_foreign_load_now().known);
}

/* Programs beside the measurement are noticed. */
static void test_load_beside_is_noticed(void)
{
	pid_t child[2] = {fork(), -1};
	mr_bandwidth b;
	char text[160];
	mr_topo t;

	for (int i = 0; i < 2; i++) {
		child[i] = i ? fork() : child[i];
		for (volatile uint64_t n = 0; child[i] == 0; n++)
			; /* until it is killed */
	}
	MR_CHECK_OK(mr_topo_detect(&t));
	MR_CHECK_OK(mr_bandwidth_of(&t, &b));
	for (int i = 0; i < 2; i++) {
		CU_ASSERT(child[i] > 0 && !kill(child[i], SIGKILL));
		waitpid(child[i], NULL, 0);
	}
	if (t.n_usable <= 4) { /* of many processors two are not much */
		CU_ASSERT(mr_bandwidth_disturbed(&b));
		CU_ASSERT(b.foreign > MR_BANDWIDTH_FOREIGN);
	}
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_bandwidth_disturbance(&b, text), "other programs took "));
	mr_topo_fini(&t);
}

static void test_spread_of_runs_is_noticed(void)
{
	mr_bandwidth b = {.n_cores = 2, .foreign = 0.02};

	b.at[MR_BANDWIDTH_L3].all = (mr_bandwidth_rates){62e9, 60e9, 0.1};
	CU_ASSERT(!mr_bandwidth_disturbed(&b));
	b.at[MR_BANDWIDTH_L3].all.spread = 0.72; /* 62 and 17 GB/s */
	CU_ASSERT(mr_bandwidth_disturbed(&b));
	b.at[MR_BANDWIDTH_L3].all.spread = 0.1;
	b.foreign = 0.3;
	CU_ASSERT(mr_bandwidth_disturbed(&b));
}

void mr_suite_probe(void); /* the runner declares it too */

void mr_suite_probe(void)
{
	MR_SUITE("probe");
	MR_TEST(test_pair);
	MR_TEST(test_busy_pair);
	MR_TEST(test_peak);
	MR_TEST(test_peak_bf16);
	MR_TEST(test_bandwidth);
	MR_TEST(test_bandwidth_levels);
	MR_TEST(test_foreign_load);
	MR_TEST(test_load_beside_is_noticed);
	MR_TEST(test_spread_of_runs_is_noticed);
}
