/* test_server.c - published machines: each becomes the topology that it describes, and each number has a mark. */
#include "host/server.h"

#include <string.h>

#include "check.h"
#include "host/topo.h"

static void each_machine_becomes_its_topology(void)
{
	const mr_server *s;
	uint32_t n = 0;

	for (; (s = mr_server_at(n)); n++) {
		mr_topo t;

		MR_CHECK_OK(mr_topo_synthetic(s->name, &t));
		CU_ASSERT(t.server == s && t.synthetic);
		CU_ASSERT_EQUAL(t.n_cores, s->sockets * mr_server_cores(s));
		CU_ASSERT_EQUAL(t.n_nodes, s->sockets * s->nodes);
		CU_ASSERT_EQUAL(t.n_l3s, s->sockets * s->nodes * s->domains);
		CU_ASSERT_EQUAL(t.n_machine_pus, t.n_cores * s->smt);
		CU_ASSERT_EQUAL(t.l2_bytes, (uint64_t)s->l2_kib << 10);
		CU_ASSERT_EQUAL(t.l3[0].bytes >> 20, s->l3_mib);
		CU_ASSERT(t.memory_bytes / 1000000 > s->sockets * (s->memory_gb * 990ULL));
		mr_topo_fini(&t);
	}
	CU_ASSERT(n >= 7);
}

/* A number has its place in the order of magnitude of such machines, and a letter for its origin. */
static void each_number_is_plausible_and_marked(void)
{
	const mr_server *s;

	for (uint32_t i = 0; (s = mr_server_at(i)); i++) {
		CU_ASSERT_EQUAL(strlen(s->marks), s->domain_gbs > 0 ? 11 : 10);
		CU_ASSERT_EQUAL(strspn(s->marks, "P?DAM"), strlen(s->marks));
		CU_ASSERT(strlen(s->sources) > 20);
		CU_ASSERT(s->ghz_vector > 1 && s->ghz_vector < 6 && s->ghz_matrix <= s->ghz_vector);
		CU_ASSERT(s->f32_cycle >= 16 && s->f32_cycle <= 64);
		CU_ASSERT(s->dram_gbs > 100 && s->dram_gbs < 1000);
		CU_ASSERT(s->domain_ns <= s->node_ns && s->node_ns <= s->socket_ns);
		CU_ASSERT(s->link_gbs < s->dram_gbs * 1.1);
	}
}

static void barriers_grow_with_the_team(void)
{
	const mr_server *s;

	MR_CHECK_OK(mr_server_get("genoa9654", &s));
	CU_ASSERT_EQUAL(mr_server_barrier_ns(s, 1), 0);
	CU_ASSERT_DOUBLE_EQUAL(mr_server_barrier_ns(s, 8), MR_BARRIER_NS + MR_BARRIER_MESSAGES * 24 * 3, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(mr_server_barrier_ns(s, 9), MR_BARRIER_NS + MR_BARRIER_MESSAGES * 190 * 4, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(mr_server_barrier_ns(s, 128), MR_BARRIER_NS + MR_BARRIER_MESSAGES * 260 * 7, 1e-9);
}

static void unknown_names_are_refused(void)
{
	const mr_server *s;
	mr_topo t;

	MR_CHECK_FAIL(mr_server_get("genoa965", &s), MR_EINVAL, "did you mean \"genoa9654\"");
	MR_CHECK_FAIL(mr_topo_synthetic("spr", &t), MR_EINVAL, "millrace list machines names them");
}

/* Several of one name: hosts of the same sort, with a CPU a core. */
static void several_machines_lie_side_by_side(void)
{
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("emr8592*32", &t));
	CU_ASSERT(t.n_cores == 4096 && t.n_usable == 4096 && t.n_nodes == 64 && t.n_machine_pus == 4096);
	CU_ASSERT_STRING_EQUAL(t.server->name, "emr8592");
	mr_topo_fini(&t);
	MR_CHECK_FAIL(mr_topo_synthetic("emr8592*33", &t), MR_EINVAL, "1 to 32 are planned together, not 33");
	MR_CHECK_FAIL(mr_topo_synthetic("emr8592*", &t), MR_EINVAL, "not ");
}

void mr_suite_server(void);
void mr_suite_server(void)
{
	MR_SUITE("server");
	MR_TEST(each_machine_becomes_its_topology);
	MR_TEST(each_number_is_plausible_and_marked);
	MR_TEST(barriers_grow_with_the_team);
	MR_TEST(unknown_names_are_refused);
	MR_TEST(several_machines_lie_side_by_side);
}
