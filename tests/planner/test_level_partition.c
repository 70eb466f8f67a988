/* test_level_partition.c - groups in groups: one level is the flat problem, several are what the recursion says. */
#include "planner/level_partition.h"

#include <math.h>

#include "base/rng.h"
#include "check.h"

enum { MOST_LAYERS = 6 };

static double draw(uint32_t number, uint32_t what)
{
	return mr_rng_uniform(number, MR_RNG_TEST, 1, what, 0);
}

static uint32_t make_layers(uint32_t number, mr_layer_row *rows)
{
	uint32_t n = 1 + number % MOST_LAYERS;

	for (uint32_t i = 0; i < n; i++)
		rows[i] = (mr_layer_row){.name = "l",
					 .forward = 1 + floor(4 * draw(number, i)),
					 .backward = 1 + floor(8 * draw(number, 20 + i)),
					 .activation = floor(9 * draw(number, 40 + i)),
					 .weights = floor(20 * draw(number, 60 + i) * draw(number, 80 + i))};
	return n;
}

/* The definition, without a table: the least time of layers [i, j) on @m parts of level @k. */
static double best(const mr_level_problem *p, uint32_t k, uint32_t i, uint32_t j, uint32_t m);

static double shared(const mr_level_problem *p, uint32_t k, uint32_t i, uint32_t j, double m)
{
	double t = 0, w = 0, copies = p->sync == MR_SYNC_2018 ? 4 * (m - 1) / m : 2 * (m - 1);

	for (uint32_t l = i; l < j; l++) {
		t += p->layer[l].forward + p->layer[l].backward;
		w += p->layer[l].weights;
	}
	return fmax(k ? best(p, k - 1, i, j, p->level[k - 1].parts) : t, copies * w / p->level[k].bandwidth) / m;
}

static double best(const mr_level_problem *p, uint32_t k, uint32_t i, uint32_t j, uint32_t m)
{
	double least = shared(p, k, i, j, m);

	for (uint32_t s = i + 1; s < j; s++)
		for (uint32_t last = 1; last < m; last++)
			least = fmin(least, fmax(fmax(best(p, k, i, s, m - last), shared(p, k, s, j, last)),
						 2 * p->layer[s - 1].activation / p->level[k].bandwidth));
	return least;
}

/* The stages of a solution at one level cover their layers and their parts, and none is slower than the answer. */
static uint32_t check_stages(const mr_level_problem *p, const mr_level_partition *c, uint32_t at, uint32_t k,
			     uint32_t first, uint32_t end, double most)
{
	uint32_t parts = 0;

	while (parts < p->level[k].parts && at < c->n_stages) {
		const mr_level_stage *g = &c->stage[at++];

		CU_ASSERT_EQUAL(g->level, k);
		CU_ASSERT_EQUAL(g->first, first);
		CU_ASSERT(g->time <= most * (1 + 1e-9) && g->boundary <= most * (1 + 1e-9));
		CU_ASSERT_DOUBLE_EQUAL(g->time, shared(p, k, g->first, g->end, g->parts), 1e-9);
		parts += g->parts;
		first = g->end;
		if (k)
			at = check_stages(p, c, at, k - 1, g->first, g->end, g->time * g->parts);
	}
	CU_ASSERT_EQUAL(parts, p->level[k].parts);
	CU_ASSERT_EQUAL(first, end);
	return at;
}

static void levels_follow_the_recursion(void)
{
	for (uint32_t number = 0; number < 200; number++) {
		mr_layer_row rows[MOST_LAYERS];
		mr_level_problem p = {.layer = rows, .n_levels = 1 + number % 3,
				      .sync = number % 2 ? MR_SYNC_2018 : MR_SYNC_2019};
		mr_level_partition c;

		p.n_layers = make_layers(number, rows);
		for (uint32_t k = 0; k < p.n_levels; k++)
			p.level[k] = (mr_level){1 + (number / 3 + k) % 3, 1 + 8 * draw(number, 100 + k)};
		MR_CHECK_OK(mr_level_partition_solve(&p, &c));
		CU_ASSERT_DOUBLE_EQUAL(c.bottleneck,
				       best(&p, p.n_levels - 1, 0, p.n_layers, p.level[p.n_levels - 1].parts), 1e-9);
		CU_ASSERT(mr_level_partition_shared(&p) >= c.bottleneck * (1 - 1e-9));
		CU_ASSERT_EQUAL(check_stages(&p, &c, 0, p.n_levels - 1, 0, p.n_layers, c.bottleneck), c.n_stages);
		mr_level_partition_fini(&c);
	}
}

static void one_level_is_flat(void)
{
	for (uint32_t number = 0; number < 200; number++) {
		mr_layer_row rows[MOST_LAYERS];
		uint32_t n = make_layers(number, rows), workers = 1 + number % 5;
		mr_sync_rule sync = number % 2 ? MR_SYNC_2018 : MR_SYNC_2019;
		mr_replica_problem flat = {.layer = rows, .n_layers = n, .n_workers = workers, .local = 3,
					   .sync = sync};
		mr_level_problem p = {.layer = rows, .n_layers = n, .level = {{workers, 3}}, .n_levels = 1,
				      .sync = sync};
		mr_replica_partition a;
		mr_level_partition c;
		bool found;

		MR_CHECK_OK(mr_replica_partition_solve(&flat, &a, &found));
		MR_CHECK_OK(mr_level_partition_solve(&p, &c));
		CU_ASSERT(found);
		CU_ASSERT_DOUBLE_EQUAL(c.bottleneck, a.bottleneck, 1e-9);
		mr_replica_partition_fini(&a);
		mr_level_partition_fini(&c);
	}
}

static void too_many_layers_are_refused(void)
{
	static mr_layer_row rows[4000];
	mr_level_problem p = {.layer = rows, .n_layers = 4000, .level = {{64, 1}}, .n_levels = 1};
	mr_level_partition c;

	MR_CHECK_FAIL(mr_level_partition_solve(&p, &c), MR_ECONFIG, "4000 layers take");
}

void mr_suite_level_partition(void);
void mr_suite_level_partition(void)
{
	MR_SUITE("level_partition");
	MR_TEST(levels_follow_the_recursion);
	MR_TEST(one_level_is_flat);
	MR_TEST(too_many_layers_are_refused);
}
