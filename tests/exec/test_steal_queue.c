/*
 * test_steal_queue.c - the W that workers offer for stealing and the log of it, the order of a stolen sum, and which
 * worker gets which W when several try at once.
 */
#include "weights/steal_queue.h"

#include <pthread.h>

#include "check.h"
#include "exec/exec.h"
#include "lower/lower.h"
#include "small_run.h"

enum { MICRO = 4 };

/* All F, then all I, then all W, which any worker may take. */
static mr_plan *stealing(uint16_t n_workers)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(n_workers, n_workers, 1, &p));
	p->n_micro = MICRO;
	p->commits = 1;
	p->contract = (mr_contract){.need = MICRO, .flush = MR_FLUSH_BARRIER, .same_version_b = true, .steal = true};
	for (uint16_t w = 0; w < n_workers; w++) {
		static const mr_op order[] = {MR_OP_F, MR_OP_I, MR_OP_W};

		p->worker_of[w] = w;
		for (int k = 0; k < 3; k++)
			for (uint32_t m = 0; m < MICRO; m++)
				MR_CHECK_OK(mr_plan_append(
					p, w, MR_BODY,
					(mr_instr){.op = (uint8_t)order[k], .span = 1, .stage = w, .micro = m}));
	}
	return p;
}

static void a_worker_offers_the_end_of_its_list(void)
{
	mr_plan *p = stealing(2);
	mr_steal_queue *q;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_steal_queue_create(p, 1, 2 * MICRO, &q));
	CU_ASSERT_EQUAL(q->n_any, MICRO);
	for (uint32_t i = 0; i < MICRO; i++)
		CU_ASSERT_EQUAL(q->any[i], 2 * MICRO + i);
	CU_ASSERT_EQUAL(q->from, 2 * MICRO); /* where it has done all else */
	CU_ASSERT_EQUAL(q->room, 2 * 2 * MICRO); /* it may take all W of both workers in two iterations */
	mr_steal_queue_destroy(q);
	mr_plan_destroy(p);
}

static void notes_count_on_without_room(void)
{
	mr_plan *p = stealing(1);
	mr_steal_queue *q;

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_steal_queue_create(p, 0, MICRO, &q));
	for (uint32_t i = 0; i < MICRO + 2; i++)
		mr_steal_queue_note(q, &(mr_steal){.from = i});
	CU_ASSERT_EQUAL(q->room, MICRO);
	CU_ASSERT_EQUAL(q->n_log, MICRO + 2);
	CU_ASSERT_EQUAL(q->log[MICRO - 1].from, MICRO - 1);
	q->n_stolen = 3;
	mr_steal_queue_reset(q);
	CU_ASSERT_TRUE(q->n_log == 0 && q->n_stolen == 0 && q->taken == 0);
	mr_steal_queue_destroy(q);
	MR_CHECK_OK(mr_steal_queue_create(p, 0, 0, &q));
	mr_steal_queue_note(q, &(mr_steal){0});
	CU_ASSERT_EQUAL(q->n_log, 0); /* nobody asked for a record */
	mr_steal_queue_destroy(q);
	mr_plan_destroy(p);
}

/* After a restoration the sums of all versions so far are done, and the next one has begun nowhere. */
static void sums_begin_at_the_latest_version(void)
{
	small_weights w;

	small_weights_init(&w, "sgd", 1, 1);
	MR_CHECK_OK(mr_steal_queue_open_sum(&w.b, MICRO));
	CU_ASSERT_EQUAL(w.b.steal_sum->n_layers, 1); /* the linear layer; the loss has no parameters */
	w.b.latest = 6;
	w.b.steal_sum->n_grads = 2;
	mr_steal_queue_reset_sum(&w.b, NULL, 0);
	CU_ASSERT_EQUAL(w.b.steal_sum->n_grads, 0);
	CU_ASSERT_TRUE(mr_event_reached(&w.b.steal_sum->opened, 6));
	CU_ASSERT_FALSE(mr_event_reached(&w.b.steal_sum->opened, 7));
	for (uint32_t i = 0; i < MICRO; i++)
		CU_ASSERT_EQUAL(mr_event_count(&w.b.steal_sum->turn[i]), 6);
	small_weights_fini(&w);
}

/* --- taking --- */

typedef struct claimant {
	small_run *r;
	pthread_t thread;
	uint32_t n;
	bool got[MICRO];
} claimant;

/* The W at place @k of worker 0's tail, as that worker meets it. */
static mr_task w_of(small_run *r, uint32_t k)
{
	const mr_instr *in = &mr_plan_list(r->plan, 0, MR_BODY)->at[r->run->worker[0].steal_queue->any[k]];

	return (mr_task){
		.links = &r->run->train, .st = mr_links_at(&r->run->train, 0, 0), .in = in, .micro = in->micro};
}

/* The owner opens its tail with the first W and claims the others in order; those that it has lost it passes over. */
static void a_w_is_claimed_once(void)
{
	small_run r;
	mr_task t;

	small_run_init(&r, stealing(2));
	small_run_start(&r);
	t = w_of(&r, 0);
	CU_ASSERT_TRUE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
	t = w_of(&r, 1);
	CU_ASSERT_TRUE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
	CU_ASSERT_FALSE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
	t = w_of(&r, 3); /* out of order: the one before it is not taken */
	CU_ASSERT_FALSE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
	t = w_of(&r, 2);
	CU_ASSERT_TRUE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
	t.n = 1; /* of another iteration */
	CU_ASSERT_FALSE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
	small_run_fini(&r);
}

static void *claim_all(void *arg)
{
	claimant *c = arg;

	for (uint32_t k = 1; k < MICRO; k++) {
		mr_task t = w_of(c->r, k);

		c->got[k] = c->r->run->hooks.instead.claim(&c->r->run->worker[0], &t);
		c->n += c->got[k];
	}
	return NULL;
}

/* Threads that claim the same W at once: each W goes to one of them at most, and none is passed over by all in order.
 */
static void many_claim_at_once(void)
{
	for (int round = 0; round < 50; round++) {
		claimant c[3];
		small_run r;
		mr_task t;

		small_run_init(&r, stealing(1));
		small_run_start(&r);
		t = w_of(&r, 0);
		CU_ASSERT_TRUE(r.run->hooks.instead.claim(&r.run->worker[0], &t));
		for (int i = 0; i < 3; i++) {
			c[i] = (claimant){.r = &r};
			CU_ASSERT_EQUAL_FATAL(pthread_create(&c[i].thread, NULL, claim_all, &c[i]), 0);
		}
		for (int i = 0; i < 3; i++)
			pthread_join(c[i].thread, NULL);
		for (uint32_t k = 1; k < MICRO; k++)
			CU_ASSERT_EQUAL(c[0].got[k] + c[1].got[k] + c[2].got[k], 1);
		CU_ASSERT_EQUAL((uint32_t)r.run->worker[0].steal_queue->taken, MICRO);
		small_run_fini(&r);
	}
}

void mr_suite_steal_queue(void)
{
	MR_SUITE("steal_queue");
	MR_TEST(a_worker_offers_the_end_of_its_list);
	MR_TEST(notes_count_on_without_room);
	MR_TEST(sums_begin_at_the_latest_version);
	MR_TEST(a_w_is_claimed_once);
	MR_TEST(many_claim_at_once);
}
