#include "schedules/exact/exact.h"

#include <string.h>

#include "schedules/exact/exact_beam.h"
#include "schedules/exact/exact_patch.h"
#include "schedules/exact/exact_tree.h"

#define STRIDES 16      /* a bound in fine units is raised by this part of the gap at a time */
#define MANY_STEPS 24000u /* swaps that are worth beams and patches */
#define BEAM_OF_STEPS 4 /* beams take this part of the time of all swaps, */
#define MOST_RUNS 900u  /* with at most this many runs each */
#define TURN 10000u     /* swaps, and as much time for patches, in turns */

typedef struct solver {
	const mr_exact_job *job;
	mr_exact_narrower *narrower;
	mr_exact_window root, spare;
	mr_exact_order *best, found;
	int64_t bound;
	uint64_t most;    /* nodes */
	bool patches;     /* beside swaps */
	uint64_t n_seeds; /* of patches */
} solver;

static uint64_t left(const solver *s)
{
	uint64_t made = mr_exact_narrower_made(s->narrower);

	return made < s->most ? s->most - made : 0;
}

static bool is_open(const solver *s)
{
	return s->bound < s->best->makespan && left(s);
}

/* Narrow s->root for @target with trials. false: no order meets it. */
static bool prepare(solver *s, int64_t target, uint64_t trials)
{
	mr_exact_window_begin(s->narrower, &s->root);
	return mr_exact_narrow_by_trial(s->narrower, &s->root, &s->spare, target, trials);
}

/* Raise the bound to the least target that trials do not refute. */
static void raise_bound(solver *s)
{
	int64_t open = s->best->makespan;

	while (s->bound < open && left(s)) {
		int64_t middle = s->bound + (open - s->bound) / 2;

		if (prepare(s, middle, left(s)))
			open = middle;
		else
			s->bound = middle + 1;
	}
}

/* s->found is the order, if it is shorter. */
static void take_found(solver *s)
{
	if (s->found.makespan >= s->best->makespan)
		return;
	memcpy(s->best->pass, s->found.pass, s->job->n_passes * sizeof(*s->best->pass));
	s->best->makespan = s->found.makespan;
}

/* Look for an order that ends by @target, in at most @nodes nodes. */
static mr_status look(solver *s, int64_t target, uint64_t nodes, mr_exact_answer *answer)
{
	*answer = MR_EXACT_NONE;
	if (prepare(s, target, nodes / 2))
		MR_TRY(mr_exact_tree(s->job, s->narrower, &s->root, target, nodes / 2, &s->found, answer));
	if (*answer == MR_EXACT_NONE)
		s->bound = target + 1 > s->bound ? target + 1 : s->bound;
	if (*answer == MR_EXACT_FOUND)
		take_found(s);
	return MR_OK;
}

static mr_status search_trees(solver *s)
{
	mr_exact_answer answer = MR_EXACT_NONE;

	while (is_open(s) && answer == MR_EXACT_NONE)
		MR_TRY(look(s, s->bound + (s->best->makespan - s->bound - 1) / STRIDES, left(s) / 4 + 1, &answer));
	answer = MR_EXACT_FOUND;
	while (is_open(s) && answer == MR_EXACT_FOUND)
		MR_TRY(look(s, s->best->makespan - 1, left(s), &answer));
	return MR_OK;
}

/* Shorten the best order in about @steps swaps, or in as much time. */
static mr_status shorten(solver *s, uint64_t steps)
{
	if (!s->patches)
		return mr_exact_improve(s->job, s->best, s->bound, steps);
	for (uint64_t turn = 0; 2 * turn * TURN < steps && s->bound < s->best->makespan; turn++) {
		MR_TRY(mr_exact_improve(s->job, s->best, s->bound, TURN));
		MR_TRY(mr_exact_patch(s->job, s->best, s->bound, TURN / MR_EXACT_PATCH_SWAPS, s->n_seeds++));
	}
	return MR_OK;
}

/* Begin with the best order of some beams, shortened, if that is shorter; *@steps: what is left of them. */
static mr_status search_beams(solver *s, uint64_t *steps)
{
	uint64_t part = *steps / BEAM_OF_STEPS, all = part / MR_EXACT_BEAM_SWAPS,
		 beams = (all + MOST_RUNS - 1) / MOST_RUNS, runs = all / beams,
		 swaps = part / beams < TURN ? part / beams : TURN;

	*steps -= part;
	for (uint64_t k = 0; k < beams && s->bound < s->best->makespan; k++) {
		MR_TRY(mr_exact_beam(s->job, (uint32_t)runs, k, &s->found));
		MR_TRY(mr_exact_improve(s->job, &s->found, s->bound, swaps));
		take_found(s);
	}
	return MR_OK;
}

static mr_status solve(solver *s, uint64_t steps)
{
	MR_TRY(mr_exact_improve(s->job, s->best, 0, 0));
	s->bound = mr_exact_lower(s->narrower, 0, s->best->makespan, &s->root);
	s->most += mr_exact_narrower_made(s->narrower);
	s->patches = steps >= MANY_STEPS && mr_exact_patch_suits(s->job);
	if (steps >= MANY_STEPS && mr_exact_beam_suits(s->job)) {
		MR_TRY(mr_exact_improve(s->job, s->best, s->bound, TURN)); /* enough for an easy one */
		MR_TRY(search_beams(s, &steps));
	}
	MR_TRY(shorten(s, steps / 2));
	if (!is_open(s))
		return MR_OK;
	raise_bound(s);
	MR_TRY(shorten(s, steps - steps / 2));
	return s->job->n_passes > MR_EXACT_TREE_PASSES ? MR_OK : search_trees(s);
}

mr_status mr_exact_solve(const mr_exact_job *job, const int64_t *begin, uint64_t nodes, uint64_t steps,
			 mr_exact_order *order, mr_exact_result *out)
{
	solver s = {.job = job, .best = order, .most = nodes};
	mr_status st = mr_exact_narrower_create(job, &s.narrower);

	if (st == MR_OK)
		st = mr_exact_window_init(job, &s.root);
	if (st == MR_OK)
		st = mr_exact_window_init(job, &s.spare);
	if (st == MR_OK)
		st = mr_exact_order_init(job, &s.found);
	if (st == MR_OK)
		st = mr_exact_order_by(job, begin, order);
	if (st == MR_OK)
		st = solve(&s, steps);
	if (st == MR_OK)
		*out = (mr_exact_result){.makespan = (double)order->makespan * job->unit,
					 .bound = (double)s.bound * job->unit,
					 .nodes = mr_exact_narrower_made(s.narrower)};
	mr_exact_order_fini(&s.found);
	mr_exact_window_fini(&s.spare);
	mr_exact_window_fini(&s.root);
	mr_exact_narrower_destroy(s.narrower);
	return st;
}
