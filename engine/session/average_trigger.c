#include "session/average_trigger.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "ranks/over_ranks.h"

static bool averages(const mr_session *s)
{
	return s->optim.ops->averages;
}

mr_status mr_average_check(const mr_session *s)
{
	const char *name = s->optim.ops->name;
	const mr_types *t = &s->kernels->types;

	if (!averages(s))
		return MR_OK;
	if (t->weights != t->state || mr_types_rest_bytes(t))
		return mr_fail(MR_ECONFIG, "%s exchanges weights and averages, which must have one type: take "
					   "precision = \"f32\"", name);
	if (s->plan->contract.private_weights || mr_contract_replicates(&s->plan->contract) ||
	    mr_plan_has_stage_replicas(s->plan))
		return mr_fail(MR_ECONFIG, "%s averages one copy of the weights, and %s has several", name,
			       s->job->system.name);
	if (*s->job->train.frozen)
		return mr_fail(MR_ECONFIG, "%s averages all weights, and train.frozen leaves some as they are", name);
	for (uint32_t p = 0; p < s->graph->n_params; p++)
		if (s->graph->params[p].lazy)
			return mr_fail(MR_ECONFIG,
				       "%s averages all weights at each step, and steps of the table %s leave most "
				       "rows alone", name, s->graph->params[p].name);
	if (!s->job->train.eval_every)
		return mr_fail(MR_ECONFIG, "%s begins to average when evaluations no longer get better: set "
					   "train.eval_every", name);
	return MR_OK;
}

/* The step behind which steps average; 0: they do not yet. Of a rank that follows the run alone knows. */
static uint64_t begun(const mr_session *s)
{
	const mr_run *run = averages(s) ? mr_executor_run_of(&s->executor) : NULL;

	return run ? run->weights[0].optim.average_from : 0;
}

/* Let steps average from step @from on; 0: not yet. */
static mr_status begin(mr_session *s, uint64_t from)
{
	if (s->ranks)
		return mr_over_ranks_average(s->executor.engine, from);
	mr_run_average_from(mr_executor_run_of(&s->executor), from);
	return MR_OK;
}

mr_status mr_average_note(mr_session *s, uint64_t step, double loss)
{
	mr_average_trigger *t = &s->average;
	uint64_t every = (uint64_t)s->job->train.eval_every;
	uint32_t wait = s->optim.wait;

	if (!averages(s) || begun(s) || !every || step % every || step <= t->noted)
		return MR_OK;
	t->noted = step;
	if (t->n == wait) { /* the oldest of the last ones becomes one of all before */
		t->least = t->has_least ? fmin(t->least, t->last[0]) : t->last[0];
		t->has_least = true;
		memmove(t->last, t->last + 1, (wait - 1) * sizeof(*t->last));
		t->n--;
	}
	if (t->has_least && loss > t->least) {
		MR_TRY(begin(s, step));
		mr_notice("from step %" PRIu64 " on the weights are averaged: the loss %.6g is above %.6g",
			  step, loss, t->least);
	}
	t->last[t->n++] = loss;
	return MR_OK;
}

/* --- what counts as the weights --- */

/* The average of @weights in the optimizer's state. */
static mr_saved_tensor *average_of(const mr_session *s, mr_state *lists, const mr_saved_tensor *weights)
{
	char name[200];

	snprintf(name, sizeof(name), "%s.%s", weights->name, s->optim.ops->state_names[0]);
	for (size_t i = 0; i < lists->optimizer.n; i++)
		if (!strcmp(lists->optimizer.at[i].name, name))
			return &lists->optimizer.at[i];
	return NULL; /* a state of a layer has none */
}

void mr_average_rename(const mr_session *s, mr_state *lists)
{
	for (size_t i = 0; begun(s) && i < lists->model.n; i++) {
		mr_saved_tensor *a = average_of(s, lists, &lists->model.at[i]);
		void *weights = lists->model.at[i].data;

		if (!a)
			continue;
		lists->model.at[i].data = a->data;
		a->data = weights;
	}
}

static void exchange(uint8_t *a, uint8_t *b, size_t n)
{
	uint8_t room[4096];

	for (size_t at = 0; at < n; at += sizeof(room)) {
		size_t len = n - at < sizeof(room) ? n - at : sizeof(room);

		memcpy(room, a + at, len);
		memcpy(a + at, b + at, len);
		memcpy(b + at, room, len);
	}
}

mr_status mr_average_exchange(mr_session *s)
{
	mr_state lists;

	if (!begun(s))
		return MR_OK;
	MR_TRY(mr_executor_state(&s->executor, &lists));
	for (size_t i = 0; i < lists.model.n; i++) {
		const mr_saved_tensor *w = &lists.model.at[i], *a = average_of(s, &lists, w);

		if (a)
			exchange(w->data, a->data, w->bytes);
	}
	mr_state_fini(&lists);
	mr_executor_hold(&s->executor);
	return MR_OK;
}

/* --- in checkpoints --- */

/* "FROM NOTED LEAST N LOSS ..." */
const char *mr_average_fact(const mr_session *s, char *text, size_t size)
{
	const mr_average_trigger *t = &s->average;
	size_t at;

	*text = '\0';
	if (!averages(s))
		return text;
	at = (size_t)snprintf(text, size, "%" PRIu64 " %" PRIu64 " %a", begun(s), t->noted,
			      t->has_least ? t->least : (double)NAN);
	for (uint32_t i = 0; i < t->n && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, " %a", t->last[i]);
	return text;
}

mr_status mr_average_take_up(mr_session *s, const char *fact)
{
	mr_average_trigger *t = &s->average;
	uint64_t from;
	char *end;

	if (!averages(s))
		return MR_OK;
	if (!fact)
		return mr_fail(MR_ECKPT, "it does not say whether %s had begun to average", s->optim.ops->name);
	*t = (mr_average_trigger){0};
	from = strtoull(fact, &end, 10);
	t->noted = strtoull(end, &end, 10);
	t->least = strtod(end, &end);
	t->has_least = !isnan(t->least);
	for (; *end && t->n < MR_OPTIM_MOST_WAIT; t->n++)
		t->last[t->n] = strtod(end, &end);
	return begin(s, from);
}
