/* The simulator: without disturbances it equals the walk; disturbances are checked against times computed by hand. */
#include "timing/walk.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "lower/lower.h"
#include "ir/plan_json.h"

#define N_ORDERS 62

static mr_plan *lowered(const char *path)
{
	mr_plan *p = NULL;

	MR_CHECK_OK(mr_plan_json_read(path, &p));
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	return p;
}

static mr_walk *sim_of(const mr_plan *p, const mr_cost *cost, uint32_t n_bodies, mr_walk_opts params)
{
	mr_walk *k = NULL;

	MR_CHECK_OK(mr_plan_walk(p, cost, n_bodies, &params, &k));
	return k;
}

static mr_walk *sim(const mr_plan *p, const mr_cost *cost, mr_walk_opts params)
{
	return sim_of(p, cost, 1, params);
}

static bool same_times(const mr_walk *a, const mr_walk *b)
{
	for (size_t i = 0; i < a->first[a->n_workers]; i++)
		if (a->at[i].begin != b->at[i].begin || a->at[i].end != b->at[i].end ||
		    a->at[i].cause != b->at[i].cause)
			return false;
	return a->makespan == b->makespan && a->period == b->period;
}

static double makespan_of(const mr_json *root)
{
	const mr_json *by = mr_json_get(mr_json_get(root, "expect"), "by_cost");

	return mr_json_double(mr_json_get(mr_json_get(by, "f2_i3_w1"), "makespan"));
}

/* Nothing that bends: the walk to the last bit, and the makespan that an independent simulation found. */
static void one_golden(void *arg, const char *path, uint32_t number)
{
	static const mr_straggler as_fast = {1, 1, 0, INFINITY};
	uint16_t node[64];
	mr_plan *p = lowered(path);
	mr_stage_cost stage[64];
	mr_json *root = NULL;
	mr_cost cost;
	mr_walk *w, *k;

	(void)arg;
	(void)number;
	MR_CHECK_OK(mr_json_read_file(path, 1 << 24, &root));
	CU_ASSERT_FATAL(p->n_stages <= 64 && p->n_workers <= 64);
	mr_cost_share(p, 2, 3, 1, stage, &cost);
	MR_CHECK_OK(mr_plan_walk(p, &cost, 1, NULL, &w));
	CU_ASSERT_DOUBLE_EQUAL(w->makespan, makespan_of(root), 1e-8 * w->makespan);
	k = sim(p, &cost, (mr_walk_opts){0});
	CU_ASSERT_TRUE(same_times(w, k));
	mr_walk_destroy(k);
	k = sim(p, &cost, (mr_walk_opts){.jitter = MR_JITTER_LOGNORMAL, .seed = 3});
	CU_ASSERT_TRUE(same_times(w, k));
	mr_walk_destroy(k);
	mr_nodes_spread(p->n_workers, 2, node);
	k = sim(p, &cost, (mr_walk_opts){.node = node, .straggler = &as_fast, .n_stragglers = 1});
	CU_ASSERT_TRUE(same_times(w, k));
	mr_walk_destroy(k);
	mr_walk_destroy(w);
	mr_json_destroy(root);
	mr_plan_destroy(p);
}

static void goldens(void)
{
	CU_ASSERT_EQUAL(mr_golden_each("sync", one_golden, NULL), N_ORDERS);
}

/* @n_workers workers, @n_micro micro-batches, all F then all B, stage s on worker s. */
static mr_plan *all_f_all_b(uint16_t n_workers, uint32_t n_micro)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(n_workers, n_workers, 1, &p));
	p->n_micro = n_micro;
	p->commits = 1;
	p->contract = (mr_contract){.flush = MR_FLUSH_BARRIER, .need = n_micro, .same_version_b = true};
	for (uint16_t w = 0; w < n_workers; w++) {
		p->worker_of[w] = w;
		for (uint32_t i = 0; i < 2 * n_micro; i++)
			MR_CHECK_OK(mr_plan_append(p, w, MR_BODY,
						   (mr_instr){.op = i < n_micro ? MR_OP_F : MR_OP_B,
							      .span = 1,
							      .stage = w,
							      .micro = i % n_micro}));
	}
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	return p;
}

static const mr_walk_rec *find(const mr_walk *k, mr_op op, uint16_t stage, uint32_t micro)
{
	for (size_t i = 0; i < k->first[k->n_workers]; i++)
		if (k->at[i].in->op == op && k->at[i].in->stage == stage && k->at[i].in->micro == micro &&
		    k->at[i].n == 0)
			return &k->at[i];
	CU_FAIL_FATAL("no such instruction");
	return NULL;
}

#define ONE {.f = 1, .i = 1, .w = 1}

static const mr_stage_cost ones[8] = {ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE};

