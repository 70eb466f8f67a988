#include "choose/in_flight.h"

#include <math.h>

#include "costs/cost_model.h"

#define MOST 32u   /* with more under way, plans for other numbers take too long to make */
#define ALIKE 0.01 /* steps that differ by less are equally long */

/* The most micro-batches under way at the first replica of stage 0; 0: the plan drains, or has no such number. */
static uint32_t own_number(const mr_plan *p)
{
	uint32_t now = 0, most = 0;

	if (p->contract.flush != MR_FLUSH_NONE || !mr_plan_repeats(p) || p->endless || p->contract.racing ||
	    p->commits != 1 || p->contract.sync_steps)
		return 0;
	for (int section = MR_PROLOGUE; section <= MR_BODY; section++) {
		const mr_list *l = mr_plan_list(p, mr_plan_worker(p, 0, 0), (mr_section)section);

		for (uint32_t k = 0; k < l->n; k++) {
			now += l->at[k].op == MR_OP_F && l->at[k].stage == 0;
			most = now > most ? now : most;
			now -= l->at[k].op == MR_OP_B && l->at[k].stage == 0;
		}
	}
	return most;
}

/* The step with @number under way; infinite where such a plan cannot be made. */
static double step_with(const mr_session *s, const char *option, uint32_t number)
{
	mr_forecast f = {0};
	double step = INFINITY;
	mr_session own;
	mr_job job;
	mr_status st = mr_job_copy(s->job, &job);

	if (st == MR_OK)
		st = mr_values_set_int(job.system.values, option, number);
	/* What the session's job left to be chosen is as there. */
	job.train.microbatches = s->job->train.microbatches;
	job.machine.workers = s->job->machine.workers;
	job.source = (mr_job_source){0};
	if (st == MR_OK)
		st = mr_job_check(&job);
	if (st == MR_OK)
		st = mr_session_open_beside(&job, s, &own);
	if (st == MR_OK) {
		f.of = mr_session_workload(&own);
		f.of.costs = s->costs;
		st = mr_costs_forecast(&f.of, 0, &f.costs);
		if (st == MR_OK)
			st = mr_forecast_time(&f);
		if (st == MR_OK)
			step = f.step_s;
		mr_forecast_fini(&f);
		mr_session_close(&own);
	}
	mr_job_fini(&job);
	return step;
}

mr_status mr_in_flight_find(const mr_session *s, const mr_forecast *f, mr_in_flight *out)
{
	const char *option = mr_job_system(s->job)->in_flight_option;
	double step[2 * MOST + 1], enough = f->step_s;
	uint32_t own = option && !s->plan_path && s->place.n_workers > 1 ? own_number(f->of.plan) : 0;

	*out = (mr_in_flight){0};
	if (!own || own > MOST)
		return MR_OK;
	for (uint32_t k = 1; k <= 2 * own; k++) {
		step[k] = k == own ? f->step_s : step_with(s, option, k);
		enough = fmin(enough, step[k]);
	}
	enough *= 1 + ALIKE;
	out->own = own;
	out->fewest = 1;
	while (step[out->fewest] > enough)
		out->fewest++;
	out->change = step[out->fewest] / step[own] - 1;
	out->less = out->fewest > 1 ? step[out->fewest - 1] / step[out->fewest] - 1 : 0;
	return MR_OK;
}

mr_status mr_in_flight_print(const mr_session *s, const mr_forecast *f, FILE *out)
{
	const char *option = mr_job_system(s->job)->in_flight_option;
	mr_in_flight n;

	MR_TRY(mr_in_flight_find(s, f, &n));
	if (!n.own)
		return MR_OK;
	fprintf(out, "in flight  %u micro-batch%s at stage 0: ", n.own, n.own == 1 ? "" : "es");
	if (n.fewest == n.own && n.own > 1)
		fprintf(out, "the fewest at this speed (with %u a step takes %.3g %% longer)\n", n.own - 1,
			100 * n.less);
	else if (n.fewest == n.own)
		fputs("more would make no step shorter\n", out);
	else if (n.fewest < n.own)
		fprintf(out, "system.%s = %u is as fast, with less delay and memory\n", option, n.fewest);
	else
		fprintf(out, "system.%s = %u makes a step %.3g %% shorter, with more delay and memory\n", option,
			n.fewest, -100 * n.change);
	return MR_OK;
}
