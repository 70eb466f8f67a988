#include "host/place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void append(char *text, size_t size, const char *before, unsigned number, const char *behind)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%u%s", before, number, behind);
}

/* "0-3,8", and "0-6:2" of every second one. */
static void append_cpus(const mr_place_worker *w, const char *before, char *text, size_t size)
{
	for (uint32_t i = 0; i < w->n_threads;) {
		uint32_t step = i + 1 < w->n_threads ? w->cpu[i + 1] - w->cpu[i] : 0, j = i;

		while (step && step <= 2 && j + 1 < w->n_threads && w->cpu[j + 1] - w->cpu[j] == step)
			j++;
		append(text, size, i ? "," : before, w->cpu[i], "");
		if (j > i)
			append(text, size, "-", w->cpu[j], step == 1 ? "" : ":2");
		i = j + 1;
	}
}

/* The placement of @n workers on @machine as text: "0-3 4-7", one list a worker. NULL params = equal groups. */
static const char *place(const char *machine, const mr_place_params *p, char *text, size_t size)
{
	mr_place place;
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic(machine, &t));
	MR_CHECK_OK(mr_place_init(&place, &t, p));
	text[0] = '\0';
	for (uint32_t w = 0; w < place.n_workers; w++) {
		append_cpus(&place.worker[w], w ? " " : "", text, size);
	}
	mr_place_fini(&place);
	mr_topo_fini(&t);
	return text;
}

static void expect(const char *machine, uint32_t n, const char *expected)
{
	mr_place_params p;
	char text[600];

	mr_place_defaults(&p, n);
	place(machine, &p, text, sizeof(text));
	if (strcmp(text, expected))
		fprintf(stderr, "\n%s, %u workers: %s, expected %s\n", machine, n, text, expected);
	CU_ASSERT_STRING_EQUAL(text, expected);
}

static void test_equal(void)
{
	expect("numa:1 core:2 pu:1", 1, "0-1");
	expect("numa:1 core:2 pu:1", 2, "0 1");
	expect("numa:2 core:8 pu:1", 4, "0-3 4-7 8-11 12-15");
	expect("numa:2 core:8 pu:1", 2, "0-7 8-15");
	expect("numa:2 core:4 pu:2", 2, "0-6:2 8-14:2");
	expect("numa:4 core:16 pu:1", 8, "0-7 8-15 16-23 24-31 32-39 40-47 48-55 56-63");
}

/* Sizes stay equal: cores that do not divide stay idle rather than make one worker different or straddle a node. */
static void test_equal_with_rest(void)
{
	expect("numa:1 core:5 pu:1", 2, "0-1 2-3");
	expect("numa:2 core:8 pu:1", 3, "0-3 4-7 8-11");
	expect("numa:2 core:3 pu:1", 4, "0 1 3 4");
	expect("numa:4 core:16 pu:1", 6, "0-7 8-15 16-23 24-31 32-39 48-55");
}

static void expect_uneven(const char *machine, uint32_t n, uint32_t most, const char *expected)
{
	mr_place_params p;
	char text[600];

	mr_place_defaults(&p, n);
	p.uneven = true;
	p.max_threads = most;
	CU_ASSERT_STRING_EQUAL(place(machine, &p, text, sizeof(text)), expected);
}

/* Workers of a node share all its cores, and each node has one while there are enough. */
static void test_uneven_teams(void)
{
	expect_uneven("numa:1 core:5 pu:1", 2, 0, "0-2 3-4");
	expect_uneven("numa:1 core:5 pu:1", 5, 0, "0 1 2 3 4");
	expect_uneven("numa:1 core:5 pu:1", 2, 2, "0-1 3-4");
	expect_uneven("numa:2 core:8 pu:1", 3, 0, "0-3 4-7 8-15");
	expect_uneven("numa:2 core:3 pu:1", 4, 0, "0-1 2 3-4 5");
	expect_uneven("numa:4 core:2 pu:1", 3, 0, "0-2 3-5 6-7"); /* fewer workers than nodes */
	expect_uneven("l3:2 core:4 pu:1", 3, 0, "0-1 2-3 4-7"); /* within L3 domains */
	expect_uneven("numa:1 core:2 pu:1", 3, 0, "0 1 0"); /* shared, as without it */
}

