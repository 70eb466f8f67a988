#include "session/virtual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/steal.h"
#include "planner/make_plan.h"
#include "costs/cost_model.h"
#include "costs/machine_sharing.h"
#include "costs/sends.h"
#include "session/memory_plan.h"
#include "timing/bend.h"
#include "timing/stream.h"

/* Memory of each step's instructions, in multiples of the plan's own, and of all else, where any worker may take W
 * (measured: 4 to 5 times the plan). */
#define STEAL_FACTOR 6u
#define STEAL_BYTES 512u

struct mr_virtual {
	mr_costs costs;
	mr_stage_cost *stage; /* [stages] */
	uint16_t *node;       /* [workers] */
	mr_machine_sharing machine;
	mr_cost cost;
	mr_sim_options options;
	mr_walk_opts params;
	mr_walk_stream *stream;      /* NULL: the order is found during the run */
	mr_bend bend;               /* for that case, as are these two */
	const mr_plan *plan;
	mr_replay_clock clock;
	uint32_t stride;      /* steps between pause points */
	double *free_at;      /* [workers] end of the last instruction */
};

static uint64_t to_ns(double seconds)
{
	return (uint64_t)llround(seconds * 1e9);
}

mr_status mr_virtual_next(void *arg, uint64_t until, mr_replay_turn *out, bool *more)
{
	mr_virtual *v = arg;
	mr_walk_event e;
	double wait;

	/* Convert steps to pause points: replicas have one after several steps; all before the next belong to it.
	 */
	until = until / v->stride + (until % v->stride > 0);
	MR_TRY(mr_walk_stream_next(v->stream, until, &e, more));
	if (!*more)
		return MR_OK;
	*out = (mr_replay_turn){.worker = e.worker, .stamp = {.begin_ns = to_ns(e.begin), .end_ns = to_ns(e.end)}};
	wait = round((e.begin - v->free_at[e.worker]) * 1e9);
	if (e.cause != MR_WAIT_NONE && wait > 0)
		out->stamp.wait_ns[e.cause] = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
	v->free_at[e.worker] = e.end;
	return MR_OK;
}

/*
 * For W that any worker may take: first find which worker takes which in the whole run; the run then follows a plan
 * with these W in their places (its bits are the same).
 */
static mr_status let_steal(const mr_virtual *v, mr_session *s)
{
	uint32_t steps = (uint32_t)s->job->train.steps;
	mr_plan *moved = NULL;
	mr_steal *steal;
	mr_status st;
	size_t n;

	if (!s->plan->contract.steal || !mr_plan_list(s->plan, 0, MR_BODY)->n)
		return MR_OK;
	MR_TRY(mr_walk_steals(s->plan, &v->cost, steps, &v->params, &steal, &n));
	st = mr_steal_plan(s->plan, steps, steal, n, &moved);
	free(steal);
	if (st == MR_OK)
		st = mr_plan_finish(&(mr_plan_question){0}, &moved, NULL);
	if (st != MR_OK) {
		mr_plan_destroy(moved);
		return st;
	}
	mr_plan_destroy(s->plan);
	s->plan = moved;
	return MR_OK;
}

static double end_of(void *arg, const mr_instr *in, uint64_t micro, uint16_t worker, double begin)
{
	const mr_virtual *v = arg;

	return mr_bend_end(&v->bend, in, micro, worker, begin, mr_instr_cost(v->plan, in, &v->cost));
}

static double hop_of(void *arg, uint16_t stage, bool back, uint16_t from, uint16_t to)
{
	const mr_virtual *v = arg;
	double c = mr_cost_handover(&v->stage[stage], back);

	return v->bend.hooks.handoff ? v->bend.hooks.handoff(&v->bend, from, to, c) : c;
}

const mr_replay_clock *mr_virtual_clock(const mr_virtual *v)
{
	return v->stream ? NULL : &v->clock;
}

/* The order of racing plans, of forwards repeated after a rollback, and of lists without end is found during the run.
 */
static bool finds_its_order(const mr_plan *p)
{
	return p->contract.racing || p->contract.flush == MR_FLUSH_VALIDATED || p->endless;
}

