/* The walk against closed forms of the literature, and the small things that a closed form does not show. */
#include "timing/walk.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "ir/deps.h"
#include "ir/sweep.h"
#include "lower/lower.h"
#include "lower/small_plans.h"

static mr_walk *walk(const mr_plan *p, const mr_cost *cost, uint32_t n_bodies, const mr_walk_opts *opts)
{
	mr_walk *k = NULL;

	MR_CHECK_OK(mr_plan_walk(p, cost, n_bodies, opts, &k));
	return k;
}

static mr_walk *walk_share(mr_plan *p, double f, double i, double w, uint32_t n_bodies)
{
	mr_stage_cost stage[64];
	mr_cost cost;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	mr_cost_share(p, f, i, w, stage, &cost);
	return walk(p, &cost, n_bodies, NULL);
}

/* Bubble time (D-1)(f+b) for GPipe and 1F1B; peaks T and min(T, D-w). */
static void flushing_pipelines(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t t = 1; t <= 7; t += 2)
			for (int gpipe = 0; gpipe < 2; gpipe++) {
				mr_plan *p = gpipe ? small_gpipe(d, t, t % 4 == 1) : small_1f1b(d, t);
				mr_walk *k = walk_share(p, 2, 3, 1.5, 1);
				double one = 2 + 3 + 1.5;

				CU_ASSERT_DOUBLE_EQUAL(k->makespan, (t + d - 1) * one, 1e-9);
				CU_ASSERT_DOUBLE_EQUAL(k->period, (t + d - 1) * one, 1e-9);
				CU_ASSERT_DOUBLE_EQUAL(k->bubble_flush, (d - 1.0) / (t + d - 1), 1e-9);
				for (uint16_t w = 0; w < d; w++) {
					uint32_t ahead = (uint32_t)d - w, flight = gpipe || t < ahead ? t : ahead;

					CU_ASSERT_DOUBLE_EQUAL(k->busy[w], t * one, 1e-9);
					CU_ASSERT_DOUBLE_EQUAL(k->peak_until_w[w], flight, 1e-9);
				}
				mr_walk_destroy(k);
				mr_plan_destroy(p);
			}
}

/* No bubble but fill and drain: period f + b; n bodies and the drain take (N + D-1)(f + b), N = n + D-1. */
static void endless_pipeline(void)
{
	for (uint16_t d = 1; d <= 6; d++)
		for (int tag = 0; tag < 2; tag++) {
			mr_plan *p = small_pipedream(d, tag, true);
			mr_walk *k = walk_share(p, 1, 1, 1, 9);

			CU_ASSERT_DOUBLE_EQUAL(k->period, 3, 1e-9);
			CU_ASSERT_DOUBLE_EQUAL(k->bubble_period, 0, 1e-9);
			CU_ASSERT_DOUBLE_EQUAL(k->makespan, 3.0 * (9 + 2 * (d - 1)), 1e-9);
			mr_walk_destroy(k);
			mr_plan_destroy(p);
		}
}

/* The slowest stage sets the period, with buffers as without. */
static void bottleneck(void)
{
	mr_plan *p = small_pipedream(3, false, false);
	mr_stage_cost stage[] = {
		{.f = 1, .i = 1, .w = 1, .u = 0.25}, {.f = 2, .i = 2, .w = 1, .u = 0.5}, {.f = 1, .i = 1, .w = 1}};
	mr_cost cost = {3, stage};
	double period;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_period(p, &cost, false, &period));
	CU_ASSERT_DOUBLE_EQUAL(period, 5.5, 1e-9);
	MR_CHECK_OK(mr_plan_period(p, &cost, true, &period));
	CU_ASSERT_DOUBLE_EQUAL(period, 5.5, 1e-9);
	mr_plan_destroy(p);
}

