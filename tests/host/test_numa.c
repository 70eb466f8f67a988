/* Where pages lie, on fake nodes: these are only in builds with fault points. */
#include "host/numa.h"

#include <errno.h>
#include <string.h>

#include "base/fault.h"
#include "check.h"
#include "host/memory.h"
#include "host/numa_fake.h"
#include "host/topo.h"

static void test_list(void)
{
	mr_node_list l = {0};
	char text[32];

	CU_ASSERT_STRING_EQUAL(mr_node_list_text(&l, text, sizeof(text)), "any");
	for (uint32_t os = 0; os < 3; os++)
		mr_node_list_add(&l, os);
	mr_node_list_add(&l, 7);
	mr_node_list_add(&l, 1);
	CU_ASSERT_EQUAL(l.n, 4);
	CU_ASSERT_TRUE(mr_node_list_has(&l, 7));
	CU_ASSERT_FALSE(mr_node_list_has(&l, 3));
	CU_ASSERT_STRING_EQUAL(mr_node_list_text(&l, text, sizeof(text)), "0-2,7");
}

#ifdef MR_FAULTS

enum { PAGE = 4096, BYTES = 256 * PAGE };

/* A touched region on @nodes. */
static mr_region region(const mr_node_list *nodes)
{
	mr_region r;

	MR_CHECK_OK(mr_region_map(&r, BYTES, nodes));
	mr_region_prefault(&r, 0, r.bytes);
	return r;
}

static void test_fakes(void)
{
	const mr_node_list both = {2, {0, 1}}, second = mr_node_list_of(1), third = mr_node_list_of(2);
	uint64_t bytes;
	mr_region_look l;
	mr_region r;
	mr_topo t;

	mr_numa_set_fakes(2, 1 << 30);
	CU_ASSERT_EQUAL(mr_numa_fakes(&bytes), 2);
	CU_ASSERT_EQUAL(bytes, 1 << 30);
	MR_CHECK_OK(mr_topo_detect(&t));
	if (t.n_machine_cores > 1 && t.n_cores > 1) {
		CU_ASSERT(t.n_nodes >= 2 && t.n_nodes == t.n_memories);
		CU_ASSERT_EQUAL(t.node[1].first_core, t.node[0].n_cores);
		CU_ASSERT_EQUAL(t.core[t.node[1].first_core].node, 1);
		CU_ASSERT_EQUAL(t.memory[1].bytes, 1 << 30);
	}
	mr_topo_fini(&t);
	r = region(&second);
	CU_ASSERT_TRUE(r.bound);
	l = mr_region_look_up(&r);
	CU_ASSERT_EQUAL(l.n_pages, 256);
	CU_ASSERT_EQUAL(l.n_elsewhere, 0);
	mr_region_unmap(&r);
	r = region(&both);
	l = mr_region_look_up(&r);
	CU_ASSERT_EQUAL(l.n_pages, 256);
	CU_ASSERT_EQUAL(l.n_elsewhere, 0);
	mr_region_unmap(&r);
	r = region(&third);
	CU_ASSERT_FALSE(r.bound);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.note, "binding to a node: Invalid argument"));
	mr_region_unmap(&r);
	mr_numa_set_fakes(0, 0);
}

/* Pages that are not where they were planned, or only for a part of them. */
static void test_elsewhere(void)
{
	const mr_node_list both = {2, {0, 1}}, second = mr_node_list_of(1);
	mr_region_look l;
	char text[300];
	mr_region r;

	mr_numa_set_fakes(2, 0);
	mr_fault_set_fail("numa.bind", 1, EPERM);
	r = region(&second); /* this thread is on node 0: no CPU has been given to node 1 */
	l = mr_region_look_up(&r);
	CU_ASSERT_EQUAL(l.n_elsewhere, 256);
	CU_ASSERT_EQUAL(l.node_os, 0);
	CU_ASSERT_STRING_EQUAL(mr_region_look_text(&r, &l, "w1", text, sizeof(text)),
			       "of the pages of w1, planned for node 1, 100% lie elsewhere, most of them on node 0: "
			       "steps will be slower");
	mr_region_unmap(&r);
	mr_fault_set_fail("numa.bind", 1, EPERM);
	r = region(&both);
	l = mr_region_look_up(&r); /* half of them, without a sixteenth of slack */
	CU_ASSERT(l.n_elsewhere >= 96 && l.n_elsewhere <= 128);
	CU_ASSERT_EQUAL(l.node_os, 0);
	mr_region_unmap(&r);
	MR_CHECK_OK(mr_region_map(&r, BYTES, &second));
	CU_ASSERT_EQUAL(mr_region_bind_part(&r, 100, 64 * PAGE, 0), 63 * PAGE);
	mr_region_prefault(&r, 0, r.bytes);
	CU_ASSERT_EQUAL(mr_region_bind_part(&r, 128 * PAGE, 8 * PAGE, 0), 8 * PAGE); /* too late */
	l = mr_region_look_up(&r);
	CU_ASSERT_EQUAL(l.n_elsewhere, 8);
	CU_ASSERT_EQUAL(l.node_os, 1);
	mr_fault_set_fail("numa.where", 1, EPERM);
	l = mr_region_look_up(&r);
	CU_ASSERT_EQUAL(l.error, EPERM);
	CU_ASSERT_STRING_EQUAL(mr_region_look_text(&r, &l, "w0", text, sizeof(text)),
			       "where the pages of w0 lie is not known, since move_pages fails: Operation not "
			       "permitted");
	mr_fault_set_fail(NULL, 0, 0);
	mr_region_unmap(&r);
	mr_numa_set_fakes(0, 0);
}

#endif

/* This machine itself: pages that are there lie on its nodes, or the kernel does not say. */
static void test_kernel(void)
{
	mr_region_look l;
	mr_region r;

	MR_CHECK_OK(mr_region_map(&r, 1 << 20, NULL));
	l = mr_region_look_up(&r);
	CU_ASSERT(l.error || l.n_pages == 0);
	mr_region_prefault(&r, 0, 1 << 19);
	l = mr_region_look_up(&r);
	CU_ASSERT(l.error || (l.n_pages == (1 << 19) / 4096 && l.n_elsewhere == 0));
	if (l.error)
		fprintf(stderr, "\nnot looked up: move_pages fails: %s\n", strerror(l.error));
	mr_region_unmap(&r);
}

void mr_suite_numa(void); /* the runner declares it too */

void mr_suite_numa(void)
{
	MR_SUITE("numa");
	MR_TEST(test_list);
#ifdef MR_FAULTS
	MR_TEST(test_fakes);
	MR_TEST(test_elsewhere);
#endif
	MR_TEST(test_kernel);
}