static void test_fewer_workers_than_nodes(void)
{
	mr_place_params p;
	char text[600];

	expect("numa:4 core:4 pu:1", 1, "0-15");
	expect("numa:4 core:16 pu:2", 1, "0-126:2");
	expect("numa:4 core:4 pu:1", 2, "0-7 8-15");
	expect("numa:4 core:4 pu:1", 3, "0-4 5-9 10-14");
	mr_place_defaults(&p, 3); /* as many threads as a node has cores: each worker has a node of its own */
	p.max_threads = 4;
	CU_ASSERT_STRING_EQUAL(place("numa:4 core:4 pu:1", &p, text, sizeof(text)), "0-3 4-7 8-11");
	p.max_threads = 1;
	CU_ASSERT_STRING_EQUAL(place("numa:4 core:4 pu:1", &p, text, sizeof(text)), "0 4 8");
}

/* "0 0-1 2", the memory of each worker. */
static const char *memories(const char *machine, uint32_t n, char *text, size_t size)
{
	mr_place_params p;
	mr_place place_;
	char one[64];
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic(machine, &t));
	mr_place_defaults(&p, n);
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	text[0] = '\0';
	for (uint32_t w = 0; w < n; w++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", w ? " " : "",
			 mr_node_list_text(&place_.worker[w].memory, one, sizeof(one)));
	}
	mr_place_fini(&place_);
	mr_topo_fini(&t);
	return text;
}

static void test_memories(void)
{
	char text[200];

	CU_ASSERT_STRING_EQUAL(memories("numa:4 core:4", 1, text, sizeof(text)), "0-3");
	CU_ASSERT_STRING_EQUAL(memories("numa:4 core:4", 2, text, sizeof(text)), "0-1 2-3");
	CU_ASSERT_STRING_EQUAL(memories("numa:4 core:4", 3, text, sizeof(text)), "0-1 1-2 2-3");
	CU_ASSERT_STRING_EQUAL(memories("numa:4 core:4", 4, text, sizeof(text)), "0 1 2 3");
	CU_ASSERT_STRING_EQUAL(memories("numa:2 core:4", 8, text, sizeof(text)), "0 0 0 0 1 1 1 1");
	CU_ASSERT_STRING_EQUAL(memories("core:4", 2, text, sizeof(text)), "0 0");
}

/* Regions go to their workers' nodes until these are full, then to all that have room. */
static void test_claims(void)
{
	const uint64_t gib = (uint64_t)1 << 30;
	uint64_t claimed[2] = {0};
	mr_place_params p;
	mr_node_list l;
	mr_place place_;
	bool elsewhere;
	char text[16];
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("numa:2(memory=8GB) core:2", &t));
	CU_ASSERT_EQUAL_FATAL(t.n_memories, 2);
	mr_place_defaults(&p, 2);
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	place_.memory[0].bytes = place_.memory[1].bytes = 8 * gib; /* of which regions take 7.5 */
	for (int i = 0; i < 4; i++) {
		static const char *const on[] = {"0", "1", "0-1", "1"};
		static const uint64_t part[] = {6, 2, 3, 3};
		static const uint32_t of[] = {0, 1, 0, 1};

		l = mr_place_claim(&place_, &place_.worker[of[i]], part[i] * gib, claimed, &elsewhere);
		CU_ASSERT_STRING_EQUAL(mr_node_list_text(&l, text, sizeof(text)), on[i]);
		CU_ASSERT_EQUAL(elsewhere, i == 2);
	}
	CU_ASSERT_EQUAL(claimed[0], 15 * gib / 2);
	CU_ASSERT_EQUAL(claimed[1], 13 * gib / 2);
	l = mr_place_claim(&place_, &place_.worker[0], gib / 2, claimed, &elsewhere); /* node 1 alone has room */
	CU_ASSERT_STRING_EQUAL(mr_node_list_text(&l, text, sizeof(text)), "1");
	l = mr_place_claim(&place_, &place_.worker[0], 4 * gib, claimed, &elsewhere); /* none has */
	CU_ASSERT_EQUAL(l.n, 0);
	CU_ASSERT_EQUAL(claimed[0], 23 * gib / 2); /* so that the plan shows the want */
	mr_place_fini(&place_);
	mr_topo_fini(&t);
}