/* GPipe with everything recomputed: R fills the wait for the gradient, so the bubble is (D-1)(f+b), of T(2f+b). */
static void recomputed_pipelines(void)
{
	for (uint16_t d = 1; d <= 5; d++)
		for (uint32_t t = 1; t <= 7; t += 2) {
			mr_plan *p = small_recompute(d, t, t);
			mr_walk *k = walk_share(p, 2, 3, 1.5, 1);

			CU_ASSERT_DOUBLE_EQUAL(k->makespan, t * (2 + 2 + 4.5) + (d - 1) * (2 + 4.5), 1e-9);
			for (uint16_t w = 0; w < d; w++) {
				CU_ASSERT_DOUBLE_EQUAL(k->busy[w], t * (2 + 2 + 4.5), 1e-9);
				CU_ASSERT_DOUBLE_EQUAL(k->peak_until_w[w], 1, 1e-9);
			}
			mr_walk_destroy(k);
			mr_plan_destroy(p);
		}
}

static const mr_walk_rec *find(const mr_walk *k, mr_op op, uint16_t stage, uint32_t micro)
{
	for (size_t i = 0; i < k->first[k->n_workers]; i++)
		if (k->at[i].in->op == op && k->at[i].in->stage == stage && k->at[i].in->micro == micro &&
		    k->at[i].n == 0)
			return &k->at[i];
	CU_FAIL_FATAL("no such instruction");
	return NULL;
}

/* Two stages, two micro-batches, hand-over c = 0.5 and update u = 2, by hand: F0 F1 B0 B1 N U on both workers. */
static void times_by_hand(void)
{
	mr_plan *p = small_gpipe(2, 2, false);
	mr_stage_cost stage[] = {{.f = 1, .i = 1, .w = 1, .u = 2, .c = 0.5},
				 {.f = 1, .i = 1, .w = 1, .u = 2, .c = 0.5}};
	mr_walk *k;

	p->contract.clip = true;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	k = walk(p, &(mr_cost){2, stage}, 2, NULL);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 0)->begin, 1.5);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 0)->cause, MR_WAIT_UPSTREAM);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 1)->begin, 2.5);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 1, 1)->cause, MR_WAIT_NONE); /* both at once: the list wins */
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 1, 0)->end, 5.5);
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 0, 0)->begin, 6);
	CU_ASSERT_EQUAL(find(k, MR_OP_B, 0, 1)->end, 10);
	CU_ASSERT_EQUAL(find(k, MR_OP_U, 1, 1)->begin, 10); /* its own sum is complete at 7.5 */
	CU_ASSERT_EQUAL(find(k, MR_OP_U, 1, 1)->cause, MR_WAIT_OPTIMIZER);
	CU_ASSERT_EQUAL(find(k, MR_OP_U, 0, 1)->end, 12);
	CU_ASSERT_EQUAL(k->at[k->first[0] + 6].begin, 12); /* F0 of the next iteration */
	CU_ASSERT_EQUAL(k->busy[0], 2 * (2 * 3 + 2.0));
	mr_walk_destroy(k);
	stage[0].n = stage[1].n = 0.25; /* the norm of worker 0 is the last one, and both steps wait for it */
	k = walk(p, &(mr_cost){2, stage}, 2, NULL);
	CU_ASSERT_EQUAL(find(k, MR_OP_N, 1, 1)->end, 7.75);
	CU_ASSERT_EQUAL(find(k, MR_OP_U, 1, 1)->begin, 10.25);
	CU_ASSERT_EQUAL(k->busy[0], 2 * (2 * 3 + 2.25));
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

/* With one forward buffer the writer waits for the reader's backward, and says so. */
static void waits_for_buffers(void)
{
	mr_plan *p = small_pipedream_finite(2, 4);
	mr_stage_cost stage[2];
	mr_cost cost;
	mr_walk *k;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	p->n_fwd[1] = 1;
	for (uint16_t w = 0; w < 2; w++)
		for (uint32_t i = 0; i < mr_plan_list(p, w, MR_PROLOGUE)->n; i++) {
			mr_instr *in = &mr_plan_list(p, w, MR_PROLOGUE)->at[i];

			if (in->op == MR_OP_F)
				in->in = in->out = 0;
		}
	mr_cost_share(p, 1, 1, 1, stage, &cost);
	k = walk(p, &cost, 0, NULL);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 0, 1)->begin, 4);
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 0, 1)->cause, MR_WAIT_DOWNSTREAM);
	CU_ASSERT_EQUAL(k->period, 0);
	mr_walk_destroy(k);
	k = walk(p, &cost, 0, &(mr_walk_opts){.unlimited = true});
	CU_ASSERT_EQUAL(find(k, MR_OP_F, 0, 1)->begin, 1);
	mr_walk_destroy(k);
	mr_plan_destroy(p);
}

