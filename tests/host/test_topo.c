#include "host/topo.h"

#include <sched.h>
#include <string.h>

#include "check.h"

static void test_big_machine(void)
{
	char text[400];
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("numa:4 core:16 pu:2", &t));
	CU_ASSERT_EQUAL(t.n_nodes, 4);
	CU_ASSERT_EQUAL(t.n_cores, 64);
	CU_ASSERT_EQUAL(t.n_usable, 64);
	CU_ASSERT_EQUAL(t.n_machine_cores, 64);
	CU_ASSERT_EQUAL(t.n_machine_pus, 128);
	CU_ASSERT_TRUE(t.synthetic);
	for (uint32_t i = 0; i < t.n_cores; i++) {
		CU_ASSERT_EQUAL(t.core[i].cpu, 2 * i);
		CU_ASSERT_EQUAL(t.core[i].n_pus, 2);
		CU_ASSERT_EQUAL(t.core[i].node, i / 16);
	}
	for (uint32_t i = 0; i < t.n_nodes; i++) {
		CU_ASSERT_EQUAL(t.node[i].first_core, 16 * i);
		CU_ASSERT_EQUAL(t.node[i].n_cores, 16);
		CU_ASSERT_EQUAL(t.node[i].n_l3s, 1);
		CU_ASSERT_EQUAL(t.node[i].os_index, i);
	}
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_topo_print(&t, text, sizeof(text)), "64 of 64 cores"));
	mr_topo_fini(&t);
	mr_topo_fini(&t);
}

static void test_l3_domains(void)
{
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("pack:2 numa:1(memory=16GB) l3:2(size=33554432) core:4 pu:1", &t));
	CU_ASSERT_EQUAL(t.n_nodes, 2);
	CU_ASSERT_EQUAL(t.n_l3s, 4);
	CU_ASSERT_EQUAL(t.l3[0].bytes, 32u << 20);
	CU_ASSERT_EQUAL(t.l3[3].first_core, 12);
	CU_ASSERT_EQUAL(t.l3[3].n_cores, 4);
	CU_ASSERT_EQUAL(t.l3[3].node, 1);
	CU_ASSERT_EQUAL(t.l2_bytes, 0);
	CU_ASSERT_EQUAL(t.node[1].first_l3, 2);
	CU_ASSERT_EQUAL(t.node[1].n_l3s, 2);
	CU_ASSERT_EQUAL(t.core[7].l3, 1);
	CU_ASSERT(t.node[0].memory_bytes >> 30 >= 14 && t.node[0].memory_bytes >> 30 <= 16);
	CU_ASSERT_EQUAL(t.memory_bytes, t.node[0].memory_bytes + t.node[1].memory_bytes);
	mr_topo_fini(&t);
	/* Two cores share an L2. */
	MR_CHECK_OK(mr_topo_synthetic("numa:1 l3:1 l2:2(size=4194304) core:2 pu:1", &t));
	CU_ASSERT_EQUAL(t.l2_bytes, 2u << 20);
	mr_topo_fini(&t);
}

/* Cores without PUs have one each. */
static void test_without_pus(void)
{
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("numa:4 core:16", &t));
	CU_ASSERT_EQUAL(t.n_nodes, 4);
	CU_ASSERT_EQUAL(t.n_cores, 64);
	CU_ASSERT_EQUAL(t.n_machine_pus, 64);
	mr_topo_fini(&t);
}

/* No NUMA level and no core level: one node, and every PU counts as a core. */
static void test_poor_machine(void)
{
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("pu:3", &t));
	CU_ASSERT_EQUAL(t.n_nodes, 1);
	CU_ASSERT_EQUAL(t.n_cores, 3);
	CU_ASSERT_EQUAL(t.n_l3s, 1);
	mr_topo_fini(&t);
}