/* What is free counts, not what a node has; spare memory comes after that of nodes with cores. */
static void test_claims_of_what_is_free(void)
{
	const uint64_t gib = (uint64_t)1 << 30;
	mr_topo_memory three[3];
	uint64_t claimed[3] = {0};
	mr_place_params p;
	mr_node_list l;
	mr_place place_;
	bool elsewhere;
	char text[16];
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("numa:2(memory=16GB) core:2", &t));
	mr_place_defaults(&p, 2);
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	three[0] = (mr_topo_memory){.bytes = 16 * gib, .free_bytes = 8 * gib, .os_index = 0};
	three[1] = (mr_topo_memory){.bytes = 16 * gib, .free_bytes = gib, .os_index = 1};
	three[2] = (mr_topo_memory){.bytes = 64 * gib, .free_bytes = 64 * gib, .os_index = 4, .spare = true};
	free(place_.memory);
	place_.memory = three;
	place_.n_memories = 3;
	for (int i = 0; i < 5; i++) {
		static const char *const on[] = {"1", "0", "4", "4", "any"};
		static const uint64_t half[] = {1, 6, 20, 40, 300};

		l = mr_place_claim(&place_, &place_.worker[1], half[i] * gib / 2, claimed, &elsewhere);
		CU_ASSERT_STRING_EQUAL(mr_node_list_text(&l, text, sizeof(text)), on[i]);
		CU_ASSERT_EQUAL(elsewhere, i > 0);
	}
	mr_place_count_free(&place_); /* a synthetic machine has no other memory than it was made with */
	CU_ASSERT_EQUAL(place_.memory[1].free_bytes, gib);
	place_.memory = NULL;
	mr_place_fini(&place_);
	mr_topo_fini(&t);
}

/* A machine of a file of lstopo: uneven nodes, a core without an allowed CPU, and nodes without usable memory. */
static void write_machine(const char *path)
{
	static const char *const nodes[] = {
		"<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x0f\" complete_cpuset=\"0x0f\" nodeset=\"0x1\" "
		"complete_nodeset=\"0x1\" gp_index=\"50\" local_memory=\"8589934592\"/>",
		"<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x30\" complete_cpuset=\"0x30\" nodeset=\"0x2\" "
		"complete_nodeset=\"0x2\" gp_index=\"51\" local_memory=\"0\"/>",
		"<object type=\"NUMANode\" os_index=\"2\" cpuset=\"0xc0\" complete_cpuset=\"0xc0\" nodeset=\"0x4\" "
		"complete_nodeset=\"0x4\" gp_index=\"52\" local_memory=\"4294967296\"/>",
	};
	static const unsigned first[] = {0, 4, 6, 8};
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
	      "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" cpuset=\"0xff\" "
	      "complete_cpuset=\"0xff\" allowed_cpuset=\"0xfd\" nodeset=\"0x7\" complete_nodeset=\"0x7\" "
	      "allowed_nodeset=\"0x3\" gp_index=\"1\">\n", f);
	for (unsigned n = 0; n < 3; n++) {
		unsigned set = ((1u << (first[n + 1] - first[n])) - 1) << first[n];

		fprintf(f, "<object type=\"Package\" os_index=\"%u\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
			   "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%u\">\n%s\n",
			n, set, set, 1u << n, 1u << n, 10 + n, nodes[n]);
		for (unsigned c = first[n]; c < first[n + 1]; c++)
			fprintf(f, "<object type=\"Core\" os_index=\"%u\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
				   "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%u\">"
				   "<object type=\"PU\" os_index=\"%u\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" "
				   "nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%u\"/></object>\n",
				c, 1u << c, 1u << c, 1u << n, 1u << n, 20 + c, c, 1u << c, 1u << c, 1u << n, 1u << n,
				30 + c);
		fputs("</object>\n", f);
	}
	fputs("</object>\n<distances2 type=\"NUMANode\" nbobjs=\"3\" kind=\"5\" indexing=\"os\">\n"
	      "<indexes length=\"6\">0 1 2 </indexes>\n"
	      "<u64values length=\"27\">10 21 31 21 10 15 31 15 10 </u64values>\n</distances2>\n</topology>\n", f);
	fclose(f);
}