/* w0 F0 F1 . . . . B0 B1, w1 twice as slow: its F 1-3, 3-5, its B (2 each, so 4) 5-9, 9-13; w0's B 9-11, 13-15. */
static void slow_for_good(void)
{
	mr_plan *p = all_f_all_b(2, 2);
	mr_straggler s = {1, 2, 0, INFINITY};
	mr_walk *k = sim(p, &(mr_cost){2, ones}, (mr_walk_opts){.straggler = &s, .n_stragglers = 1});

	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 1)->begin, 3);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 1)->end, 5);
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 1, 0)->end, 9);
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 0, 0)->begin, 9);
	CU_ASSERT_EQUAL(k->makespan, 15);
	CU_ASSERT_EQUAL(k->busy[0], 6);
	CU_ASSERT_EQUAL(k->busy[1], 12);
	CU_ASSERT_EQUAL(k->bubble_flush, 1 - 18. / 30);
	CU_ASSERT_EQUAL(k->period, 15); /* regular, so exact */
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* One worker, F of 1 each, three times as slow from 0.5 to 2: half of F0 is done when it begins, its other half takes
 * 1.5 and ends with it; F1 is as fast as ever. Two overlapping stretches multiply; a stretch inside one instruction
 * ends inside it. */
static void slow_for_a_while(void)
{
	mr_plan *p = all_f_all_b(1, 4);
	mr_straggler one = {0, 3, 0.5, 2}, two[] = {{0, 2, 1, 3}, {0, 4, 2, 4}}, brief = {0, 11, 0.25, 0.8};
	mr_walk *k = sim(p, &(mr_cost){1, ones}, (mr_walk_opts){.straggler = &one, .n_stragglers = 1});

	CU_ASSERT_DOUBLE_EQUAL(find(k, MR_OP_F, 0, 0)->end, 2, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(find(k, MR_OP_F, 0, 1)->end, 3, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(k->makespan, 4 * 3 + 1, 1e-12); /* 1.5 of time for 0.5 of work */
	mr_walk_destroy(k);
	/* From 1 to 2 half speed: F1 is half done; from 2 to 3 an eighth: 5/8; from 3 to 4 a quarter: 7/8; then the
	 * rest. */
	k = sim(p, &(mr_cost){1, ones}, (mr_walk_opts){.straggler = two, .n_stragglers = 2});
	CU_ASSERT_DOUBLE_EQUAL(find(k, MR_OP_F, 0, 0)->end, 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(find(k, MR_OP_F, 0, 1)->end, 4.125, 1e-12);
	mr_walk_destroy(k);
	/* 0.25 before, 0.55 of time for 0.05 of work inside, 0.7 after. */
	k = sim(p, &(mr_cost){1, ones}, (mr_walk_opts){.straggler = &brief, .n_stragglers = 1});
	CU_ASSERT_DOUBLE_EQUAL(find(k, MR_OP_F, 0, 0)->end, 1.5, 1e-12);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* Who is slow from some time on has no period but a mean, of enough iterations that both kinds are in it: 12 before,
 * 36 behind. */
static void slow_later_on(void)
{
	mr_plan *p = all_f_all_b(1, 4);
	mr_straggler later = {0, 3, 12 * 40, INFINITY}, past = {0, 3, 0, 12};
	mr_walk *k = sim(p, &(mr_cost){1, ones}, (mr_walk_opts){.straggler = &later, .n_stragglers = 1});

	CU_ASSERT(k->period > 24 && k->period < 36);
	mr_walk_destroy(k);
	k = sim(p, &(mr_cost){1, ones}, (mr_walk_opts){.straggler = &past, .n_stragglers = 1});
	CU_ASSERT_DOUBLE_EQUAL(k->period, 12, 1e-9);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* Workers 0, 1 | 2, 3 on two nodes: 0.25 inside one, 2 between: stage 2's F0 begins at 1 + 0.25 + 1 + 2. */
static void far_links(void)
{
	mr_plan *p = all_f_all_b(4, 1);
	mr_stage_cost stage[4];
	uint16_t node[4];
	mr_walk *k;

	for (int s = 0; s < 4; s++)
		stage[s] = (mr_stage_cost){.f = 1, .i = 1, .w = 1, .c = 0.25};
	mr_nodes_spread(4, 2, node);
	CU_ASSERT_TRUE(node[0] == 0 && node[1] == 0 && node[2] == 1 && node[3] == 1);
	k = sim(p, &(mr_cost){4, stage}, (mr_walk_opts){.node = node, .far = 2});
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 0)->begin, 1.25);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 2, 0)->begin, 4.25);
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 3, 0)->begin, 6.5);
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 1, 0)->begin, 6.5 + 2 + 0.25 + 2 + 2);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* One seed, one outcome; another seed another; and a factor belongs to the instruction, whatever the order. */
static void seeded(void)
{
	static const mr_jitter kinds[] = {MR_JITTER_LOGNORMAL, MR_JITTER_UNIFORM};
	char path[MR_GOLDEN_PATH];
	mr_plan *p = all_f_all_b(3, 4), *q = lowered(mr_golden_path(path, "sync/1f1b_D4_T8.json"));
	mr_stage_cost stage[4] = {ONE, ONE, ONE, ONE};

	for (int i = 0; i < 2; i++) {
		mr_walk_opts params = {.jitter = kinds[i], .amount = 0.3, .seed = 7};
		mr_walk *a = sim_of(p, &(mr_cost){3, stage}, 2, params), *c, *d;
		mr_walk *b = sim_of(p, &(mr_cost){3, stage}, 2, params);

		params.seed = 8;
		c = sim_of(p, &(mr_cost){3, stage}, 2, params);
		params.seed = 7;
		d = sim_of(q, &(mr_cost){4, stage}, 2, params);
		CU_ASSERT_TRUE(same_times(a, b));
		CU_ASSERT_FALSE(same_times(a, c));
		for (uint16_t s = 0; s < 3; s++)
			for (uint32_t m = 0; m < 4; m++) {
				const mr_walk_rec *x = find(a, MR_OP_F, s, m), *y = find(d, MR_OP_F, s, m);

				CU_ASSERT_DOUBLE_EQUAL(x->end - x->begin, y->end - y->begin, 1e-9);
			}
		mr_walk_destroy(a);
		mr_walk_destroy(b);
		mr_walk_destroy(c);
		mr_walk_destroy(d);
	}
	mr_plan_destroy(p);
	mr_plan_destroy(q);
}