static mr_status follow(mr_virtual *v, const mr_session *s)
{
	v->clock = (mr_replay_clock){.end = end_of, .hop = hop_of, .arg = v};
	v->plan = s->plan;
	if (finds_its_order(s->plan))
		return mr_bend_init(&v->bend, s->plan, &v->cost, &v->params);
	return mr_walk_stream_create(s->plan, &v->cost, &v->params, &v->stream);
}

/* An upper bound of what the simulation of @s takes: of its window, or where any worker may take W, of the whole run,
 * which is simulated and planned first. */
static uint64_t bytes_of(const mr_session *s)
{
	const mr_plan *p = s->plan;
	uint64_t steps = (uint64_t)s->job->train.steps;

	if (p->contract.steal && mr_plan_list(p, 0, MR_BODY)->n)
		return steps * (STEAL_FACTOR * mr_plan_bytes(p) + STEAL_BYTES) + mr_walk_stream_bytes(p);
	return finds_its_order(p) ? 0 : mr_walk_stream_bytes(p);
}

/* Over hosts, for an order that is known: what workers share, as plan has it. Else what passes a boundary takes as long
 * as a message that meets no other. */
static mr_status take_hosts(mr_virtual *v, const mr_workload *of)
{
	if (!of->hosts || of->plan->contract.steal)
		return MR_OK;
	if (finds_its_order(of->plan))
		return mr_sends_lengthen(of, v->stage);
	v->params.sharing = &v->machine.sharing;
	return mr_machine_sharing_init(&v->machine, of, &v->costs, 1);
}

static mr_status fill(mr_virtual *v, mr_session *s, const mr_values *options)
{
	mr_workload of = mr_session_workload(s);
	uint16_t n = s->partition.n_stages, workers = (uint16_t)s->place.n_workers;
	mr_status st;

	MR_TRY(mr_sim_options_read(options, &v->options));
	MR_TRY(mr_costs_forecast(&of, 0, &v->costs));
	v->stage = calloc(n, sizeof(*v->stage));
	v->node = calloc(workers, sizeof(*v->node));
	v->free_at = calloc(workers, sizeof(*v->free_at));
	if (!v->stage || !v->node || !v->free_at)
		return mr_fail(MR_ERESOURCE, "no memory to simulate %u workers", workers);
	mr_costs_of_stages(&of, &v->costs, v->stage);
	v->cost = (mr_cost){n, v->stage};
	for (uint16_t w = 0; w < workers; w++)
		v->node[w] = (uint16_t)s->place.worker[w].node;
	v->params = v->options.params;
	MR_TRY(take_hosts(v, &of));
	v->stride = mr_plan_stride(s->plan);
	v->params.far = mr_values_float(options, "far");
	if (v->params.far >= 0)
		v->params.node = v->node;
	else
		v->params.far = 0;
	if (v->params.node && !mr_nodes_are_apart(v->node, workers))
		return mr_fail(MR_EUSAGE, "--far: all workers are on one node, and no hand-over goes to another; "
					  "machine.topology may have more nodes");
	st = let_steal(v, s);
	if (st == MR_OK)
		st = follow(v, s);
	/* the command line requested it */
	return st == MR_EINVAL ? mr_fail(MR_EUSAGE, "%s", mr_error_text()) : st;
}

mr_status mr_virtual_create(mr_session *s, const mr_values *options, mr_virtual **out)
{
	mr_virtual *v;
	mr_status st;

	*out = NULL;
	MR_TRY(mr_memory_more_fits(s, bytes_of(s), "the simulator"));
	v = calloc(1, sizeof(*v));
	st = v ? fill(v, s, options) : mr_fail(MR_ERESOURCE, "no memory to simulate");
	if (st != MR_OK) {
		mr_virtual_destroy(v);
		return st;
	}
	*out = v;
	return MR_OK;
}

void mr_virtual_destroy(mr_virtual *v)
{
	if (!v)
		return;
	mr_walk_stream_destroy(v->stream);
	mr_machine_sharing_fini(&v->machine);
	mr_bend_fini(&v->bend);
	mr_sim_options_fini(&v->options);
	mr_costs_fini(&v->costs);
	free(v->stage);
	free(v->node);
	free(v->free_at);
	free(v);
}

const char *mr_virtual_text(const mr_virtual *v, char *text, size_t size)
{
	char bent[400];

	mr_sim_options_text(&v->options, bent, sizeof(bent));
	snprintf(text, size, "costs %s%s%s", v->costs.source, *bent ? "; " : "", bent);
	return text;
}
