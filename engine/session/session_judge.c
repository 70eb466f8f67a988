/*
 * session_judge.c - forecasts plans as plans of a session, for systems that choose among plans (ir/sched.h).
 *
 * Each plan is cut, lowered and checked as the session's own would be, and its time and memory are predicted by the
 * functions of the commands (forecast.h): so the promise of such a system is what plan and plan --compare print.
 */
#include <math.h>
#include <stdlib.h>

#include "host/memory.h"
#include "session/memory_plan.h"
#include "session/session_forecast.h"
#include "session/session_internal.h"

typedef struct cut {
	uint32_t n_stages;
	uint64_t places; /* of stages on workers, where these are on several hosts; else 0 */
	bool possible;
	mr_partition partition;
} cut;

struct mr_session_judge {
	mr_session *s;
	cut *cuts; /* [n_cuts] those made so far */
	size_t n_cuts;
	mr_sched_judge face;
};

/* A number for the way in which @plan, if there is one, spreads stages over workers of several hosts. */
static uint64_t places_of(const mr_session *s, const mr_plan *plan)
{
	uint64_t h = 0;

	for (uint32_t i = 0; s->hosts && plan && i < (uint32_t)plan->n_pipes * plan->n_stages; i++)
		h = (h ^ (plan->worker_of[i] + 1u)) * 0x100000001b3u;
	return h;
}

/* The cut into @n_stages, for @plan if there is one; NULL without memory. */
static const cut *cut_into(mr_session_judge *j, uint32_t n_stages, mr_plan *plan)
{
	uint64_t places = places_of(j->s, plan);
	mr_session t = *j->s;
	cut *more;

	for (size_t i = 0; i < j->n_cuts; i++)
		if (j->cuts[i].n_stages == n_stages && j->cuts[i].places == places)
			return &j->cuts[i];
	more = realloc(j->cuts, (j->n_cuts + 1) * sizeof(*more));
	if (!more)
		return NULL;
	j->cuts = more;
	t.plan = places ? plan : NULL;
	t.partition = (mr_partition){0};
	more = &more[j->n_cuts++];
	*more = (cut){.n_stages = n_stages, .places = places};
	more->possible = n_stages <= UINT16_MAX && mr_session_cut(&t, (uint16_t)n_stages) == MR_OK;
	if (more->possible)
		more->partition = t.partition;
	else
		mr_partition_fini(&t.partition);
	return more;
}

/* A session like @j's with @plan in place of its own; it owns nothing. */
static mr_status stand_in(mr_session_judge *j, mr_plan *plan, mr_session *t)
{
	const cut *c = cut_into(j, plan->n_stages, plan);

	if (!c)
		return mr_fail(MR_ERESOURCE, "no memory for a cut into %u stages", plan->n_stages);
	if (!c->possible)
		return mr_fail(MR_ECONFIG, "the model cannot be cut into %u stages", plan->n_stages);
	*t = *j->s;
	t->partition = c->partition;
	t->plan = plan;
	return MR_OK;
}

static mr_status costs_of(mr_session_judge *j, mr_plan *plan, mr_stage_cost *out)
{
	mr_session t;

	MR_TRY(stand_in(j, plan, &t));
	return mr_session_order_costs(&t, out);
}

static bool cuts(void *arg, uint32_t n_stages)
{
	const cut *c = cut_into(arg, n_stages, NULL);

	return c && c->possible;
}

static mr_status costs(void *arg, const mr_plan *plan, mr_stage_cost *out)
{
	mr_plan *copy; /* a session owns its plan */
	mr_status st;

	MR_TRY(mr_plan_copy(plan, &copy));
	st = costs_of(arg, copy, out);
	mr_plan_destroy(copy);
	return st;
}

static mr_status forecast(const mr_session *t, mr_sched_verdict *out)
{
	mr_forecast f;
	mr_status st = mr_session_forecast(t, &f);
	double steps = mr_forecast_steps(t->plan);

	if (st == MR_OK) {
		bool local = t->plan->contract.flush != MR_FLUSH_BARRIER;

		*out = (mr_sched_verdict){
			.step = f.step_s,
			.makespan = f.walk->makespan / steps,
			.period = local ? f.walk->period / steps : (double)NAN,
			.bytes = f.bytes,
			.fits = mr_session_forecast_fits(t, &f) == MR_OK,
		};
	}
	mr_forecast_fini(&f);
	return st;
}

static mr_status look(void *arg, const mr_plan *plan, mr_sched_verdict *out)
{
	mr_session_judge *j = arg;
	mr_session t = {0};
	mr_plan *copy;
	mr_status st;

	MR_TRY(mr_plan_copy(plan, &copy));
	st = stand_in(j, copy, &t);
	if (st == MR_OK)
		st = mr_session_finish_plan(&t);
	if (st == MR_OK)
		st = forecast(&t, out);
	mr_plan_destroy(copy);
	return st;
}

mr_status mr_session_judge_create(mr_session *s, mr_session_judge **out)
{
	mr_session_judge *j = calloc(1, sizeof(*j));
	bool clips = s->job->train.clip > 0;

	*out = j;
	if (!j)
		return mr_fail(MR_ERESOURCE, "no memory to choose among plans");
	s->program_bytes = mr_memory_of_program(s); /* before the temporary memory of the choice itself */
	*j = (mr_session_judge){.s = s, .face = {.cuts = cuts, .costs = costs, .look = look, .barrier = clips,
		.arg = j}};
	return MR_OK;
}

const mr_sched_judge *mr_session_judge_face(const mr_session_judge *j)
{
	return &j->face;
}

void mr_session_judge_destroy(mr_session_judge *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->n_cuts; i++)
		mr_partition_fini(&j->cuts[i].partition);
	free(j->cuts);
	free(j);
	mr_memory_give_back(); /* memory of the many plans must not count as the program's */
}
