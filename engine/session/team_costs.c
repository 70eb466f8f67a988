#include "session/team_costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

mr_status mr_team_costs_add(mr_team_costs *t, uint32_t n_layers, uint32_t threads, mr_layer_cost **out)
{
	uint32_t last = t->n ? t->threads[t->n - 1] : 0;

	if (threads <= last || threads > 65536)
		return mr_fail(MR_ECONFIG, "the times of %u threads after those of %u: sizes of teams ascend", threads,
			       last);
	if (t->n == MR_TEAM_SIZES)
		return mr_fail(MR_ECONFIG, "times of more than %u sizes of teams", MR_TEAM_SIZES);
	*out = calloc(n_layers, sizeof(**out));
	if (!*out)
		return mr_fail(MR_ERESOURCE, "no memory for the times of %u layers", n_layers);
	t->n_layers = n_layers;
	t->layer[t->n] = *out;
	t->threads[t->n++] = threads;
	return MR_OK;
}

void mr_team_costs_destroy(mr_team_costs *t)
{
	for (uint32_t i = 0; t && i < t->n; i++)
		free(t->layer[i]);
	free(t);
}

/* Between @a and @b, at @part of the logarithm of the threads. */
static double between(double a, double b, double part)
{
	return a > 0 && b > 0 ? exp((1 - part) * log(a) + part * log(b)) : (1 - part) * a + part * b;
}

mr_layer_cost mr_team_costs_at(const mr_team_costs *t, uint32_t node, uint32_t *threads)
{
	const mr_layer_cost *a, *b;
	uint32_t i = 0;
	double part;

	if (*threads <= t->threads[0] || *threads >= t->threads[t->n - 1]) {
		i = *threads <= t->threads[0] ? 0 : t->n - 1;
		*threads = t->threads[i];
		return t->layer[i][node];
	}
	while (t->threads[i + 1] < *threads)
		i++;
	part = log((double)*threads / t->threads[i]) / log((double)t->threads[i + 1] / t->threads[i]);
	a = &t->layer[i][node];
	b = &t->layer[i + 1][node];
	return (mr_layer_cost){.f = between(a->f, b->f, part),
			       .i = between(a->i, b->i, part),
			       .w = between(a->w, b->w, part),
			       .u = between(a->u, b->u, part)};
}

/* --- measuring --- */

static mr_status measure_size(const mr_session *s, uint32_t threads, double seconds, mr_team_costs *t)
{
	mr_session at;
	mr_job job;
	mr_profile p = {0};
	mr_costs c = {0};
	mr_layer_cost *layer;
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
		if (st == MR_OK)
			st = mr_costs_of_profile(&at, &p, &c);
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
