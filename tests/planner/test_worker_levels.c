/* test_worker_levels.c - groups from where workers are, and the stages of a hierarchical partition on them. */
#include "planner/worker_levels.h"

#include "check.h"

enum { MOST = 16 };

/* Where workers are: as many a domain of each kind. */
typedef struct machine {
	uint32_t domain[MR_WORKER_KINDS][MOST];
	double rate[MR_WORKER_KINDS + 1]; /* inside a domain of each kind, and between the highest */
} machine;

static double byte_s(const void *arg, uint32_t from, uint32_t to)
{
	const machine *m = arg;
	uint32_t k = 0;

	for (uint32_t i = 0; i < MR_WORKER_KINDS; i++)
		k = m->domain[i][from] != m->domain[i][to] ? i + 1 : k;
	return 1 / m->rate[k];
}

static mr_worker_places places(machine *m, uint32_t n, uint32_t l3, uint32_t node, uint32_t host)
{
	mr_worker_places p = {.n_workers = n, .byte_s = byte_s, .arg = m};
	uint32_t each[MR_WORKER_KINDS] = {l3, node, host};

	*m = (machine){.rate = {64, 32, 16, 2}};
	for (uint32_t k = 0; k < MR_WORKER_KINDS; k++) {
		for (uint32_t w = 0; w < n; w++)
			m->domain[k][w] = w / each[k];
		p.domain[k] = m->domain[k];
	}
	return p;
}

static void expect(const mr_worker_places *p, uint32_t n, const mr_level *level)
{
	mr_level_problem got = {0};

	mr_worker_levels(p, &got);
	CU_ASSERT_EQUAL_FATAL(got.n_levels, n);
	for (uint32_t k = 0; k < n; k++) {
		CU_ASSERT_EQUAL(got.level[k].parts, level[k].parts);
		CU_ASSERT_DOUBLE_EQUAL(got.level[k].bandwidth, level[k].bandwidth, 1e-9);
	}
}

static void levels_follow_the_machine(void)
{
	machine m;
	mr_worker_places p = places(&m, 16, 2, 4, 8);

	expect(&p, 4, (mr_level[]){{2, 64}, {2, 32}, {2, 16}, {2, 2}});
	p = places(&m, 8, 8, 8, 8); /* one of everything */
	expect(&p, 1, (mr_level[]){{8, 64}});
	p = places(&m, 8, 1, 2, 4); /* a worker a domain */
	expect(&p, 3, (mr_level[]){{2, 32}, {2, 16}, {2, 2}});
	p = places(&m, 1, 1, 1, 1);
	expect(&p, 1, (mr_level[]){{1, 0}});
}

/* Domains with other numbers of workers, and hosts that share what looks like one node, as two hosts like this one. */
static void what_does_not_divide_makes_no_level(void)
{
	machine m;
	mr_worker_places p = places(&m, 8, 3, 4, 8);

	expect(&p, 2, (mr_level[]){{4, 32}, {2, 16}});
	p = places(&m, 8, 8, 8, 4);
	expect(&p, 2, (mr_level[]){{4, 64}, {2, 2}});
	p = places(&m, 6, 4, 6, 6);
	expect(&p, 1, (mr_level[]){{6, 32}});
}

/* Two hosts of two workers. */
static void stages_have_their_workers(void)
{
	mr_layer_row rows[2] = {{.name = "a", .forward = 1, .backward = 3, .activation = 1, .weights = 1},
				{.name = "b", .forward = 1, .backward = 3, .activation = 1, .weights = 1}};
	mr_level_problem p = {.layer = rows, .n_layers = 2, .level = {{2, 1e9}, {2, 1e9}}, .n_levels = 2};
	mr_level_partition c = {0};
	/* each host cuts the model in two, a worker a stage: worker 1 has the second stage */
	mr_level_stage nested[] = {{0, 2, 1, 2, 0, 0}, {0, 1, 0, 1, 0, 0}, {1, 2, 0, 1, 0, 0}};
	/* a host a stage, and two workers each */
	mr_level_stage straight[] = {
		{0, 1, 1, 1, 0, 0}, {0, 1, 0, 2, 0, 0}, {1, 2, 1, 1, 0, 0}, {1, 2, 0, 2, 0, 0}};
	static const uint32_t crossed[] = {0, 2, 1, 3};
	mr_flat_partition f;

	c.stage = nested;
	c.n_stages = 3;
	MR_CHECK_OK(mr_level_partition_flatten(&p, &c, &f));
	CU_ASSERT_EQUAL_FATAL(f.n_stages, 2);
	CU_ASSERT(!f.in_order);
	for (int w = 0; w < 4; w++)
		CU_ASSERT_EQUAL(f.worker[w], crossed[w]);
	CU_ASSERT(f.stage[0].replicas == 2 && f.stage[1].replicas == 2 && f.stage[1].first == 1);
	mr_flat_partition_fini(&f);
	c.stage = straight;
	c.n_stages = 4;
	MR_CHECK_OK(mr_level_partition_flatten(&p, &c, &f));
	CU_ASSERT_EQUAL_FATAL(f.n_stages, 2);
	CU_ASSERT(f.in_order && f.stage[0].replicas == 2 && f.stage[1].end == 2);
	mr_flat_partition_fini(&f);
}

/* Solutions keep all layers and all workers, each once. */
static void solutions_use_all_workers_once(void)
{
	mr_layer_row rows[5];
	mr_level_problem p = {.layer = rows, .n_layers = 5, .n_levels = 2};

	for (uint32_t turn = 0; turn < 24; turn++) {
		uint32_t next = 0, n = 0, seen = 0;
		mr_level_partition c;
		mr_flat_partition f;

		for (uint32_t i = 0; i < 5; i++)
			rows[i] = (mr_layer_row){.name = "l", .forward = 1 + (turn + i) % 3, .backward = 2,
						 .activation = turn * 7 % 11, .weights = turn * (i + 1) % 13};
		p.level[0] = (mr_level){2 + turn % 2, 10};
		p.level[1] = (mr_level){2 + turn % 3, 1};
		MR_CHECK_OK(mr_level_partition_solve(&p, &c));
		MR_CHECK_OK(mr_level_partition_flatten(&p, &c, &f));
		for (uint32_t s = 0; s < f.n_stages; s++) {
			CU_ASSERT_EQUAL(f.stage[s].first, next);
			next = f.stage[s].end;
			for (uint32_t i = 0; i < f.stage[s].replicas; i++)
				seen |= 1u << f.worker[n++];
		}
		CU_ASSERT_EQUAL(next, 5);
		CU_ASSERT_EQUAL(n, p.level[0].parts * p.level[1].parts);
		CU_ASSERT_EQUAL(seen, (1u << n) - 1);
		mr_flat_partition_fini(&f);
		mr_level_partition_fini(&c);
	}
}

void mr_suite_worker_levels(void)
{
	MR_SUITE("worker_levels");
	MR_TEST(levels_follow_the_machine);
	MR_TEST(what_does_not_divide_makes_no_level);
	MR_TEST(stages_have_their_workers);
	MR_TEST(solutions_use_all_workers_once);
}
