#include "costs/team_costs.h"

#include <math.h>
#include <stdlib.h>

mr_status mr_team_costs_add(mr_team_costs *t, uint32_t n_layers, uint32_t threads, mr_stage_cost **out)
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

mr_stage_cost mr_team_costs_at(const mr_team_costs *t, uint32_t node, uint32_t *threads)
{
	const mr_stage_cost *a, *b;
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
	return (mr_stage_cost){.f = between(a->f, b->f, part),
			       .i = between(a->i, b->i, part),
			       .w = between(a->w, b->w, part),
			       .u = between(a->u, b->u, part)};
}
