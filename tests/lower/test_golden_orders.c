/*
 * The 56 golden orders: read as plan files, lowered, checked, and walked with the buffers that the lowering chose.
 * Makespan, busy, bubbles, period and peaks must be those that an independent simulation found with unlimited buffers.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "ir/plan_json.h"
#include "timing/walk.h"

#define N_ORDERS 62
#define N_COSTS 5

/* The stored decimals have 9 digits. */
#define TOLERANCE 1e-8

static const char *const cost_names[N_COSTS] = {"f1_i1_w1", "f2_i1_w1", "f2_i2_w1", "f2_i3_w1", "f2_i1_w2"};
static const double cost_values[N_COSTS][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 1, 2}};

static uint32_t n_wrong;

static void expect_number(const char *file, const char *what, double got, double want)
{
	if (fabs(got - want) <= TOLERANCE * fmax(1, fabs(want)))
		return;
	if (n_wrong++ < 40)
		fprintf(stderr, "\n%s: %s is %.10g, golden %.10g\n", file, what, got, want);
}

static void expect_array(const char *file, const char *what, const double *got, uint32_t n, const mr_json *want)
{
	CU_ASSERT_EQUAL_FATAL(mr_json_size(want), n);
	for (uint32_t i = 0; i < n; i++)
		expect_number(file, what, got[i], mr_json_double(mr_json_at(want, i)));
}

static void walk_one(const char *file, const mr_plan *plan, const mr_json *expect, int cost_number, bool unlimited)
{
	const double *v = cost_values[cost_number];
	const mr_json *want = mr_json_get(mr_json_get(expect, "by_cost"), cost_names[cost_number]);
	mr_stage_cost stage[64];
	mr_cost cost;
	mr_walk *walk;

	CU_ASSERT_FATAL(plan->n_stages <= 64 && mr_json_is_object(want));
	mr_cost_share(plan, v[0], v[1], v[2], stage, &cost);
	MR_CHECK_OK(mr_plan_walk(plan, &cost, 1, &(mr_walk_opts){.unlimited = unlimited}, &walk));
	expect_number(file, "makespan", walk->makespan, mr_json_double(mr_json_get(want, "makespan")));
	expect_number(file, "period", walk->period, mr_json_double(mr_json_get(want, "period_no_barrier")));
	expect_number(file, "bubble_flush", walk->bubble_flush, mr_json_double(mr_json_get(want, "bubble_flush")));
	expect_number(file, "bubble_span", walk->bubble_span, mr_json_double(mr_json_get(want, "bubble_worker_span")));
	expect_array(file, "busy", walk->busy, walk->n_workers, mr_json_get(want, "busy"));
	expect_array(file, "peak until W", walk->peak_until_w, walk->n_workers,
		     mr_json_get(expect, "peak_act_until_W"));
	expect_array(file, "peak until I", walk->peak_until_i, walk->n_workers,
		     mr_json_get(expect, "peak_act_until_I"));
	mr_walk_destroy(walk);
}

static void one_file(void *arg, const char *path, uint32_t number)
{
	const char *file = strrchr(path, '/') + 1;
	mr_plan *plan = NULL;
	mr_json *root = NULL;

	(void)arg;
	(void)number;
	MR_CHECK_OK(mr_json_read_file(path, 1 << 24, &root));
	MR_CHECK_OK(mr_plan_json_read(path, &plan));
	MR_CHECK_OK(mr_plan_lower(plan, NULL));
	MR_CHECK_OK(mr_plan_check(plan));
	for (int c = 0; c < N_COSTS; c++) {
		walk_one(file, plan, mr_json_get(root, "expect"), c, true);
		walk_one(file, plan, mr_json_get(root, "expect"), c, false);
	}
	mr_plan_destroy(plan);
	mr_json_destroy(root);
}

static void golden_orders(void)
{
	CU_ASSERT_EQUAL(mr_golden_each("sync", one_file, NULL), N_ORDERS);
	CU_ASSERT_EQUAL(n_wrong, 0);
}

void mr_suite_golden_orders(void);
void mr_suite_golden_orders(void)
{
	MR_SUITE("golden orders");
	MR_TEST(golden_orders);
}
