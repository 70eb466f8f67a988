#include "host/place.h"

#include <string.h>

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

static void test_fewer_workers_than_nodes(void)
{
	mr_place_params p;
	char text[600];

	expect("numa:4 core:4 pu:1", 1, "0-3");
	expect("numa:4 core:4 pu:1", 3, "0-3 4-7 8-11");
	mr_place_defaults(&p, 2);
	p.straddle = true;
	CU_ASSERT_STRING_EQUAL(place("numa:4 core:4 pu:1", &p, text, sizeof(text)), "0-7 8-15");
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

/* Over a grid of machines: all CPUs distinct unless shared, equal sizes, no straddling, and no larger size possible. */
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
				larger = cores / (k + 1) * nodes;
				CU_ASSERT(larger < n);
				CU_ASSERT_FALSE(place_.shared);
				CU_ASSERT_EQUAL(place_.n_cores_used, n * k);
				CU_ASSERT_EQUAL(place_.n_cores_idle, nodes * cores - n * k);
				for (uint32_t w = 0; w < n; w++) {
					CU_ASSERT_EQUAL(place_.worker[w].n_threads, k);
					CU_ASSERT_FALSE(place_.worker[w].straddles);
				}
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
	MR_TEST(test_fewer_workers_than_nodes);
	MR_TEST(test_l3);
	MR_TEST(test_more_workers_than_cores);
	MR_TEST(test_sizes);
	MR_TEST(test_lists);
	MR_TEST(test_grid);
	MR_TEST(test_quota);
}
