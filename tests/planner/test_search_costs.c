/* search, asked with costs alone: the finished plan is never slower than that of a system by name with the same cap,
 * by the objective that it was given; the costs are drawn, and have steps of the optimizer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "timing/walk.h"
#include "planner/make_plan.h"
#include "schedules/registry.h"

enum { CASES = 60, MOST_WORKERS = 5 };

typedef struct figures {
	double makespan, period, peak;
} figures;

typedef struct drawn {
	uint16_t workers;
	uint32_t micro;
	mr_stage_cost row[MOST_WORKERS];
} drawn;

/* 0 to @sides - 1. */
static uint32_t roll(uint64_t seed, uint64_t *n, uint32_t sides)
{
	return (uint32_t)(mr_mix64(mr_mix64(seed) + (*n)++) % sides);
}

static drawn draw(uint64_t seed)
{
	static const double steps[] = {0, 1, 3, 6};
	drawn d = {0};
	uint64_t n = 0;

	d.workers = (uint16_t)(2 + roll(seed, &n, 4));
	d.micro = 4u * (1 + roll(seed, &n, 3));
	for (uint16_t s = 0; s < d.workers; s++) {
		d.row[s].f = 1 + roll(seed, &n, 6);
		d.row[s].i = 1 + roll(seed, &n, 6);
		d.row[s].w = 1 + roll(seed, &n, 6);
		d.row[s].u = steps[roll(seed, &n, 4)];
	}
	return d;
}

static mr_status costs_of(void *arg, const mr_plan *plan, mr_stage_cost *out)
{
	const drawn *d = arg;

	if (plan->n_stages != d->workers)
		return mr_fail(MR_ECONFIG, "%u stages", plan->n_stages);
	memcpy(out, d->row, d->workers * sizeof(*out));
	return MR_OK;
}

/* The finished plan of @ops with the options "name=value ..."; false: it has none for this question. */
static bool finished(const mr_sched_ops *ops, const char *const *sets, drawn *d, figures *out)
{
	mr_cost cost = {d->workers, d->row};
	mr_plan_question q = {.system = ops,
			      .args = {.n_workers = d->workers, .n_micro = d->micro, .chunks = 1, .costs = &cost},
			      .costs = {.of = costs_of, .arg = d}};
	mr_values *values = NULL;
	mr_walk *walk = NULL;
	mr_plan *plan = NULL;
	bool fits;

	if (ops->options)
		MR_CHECK_OK(mr_values_create(ops->options, &values));
	for (size_t i = 0; sets && sets[i]; i += 2)
		MR_CHECK_OK(mr_values_set_text(values, sets[i], sets[i + 1]));
	q.args.options = values;
	fits = mr_plan_make(&q, &plan, NULL) == MR_OK && plan->n_pipes == 1 &&
	       plan->contract.flush == MR_FLUSH_BARRIER;
	if (fits) {
		MR_CHECK_OK(mr_plan_walk(plan, &cost, 1, NULL, &walk));
		*out = (figures){.makespan = walk->makespan, .period = walk->period};
		for (uint16_t w = 0; w < plan->n_workers; w++)
			out->peak = fmax(out->peak, walk->peak_until_w[w]);
	}
	mr_walk_destroy(walk);
	mr_plan_destroy(plan);
	mr_values_destroy(values);
	return fits;
}

/* The best by name, each figure of its own. */
static figures by_name(drawn *d, const char *cap, double limit)
{
	const char *const defaults[] = {NULL}, *const with_cap[] = {"cap", cap, NULL};
	figures best = {.makespan = INFINITY, .period = INFINITY}, f;

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);
		bool has_cap = ops->options && mr_option_find(ops->options, "cap");

		for (unsigned k = 0; !ops->judged && !ops->asynchronous && k < (has_cap ? 2u : 1u); k++)
			if (finished(ops, k ? with_cap : defaults, d, &f) && f.peak <= limit + 1e-9) {
				best.makespan = fmin(best.makespan, f.makespan);
				best.period = fmin(best.period, f.period);
			}
	}
	return best;
}

static void search_is_never_slower_than_a_name(void)
{
	static const char *const objectives[] = {"makespan", "period"}, *const caps[] = {"none", "D"};
	const mr_sched_ops *search = mr_schedule_find("search");

	for (uint64_t seed = 0; seed < CASES; seed++) {
		drawn d = draw(seed);
		const char *cap = caps[seed % 3 == 2];
		figures named = by_name(&d, cap, strcmp(cap, "D") ? INFINITY : d.workers), f;

		for (unsigned k = 0; k < 2; k++) {
			const char *const sets[] = {"cap", cap, "objective", objectives[k], "tries", "20", NULL};
			double got, want = k ? named.period : named.makespan;

			CU_ASSERT_FATAL(finished(search, sets, &d, &f));
			got = k ? f.period : f.makespan;
			if (got > want * (1 + 1e-9))
				fprintf(stderr, "\nseed %d, cap %s: %s %g, by name %g\n", (int)seed, cap, objectives[k],
					got, want);
			CU_ASSERT(got <= want * (1 + 1e-9));
		}
	}
}

void mr_suite_search_costs(void);
void mr_suite_search_costs(void)
{
	MR_SUITE("search_costs");
	MR_TEST(search_is_never_slower_than_a_name);
}
