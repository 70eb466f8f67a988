/*
 * test_steal.c - W that any worker may take: which ones the lowering places so, what the checker says of others, and
 * the plans that have them moved.
 */
#include "ir/steal.h"

#include <string.h>

#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "ir/pause.h"
#include "timing/walk.h"

/* Two stages, two workers, three micro-batches: worker 1 is done with all but its W when worker 0 has its last I before
 * it.
 *	w0  F0 F1 F2 I0 W0 I1 W1 I2 W2
 *	w1  F0 I0 F1 I1 F2 I2 W0 W1 W2 */
static mr_plan *small(mr_flush flush, bool steal)
{
	static const struct {
		mr_op op;
		uint32_t micro;
	} w0[] = {{MR_OP_F, 0}, {MR_OP_F, 1}, {MR_OP_F, 2}, {MR_OP_I, 0}, {MR_OP_W, 0},
		  {MR_OP_I, 1}, {MR_OP_W, 1}, {MR_OP_I, 2}, {MR_OP_W, 2}},
	  w1[] = {{MR_OP_F, 0}, {MR_OP_I, 0}, {MR_OP_F, 1}, {MR_OP_I, 1}, {MR_OP_F, 2},
		  {MR_OP_I, 2}, {MR_OP_W, 0}, {MR_OP_W, 1}, {MR_OP_W, 2}};
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(2, 2, 1, &p));
	strcpy(p->system, "small");
	p->n_micro = 3;
	p->commits = 1;
	p->contract = (mr_contract){.flush = flush, .need = 3, .same_version_b = true, .steal = steal};
	p->worker_of[1] = 1;
	p->worker_of[0] = 0;
	for (size_t i = 0; i < 9; i++) {
		MR_CHECK_OK(mr_plan_append(p, 0, MR_BODY,
					   (mr_instr){.op = (uint8_t)w0[i].op, .span = 1, .micro = w0[i].micro}));
		MR_CHECK_OK(mr_plan_append(
			p, 1, MR_BODY,
			(mr_instr){.op = (uint8_t)w1[i].op, .span = 1, .stage = 1, .micro = w1[i].micro}));
	}
	return p;
}

static mr_plan *lowered(void)
{
	mr_plan *p = small(MR_FLUSH_BARRIER, true);

	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true})); /* which does not go with it */
	MR_CHECK_OK(mr_plan_check(p));
	return p;
}

static mr_instr *at(mr_plan *p, uint16_t worker, uint32_t i)
{
	return &mr_plan_list(p, worker, MR_BODY)->at[i];
}

static void refuse(mr_plan *p, const char *part)
{
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, part);
	mr_plan_destroy(p);
}

static void tails(void)
{
	mr_plan *p = lowered();

	CU_ASSERT_EQUAL(mr_steal_count(p, 0), 1);
	CU_ASSERT_EQUAL(mr_steal_count(p, 1), 3);
	CU_ASSERT_EQUAL(at(p, 0, 6)->flags, 0); /* W1, before I2 */
	CU_ASSERT_EQUAL(at(p, 0, 8)->flags, MR_INSTR_ANY);
	CU_ASSERT_EQUAL(at(p, 0, 9)->op, MR_OP_U);
	CU_ASSERT_EQUAL(at(p, 1, 6)->flags, MR_INSTR_ANY | MR_INSTR_FIRST_SUM);
	mr_plan_destroy(p);
	p = small(MR_FLUSH_BARRIER, false);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	CU_ASSERT_EQUAL(mr_steal_count(p, 0) + mr_steal_count(p, 1), 0);
	mr_plan_destroy(p);
}

