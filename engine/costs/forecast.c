#include "costs/forecast.h"

#include <math.h>
#include <stdlib.h>

#include "ir/pause.h"
#include "costs/cost_model.h"
#include "costs/machine_sharing.h"
#include "costs/sends.h"
#include "timing/bound.h"

#define BESIDE_TURNS 8 /* after which slowdowns of two runs, each of which follows from the other's, change no more */

/* The node of which memory @i of the machine is, or the first that uses it. */
static uint32_t node_with(const mr_topo *t, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = t->n_nodes; k-- > 0;)
		if (t->node[k].memory == i && (t->node[k].os_index == t->memory[i].os_index || t->node[n].memory != i))
			n = k;
	return n;
}

/* Put what regions take of each memory, @claimed, to the nodes. */
static void share_out(mr_forecast *f, const uint64_t *claimed)
{
	const mr_topo *t = f->of.topo;

	for (uint32_t i = 0; i < t->n_memories; i++)
		*(t->memory[i].spare ? &f->memory_bytes[i] : &f->node_bytes[node_with(t, i)]) += claimed[i];
}

mr_status mr_forecast_memory(mr_forecast *f, const mr_run_config *c)
{
	const mr_topo *t = f->of.topo;

	f->node_bytes = calloc(t->n_nodes, sizeof(*f->node_bytes));
	f->memory_bytes = calloc(t->n_memories, sizeof(*f->memory_bytes));
	if (!f->node_bytes || !f->memory_bytes)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	MR_TRY(mr_run_create(c, &f->run));
	f->bytes = mr_run_mapped_bytes(f->run);
	share_out(f, f->run->claimed);
	return MR_OK;
}

/* Does the plan have no body that repeats? Then a step is a part of its whole list, or of its first window. */
static bool ends(const mr_plan *p)
{
	return !mr_plan_list(p, 0, MR_BODY)->n;
}

uint32_t mr_forecast_bodies(const mr_plan *p)
{
	return p->contract.flush == MR_FLUSH_NONE && !ends(p) ? 2u * p->n_workers + 2 : 1;
}

double mr_forecast_steps(const mr_plan *p)
{
	return ends(p) ? mr_pauses_of(p, 0, NULL, 0) : mr_plan_steps(p);
}

/* Computing time from commit to commit of worker @w; with bytes as costs, those that it moves. */
static double busy_of(const mr_forecast *f, const mr_stage_cost *stage, uint16_t w)
{
	const mr_plan *p = f->of.plan;
	const mr_list *l = mr_plan_list(p, w, ends(p) ? MR_PROLOGUE : MR_BODY);
	mr_cost cost = {f->of.partition->n_stages, stage};
	double steps = mr_forecast_steps(p); /* looks through the whole list */
	double sum = 0;

	for (uint32_t i = 0; i < l->n; i++)
		sum += mr_instr_cost(p, &l->at[i], &cost) / steps;
	return sum;
}

/* No step is shorter than what its node's memory takes for its bytes. */
static void bound_by_nodes(mr_forecast *f, const mr_stage_cost *bytes, double rate)
{
	for (uint32_t n = 0; rate > 0 && n < f->of.topo->n_nodes; n++) {
		double sum = 0;

		for (uint16_t w = 0; w < f->of.place->n_workers; w++)
			sum += f->of.place->worker[w].node == n ? busy_of(f, bytes, w) : 0;
		f->bound_s = sum / rate > f->bound_s ? sum / rate : f->bound_s;
	}
}

/* Is it one worker beside another run like it? run_beside then says what they take from each other. */
static bool has_twin(const mr_forecast *f)
{
	return f->share > 0 && f->costs.bytes && f->of.place->n_workers == 1;
}

/* Walk the plan of @f with @sharing. Over hosts the step of a plan with a barrier is the second of two: new weights are
 * on their way when the first ends. */