static void test_uneven_machine(void)
{
	char path[] = "/tmp/mr_machine_XXXXXX.xml", text[200];
	int fd = mkstemps(path, 4);
	mr_topo t;

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	write_machine(path);
	MR_CHECK_OK(mr_topo_synthetic(path, &t));
	CU_ASSERT_EQUAL_FATAL(t.n_nodes, 3);
	CU_ASSERT_EQUAL(t.n_cores, 7); /* CPU 1 is not allowed */
	CU_ASSERT_EQUAL(t.n_machine_cores, 8);
	CU_ASSERT_EQUAL(t.core[1].cpu, 2);
	CU_ASSERT_EQUAL(t.n_memories, 1); /* node 1 has none, node 2's is not allowed: node 0 is the nearest left */
	CU_ASSERT_EQUAL(t.memory_bytes, 8589934592u);
	CU_ASSERT_EQUAL(t.node[2].memory, 0);
	mr_topo_fini(&t);
	expect(path, 3, "0-2:2 4-5 6-7");
	expect(path, 2, "0-2:2,3 4-6");
	expect(path, 1, "0-2:2,3-7");
	expect_uneven(path, 3, 0, "0-2:2,3 4-5 6-7");
	expect_uneven(path, 4, 0, "0-2:2 3 4-5 6-7");
	expect_uneven(path, 2, 0, "0-2:2,3-4 5-7");
	CU_ASSERT_STRING_EQUAL(memories(path, 3, text, sizeof(text)), "0 0 0");
	unlink(path);
	MR_CHECK_FAIL(mr_topo_synthetic(path, &t), MR_EINVAL, "cannot read a machine from this file");
}

/* Groups stay inside L3 domains as long as that does not make them smaller. */
static void test_l3(void)
{
	expect("numa:1 l3:2 core:3 pu:1", 2, "0-2 3-5");
	expect("numa:1 l3:2 core:3 pu:1", 3, "0-1 2-3 4-5"); /* size 2 needs the domain in the middle */
	expect("numa:1 l3:4 core:4 pu:1", 3, "0-4 5-9 10-14");
	expect("numa:1 l3:2 core:5 pu:1", 4, "0-1 2-3 5-6 7-8");
}

static void test_more_workers_than_cores(void)
{
	mr_place_params p;
	mr_place place_;
	char text[200];
	mr_topo t;

	expect("numa:1 core:2 pu:1", 5, "0 1 0 1 0");
	MR_CHECK_OK(mr_topo_synthetic("numa:1 core:2 pu:1", &t));
	mr_place_defaults(&p, 3);
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	CU_ASSERT_TRUE(place_.shared);
	CU_ASSERT_TRUE(place_.worker[0].shared);
	CU_ASSERT_FALSE(place_.worker[1].shared);
	CU_ASSERT_FALSE(place_.bindable);
	CU_ASSERT_FALSE(place_.worker[2].bindable);
	CU_ASSERT_EQUAL(place_.n_cores_used, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_place_print_notes(&place_, text, sizeof(text)), "share"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "synthetic"));
	mr_place_fini(&place_);
	mr_topo_fini(&t);
}

