#include "perf/theory/ages.h"

#include <stdlib.h>

typedef struct commit {
	uint32_t at;   /* its number among all commits of the run */
	uint32_t micro;
	uint16_t stage;
} commit;

typedef struct events {
	uint32_t *f;   /* [n_micro][n_stages] commits of the run when F began; NOT_SEEN: no trace record has it */
	commit *at;    /* [n_micro * n_stages] in their order */
	uint32_t n, room;
} events;

#define NOT_SEEN UINT32_MAX

static int by_place(const void *a, const void *b)
{
	const commit *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* The number of commits of @e among the first @n commits of the run. */
static uint32_t among(const events *e, uint32_t n)
{
	uint32_t low = 0, high = e->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (e->at[mid].at < n)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The op whose end is a commit: U if the plan has it, else the B that steps. */
static mr_op commit_op(const mr_plan *p)
{
	for (uint16_t w = 0; w < p->n_workers; w++)
		for (int section = MR_PROLOGUE; section < MR_N_SECTIONS; section++) {
			const mr_list *l = mr_plan_list(p, w, (mr_section)section);

			for (uint32_t i = 0; i < l->n; i++)
				if (l->at[i].op == MR_OP_U)
					return MR_OP_U;
		}
	return MR_OP_B;
}

static mr_status usable(const mr_run *run)
{
	const mr_contract *c = &run->c.plan->contract;

	if (c->coverage != MR_COVER_TRAIN || c->flush != MR_FLUSH_NONE || c->need != 1 || run->n_pipes != 1 ||
	    !c->same_version_b)
		return mr_fail(MR_EINVAL,
			       "%s does not commit after each micro-batch by a gradient at the version that it read",
			       run->c.plan->system);
	for (uint16_t w = 0; w < run->n_workers; w++)
		if (!run->worker[w].trace || run->worker[w].n_trace > MR_TRACE_RING)
			return mr_fail(MR_EINVAL, "worker %u has kept %s", w,
				       run->worker[w].trace ? "the last of its trace records only" : "no trace");
	return MR_OK;
}

static mr_status collect(const mr_run *run, uint32_t n_micro, events *e)
{
	mr_op ends = commit_op(run->c.plan);

	for (uint32_t i = 0; i < e->room; i++)
		e->f[i] = NOT_SEEN;
	for (uint16_t w = 0; w < run->n_workers; w++)
		for (uint64_t i = 0; i < run->worker[w].n_trace; i++) {
			const mr_trace_rec *t = &run->worker[w].trace[i];

			if (t->micro >= n_micro)
				continue;
			if (t->op == MR_OP_F)
				e->f[(size_t)t->micro * run->n_stages + t->stage] = t->n_commits;
			else if (t->op == ends && e->n < e->room)
				e->at[e->n++] = (commit){t->n_commits, t->micro, t->stage};
		}
	if (e->n != e->room)
		return mr_fail(MR_EINVAL, "%u micro-batches over %u stages are %u commits, and the trace has %u",
			       n_micro, run->n_stages, e->room, e->n);
	qsort(e->at, e->n, sizeof(*e->at), by_place);
	return MR_OK;
}

static mr_status fill(const events *e, mr_aged *a)
{
	for (uint32_t k = 0; k < e->n; k++) {
		a->stage[k] = e->at[k].stage;
		a->batch[k] = e->at[k].micro;
		for (uint16_t b = 0; b < a->n_stages; b++) {
			uint32_t begun = e->f[(size_t)e->at[k].micro * a->n_stages + b];
			uint32_t seen = among(e, begun);

			if (seen > k)
				return mr_fail(MR_EINVAL,
					       "the trace has no F of micro-batch %u at stage %u before its update",
					       e->at[k].micro, b);
			a->delay[(size_t)k * a->n_stages + b] = k - seen;
		}
	}
	return mr_aged_index(a);
}

mr_status mr_ages_of_run(const mr_run *run, uint32_t n_micro, mr_aged **out)
{
	events e = {0};
	mr_status st;

	*out = NULL;
	MR_TRY(usable(run));
	if (!n_micro || n_micro > UINT32_MAX / run->n_stages)
		return mr_fail(MR_EINVAL, "%u micro-batches over %u stages are no steps that could be counted", n_micro,
			       run->n_stages);
	e.room = n_micro * run->n_stages;
	e.f = malloc(e.room * sizeof(*e.f));
	e.at = calloc(e.room, sizeof(*e.at));
	st = e.f && e.at ? collect(run, n_micro, &e) : mr_fail(MR_ERESOURCE, "no memory for %u steps", e.room);
	if (st == MR_OK)
		st = mr_aged_create(run->n_stages, e.room, out);
	if (st == MR_OK)
		st = fill(&e, *out);
	if (st != MR_OK) {
		mr_aged_destroy(*out);
		*out = NULL;
	}
	free(e.f);
	free(e.at);
	return st;
}