static mr_status walk_shared(mr_forecast *f, const mr_cost *cost, const mr_sharing *sharing)
{
	const mr_plan *plan = f->of.plan;
	mr_walk_opts opts = {.steals = true, .sharing = sharing, .use = &f->use};
	uint32_t n = mr_forecast_bodies(plan);
	mr_walk *two;

	MR_TRY(mr_plan_walk(plan, cost, n, &opts, &f->walk));
	f->step_s = f->walk->makespan;
	if (!sharing->hosts || ends(plan) || plan->contract.flush != MR_FLUSH_BARRIER)
		return MR_OK;
	opts.no_period = true;
	MR_TRY(mr_plan_walk(plan, cost, n + 1, &opts, &two));
	f->step_s = two->makespan - f->walk->makespan;
	mr_walk_destroy(two);
	return MR_OK;
}

/* The bytes of a step between ranks. */
static mr_status count_sent(mr_forecast *f, const mr_hosts *hosts)
{
	size_t ranks = hosts->n_ranks;

	f->sent = calloc(ranks * ranks, sizeof(*f->sent));
	if (!f->sent)
		return mr_fail(MR_ERESOURCE, "no memory for the messages of a plan");
	mr_sends_of_step(&f->of, hosts, f->sent);
	return MR_OK;
}

double mr_forecast_sent(const mr_forecast *f)
{
	size_t ranks = f->of.hosts->n_ranks;
	double sum = 0;

	for (size_t i = 0; i < ranks * ranks; i++)
		sum += f->sent[i];
	return sum;
}

/* Walk the plan of @f; where its costs have bytes, with workers that share memory and links. */
static mr_status walk(mr_forecast *f, const mr_cost *cost)
{
	const mr_workload *of = &f->of;
	mr_machine_sharing m;
	mr_status st;

	if ((!f->costs.bytes && !of->hosts) || has_twin(f)) {
		MR_TRY(mr_plan_walk(of->plan, cost, mr_forecast_bodies(of->plan), &(mr_walk_opts){.steals = true},
				    &f->walk));
		f->step_s = f->walk->makespan;
		return MR_OK;
	}
	st = mr_machine_sharing_init(&m, of, &f->costs, f->share > 0 ? f->share : 1);
	if (st == MR_OK && of->hosts)
		st = count_sent(f, &m.hosts);
	if (st == MR_OK)
		st = walk_shared(f, cost, &m.sharing);
	if (st == MR_OK)
		bound_by_nodes(f, m.bytes, m.sharing.memory_rate);
	mr_machine_sharing_fini(&m);
	return st;
}

/* A pass over a layer, or its step, in a step of the run. */
typedef struct phase {
	double seconds, times; /* alone; in a step */
	double rate;           /* bytes a second that it takes from memory */
	double slower;         /* beside another run */
} phase;

static uint32_t list_phases(const mr_forecast *f, phase *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->of.graph->n_nodes; i++) {
		const mr_stage_cost *c = &f->costs.layer[i];
		const mr_stage_cost *b = &f->costs.bytes[i];
		const double t[4] = {c->f, c->i, c->w, c->u}, bytes[4] = {b->f, b->i, b->w, b->u};

		for (int k = 0; k < 4; k++)
			if (t[k] > 0)
				out[n++] = (phase){t[k], k < 3 ? f->of.n_micro : 1, bytes[k] / t[k], 1};
	}
	return n;
}

/* One worker beside another run like it, on other cores of the same nodes, which is in each of its passes for
 * as long as that takes. Where two passes want more than the memory has, both slow down in proportion. */
