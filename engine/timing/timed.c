#include "timing/timed.h"

#include <math.h>
#include <stdlib.h>

void mr_timed_fini(mr_timed *t)
{
	mr_unroll_destroy(t->g);
	free(t->begin);
	free(t->order);
	*t = (mr_timed){0};
}

/* The end that sharing has found for a node, in place of that of the table. */
static double recorded_end(const void *arg, const mr_unroll *g, uint32_t node, double begin, double duration)
{
	const double *end = arg;

	(void)g;
	(void)duration;
	return fmax(begin, end[node]);
}

/* Times alone. *@complete: they are known; false: a cycle forbids that. */
static mr_status sweep(mr_timed *t, const mr_walked *of, bool *complete)
{
	if (!of->sharing)
		return mr_unroll_times_swept(t->g, of->cost, of->hooks, t->begin, t->end, complete);
	*complete = true;
	return mr_unroll_times_shared(t->g, of->cost, of->sharing, t->begin, t->end, &t->use);
}

static mr_status fill(mr_timed *t, const mr_walked *of, bool why)
{
	const mr_time_hooks recorded = {.finish = recorded_end, .arg = t->end,
					.begun = of->sharing && of->sharing->hosts};
	size_t n = t->g->n_all;
	bool complete = false;

	if (!why || of->sharing)
		MR_TRY(sweep(t, of, &complete));
	if (complete && !why)
		return MR_OK;
	t->order = malloc(2 * n * sizeof(*t->order));
	if (!t->order)
		return mr_fail(MR_ERESOURCE, "no memory to walk %zu instructions", n);
	t->binding = t->order + n;
	MR_TRY(mr_unroll_order(t->g, t->order));
	mr_unroll_times(t->g, of->cost, of->sharing ? &recorded : of->hooks, t->order, t->begin, t->end, t->binding);
	return MR_OK;
}

mr_status mr_timed_init(mr_timed *t, const mr_walked *of, uint32_t n_bodies, bool no_barrier, bool why)
{
	size_t n;

	*t = (mr_timed){0};
	MR_TRY(mr_unroll_create(of->plan, n_bodies,
				&(mr_unroll_opts){.no_barrier = no_barrier, .no_storage = of->opts->unlimited}, &t->g));
	n = t->g->n_all;
	t->begin = malloc((2 * n + 1) * sizeof(*t->begin));
	if (!t->begin)
		return mr_fail(MR_ERESOURCE, "no memory to walk %zu instructions", n);
	t->end = t->begin + n;
	return fill(t, of, why);
}
