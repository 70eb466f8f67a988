/* walk_stolen.c - the walk of a plan whose W are taken by other workers: stealing.c finds which, the plan that has them
 * there is walked. */
#include "timing/timed.h"

#include <math.h>
#include <stdlib.h>

/* The period is taken from this many iterations, with irregular times and without; with irregular times, from as many
 * of them as have at most this many instructions. */
#define IRREGULAR_BODIES 64u
#define REGULAR_BODIES 4u
#define PERIOD_INSTRUCTIONS (1u << 18)

/* The lists that result from stealing. */
static mr_status walk_moved(const mr_walked *of, uint32_t n_bodies, mr_walk **out)
{
	mr_walked moved = *of;
	mr_steal *steal = NULL;
	mr_plan *plan = NULL;
	mr_status st;
	size_t n;

	MR_TRY(mr_steals_find(of, n_bodies, &steal, &n));
	st = mr_steal_plan(of->plan, n_bodies, steal, n, &plan);
	moved.plan = plan;
	if (st == MR_OK)
		st = mr_walk_make(&moved, 0, out);
	if (st == MR_OK) {
		(*out)->plan = plan;
		(*out)->n_bodies = n_bodies;
		for (size_t i = 0; i < n; i++)
			(*out)->n_stolen += steal[i].owner != steal[i].thief;
	} else {
		mr_plan_destroy(plan);
	}
	free(steal);
	return st;
}

/* The time at which the last stage commits version @v. */
static double committed_at(const mr_walk *k, int64_t v)
{
	double at = 0;

	for (size_t i = 0; i < k->first[k->n_workers]; i++)
		if (k->at[i].in->op == MR_OP_U && k->at[i].in->target == v)
			at = fmax(at, k->at[i].end);
	return at;
}

/* After a barrier every iteration begins anew: with regular times, all are alike from the second on. */
static mr_status find_period(const mr_walked *of, double *period)
{
	uint64_t length = mr_plan_length(of->plan, MR_BODY);
	uint32_t n = REGULAR_BODIES;
	mr_walk *k;

	while (of->hooks->irregular && n < IRREGULAR_BODIES && 2 * n * length <= PERIOD_INSTRUCTIONS)
		n *= 2;
	MR_TRY(walk_moved(of, n, &k));
	*period = (committed_at(k, n) - committed_at(k, n / 2)) / (n - n / 2);
	mr_walk_destroy(k);
	return MR_OK;
}

mr_status mr_walk_stolen(const mr_walked *of, uint32_t n_bodies, mr_walk **out)
{
	double period = 0, most = 0;

	if (!of->opts->no_period)
		MR_TRY(find_period(of, &period));
	MR_TRY(walk_moved(of, n_bodies, out));
	for (uint16_t w = 0; w < of->plan->n_workers; w++)
		most = fmax(most, (*out)->busy[w] / n_bodies);
	(*out)->period = period;
	(*out)->bubble_period = period > 0 ? fmax(0, 1 - most / period) : 0;
	return MR_OK;
}
