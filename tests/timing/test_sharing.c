/* test_sharing.c - workers that share memory and links: times by hand, and laws on plans that were recorded. */
#include "timing/walk.h"

#include <math.h>

#include "base/rng.h"
#include "check.h"
#include "golden_files.h"
#include "ir/plan_json.h"
#include "lower/lower.h"

/* @n workers that have nothing to do with each other: an F of stage w each, in one iteration. */
static mr_plan *apart(uint16_t n)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(1, n, (uint8_t)n, &p));
	p->n_micro = n;
	p->commits = 0;
	p->contract = (mr_contract){.coverage = MR_COVER_FORWARD, .need = n, .flush = MR_FLUSH_BARRIER};
	for (uint16_t w = 0; w < n; w++) {
		p->worker_of[w] = w;
		MR_CHECK_OK(mr_plan_append(p, w, MR_PROLOGUE,
					   (mr_instr){.op = MR_OP_F, .span = 1, .pipe = (uint8_t)w, .micro = w}));
	}
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	return p;
}

typedef struct tables {
	mr_stage_cost time, memory, link;
	mr_cost cost;
	mr_sharing sharing;
} tables;

static void fill(tables *t, const uint16_t *node, uint16_t n_nodes, double time, double memory, double link)
{
	t->time = (mr_stage_cost){.f = time};
	t->memory = (mr_stage_cost){.f = memory};
	t->link = (mr_stage_cost){.f = link};
	t->cost = (mr_cost){1, &t->time};
	t->sharing = (mr_sharing){.node = node, .n_nodes = n_nodes, .memory = {1, &t->memory}, .link = {1, &t->link},
				  .memory_rate = 10, .link_rate = 4};
}

static double makespan(uint16_t n, const uint16_t *node, uint16_t n_nodes, double time, double memory, double link,
		       mr_shared_use *use)
{
	mr_plan *p = apart(n);
	mr_walk *k;
	tables t;
	double end;

	fill(&t, node, n_nodes, time, memory, link);
	MR_CHECK_OK(mr_plan_walk(p, &t.cost, 0, &(mr_walk_opts){.sharing = &t.sharing, .use = use}, &k));
	end = k->makespan;
	mr_walk_destroy(k);
	mr_plan_destroy(p);
	return end;
}