static void test_bad_strings(void)
{
	static const char *const bad[] = {"",      "bogus:3", "numa:0 core:2", "core:0", "numa:4 core:", "numa:4 core",
					  "numa:4"};
	mr_topo t;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		MR_CHECK_FAIL(mr_topo_synthetic(bad[i], &t), MR_EINVAL, "is not of the form");
	CU_ASSERT_PTR_NULL(t.core);
}

/* What hwloc would take minutes for is refused by a stated limit. */
static void test_too_large(void)
{
	mr_topo t;

	MR_CHECK_FAIL(mr_topo_synthetic("core:20000", &t), MR_EINVAL, "at most 1024 of a kind, got 20000");
	MR_CHECK_FAIL(mr_topo_synthetic("numa:64 core:64 pu:2", &t), MR_EINVAL, "at most 4096 CPUs");
	MR_CHECK_FAIL(mr_topo_synthetic("core:99999999999999999999999", &t), MR_EINVAL, "at most 1024");
	MR_CHECK_OK(mr_topo_synthetic("numa:32 core:32", &t));
	CU_ASSERT_EQUAL(t.n_cores, 1024);
	mr_topo_fini(&t);
}

/* Whatever machine this is: the ranges tile, and every core is one that the affinity mask allows. */
static void test_this_machine(void)
{
	cpu_set_t mask;
	uint32_t cores = 0, l3s = 0;
	char text[400];
	mr_topo t;

	MR_CHECK_OK(mr_topo_detect(&t));
	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(mask), &mask), 0);
	CU_ASSERT(t.n_usable >= 1 && t.n_usable <= t.n_cores && t.n_cores <= t.n_machine_cores);
	CU_ASSERT(t.memory_bytes > 0 && t.memory_available_bytes <= t.memory_bytes);
	CU_ASSERT_FALSE(t.synthetic);
	for (uint32_t i = 0; i < t.n_nodes; i++) {
		CU_ASSERT_EQUAL(t.node[i].first_core, cores);
		CU_ASSERT_EQUAL(t.node[i].first_l3, l3s);
		CU_ASSERT(t.node[i].n_cores > 0 && t.node[i].memory_bytes > 0);
		cores += t.node[i].n_cores;
		l3s += t.node[i].n_l3s;
	}
	CU_ASSERT_EQUAL(cores, t.n_cores);
	CU_ASSERT_EQUAL(l3s, t.n_l3s);
	for (uint32_t i = 0; i < t.n_cores; i++)
		CU_ASSERT_TRUE(CPU_ISSET(t.core[i].cpu, &mask));
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_topo_print(&t, text, sizeof(text)), "cores usable"));
	mr_topo_fini(&t);
}

/* A smaller affinity mask leaves fewer cores, and the description says why. */
static void test_affinity(void)
{
	cpu_set_t mask, one;
	char text[400];
	int cpu = 0;
	mr_topo t;

	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(mask), &mask), 0);
	while (!CPU_ISSET(cpu, &mask))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(one), &one), 0);
	MR_CHECK_OK(mr_topo_detect(&t));
	CU_ASSERT_EQUAL(t.n_cores, 1);
	CU_ASSERT_EQUAL(t.core[0].cpu, (uint32_t)cpu);
	CU_ASSERT_EQUAL(t.core[0].n_pus, 1);
	if (t.n_machine_pus > 1) {
		CU_ASSERT_PTR_NOT_NULL(strstr(t.cpu_limit, "affinity"));
		CU_ASSERT_PTR_NOT_NULL(strstr(mr_topo_print(&t, text, sizeof(text)), "affinity"));
	}
	mr_topo_fini(&t);
	CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(mask), &mask), 0);
}

void mr_suite_topo(void); /* the runner declares it too */

void mr_suite_topo(void)
{
	MR_SUITE("topo");
	MR_TEST(test_big_machine);
	MR_TEST(test_l3_domains);
	MR_TEST(test_without_pus);
	MR_TEST(test_poor_machine);
	MR_TEST(test_bad_strings);
	MR_TEST(test_too_large);
	MR_TEST(test_this_machine);
	MR_TEST(test_affinity);
}
