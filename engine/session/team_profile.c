#include "session/team_profile.h"

#include <stdlib.h>

#include "costs/team_costs.h"

static mr_status measure_size(const mr_session *s, uint32_t threads, double seconds, mr_team_costs *t)
{
	mr_session at;
	mr_workload of;
	mr_job job;
	mr_profile p = {0};
	mr_costs c = {0};
	mr_stage_cost *layer;
	mr_status st = mr_job_copy(s->job, &job);

	if (st == MR_OK)
		st = mr_job_choose(&job, MR_JOB_SYSTEM, MR_SEQUENTIAL);
	job.machine.workers = 1;
	job.machine.threads = threads;
	job.machine.cpus = "";
	job.partition = "auto";
	job.source = (mr_job_source){0};
	if (st == MR_OK)
		st = mr_job_check(&job);
	if (st == MR_OK && (st = mr_session_open_beside(&job, s, &at)) == MR_OK) {
		mr_run_config r = mr_session_run_config(&at, NULL);

		r.norm_every = 0;
		st = mr_profile_measure(&r, at.n_micro, seconds, MR_PROFILE_ALONE, &p);
		of = mr_session_workload(&at);
		if (st == MR_OK)
			st = mr_costs_of_profile(&of, &p, &c);
		if (st == MR_OK)
			st = mr_team_costs_add(t, s->graph->n_nodes, threads, &layer);
		for (uint32_t i = 0; st == MR_OK && i < s->graph->n_nodes; i++)
			layer[i] = c.layer[i];
		mr_costs_fini(&c);
		mr_profile_fini(&p);
		mr_session_close(&at);
	}
	mr_job_fini(&job);
	return st;
}

mr_status mr_team_costs_measure(const mr_session *s, double seconds, mr_costs *c)
{
	const mr_topo *t = &s->topo;
	uint32_t l3 = t->l3[0].n_cores < t->n_usable ? t->l3[0].n_cores : t->n_usable;
	uint32_t node = t->node[0].n_cores < t->n_usable ? t->node[0].n_cores : t->n_usable;

	c->teams = calloc(1, sizeof(*c->teams));
	c->owns_teams = true;
	if (!c->teams)
		return mr_fail(MR_ERESOURCE, "no memory for the times of teams");
	for (uint32_t k = 1, next; k; k = next) {
		MR_TRY(measure_size(s, k, seconds, c->teams));
		next = 2 * k;
		if (k < l3 && next > l3)
			next = l3;
		else if (k < node && next > node)
			next = node;
		else if (k < t->n_usable && next > t->n_usable)
			next = t->n_usable;
		if (next > t->n_usable || c->teams->n == MR_TEAM_SIZES)
			next = 0;
	}
	return MR_OK;
}