static void test_sizes(void)
{
	static const uint32_t a[] = {3, 3, 2}, b[] = {6, 6, 4}, c[] = {2, 2, 2}, d[] = {1, 9};
	mr_place_params p;
	mr_place place_;
	char text[200];
	mr_topo t;

	mr_place_defaults(&p, 3);
	p.n_threads = a;
	CU_ASSERT_STRING_EQUAL(place("numa:2 core:8 pu:1", &p, text, sizeof(text)), "0-2 3-5 6-7");
	p.n_threads = b; /* 6 + 6 + 4 fill the machine: no room to skip the rest of a node */
	CU_ASSERT_STRING_EQUAL(place("numa:2 core:8 pu:1", &p, text, sizeof(text)), "0-5 6-11 12-15");
	p.n_threads = c; /* 6 threads on 4 cores: around the end */
	CU_ASSERT_STRING_EQUAL(place("numa:1 core:4 pu:1", &p, text, sizeof(text)), "0-1 2-3 0-1");
	MR_CHECK_OK(mr_topo_synthetic("numa:2 core:4 pu:1", &t));
	mr_place_defaults(&p, 2);
	p.n_threads = d;
	MR_CHECK_FAIL(mr_place_init(&place_, &t, &p), MR_ERESOURCE, "worker 1 asks for 9 threads");
	p.n_threads = b;
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	CU_ASSERT_TRUE(place_.worker[0].straddles);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_place_print_notes(&place_, text, sizeof(text)), "more than one node"));
	mr_place_fini(&place_);
	mr_topo_fini(&t);
}

static void test_lists(void)
{
	static const struct {
		const char *cpus, *part;
	} bad[] = {
		{"0-1", "1 CPU lists for 2"},        {"0 1 2", "more CPU lists"},   {"0 8", "CPU 8 is not"},
		{"0-1 3-2", "bad range"},            {"0,x 1", "expected a number"}, {"0 1x", "expected ','"},
		{"0,0 1", "CPU 0 twice"},            {"", "0 CPU lists"},           {"0-99999999 1", "CPU 8 is not"},
		{"0-1234567 1", "CPU 8 is not"},     {"0,,1 2", "expected a number"},
	};
	mr_place_params p;
	mr_place place_;
	char text[200];
	mr_topo t;

	mr_place_defaults(&p, 2);
	p.cpus = "0-2,5 ; 3,4";
	CU_ASSERT_STRING_EQUAL(place("numa:2 core:4 pu:1", &p, text, sizeof(text)), "0-2,5 3-4");
	MR_CHECK_OK(mr_topo_synthetic("numa:2 core:4 pu:1", &t));
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	CU_ASSERT_TRUE(place_.worker[0].straddles);
	CU_ASSERT_TRUE(place_.worker[1].straddles);
	CU_ASSERT_EQUAL(place_.worker[0].n_threads, 4);
	CU_ASSERT_EQUAL(place_.n_cores_idle, 2);
	mr_place_fini(&place_);
	p.cpus = "0-1 1-2";
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	CU_ASSERT_TRUE(place_.shared);
	mr_place_fini(&place_);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		p.cpus = bad[i].cpus;
		MR_CHECK_FAIL(mr_place_init(&place_, &t, &p), MR_ECONFIG, bad[i].part);
	}
	mr_topo_fini(&t);
}

/* Over a grid of machines: all CPUs distinct unless shared, equal sizes, no larger size possible, and no straddling
 * unless there are more nodes than workers. */
static void test_grid(void)
{
	for (uint32_t nodes = 1; nodes <= 3; nodes++)
		for (uint32_t cores = 1; cores <= 7; cores++)
			for (uint32_t n = 1; n <= nodes * cores; n++) {
				uint32_t k, larger = 0;
				mr_place_params p;
				char machine[64];
				mr_place place_;
				mr_topo t;

				snprintf(machine, sizeof(machine), "numa:%u core:%u pu:1", nodes, cores);
				MR_CHECK_OK(mr_topo_synthetic(machine, &t));
				mr_place_defaults(&p, n);
				MR_CHECK_OK(mr_place_init(&place_, &t, &p));
				k = place_.worker[0].n_threads;
				larger = n < nodes ? nodes * cores / (k + 1) : cores / (k + 1) * nodes;
				CU_ASSERT(larger < n);
				CU_ASSERT_FALSE(place_.shared);
				CU_ASSERT_EQUAL(place_.n_cores_used, n * k);
				CU_ASSERT_EQUAL(place_.n_cores_idle, nodes * cores - n * k);
				for (uint32_t w = 0; w < n; w++) {
					CU_ASSERT_EQUAL(place_.worker[w].n_threads, k);
					CU_ASSERT(n < nodes || !place_.worker[w].straddles);
				}
				mr_place_fini(&place_);
				mr_topo_fini(&t);
			}
}