static void refusals(void)
{
	mr_plan *p = small_gpipe(2, 2, false);
	mr_stage_cost stage[2];
	mr_cost cost;
	mr_walk *k;

	mr_cost_share(p, 1, 1, 1, stage, &cost);
	k = walk(p, &cost, 1, NULL); /* before lowering: compute alone */
	CU_ASSERT_EQUAL(k->makespan, 9);
	mr_walk_destroy(k);
	mr_plan_list(p, 0, MR_BODY)->at[1] = mr_plan_list(p, 0, MR_BODY)->at[2];
	mr_plan_list(p, 0, MR_BODY)->at[2] = (mr_instr){.op = MR_OP_F, .span = 1, .micro = 1};
	MR_CHECK_FAIL(mr_plan_walk(p, &cost, 1, NULL, &k), MR_ECONFIG, "deadlock");
	cost.n_stages = 3;
	MR_CHECK_FAIL(mr_plan_walk(p, &cost, 1, NULL, &k), MR_EINVAL, "3 stages for a plan of 2");
	mr_plan_destroy(p);
}

/* deps.h by example: what an executor is told to wait for. */
static void dependencies(void)
{
	mr_plan *p = small_1f1b(3, 2);
	mr_dep d[MR_DEPS_MAX];
	const mr_list *w0 = mr_plan_list(p, 0, MR_BODY), *w1 = mr_plan_list(p, 1, MR_BODY);

	p->contract.clip = true;
	p->contract.tied = true;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	CU_ASSERT_EQUAL(mr_deps_of(p, &w1->at[0], 0, d), 2); /* F m0: version 0 needs no commit */
	CU_ASSERT_TRUE(d[0].kind == MR_DEP_F && d[0].stage == 0 && d[0].number == 0);
	CU_ASSERT_TRUE(d[1].kind == MR_DEP_FWD_FREE && d[1].stage == 2 && d[1].number == 0);
	CU_ASSERT_EQUAL(mr_deps_of(p, &w1->at[0], 4, d), 3);
	CU_ASSERT_TRUE(d[0].number == 8);
	CU_ASSERT_TRUE(d[1].kind == MR_DEP_COMMITS && d[1].number == 4);
	CU_ASSERT_EQUAL(mr_deps_of(p, &w1->at[2], 1, d), 3); /* B m0 */
	CU_ASSERT_TRUE(d[1].kind == MR_DEP_GRAD && d[1].stage == 2 && d[1].number == 2);
	CU_ASSERT_TRUE(d[2].kind == MR_DEP_BWD_FREE && d[2].stage == 1);
	CU_ASSERT_EQUAL(w0->at[4].op, MR_OP_AR);
	CU_ASSERT_EQUAL(mr_deps_of(p, &w0->at[4], 1, d), 2);
	CU_ASSERT_TRUE(d[0].kind == MR_DEP_SUM && d[0].stage == 0 && d[0].number == 2);
	CU_ASSERT_TRUE(d[1].kind == MR_DEP_SUM && d[1].stage == 2 && d[1].number == 2);
	CU_ASSERT_EQUAL(mr_deps_of(p, &w0->at[6], 0, d), 2); /* U */
	CU_ASSERT_TRUE(d[0].kind == MR_DEP_AR && d[1].kind == MR_DEP_NORMS && d[1].number == 1);
	mr_plan_destroy(p);

	p = small_pipedream(3, false, false);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	CU_ASSERT_EQUAL(p->n_fwd[1], 3);
	CU_ASSERT_EQUAL(mr_instr_out(p, &mr_plan_list(p, 0, MR_BODY)->at[0], 5), (5 + 2) % 3);
	CU_ASSERT_EQUAL(mr_instr_in_fwd(p, &mr_plan_list(p, 1, MR_BODY)->at[0], 5), (5 + 1) % 3);
	CU_ASSERT_EQUAL(mr_instr_slot(p, &mr_plan_list(p, 1, MR_BODY)->at[1], 5), 5 % 2);
	mr_plan_destroy(p);
}

