#include "search_help.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "timing/walk.h"
#include "sched_help.h"

search_figures search_walk(const mr_plan *plan, const mr_cost *share)
{
	mr_stage_cost stage[64];
	mr_cost cost = {plan->n_stages, stage};
	mr_walk *walk = NULL;
	search_figures f = {0};

	CU_ASSERT_FATAL(plan->n_stages <= 64);
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		double part = (double)plan->n_workers / plan->n_stages;
		const mr_stage_cost *c = &share->stage[0];

		stage[s] = share->n_stages == 1
				   ? (mr_stage_cost){.f = c->f * part, .i = c->i * part, .w = c->w * part, .c = c->c}
				   : share->stage[s];
	}
	MR_CHECK_OK(mr_plan_walk(plan, &cost, 1, &(mr_walk_opts){.unlimited = true}, &walk));
	f = (search_figures){.makespan = walk->makespan, .period = walk->period};
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		f.peak = fmax(f.peak, walk->peak_until_w[w]);
		f.busy = fmax(f.busy, walk->busy[w]);
	}
	mr_walk_destroy(walk);
	return f;
}

static mr_plan *ask(mr_sched_args args, const char *sets)
{
	sched_case c = {.ops = mr_schedule_find("search"), .sets = sets};
	mr_values *values = sched_values(&c);
	mr_plan *plan = NULL;

	args.options = values;
	MR_CHECK_OK(mr_schedule_emit(c.ops, &args, &plan));
	mr_values_destroy(values);
	return plan;
}

mr_plan *search_plan_by(double (*now)(void), uint64_t *n_tries, uint16_t d, uint32_t t, uint16_t v, const char *sets,
			const mr_cost *costs)
{
	return ask((mr_sched_args){.n_workers = d, .n_micro = t, .chunks = v, .costs = costs, .now = now,
				   .n_tries = n_tries},
		   sets);
}

mr_plan *search_proved(uint16_t d, uint32_t t, uint16_t v, const char *sets, const mr_cost *costs,
		       mr_sched_proof *proof)
{
	return ask((mr_sched_args){.n_workers = d, .n_micro = t, .chunks = v, .costs = costs, .proof = proof}, sets);
}

mr_plan *search_plan(uint16_t d, uint32_t t, uint16_t v, const char *sets, const mr_cost *costs)
{
	return search_plan_by(NULL, NULL, d, t, v, sets, costs);
}

/* Count the plan of @ops with the options @sets if it is one of those. */
static void named(const mr_sched_ops *ops, const char *sets, uint16_t d, uint32_t t, uint16_t v, double cap,
		  const mr_cost *costs, search_figures *best)
{
	sched_case c = {.ops = ops, .sets = sets};
	mr_values *values = *sets ? sched_values(&c) : NULL;
	mr_plan *plan = NULL;
	search_figures f;

	if (mr_schedule_emit(ops,
			     &(mr_sched_args){.n_workers = d, .n_micro = t, .chunks = v, .options = values,
					      .costs = costs},
			     &plan) == MR_OK &&
	    plan->n_pipes == 1 && plan->n_stages == d * v && plan->contract.flush != MR_FLUSH_NONE) {
		f = search_walk(plan, costs);
		if (f.peak <= cap + 1e-9) {
			best->makespan = fmin(best->makespan, f.makespan);
			best->period = fmin(best->period, f.period);
		}
	}
	mr_plan_destroy(plan);
	mr_values_destroy(values);
}

search_figures search_by_name(uint16_t d, uint32_t t, uint16_t v, double cap, const mr_cost *costs)
{
	search_figures best = {.makespan = INFINITY, .period = INFINITY};

	for (size_t i = 0; mr_schedule_at(i); i++) {
		const mr_sched_ops *ops = mr_schedule_at(i);

		if (ops->asynchronous || !strcmp(ops->name, "search"))
			continue;
		named(ops, "", d, t, v, cap, costs, &best);
		if (!ops->options || !mr_option_find(ops->options, "cap"))
			continue;
		/* with every cap there is: what counts is what it keeps */
		named(ops, "cap=2D", d, t, v, cap, costs, &best);
		named(ops, "cap=none", d, t, v, cap, costs, &best);
		if (isfinite(cap)) {
			char text[40];

			snprintf(text, sizeof(text), "cap=%.17g", cap);
			named(ops, text, d, t, v, cap, costs, &best);
		}
	}
	return best;
}
