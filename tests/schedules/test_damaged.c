/*
 * test_damaged.c - what only plans of whole systems have, damaged: average and step in the wrong order, the norm in
 * another pipe, a backward that keeps or passes where it must not. The checker refuses each with its message. And tied
 * weights in several pipes, which no system asks for by itself, are lowered to plans that run.
 */
#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "sched_help.h"

static mr_plan *emitted(const char *system, uint16_t n_workers, uint32_t n_micro, bool finite, const char *sets)
{
	sched_case c = {.ops = mr_schedule_find(system),
			.n_workers = n_workers,
			.n_micro = n_micro,
			.finite = finite,
			.sets = sets};

	CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
	return sched_emit(&c);
}

static mr_instr *nth(mr_plan *p, uint16_t w, mr_section section, uint8_t op, int n)
{
	mr_list *l = mr_plan_list(p, w, section);

	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].op == op && n-- == 0)
			return &l->at[i];
	CU_FAIL_FATAL("no such instruction");
	return NULL;
}

/* Two commits of a stage exchange their places: each average waits for the steps before it. */
static void commits_in_order(void)
{
	mr_plan *p = emitted("local_sgd", 2, 2, false, "replicas=2 every=2");
	mr_instr *u, *average, was;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	u = nth(p, 0, MR_BODY, MR_OP_U, 1);
	average = nth(p, 0, MR_BODY, MR_OP_AVG, 0);
	was = *u;
	*u = *average;
	*average = was;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "deadlock, each waits for the next: w0 AVG m3 s0 p0 -> w0 U m3 s0 p0");
	mr_plan_destroy(p);
}

/* N of stage 0 goes to the worker that has the stage in pipe 1, to where its first step stands. */
static void the_norm_is_of_pipe_0(void)
{
	mr_plan *p = emitted("chimera", 2, 2, false, NULL);
	mr_instr *n, moved;
	mr_list *from, *to;
	uint32_t at = 0;

	p->contract.clip = true;
	p->contract.flush = MR_FLUSH_BARRIER;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	from = mr_plan_list(p, 0, MR_BODY);
	n = nth(p, 0, MR_BODY, MR_OP_N, 0);
	moved = *n;
	CU_ASSERT_EQUAL_FATAL(moved.stage, 0);
	memmove(n, n + 1, (size_t)(from->at + from->n - n - 1) * sizeof(*n));
	from->n--;
	moved.pipe = 1;
	MR_CHECK_OK(mr_plan_append(p, 1, MR_BODY, moved));
	to = mr_plan_list(p, 1, MR_BODY);
	while (to->at[at].op != MR_OP_U)
		at++;
	memmove(&to->at[at + 1], &to->at[at], (to->n - 1 - at) * sizeof(*to->at));
	to->at[at] = moved;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 N m1 s0 p1: belongs to pipe 0, where the whole gradient is");
	mr_plan_destroy(p);
}

/* Each B of a step passes before the stage that the step updates, and keeps behind it: any other flags are refused. */
static void one_stage_a_step(void)
{
	mr_plan *p = emitted("rpd", 3, 9, true, "delta=2");
	uint32_t n = 0;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	for (uint16_t w = 0; w < 3; w++) {
		mr_list *l = mr_plan_list(p, w, MR_PROLOGUE);

		for (uint32_t i = 0; i < l->n; i++) {
			uint8_t was = l->at[i].flags, mine = was & (MR_INSTR_KEEP | MR_INSTR_PASS);
			uint8_t other = mine == MR_INSTR_KEEP ? MR_INSTR_PASS : MR_INSTR_KEEP;

			if (l->at[i].op != MR_OP_B || !mine)
				continue;
			l->at[i].flags = (uint8_t)((was & ~mine) | other);
			MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "");
			n += strstr(mr_error_text(),
				    "a B must pass before the stage that its step updates, and keep after it") != NULL;
			l->at[i].flags = was;
		}
	}
	CU_ASSERT(n > 0);
	MR_CHECK_OK(mr_plan_check(p));
	mr_plan_destroy(p);
}

/* The gradient of a tied weight is whole when its other use has been summed in every pipe: AR of the first stage waits
 * for the last. */
static void tied_in_several_pipes(void)
{
	uint32_t n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++)
		for (uint16_t d = 2; d <= 6; d++)
			for (uint32_t t = 2; t <= 12; t++) {
				sched_case c = {.ops = mr_schedule_at(i), .n_workers = d, .n_micro = t};
				mr_plan *p;

				if (c.ops->asynchronous || c.ops->replicates || c.ops->ends ||
				    !(p = sched_try_emit(&c)))
					continue;
				if (p->n_pipes > 1 && p->n_stages > 1) {
					p->contract.tied = true;
					MR_CHECK_OK(mr_plan_lower(p, NULL));
					CU_ASSERT_EQUAL_FATAL(sched_blame(&c, mr_plan_check(p) == MR_OK), true);
					n++;
				}
				mr_plan_destroy(p);
			}
	CU_ASSERT(n > 50);
}

void mr_suite_damaged(void); /* the runner declares it too */

void mr_suite_damaged(void)
{
	MR_SUITE("damaged");
	MR_TEST(commits_in_order);
	MR_TEST(the_norm_is_of_pipe_0);
	MR_TEST(one_stage_a_step);
	MR_TEST(tied_in_several_pipes);
}