static mr_status run_beside(mr_forecast *f)
{
	mr_server m = mr_model_server(&f->of);
	double rate = mr_model_memory_rate(&m), alone = 0, both = 0;
	phase *p = malloc(4 * ((size_t)f->of.graph->n_nodes + 1) * sizeof(*p));
	uint32_t n = p ? list_phases(f, p) : 0;

	if (!p)
		return mr_fail(MR_ERESOURCE, "no memory for the passes of %u layers", f->of.graph->n_nodes);
	for (uint32_t i = 0; i < n; i++)
		alone += p[i].seconds * p[i].times;
	both = alone;
	for (int turn = 0; turn < BESIDE_TURNS && alone > 0; turn++) {
		double sum = 0;

		for (uint32_t i = 0; i < n; i++) {
			double slower = 0;

			for (uint32_t k = 0; k < n; k++)
				slower += p[k].seconds * p[k].times * p[k].slower / both *
					  (p[i].rate > 0 ? fmax(1, (p[i].rate + p[k].rate) / rate) : 1);
			sum += p[i].seconds * p[i].times * slower;
			p[i].slower = slower;
		}
		both = sum;
	}
	f->step_s *= alone > 0 ? both / alone : 1;
	free(p);
	return MR_OK;
}

/* Workers that share a core compute in turns: no step is shorter than what they all compute on one core. */
static mr_status bound_by_cores(mr_forecast *f)
{
	const mr_place *p = f->of.place;
	uint32_t most = 0;
	double *sum;

	if (!p->shared)
		return MR_OK;
	for (uint32_t w = 0; w < p->n_workers; w++)
		for (uint32_t i = 0; i < p->worker[w].n_threads; i++)
			most = p->worker[w].cpu[i] > most ? p->worker[w].cpu[i] : most;
	sum = calloc(most + 1u, sizeof(*sum));
	if (!sum)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	for (uint16_t w = 0; w < p->n_workers; w++) {
		double busy = busy_of(f, f->stage, w);

		for (uint32_t i = 0; i < p->worker[w].n_threads; i++)
			sum[p->worker[w].cpu[i]] += busy;
	}
	for (uint32_t c = 0; c <= most; c++) {
		f->bound_s = fmax(f->bound_s, sum[c]);
		f->step_s = fmax(f->step_s, sum[c]);
	}
	free(sum);
	return MR_OK;
}

mr_status mr_forecast_time(mr_forecast *f)
{
	const mr_plan *plan = f->of.plan;
	mr_cost cost = {f->of.partition->n_stages, f->stage};

	f->stage = calloc(f->of.partition->n_stages, sizeof(*f->stage));
	if (!f->stage)
		return mr_fail(MR_ERESOURCE, "no memory for a plan");
	cost.stage = f->stage;
	mr_costs_of_stages(&f->of, &f->costs, f->stage);
	for (uint16_t w = 0; w < f->of.place->n_workers; w++) {
		double busy = busy_of(f, f->stage, w);

		f->busy_s += busy / f->of.place->n_workers;
		f->busiest_s = busy > f->busiest_s ? busy : f->busiest_s;
	}
	MR_TRY(mr_plan_bound(plan, &cost, false, &f->bound_s));
	f->bound_s /= mr_forecast_steps(plan);
	MR_TRY(walk(f, &cost));
	if (plan->contract.flush != MR_FLUSH_BARRIER && !ends(plan))
		f->step_s = f->walk->period;
	f->step_s /= mr_forecast_steps(plan);
	return has_twin(f) ? run_beside(f) : bound_by_cores(f);
}

void mr_forecast_fini(mr_forecast *f)
{
	mr_walk_destroy(f->walk);
	mr_run_destroy(f->run);
	mr_costs_fini(&f->costs);
	free(f->stage);
	free(f->sent);
	free(f->node_bytes);
	free(f->memory_bytes);
	*f = (mr_forecast){0};
}

mr_status mr_forecast_error(const mr_workload *of, const mr_costs *c, double step_s, double *error)
{
	mr_forecast f = {.of = *of, .costs = *c};
	mr_status st = mr_forecast_time(&f);

	*error = st == MR_OK ? step_s / f.step_s - 1 : (double)NAN;
	f.costs = (mr_costs){0}; /* they are not its own */
	mr_forecast_fini(&f);
	return st;
}