static void streams_share_a_node(void)
{
	static const uint16_t one[4] = {0}, two[4] = {0, 0, 1, 1};
	mr_shared_use use;

	/* 2 time units of 16 bytes: 8 a unit alone, 16 of 10 for two, 32 of 10 for four */
	CU_ASSERT_DOUBLE_EQUAL(makespan(1, one, 1, 2, 16, 0, &use), 2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(use.memory, 0.8, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(use.slowed, 0, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(makespan(2, one, 1, 2, 16, 0, &use), 3.2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(use.memory, 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(use.slowed, 1 - 2 / 3.2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(makespan(4, one, 1, 2, 16, 0, &use), 6.4, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(makespan(4, two, 2, 2, 16, 0, &use), 3.2, 1e-12);
	/* links: 4 bytes a unit for each node */
	CU_ASSERT_DOUBLE_EQUAL(makespan(2, one, 1, 1, 0, 3, &use), 1.5, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(use.link, 1, 1e-12);
}

/* One worker streams for 2, then computes for 2; the other the other way round: they never meet. */
static void phases_overlap(void)
{
	static const uint16_t node[2] = {0, 0};
	mr_stage_cost time[2] = {{.f = 2}, {.f = 2}}, memory[2] = {{.f = 20}}, link[2] = {{.f = 0}};
	mr_sharing sharing = {.node = node, .n_nodes = 1, .memory = {2, memory}, .link = {2, link}, .memory_rate = 10};
	mr_plan *p;
	mr_walk *k;

	MR_CHECK_OK(mr_plan_create(2, 2, 1, &p));
	p->n_micro = 2;
	p->contract = (mr_contract){.coverage = MR_COVER_FORWARD, .need = 2, .flush = MR_FLUSH_BARRIER};
	for (uint16_t w = 0; w < 2; w++) {
		p->worker_of[w] = w;
		for (uint32_t m = 0; m < 2; m++)
			MR_CHECK_OK(mr_plan_append(p, w, MR_PROLOGUE,
						   (mr_instr){.op = MR_OP_F, .span = 1, .stage = w, .micro = m}));
	}
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_walk(p, &(mr_cost){2, time}, 0, &(mr_walk_opts){.sharing = &sharing}, &k));
	CU_ASSERT_DOUBLE_EQUAL(k->makespan, 6, 1e-12);
	mr_walk_destroy(k);
	/* Stage 1 streams as well: its F of micro-batch 0 and the F of stage 0 of micro-batch 1 take 4 together. */
	memory[1].f = 20;
	MR_CHECK_OK(mr_plan_walk(p, &(mr_cost){2, time}, 0, &(mr_walk_opts){.sharing = &sharing}, &k));
	CU_ASSERT_DOUBLE_EQUAL(k->makespan, 8, 1e-12);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* --- laws --- */

static double draw(uint32_t number, uint32_t what)
{
	return mr_rng_uniform(number, MR_RNG_TEST, 0, what, 0);
}

static double total(const mr_plan *p, const mr_walk *k, const mr_cost *bytes)
{
	double sum = 0;

	for (size_t i = 0; i < k->first[k->n_workers]; i++)
		sum += mr_instr_cost(p, k->at[i].in, bytes);
	return sum;
}

static void laws_of(void *arg, const char *path, uint32_t number)
{
	mr_stage_cost time[64], memory[64] = {{.f = 0}}, link[64] = {{.f = 0}};
	mr_shared_use use;
	mr_sharing h = {.n_nodes = (uint16_t)(1 + number % 3), .memory_rate = 3, .link_rate = 2};
	uint16_t node[64];
	mr_walk_opts opts = {.steals = true, .sharing = &h, .use = &use};
	mr_walk *alone, *shared;
	mr_plan *p;
	mr_cost cost;

	(void)arg;
	MR_CHECK_OK(mr_plan_json_read(path, &p));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	CU_ASSERT_FATAL(p->n_stages <= 64 && p->n_workers <= 64);
	for (uint16_t s = 0; s < p->n_stages; s++)
		time[s] = (mr_stage_cost){.f = 1 + draw(number, s), .i = 1, .w = 0.5 + draw(number, 100 + s), .u = 0.5};
	for (uint16_t w = 0; w < p->n_workers; w++)
		node[w] = w % h.n_nodes;
	h.node = node;
	h.memory = (mr_cost){p->n_stages, memory};
	h.link = (mr_cost){p->n_stages, link};
	cost = (mr_cost){p->n_stages, time};
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &(mr_walk_opts){.steals = true}, &alone));
	/* without bytes nothing is shared */
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &opts, &shared));
	CU_ASSERT_EQUAL(shared->makespan, alone->makespan);
	mr_walk_destroy(shared);
	/* little bytes: the same times, by the other way */
	memory[0].f = 1e-9;
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &opts, &shared));
	CU_ASSERT_DOUBLE_EQUAL(shared->makespan, alone->makespan, 1e-9 * alone->makespan);
	if (p->contract.flush == MR_FLUSH_NONE)
		CU_ASSERT_DOUBLE_EQUAL(shared->period, alone->period, 1e-9 * alone->makespan);
	mr_walk_destroy(shared);
	/* many: nothing is faster, and no node gives more than it has */
	for (uint16_t s = 0; s < p->n_stages; s++) {
		memory[s] = (mr_stage_cost){.f = 4 * draw(number, 200 + s), .i = 2, .w = 3, .u = 4};
		link[s] = (mr_stage_cost){.f = draw(number, 300 + s), .i = 1};
	}
	MR_CHECK_OK(mr_plan_walk(p, &cost, 2, &opts, &shared));
	CU_ASSERT(shared->makespan >= alone->makespan * (1 - 1e-9));
	CU_ASSERT(use.memory <= 1 && use.link <= 1 && use.slowed >= 0 && use.slowed < 1);
	CU_ASSERT(total(p, shared, &h.memory) <= shared->makespan * 3 * h.n_nodes * (1 + 1e-9));
	CU_ASSERT(total(p, shared, &h.link) <= shared->makespan * 2 * h.n_nodes * (1 + 1e-9));
	for (size_t i = 0; i < shared->first[p->n_workers]; i++)
		CU_ASSERT(shared->at[i].end - shared->at[i].begin >=
			  (mr_instr_cost(p, shared->at[i].in, &cost) - 1e-9) * (1 - 1e-9));
	mr_walk_destroy(shared);
	mr_walk_destroy(alone);
	mr_plan_destroy(p);
}

static void laws_hold_on_recorded_plans(void)
{
	CU_ASSERT(mr_golden_each("sync", laws_of, NULL) >= 50);
}

void mr_suite_sharing(void);
void mr_suite_sharing(void)
{
	MR_SUITE("sharing");
	MR_TEST(streams_share_a_node);
	MR_TEST(phases_overlap);
	MR_TEST(laws_hold_on_recorded_plans);
}