/* Factors of mean 1 and of the spread asked for (a; a / sqrt 3): of 20,000 draws, within five standard errors. */
static void spread_of_jitter(void)
{
	static const struct {
		mr_jitter kind;
		double amount, sd;
	} cases[] = {
		{MR_JITTER_LOGNORMAL, 0.2, 0.202}, {MR_JITTER_UNIFORM, 0.5, 0.2887}, {MR_JITTER_UNIFORM, 1, 0.5774}};
	const uint32_t n = 10000;
	mr_plan *p = all_f_all_b(1, n);

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		mr_walk *k =
			sim(p, &(mr_cost){1, ones},
			    (mr_walk_opts){.jitter = cases[c].kind, .amount = cases[c].amount, .no_period = true});
		double sum = 0, squares = 0, least = 1;

		for (uint32_t i = 0; i < 2 * n; i++) {
			double x = (k->at[i].end - k->at[i].begin) / (k->at[i].in->op == MR_OP_B ? 2 : 1);

			sum += x;
			squares += (x - 1) * (x - 1);
			least = fmin(least, x);
		}
		CU_ASSERT_DOUBLE_EQUAL(sum / (2 * n), 1, 5 * cases[c].sd / sqrt(2 * n));
		CU_ASSERT_DOUBLE_EQUAL(sqrt(squares / (2 * n)), cases[c].sd, 0.03 * cases[c].sd);
		CU_ASSERT_TRUE(least >= (cases[c].kind == MR_JITTER_UNIFORM ? 1 - cases[c].amount - 1e-9 : 0));
		mr_walk_destroy(k);
	}
	mr_plan_destroy(p);
}

static void refusals(void)
{
	static const struct {
		mr_walk_opts params;
		mr_straggler s;
		const char *part;
	} cases[] = {
		{{.jitter = MR_JITTER_UNIFORM, .amount = 1.5}, {0}, "from 0 to 1, got 1.5"},
		{{.jitter = MR_JITTER_LOGNORMAL, .amount = -1}, {0}, "from 0 to 10, got -1"},
		{{.n_stragglers = 1}, {2, 2, 0, 1}, "workers 0 to 1"},
		{{.n_stragglers = 1}, {1, 0, 0, 1}, "a factor above 0 as long, got 0"},
		{{.n_stragglers = 1}, {1, 2, 3, 3}, "got 3 to 3"},
	};
	mr_plan *p = all_f_all_b(2, 2);
	mr_stage_cost bad[] = {{.f = 1, .i = 1, .w = 1}, {.f = 1, .i = -1, .w = 1}};
	uint16_t node[2] = {0, 1};
	mr_walk *k;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_walk_opts params = cases[i].params;

		params.straggler = &cases[i].s;
		MR_CHECK_FAIL(mr_plan_walk(p, &(mr_cost){2, ones}, 1, &params, &k), MR_EINVAL, cases[i].part);
	}
	MR_CHECK_FAIL(mr_plan_walk(p, &(mr_cost){2, ones}, 1, &(mr_walk_opts){.node = node, .far = NAN}, &k), MR_EINVAL,
		      "between nodes");
	MR_CHECK_FAIL(mr_plan_walk(p, &(mr_cost){3, ones}, 1, NULL, &k), MR_EINVAL, "3 stages for a plan of 2");
	MR_CHECK_FAIL(mr_plan_walk(p, &(mr_cost){2, bad}, 1, NULL, &k), MR_EINVAL, "stage 1: costs");
	mr_plan_destroy(p);
}

void mr_suite_sim(void);
void mr_suite_sim(void)
{
	MR_SUITE("sim");
	MR_TEST(goldens);
	MR_TEST(slow_for_good);
	MR_TEST(slow_for_a_while);
	MR_TEST(slow_later_on);
	MR_TEST(far_links);
	MR_TEST(seeded);
	MR_TEST(spread_of_jitter);
	MR_TEST(refusals);
}