void mr_suite_walk(void);
/* Every node once and behind its sources, and the times that the other order gives. */
static void check_sweep(mr_plan *p, uint32_t n_bodies)
{
	mr_stage_cost stages[8];
	mr_cost cost;
	mr_unroll *g;
	uint32_t *order, *swept, *place;
	double *t;
	bool complete = false;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_unroll_create(p, n_bodies, NULL, &g));
	mr_cost_share(p, 1, 2, 3, stages, &cost);
	for (uint16_t s = 0; s < p->n_stages; s++)
		stages[s].c = s % 3 * 0.25;
	order = calloc(3 * (size_t)g->n_all, sizeof(*order));
	t = calloc(4 * (size_t)g->n_all, sizeof(*t));
	CU_ASSERT_FATAL(order && t);
	swept = order + g->n_all;
	place = swept + g->n_all;
	MR_CHECK_OK(mr_unroll_order(g, order));
	MR_CHECK_OK(mr_sweep_order(g, swept, &complete));
	CU_ASSERT_TRUE_FATAL(complete);
	for (uint32_t k = 0; k < g->n_all; k++)
		place[swept[k]] += k + 1;
	for (uint32_t k = 0; k < g->n_all; k++) {
		CU_ASSERT_EQUAL_FATAL(swept[place[k] - 1], k);
		for (uint32_t e = g->edge_first[k]; e < g->edge_first[k + 1]; e++)
			CU_ASSERT(place[g->edge[e]] < place[k]);
		if (k < g->n_nodes && g->storage[k] != MR_NO_NODE)
			CU_ASSERT(place[g->storage[k]] < place[k]);
		if (k < g->n_nodes && k > g->first[g->at[k].worker])
			CU_ASSERT(place[k - 1] < place[k]);
	}
	for (int plain = 0; plain < 2; plain++) {
		mr_unroll_times(g, &cost, NULL, order, t, t + g->n_all, NULL);
		MR_CHECK_OK(mr_unroll_times_swept(g, &cost, NULL, t + 2 * g->n_all, t + 3 * g->n_all, &complete));
		CU_ASSERT(complete && !memcmp(t, t + 2 * g->n_all, 2 * g->n_all * sizeof(*t)));
		for (uint16_t s = 0; s < p->n_stages; s++)
			stages[s].c = 0;
	}
	free(order);
	free(t);
	mr_unroll_destroy(g);
	mr_plan_destroy(p);
}

static void swept_orders(void)
{
	mr_plan *p = small_gpipe(2, 1, false);
	mr_list *l = mr_plan_list(p, 1, MR_BODY);
	mr_instr f = l->at[0];
	uint32_t order[16], n;
	bool complete = true;
	mr_unroll *g;

	for (uint32_t bodies = 1; bodies < 4; bodies++) {
		check_sweep(small_gpipe(3, 4, bodies == 2), bodies);
		check_sweep(small_1f1b(4, 6), bodies);
		check_sweep(small_looped(2, 3, 4), bodies);
	}
	l->at[0] = l->at[1];
	l->at[1] = f; /* B before its F */
	MR_CHECK_OK(mr_unroll_create(p, 1, NULL, &g));
	n = g->n_all;
	CU_ASSERT_FATAL(n <= 16);
	MR_CHECK_OK(mr_sweep_order(g, order, &complete));
	CU_ASSERT_FALSE(complete);
	MR_CHECK_FAIL(mr_unroll_order(g, order), MR_ECONFIG, "deadlock");
	mr_unroll_destroy(g);
	mr_plan_destroy(p);
}

void mr_suite_walk(void)
{
	MR_SUITE("walk");
	MR_TEST(flushing_pipelines);
	MR_TEST(endless_pipeline);
	MR_TEST(recomputed_pipelines);
	MR_TEST(bottleneck);
	MR_TEST(times_by_hand);
	MR_TEST(waits_for_buffers);
	MR_TEST(refusals);
	MR_TEST(dependencies);
	MR_TEST(swept_orders);
}
