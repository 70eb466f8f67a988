/* A simulation window by window is the simulation of the whole, for every registered system. */
#include <string.h>

#include "check.h"
#include "lower/lower.h"
#include "schedules/registry.h"
#include "timing/stream.h"

/* Iterations until the smallest window has moved several times, by trial: it is four times as long as edges reach. */
enum { BODIES = 120, LEAST_CASES = 60 };

static void compare(const mr_plan *p, const mr_walk_opts *params)
{
	size_t *next = calloc(p->n_workers, sizeof(*next)), n = 0;
	mr_stage_cost *stage = calloc(p->n_stages, sizeof(*stage));
	mr_walk_stream *s;
	mr_walk_event e;
	bool more = true, same = true;
	mr_cost cost;
	mr_walk *k;

	CU_ASSERT_FATAL(next && stage);
	mr_cost_share(p, 2, 3, 1, stage, &cost);
	for (uint16_t i = 0; i < p->n_stages; i++)
		stage[i].u = 0.5;
	MR_CHECK_OK(mr_plan_walk(p, &cost, BODIES, params, &k));
	MR_CHECK_OK(mr_walk_stream_create(p, &cost, params, &s));
	for (; same; n++) {
		const mr_walk_rec *r;

		MR_CHECK_OK(mr_walk_stream_next(s, BODIES, &e, &more));
		if (!more)
			break;
		r = &k->at[k->first[e.worker] + next[e.worker]++];
		same = r->in == e.in && r->n == e.n && r->begin == e.begin && r->end == e.end && r->cause == e.cause;
	}
	for (uint16_t w = 0; w < p->n_workers; w++)
		n += mr_plan_list(p, w, MR_EPILOGUE)->n;
	if (!same || n != k->first[p->n_workers])
		fprintf(stderr, "\n%s, %u workers, %u micro-batches: differs at instruction %zu\n", p->system,
			p->n_workers, p->n_micro, n);
	CU_ASSERT_TRUE(same);
	CU_ASSERT_EQUAL(n, k->first[p->n_workers]);
	mr_walk_stream_destroy(s);
	mr_walk_destroy(k);
	free(stage);
	free(next);
}

static uint32_t try_system(const mr_sched_ops *ops, uint16_t workers, uint32_t micro, bool local)
{
	mr_sched_args a = {.n_workers = workers, .n_micro = micro};
	mr_walk_opts params = {
		.window = 1, .no_period = true, .jitter = MR_JITTER_LOGNORMAL, .amount = 0.4};
	mr_plan *p;

	if (mr_schedule_emit(ops, &a, &p) != MR_OK)
		return 0; /* not every number suits every system */
	if (local && p->contract.flush == MR_FLUSH_BARRIER)
		p->contract.flush = MR_FLUSH_LOCAL;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	compare(p, &params);
	params.jitter = MR_JITTER_NONE;
	compare(p, &params);
	mr_plan_destroy(p);
	return 1;
}

static void all_systems(void)
{
	uint32_t n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++)
		for (unsigned d = 1; d <= 5; d++)
			for (uint32_t t = 1; t <= 6; t += 1 + (t > 1) * 2)
				n += try_system(mr_schedule_at(i), (uint16_t)d, t, t > 2);
	CU_ASSERT(n >= LEAST_CASES);
}

void mr_suite_streams(void); /* the runner declares it too */

void mr_suite_streams(void)
{
	MR_SUITE("streams");
	MR_TEST(all_systems);
}