static void what_is_refused(void)
{
	mr_plan *p = small(MR_FLUSH_LOCAL, true);

	MR_CHECK_FAIL(mr_plan_lower(p, NULL), MR_ECONFIG, "has a barrier behind each iteration");
	mr_plan_destroy(p);
	p = lowered();
	at(p, 0, 6)->flags = MR_INSTR_ANY;
	refuse(p, "w0 W m1 s0 p0: is marked any, but I m2 s0 of its own worker comes after it");
	p = lowered();
	at(p, 0, 8)->flags = MR_INSTR_ANY | MR_INSTR_UPDATE;
	at(p, 0, 8)->target = 1;
	mr_plan_list(p, 0, MR_BODY)->n--;
	refuse(p, "other workers may still add to the gradients");
	p = lowered();
	at(p, 0, 7)->flags = MR_INSTR_ANY;
	refuse(p, "w0 I m2 s0 p0: flags");
	p = lowered();
	p->contract.steal = false;
	refuse(p, "only a W in the body of a plan whose contract has steal");
	p = lowered(); /* on another worker, but still anybody's */
	MR_CHECK_OK(mr_plan_append(p, 0, MR_BODY, *at(p, 1, 8)));
	*at(p, 1, 8) = *at(p, 1, 9);
	mr_plan_list(p, 1, MR_BODY)->n--;
	refuse(p, "stage 1 of pipe 0 lives on worker 1");
	p = lowered(); /* before its worker is done with the rest: U0 must wait for what comes behind it */
	p->worker_of[1] = MR_WORKER_ANY;
	refuse(p, "only W can be taken by whichever is free");
}

/* W1 and W2 of worker 1 with worker 0, behind its U, in two iterations. */
static void moved(void)
{
	const mr_steal move[] = {{0, 1, 0, 7, 10}, {0, 1, 0, 8, 10}, {1, 1, 0, 8, 10}};
	mr_stage_cost stage[] = {{.f = 1, .i = 1, .w = 1}, {.f = 1, .i = 1, .w = 3}};
	mr_plan *p = lowered(), *m;
	uint32_t pause[3];
	mr_walk *k;

	MR_CHECK_OK(mr_steal_plan(p, 2, move, 3, &m));
	MR_CHECK_OK(mr_plan_check(m));
	CU_ASSERT_EQUAL(m->n_micro, 6);
	CU_ASSERT_EQUAL(mr_plan_list(m, 0, MR_PROLOGUE)->n, 23);
	CU_ASSERT_EQUAL(mr_plan_list(m, 1, MR_PROLOGUE)->n, 17);
	CU_ASSERT_EQUAL(mr_plan_list(m, 0, MR_PROLOGUE)->at[11].micro, 2);
	CU_ASSERT_EQUAL(mr_plan_list(m, 0, MR_PROLOGUE)->at[11].flags, 0);
	CU_ASSERT_EQUAL(mr_pauses_of(m, 0, pause, 3), 2);
	CU_ASSERT_EQUAL(pause[0], 12); /* behind what worker 0 took of the first iteration */
	CU_ASSERT_EQUAL(pause[1], 23);
	MR_CHECK_OK(mr_plan_check_pauses(m));
	MR_CHECK_OK(mr_plan_walk(m, &(mr_cost){2, stage}, 0, NULL, &k));
	CU_ASSERT_EQUAL(k->peak_until_w[1], 3);
	for (size_t i = k->first[0]; i < k->first[2]; i++)
		if (k->at[i].in->op == MR_OP_W && k->at[i].in->stage == 1 && k->at[i].in->micro == 1)
			/* not before W0, which it follows */
			CU_ASSERT_TRUE(k->at[i].end >= k->at[k->first[1] + 6].end);
	mr_walk_destroy(k);
	mr_plan_destroy(m);
	mr_plan_destroy(p);
}

static void bad_moves(void)
{
	static const mr_steal none[][2] = {{{0, 0, 1, 6, 10}, {0}},
					   {{1, 1, 0, 8, 10}, {0}},
					   {{0, 1, 0, 8, 11}, {0}},
					   {{0, 2, 0, 8, 9}, {0}},
					   {{0, 1, 0, 20, 9}, {0}}};
	const mr_steal twice[] = {{0, 1, 0, 8, 10}, {0, 1, 0, 8, 10}}, mixed[] = {{0, 1, 0, 8, 10}, {0, 1, 0, 7, 9}};
	mr_plan *p = lowered(), *m = NULL;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		MR_CHECK_FAIL(mr_steal_plan(p, 1, none[i], 1, &m), MR_EINVAL, "cannot have taken instruction");
	MR_CHECK_FAIL(mr_steal_plan(p, 1, twice, 2, &m), MR_EINVAL, "taken twice");
	MR_CHECK_FAIL(mr_steal_plan(p, 1, mixed, 2, &m), MR_EINVAL, "not in the order of its list");
	CU_ASSERT_PTR_NULL(m);
	mr_plan_destroy(p);
}

void mr_suite_steal(void)
{
	MR_SUITE("steal");
	MR_TEST(tails);
	MR_TEST(what_is_refused);
	MR_TEST(moved);
	MR_TEST(bad_moves);
}
