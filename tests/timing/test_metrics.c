/* The figures of a plan against recorded ones, and a walk as trace records. */
#include "timing/metrics.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "golden_files.h"
#include "lower/lower.h"
#include "ir/plan_json.h"
#include "ir/text.h"
#include "timing/walk_trace.h"

/* The goldens are printed with nine digits. */
#define NINE_DIGITS 1e-8

static mr_metrics *metrics_of(const mr_plan *plan, uint32_t n_bodies)
{
	mr_metrics *m = NULL;
	mr_walk *walk = NULL;

	MR_CHECK_OK(mr_metrics_walk(plan, 1, 1, 1, 0, n_bodies, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	mr_walk_destroy(walk);
	return m;
}

/* Two stages of pipedream, warm-up and body, as its file emits them. */
static mr_plan *endless(void)
{
	static const char text[] =
		"plan pd\nstages 2 workers 2 pipes 1 micro 1 commits 1\n"
		"contract train flush=none read=latest sum=ascending need=1 staleness=1 same_version_b\n"
		"place p0 0 1\n[prologue]\nw0 F m0 s0 p0\n[body x N micro+1 ver+1]\n"
		"w0 F m+1 s0 p0\nw0 B m+0 s0 p0\nw1 F m+0 s1 p0\nw1 B m+0 s1 p0\n";
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_text_read(text, sizeof(text) - 1, &plan));
	MR_CHECK_OK(mr_plan_lower(plan, NULL));
	return plan;
}

static void same_doubles(const char *file, const char *what, const mr_json *want, const double *got, size_t n)
{
	CU_ASSERT_EQUAL_FATAL(mr_json_size(want), n);
	for (size_t i = 0; i < n; i++) {
		if (fabs(mr_json_double(mr_json_at(want, i)) - got[i]) > NINE_DIGITS)
			fprintf(stderr, "\n%s: %s of worker %zu is %g, not %g\n", file, what, i, got[i],
				mr_json_double(mr_json_at(want, i)));
		CU_ASSERT_DOUBLE_EQUAL(mr_json_double(mr_json_at(want, i)), got[i], NINE_DIGITS);
	}
}

static void compare_golden(void *arg, const char *path, uint32_t number)
{
	const mr_json *expect, *unit;
	mr_json *root = NULL;
	mr_plan *plan = NULL;
	mr_metrics *m;

	(void)arg;
	(void)number;
	MR_CHECK_OK(mr_json_read_file(path, MR_PLAN_JSON_MAX_BYTES, &root));
	expect = mr_json_get(root, "expect");
	unit = mr_json_get(mr_json_get(expect, "by_cost"), "f1_i1_w1");
	CU_ASSERT_PTR_NOT_NULL_FATAL(unit);
	MR_CHECK_OK(mr_plan_json_read(path, &plan));
	MR_CHECK_OK(mr_plan_lower(plan, NULL));
	m = metrics_of(plan, 1);
	same_doubles(path, "busy", mr_json_get(unit, "busy"), m->busy, m->n_workers);
	same_doubles(path, "peak until W", mr_json_get(expect, "peak_act_until_W"), m->peak_until_w, m->n_workers);
	same_doubles(path, "peak until I", mr_json_get(expect, "peak_act_until_I"), m->peak_until_i, m->n_workers);
	CU_ASSERT_DOUBLE_EQUAL(m->makespan, mr_json_double(mr_json_get(unit, "makespan")), NINE_DIGITS);
	CU_ASSERT_DOUBLE_EQUAL(m->period, mr_json_double(mr_json_get(unit, "period_no_barrier")), NINE_DIGITS);
	CU_ASSERT_DOUBLE_EQUAL(m->bubble_flush, mr_json_double(mr_json_get(unit, "bubble_flush")), NINE_DIGITS);
	for (uint16_t s = 0; s < m->n_stages; s++) {
		CU_ASSERT_EQUAL(m->staleness[s], 0);
		CU_ASSERT_EQUAL(m->versions[s], 1);
	}
	mr_metrics_destroy(m);
	mr_plan_destroy(plan);
	mr_json_destroy(root);
}

static void metrics_of_every_recorded_order(void)
{
	CU_ASSERT(mr_golden_each("sync", compare_golden, NULL) >= 50);
}

static void metrics_of_a_repeating_plan(void)
{
	mr_plan *plan = endless();
	mr_metrics *m = metrics_of(plan, 10);

	CU_ASSERT_EQUAL(m->staleness[0], 1);
	CU_ASSERT_EQUAL(m->staleness[1], 0);
	CU_ASSERT_EQUAL(m->versions[0], 2);
	CU_ASSERT_EQUAL(m->versions[1], 1);
	CU_ASSERT_EQUAL(m->slots[0], 2);
	CU_ASSERT_EQUAL(m->slots[1], 1);
	CU_ASSERT_DOUBLE_EQUAL(m->period, 3, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(m->bubble_period, 0, 1e-12);
	/* w0: 11 F, 10 B; w1: 10 F, 10 B, of which the first F begins at 1. w0's last B waits for w1's. */
	CU_ASSERT_DOUBLE_EQUAL(m->busy[0], 31, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(m->busy[1], 30, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(m->makespan, 33, 1e-12);
	mr_metrics_destroy(m);
	mr_plan_destroy(plan);
}

static void metrics_as_json(void)
{
	mr_plan *plan = endless();
	mr_metrics *m = metrics_of(plan, 10);
	mr_json *read = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	mr_json_writer w;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	m->period = NAN;
	mr_json_init(&w, f, false);
	mr_metrics_put(&w, m);
	MR_CHECK_OK(mr_json_finish(&w));
	fclose(f);
	MR_CHECK_OK(mr_json_read_text(text, len, &read));
	CU_ASSERT_EQUAL(mr_json_int(mr_json_get(read, "iterations")), 10);
	CU_ASSERT_EQUAL(mr_json_double(mr_json_get(read, "makespan")), 33);
	CU_ASSERT_TRUE(mr_json_is_null(mr_json_get(read, "period")));
	CU_ASSERT_EQUAL(mr_json_double(mr_json_at(mr_json_get(read, "busy"), 1)), 30);
	CU_ASSERT_EQUAL(mr_json_int(mr_json_at(mr_json_at(mr_json_get(read, "slots"), 0), 0)), 2);
	CU_ASSERT_EQUAL(mr_json_int(mr_json_at(mr_json_get(read, "versions"), 0)), 2);
	CU_ASSERT_EQUAL(mr_json_int(mr_json_at(mr_json_get(read, "max_staleness"), 0)), 1);
	CU_ASSERT_EQUAL(mr_json_size(mr_json_get(read, "peak_act_until_W")), 2);
	mr_json_destroy(read);
	free(text);
	mr_metrics_destroy(m);
	mr_plan_destroy(plan);
}

static void metrics_refusals(void)
{
	mr_plan *plan = endless();
	mr_metrics *m = NULL;
	mr_walk *walk = NULL;

	MR_CHECK_FAIL(mr_metrics_walk(plan, 0, 0, 0, 1, 1, &walk), MR_EINVAL, "not all 0");
	MR_CHECK_FAIL(mr_metrics_walk(plan, 1, -1, 1, 0, 1, &walk), MR_EINVAL, "not negative");
	MR_CHECK_FAIL(mr_metrics_walk(plan, 1, NAN, 1, 0, 1, &walk), MR_EINVAL, "finite");
	MR_CHECK_OK(mr_metrics_walk(plan, 1, 1, 1, 0, 1, &walk));
	plan->lowered = false;
	MR_CHECK_FAIL(mr_metrics_create(plan, walk, &m), MR_EINVAL, "lowered");
	mr_walk_destroy(walk);
	mr_plan_destroy(plan);
}

/* Hand-over costs lengthen the way through the pipeline: at least one hand-over more each way. */
static void metrics_handoff_costs(void)
{
	mr_plan *plan = endless();
	mr_walk *free_of_cost = NULL, *dear = NULL;

	MR_CHECK_OK(mr_metrics_walk(plan, 1, 1, 1, 0, 1, &free_of_cost));
	MR_CHECK_OK(mr_metrics_walk(plan, 1, 1, 1, 0.5, 1, &dear));
	CU_ASSERT_DOUBLE_EQUAL(dear->makespan, free_of_cost->makespan + 1, 1e-12);
	mr_walk_destroy(free_of_cost);
	mr_walk_destroy(dear);
	mr_plan_destroy(plan);
}

static void trace_of_a_walk(void)
{
	mr_plan *plan = endless();
	mr_walk *walk = NULL;
	mr_trace_rec *rec = NULL;
	uint64_t free_at[2] = {0, 0};
	size_t n = 0, f = 0, u = 0;

	MR_CHECK_OK(mr_metrics_walk(plan, 0.5, 0.25, 0.25, 0, 4, &walk));
	MR_CHECK_OK(mr_walk_trace(plan, walk, 1000, &rec, &n));
	CU_ASSERT_EQUAL_FATAL(n, 5 + 4 + 4 + 4 + 8); /* F and B of w0, of w1, and their U */
	for (size_t i = 0; i < n; i++) {
		const mr_trace_rec *r = &rec[i];
		uint64_t waited = 0;

		for (unsigned k = 0; k < MR_N_WAITS; k++)
			waited += r->wait_ns[k];
		CU_ASSERT_EQUAL(r->begin_ns, free_at[r->worker] + waited);
		CU_ASSERT_EQUAL(r->end_ns - r->begin_ns, r->op == MR_OP_U ? 0 : 500);
		free_at[r->worker] = r->end_ns;
		if (r->op == MR_OP_F && r->worker == 0)
			CU_ASSERT_EQUAL(r->version, f > 0 ? f - 1 : 0);
		if (r->op == MR_OP_F && r->worker == 0)
			CU_ASSERT_EQUAL(r->micro, f++);
		if (r->op == MR_OP_U && r->worker == 1)
			CU_ASSERT_EQUAL(r->version, ++u);
	}
	CU_ASSERT(f == 5 && u == 4);
	MR_CHECK_FAIL(mr_walk_trace(plan, walk, 0, &rec, &n), MR_EINVAL, "cannot be written");
	MR_CHECK_FAIL(mr_walk_trace(plan, walk, 1e300, &rec, &n), MR_EINVAL, "cannot be written");
	free(rec);
	mr_walk_destroy(walk);
	mr_plan_destroy(plan);
}

void mr_suite_metrics(void); /* the runner declares it too */

void mr_suite_metrics(void)
{
	MR_SUITE("metrics");
	MR_TEST(metrics_of_every_recorded_order);
	MR_TEST(metrics_of_a_repeating_plan);
	MR_TEST(metrics_as_json);
	MR_TEST(metrics_refusals);
	MR_TEST(metrics_handoff_costs);
	MR_TEST(trace_of_a_walk);
}
