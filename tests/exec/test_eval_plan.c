/* Evaluation keeps all workers busy wherever the stages lie. */
#include "check.h"
#include "timing/walk.h"
#include "exec/eval_plan.h"
#include "exec/small_run.h"
#include "lower/small_plans.h"

#include <math.h>

/* Stage s on worker s mod D (@turn: and back again, chunk by chunk), @v stages a worker. */
static mr_plan *training(uint16_t d, uint16_t v, bool turn)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create((uint16_t)(d * v), d, 1, &p));
	for (uint16_t s = 0; s < p->n_stages; s++)
		p->worker_of[s] = (uint16_t)(turn && s / d % 2 ? d - 1 - s % d : s % d);
	return p;
}

static void all_workers_compute(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint16_t v = 1; v <= 4; v++)
			for (int turn = 0; turn < 2; turn++) {
				mr_plan *train = training(d, v, turn), *p;
				mr_stage_cost stage[20];
				double period;

				MR_CHECK_OK(mr_eval_plan_create(train, &p));
				for (uint16_t s = 0; s < p->n_stages; s++) {
					stage[s] = (mr_stage_cost){.f = 1};
					CU_ASSERT_EQUAL(p->worker_of[s], train->worker_of[s]);
				}
				MR_CHECK_OK(mr_plan_period(p, &(mr_cost){p->n_stages, stage}, false, &period));
				CU_ASSERT_DOUBLE_EQUAL(period, v, 1e-9);
				/* each of its stages once an iteration, the last at its number */
				for (uint16_t w = 0; w < d; w++)
					CU_ASSERT_EQUAL(mr_plan_list(p, w, MR_BODY)->n, v);
				mr_plan_destroy(p);
				mr_plan_destroy(train);
			}
}

/* Workers without a part of pipe 0 have nothing to do, and stages may be dealt out unevenly. */
static void uneven(void)
{
	mr_plan *train, *p;

	MR_CHECK_OK(mr_plan_create(3, 3, 1, &train));
	train->worker_of[0] = train->worker_of[2] = 1;
	train->worker_of[1] = 0;
	MR_CHECK_OK(mr_eval_plan_create(train, &p));
	CU_ASSERT_EQUAL(mr_plan_list(p, 0, MR_BODY)->n, 1);
	CU_ASSERT_EQUAL(mr_plan_list(p, 1, MR_BODY)->n, 2);
	CU_ASSERT_EQUAL(mr_plan_list(p, 2, MR_BODY)->n, 0);
	mr_plan_destroy(p);
	mr_plan_destroy(train);
}

/* Where pipe 0 leaves workers idle, all pipes take part: here each worker has the whole model. */
static void pipes_by_turns(void)
{
	for (uint8_t d = 2; d <= 6; d++) {
		mr_plan *train, *p;
		mr_stage_cost stage[3] = {{.f = 1}, {.f = 1}, {.f = 1}};
		double period;

		MR_CHECK_OK(mr_plan_create(3, d, d, &train));
		for (uint8_t w = 0; w < d; w++)
			for (uint16_t s = 0; s < 3; s++)
				train->worker_of[mr_plan_at(train, w, s)] = w;
		MR_CHECK_OK(mr_eval_plan_create(train, &p));
		CU_ASSERT_EQUAL(p->n_micro, d);
		MR_CHECK_OK(mr_plan_period(p, &(mr_cost){3, stage}, false, &period));
		CU_ASSERT_DOUBLE_EQUAL(period, 3, 1e-9); /* for d micro-batches */
		mr_plan_destroy(p);
		mr_plan_destroy(train);
	}
}

/* Where a pause leaves no micro-batch under way, evaluations work in the slots of training, and count no memory. */
static void slots_are_lent(void)
{
	for (int flushes = 0; flushes < 2; flushes++) {
		small_run r;

		small_run_init(&r, flushes ? small_gpipe(3, 4, false) : small_pipedream(3, false, false));
		small_run_start(&r);
		for (uint16_t s = 0; s < 3; s++) {
			const mr_links_stage *train = mr_links_at(&r.run->train, 0, s);
			const mr_links_stage *eval = mr_links_at(&r.run->eval, 0, s);
			uint64_t slots = train->n_slots * train->slot_bytes;
			mr_run_memory m;

			mr_run_memory_of_stage(r.run, 0, s, &m);
			CU_ASSERT_EQUAL(eval->borrows_slots, flushes);
			CU_ASSERT_EQUAL(eval->slot_memory == train->slot_memory, flushes);
			CU_ASSERT_EQUAL(m.activations, slots + (flushes ? 0 : eval->n_slots * eval->slot_bytes));
		}
		small_run_fini(&r);
	}
}

void mr_suite_eval_plan(void);
void mr_suite_eval_plan(void)
{
	MR_SUITE("eval_plan");
	MR_TEST(all_workers_compute);
	MR_TEST(uneven);
	MR_TEST(pipes_by_turns);
	MR_TEST(slots_are_lent);
}