/* Is worker @w right: its threads on cores of its own that follow each other, its memory that of these cores? */
static bool is_right(const mr_topo *t, const mr_place *place_, uint32_t w)
{
	const mr_place_worker *worker = &place_->worker[w];
	mr_node_list memory = {0};
	bool right = worker->n_threads > 0;

	for (uint32_t i = 0; i < worker->n_threads; i++) {
		uint32_t core = worker->cpu[i] / t->core[0].n_pus;

		right = right && worker->cpu[i] == t->core[core].cpu && (i == 0 || worker->cpu[i] > worker->cpu[i - 1]);
		mr_node_list_add(&memory, t->memory[t->node[t->core[core].node].memory].os_index);
	}
	return right && memory.n == worker->memory.n &&
	       !memcmp(memory.os, worker->memory.os, memory.n * sizeof(uint32_t));
}

/* 1 to 512 cores on 1 to 16 nodes, with one or two PUs a core and one or more L3 domains a node, and from one worker to
 * more than there are cores: none is idle while its number of threads could grow, and none is shared before it must. */
static void test_large_machines(void)
{
	for (uint32_t nodes = 1; nodes <= 16; nodes *= 2)
		for (uint32_t cores = 1; cores * nodes <= 512; cores *= 4)
			for (uint32_t i = 0; i < 6; i++) {
				const uint32_t all = nodes * cores, some[] = {1, 3, nodes, all / 2 + 1, all, all + 3};
				char machine[80];
				mr_place place_;
				mr_topo t;

				snprintf(machine, sizeof(machine), "numa:%u l3:%u core:%u pu:%u", nodes,
					 cores > 4 ? 4 : 1, cores > 4 ? cores / 4 : cores, 1 + i % 2);
				MR_CHECK_OK(mr_topo_synthetic(machine, &t));
				MR_CHECK_OK(mr_place_init(&place_, &t, &(mr_place_params){.n_workers = some[i]}));
				CU_ASSERT_EQUAL(place_.shared, some[i] > all);
				CU_ASSERT_EQUAL(place_.n_cores_used + place_.n_cores_idle, all);
				CU_ASSERT(i || place_.n_cores_used == all);
				for (uint32_t w = 0; w < some[i]; w++)
					CU_ASSERT_TRUE(is_right(&t, &place_, w));
				mr_place_fini(&place_);
				mr_topo_fini(&t);
			}
}

/* A quota inside a node: only the first usable cores count. */
static void test_quota(void)
{
	mr_place_params p;
	mr_place place_;
	mr_topo t;

	MR_CHECK_OK(mr_topo_synthetic("numa:2 core:4 pu:1", &t));
	t.n_usable = 6;
	mr_place_defaults(&p, 2);
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	CU_ASSERT_EQUAL(place_.worker[0].n_threads, 2);
	CU_ASSERT_EQUAL(place_.n_cores_idle, 2);
	for (uint32_t i = 0; i < 4; i++)
		CU_ASSERT(place_.cpu[i] < 6);
	mr_place_fini(&place_);
	p.max_threads = 1;
	MR_CHECK_OK(mr_place_init(&place_, &t, &p));
	CU_ASSERT_EQUAL(place_.worker[1].n_threads, 1);
	mr_place_fini(&place_);
	mr_place_defaults(&p, 0);
	MR_CHECK_FAIL(mr_place_init(&place_, &t, &p), MR_EINVAL, "no workers");
	mr_topo_fini(&t);
}

void mr_suite_place(void); /* the runner declares it too */

void mr_suite_place(void)
{
	MR_SUITE("place");
	MR_TEST(test_equal);
	MR_TEST(test_equal_with_rest);
	MR_TEST(test_uneven_teams);
	MR_TEST(test_fewer_workers_than_nodes);
	MR_TEST(test_memories);
	MR_TEST(test_claims);
	MR_TEST(test_claims_of_what_is_free);
	MR_TEST(test_uneven_machine);
	MR_TEST(test_l3);
	MR_TEST(test_more_workers_than_cores);
	MR_TEST(test_sizes);
	MR_TEST(test_lists);
	MR_TEST(test_grid);
	MR_TEST(test_large_machines);
	MR_TEST(test_quota);
}
