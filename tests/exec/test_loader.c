/*
 * test_loader.c - the loader alone: which samples it writes where and in which order, how far it runs ahead, where it
 * begins and ends, with a thread of its own and without.
 */
#include "exec/loader.h"

#include "check.h"
#include "lower/small_plans.h"
#include "small_run.h"

/* The next full buffer of @h; NULL: there is none. */
static const double *next(mr_link *h, uint32_t *buffer)
{
	return mr_link_get(h, 0, buffer) ? mr_link_buffer(h, *buffer) : NULL;
}

/* The next message of @h is micro-batch @m, whose first sample is number @first; the buffer goes back. */
static bool brings(mr_link *h, uint64_t first, int64_t n, double sign)
{
	uint32_t buffer;
	const double *x = next(h, &buffer);
	bool right = x != NULL;

	for (int64_t i = 0; right && i < n * SMALL_COLS; i++)
		right = x[i] == sign * (double)(first + (uint64_t)(i / SMALL_COLS) + 1);
	if (x)
		mr_link_give_back(h, buffer);
	return right;
}

/* Fill all buffers that are idle; returns whether any was. */
static bool fill(mr_loader *l)
{
	bool some = false;

	while (mr_loader_pump(l))
		some = true;
	return some;
}

static void micro_batches_come_in_the_order_of_the_lists(void)
{
	mr_link *in, *target;
	mr_loader *l;
	small_run r;

	small_run_init(&r, small_pipedream(3, false, false));
	small_run_start(&r);
	in = &mr_links_at(&r.run->train, 0, 0)->in;
	target = &mr_links_at(&r.run->train, 0, 2)->target;
	MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
	mr_loader_seek(l, 0, UINT64_MAX);
	CU_ASSERT_TRUE(fill(l));
	CU_ASSERT_FALSE(mr_loader_pump(l)); /* as far as there are buffers */
	for (uint64_t m = 0; m < 40; m++) {
		/* Both rings run ahead by themselves: the targets are taken half as often. */
		CU_ASSERT_TRUE(brings(in, 2 * m, 2, 1));
		if (m % 2)
			CU_ASSERT_TRUE(brings(target, 2 * (m / 2), 2, -1));
		CU_ASSERT_TRUE(fill(l));
	}
	mr_loader_destroy(l);
	small_run_fini(&r);
}

/* From a pause point on it feeds what has no forward yet: stage 0 is ahead of the last one by the micro-batches
 * between. */
static void it_begins_at_a_pause_point(void)
{
	mr_loader *l;
	small_run r;

	small_run_init(&r, small_pipedream(3, false, false));
	small_run_start(&r);
	MR_CHECK_OK(mr_run_stand_at(r.run, 5));
	MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
	mr_loader_seek(l, 5, UINT64_MAX);
	fill(l);
	CU_ASSERT_TRUE(brings(&mr_links_at(&r.run->train, 0, 0)->in, 2 * 7, 2, 1));
	CU_ASSERT_TRUE(brings(&mr_links_at(&r.run->train, 0, 2)->target, 2 * 5, 2, -1));
	mr_loader_destroy(l);
	small_run_fini(&r);
}

/* Evaluation goes once over the validation samples; the last micro-batch is a partial one. */
static void evaluation_ends_with_the_data(void)
{
	uint64_t until;
	uint32_t buffer;
	mr_loader *l;
	mr_link *in;
	small_run r;

	small_run_init(&r, small_1f1b(2, 2));
	small_run_start(&r);
	MR_CHECK_OK(mr_run_begin_eval(r.run, &until));
	in = &mr_links_at(&r.run->eval, 0, 0)->in;
	MR_CHECK_OK(mr_loader_create(r.run, &r.run->eval, &l));
	mr_loader_seek(l, 0, r.run->n_eval);
	CU_ASSERT_EQUAL(r.run->n_eval, (SMALL_VALID + 1) / 2);
	for (uint64_t m = 0; m < r.run->n_eval; m++) {
		fill(l);
		CU_ASSERT_TRUE(brings(in, 1000 + 2 * m, m + 1 < r.run->n_eval ? 2 : SMALL_VALID % 2, 1));
	}
	fill(l);
	CU_ASSERT_PTR_NULL(next(in, &buffer));
	mr_loader_destroy(l);
	small_run_fini(&r);
}

/* With a thread of its own: the same, and it ends by itself behind the last micro-batch, or when the run stops. */
static void its_thread_ends(void)
{
	mr_link *in, *target;
	mr_loader *l;
	small_run r;

	small_run_init(&r, small_1f1b(2, 2));
	small_run_start(&r);
	in = &mr_links_at(&r.run->train, 0, 0)->in;
	target = &mr_links_at(&r.run->train, 0, 1)->target;
	MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
	mr_loader_seek(l, 0, 50);
	MR_CHECK_OK(mr_loader_start(l));
	for (uint64_t m = 0; m < 50; m++)
		for (int which = 0; which < 2; which++) {
			mr_link *h = which ? target : in;
			mr_waiter waiter;
			uint32_t buffer;

			mr_waiter_init(&waiter, &r.run->worker[which].parker, &r.run->stop, 100);
			while (!mr_link_get(h, 0, &buffer))
				MR_CHECK_OK(mr_waiter_step(&waiter));
			mr_waiter_done(&waiter);
			CU_ASSERT_EQUAL(*(const double *)mr_link_buffer(h, buffer),
					(which ? -1 : 1) * (double)(2 * m + 1));
			mr_link_give_back(h, buffer);
		}
	mr_loader_join(l);
	MR_CHECK_OK(mr_run_reset(r.run));
	mr_loader_seek(l, 0, UINT64_MAX);
	MR_CHECK_OK(mr_loader_start(l));
	mr_stop_raise(&r.run->stop);
	mr_loader_join(l);
	mr_loader_destroy(l);
	small_run_fini(&r);
}

void mr_suite_loader(void)
{
	MR_SUITE("loader");
	MR_TEST(micro_batches_come_in_the_order_of_the_lists);
	MR_TEST(it_begins_at_a_pause_point);
	MR_TEST(evaluation_ends_with_the_data);
	MR_TEST(its_thread_ends);
}
