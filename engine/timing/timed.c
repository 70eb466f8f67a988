#include "timing/timed.h"

#include <stdlib.h>

void mr_timed_fini(mr_timed *t)
{
	mr_unroll_destroy(t->g);
	free(t->begin);
	free(t->order);
	*t = (mr_timed){0};
}

/* Times and binding sources of workers that share. */
static mr_status play(mr_timed *t, const mr_walked *of)
{
	mr_shared_times *s;
	mr_status st;

	MR_TRY(mr_shared_times_create(&(mr_shared_times_of){t->g, of->cost, of->hooks, of->sharing}, t->begin, t->end,
				      t->binding, &s));
	st = mr_shared_times_play(s, UINT32_MAX);
	t->use = mr_shared_times_use(s);
	mr_shared_times_destroy(s);
	return st;
}

static mr_status fill(mr_timed *t, const mr_walked *of, bool why)
{
	size_t n = t->g->n_all;
	bool complete = false;

	if (!why && !of->sharing)
		MR_TRY(mr_unroll_times_swept(t->g, of->cost, of->hooks, t->begin, t->end, &complete));
	if (complete)
		return MR_OK;
	t->order = malloc(2 * n * sizeof(*t->order));
	if (!t->order)
		return mr_fail(MR_ERESOURCE, "no memory to walk %zu instructions", n);
	t->binding = t->order + n;
	if (of->sharing)
		MR_TRY(play(t, of));
	if (!of->sharing || why)
		MR_TRY(mr_unroll_order(t->g, t->order));
	if (!of->sharing)
		mr_unroll_times(t->g, of->cost, of->hooks, t->order, t->begin, t->end, t->binding);
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
