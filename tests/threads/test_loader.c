/*
 * test_loader.c - the loader alone: which samples it writes where and in which order, how far it runs ahead, where it
 * begins and ends, with a thread of its own and without.
 */
#include "threads/loader.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "check.h"
#include "lower/small_plans.h"
#include "exec/small_run.h"

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

/* --- several threads --- */

/* A source that counts its inputs, and can make them out of order: of each three the first waits a while for the third,
 * which is not requested yet where the test takes samples late. */
static struct {
	bool out_of_order;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread[8];   /* that have made inputs */
	int n_threads;
	bool made[256];
	uint64_t n_inputs, n_halves, n_turned;
	int n_cpus, cpu;       /* that the last thread to make an input might use; one of them */
} slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void note_thread(void)
{
	for (int i = 0; i < slow.n_threads; i++)
		if (pthread_equal(slow.thread[i], pthread_self()))
			return;
	if (slow.n_threads < 8)
		slow.thread[slow.n_threads++] = pthread_self();
}

static void note_cpus(void)
{
	cpu_set_t set;

	slow.n_cpus = sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
	for (slow.cpu = 0; slow.n_cpus && !CPU_ISSET(slow.cpu, &set); slow.cpu++)
		;
}

static void slow_train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	struct timespec until;
	bool in_time = true;

	(void)d;
	for (int i = 0; i < SMALL_COLS; i++)
		((double *)(input ? input : target))[i] = (input ? 1 : -1) * (double)(g + 1);
	if (!input)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	pthread_mutex_lock(&slow.lock);
	if (slow.n_turned) {
		until.tv_nsec += 50000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} else { /* the third of the first three will be requested */
		until.tv_sec += 5;
	}
	note_thread();
	note_cpus();
	slow.n_inputs++;
	slow.n_halves += !target;
	while (slow.out_of_order && g % 3 == 0 && g + 2 < 100 && !slow.made[g + 2] && in_time)
		in_time = pthread_cond_timedwait(&slow.changed, &slow.lock, &until) != ETIMEDOUT;
	slow.n_turned += slow.out_of_order && g % 3 == 0 && g + 2 < 100 && slow.made[g + 2];
	slow.made[g % 256] = true;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
}

static const mr_dataset_ops slow_ops = {.name = "slow", .halves = true, .train = slow_train, .valid = slow_train};

static void slow_run_start(small_run *r, uint32_t n_loaders, bool out_of_order)
{
	slow.out_of_order = out_of_order;
	slow.n_threads = 0;
	slow.n_inputs = slow.n_halves = slow.n_turned = 0;
	memset(slow.made, 0, sizeof(slow.made));
	small_run_init(r, small_1f1b(2, 2));
	r->data.ops = &slow_ops;
	r->data.bytes.reading = 1;
	r->c.n_loaders = n_loaders;
	small_run_start(r);
}

/* Take micro-batches @from to @end of both links, in their order. */
static void take_all(small_run *r, uint64_t from, uint64_t end)
{
	for (uint64_t m = from; m < end; m++)
		for (uint16_t which = 0; which < 2; which++) {
			mr_links_stage *st = mr_links_at(&r->run->train, 0, which);
			mr_link *h = which ? &st->target : &st->in;
			mr_waiter waiter;
			uint32_t buffer;

			mr_waiter_init(&waiter, &r->run->worker[which].parker, &r->run->stop, 100);
			while (!mr_link_get(h, 0, &buffer))
				MR_CHECK_OK(mr_waiter_step(&waiter));
			mr_waiter_done(&waiter);
			for (int64_t i = 0; i < 2; i++)
				CU_ASSERT_EQUAL(((const double *)mr_link_buffer(h, buffer))[i * SMALL_COLS],
						(which ? -1 : 1) * (double)(2 * m + (uint64_t)i + 1));
			mr_link_give_back(h, buffer);
		}
}

/* Three threads make samples at once, in another order than that of the requests; samples arrive in order. */
static void several_threads_make_samples(void)
{
	mr_loader *l;
	small_run r;

	slow_run_start(&r, 3, true);
	CU_ASSERT_EQUAL(mr_run_loaders(&r.c), 3);
	MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
	mr_loader_seek(l, 0, 50);
	MR_CHECK_OK(mr_loader_start(l));
	take_all(&r, 0, 50);
	mr_loader_join(l);
	CU_ASSERT_EQUAL(slow.n_inputs, 100); /* the feed of targets makes none */
	CU_ASSERT_EQUAL(slow.n_halves, 100);
	CU_ASSERT(slow.n_turned > 0);
	CU_ASSERT(slow.n_threads >= 2 && slow.n_threads <= 3);
	mr_loader_destroy(l);
	small_run_fini(&r);
	/* A source that makes no halves has one thread, whatever number is requested. */
	small_run_init(&r, small_1f1b(2, 2));
	r.data.bytes.reading = 1;
	r.c.n_loaders = 3;
	CU_ASSERT_EQUAL(mr_run_loaders(&r.c), 1);
	small_run_start(&r);
	small_run_fini(&r);
}

/* Without a receiver the loader fills all buffers, and then its threads wait. A stop loses none of the buffers, and the
 * loader continues after them. */
static void it_runs_ahead_and_goes_on(void)
{
	mr_loader *l;
	uint64_t n;
	small_run r;

	slow_run_start(&r, 4, false);
	n = 2 * mr_links_at(&r.run->train, 0, 0)->in.n;
	CU_ASSERT(n >= 2 * 4);
	MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
	for (int round = 0; round < 20; round++) {
		mr_loader_seek(l, 0, UINT64_MAX);
		MR_CHECK_OK(mr_loader_start(l));
		pthread_mutex_lock(&slow.lock);
		while (slow.n_inputs < (round % 2 ? 1 : n)) /* stopped at once, or when it stands still */
			pthread_cond_wait(&slow.changed, &slow.lock);
		pthread_mutex_unlock(&slow.lock);
		mr_stop_raise(&r.run->stop);
		mr_loader_join(l);
		CU_ASSERT(slow.n_inputs <= n && slow.n_inputs % 2 == 0);
		mr_stop_clear(&r.run->stop);
		MR_CHECK_OK(mr_loader_start(l));
		take_all(&r, 0, 40);
		mr_stop_raise(&r.run->stop);
		mr_loader_join(l);
		mr_stop_clear(&r.run->stop);
		MR_CHECK_OK(mr_run_reset(r.run));
		slow.n_inputs = 0;
		memset(slow.made, 0, sizeof(slow.made));
	}
	mr_loader_destroy(l);
	small_run_fini(&r);
}

/* A source that makes no halves: inputs bring their targets, and each sample is made once. */
static uint64_t n_made;

static void whole_train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	(void)d;
	n_made++;
	for (int i = 0; i < SMALL_COLS; i++) {
		((double *)input)[i] = (double)(g + 1);
		((double *)target)[i] = -(double)(g + 1);
	}
}

static const mr_dataset_ops whole_ops = {.name = "whole", .train = whole_train, .valid = whole_train};

static void each_sample_is_made_once(void)
{
	for (int resumed = 0; resumed < 2; resumed++) {
		const uint64_t begin = resumed ? 7 : 0, late = resumed ? 2 : 0;
		mr_loader *l;
		small_run r;

		small_run_init(&r, small_pipedream(3, false, false));
		r.data.ops = &whole_ops;
		small_run_start(&r);
		MR_CHECK_OK(mr_run_stand_at(r.run, 5 * (uint64_t)resumed));
		MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
		mr_loader_seek(l, 5 * (uint64_t)resumed, 100);
		n_made = 0;
		for (uint64_t m = begin; m < 100; m++) {
			fill(l);
			CU_ASSERT_TRUE(brings(&mr_links_at(&r.run->train, 0, 0)->in, 2 * m, 2, 1));
			fill(l);
			CU_ASSERT_TRUE(brings(&mr_links_at(&r.run->train, 0, 2)->target, 2 * (m - late), 2, -1));
		}
		/* of the micro-batches on their way when it began, the inputs are made, and the targets alone */
		CU_ASSERT_EQUAL(n_made, 2 * (100 - begin + late));
		mr_loader_destroy(l);
		small_run_fini(&r);
	}
}

/* Its threads stay off the stages' cores where there are others. */
static void threads_run_on_idle_cores(void)
{
	uint32_t cpu[1], node[1] = {3};
	mr_loader *l;
	small_run r;

	note_cpus();
	cpu[0] = (uint32_t)slow.cpu;
	for (int pinned = 0; pinned < 2; pinned++) {
		int before = slow.n_cpus;

		slow_run_start(&r, 3, false);
		r.place.bindable = pinned;
		r.place.n_cores_idle = 1;
		r.place.idle = cpu;
		r.place.idle_memory = node;
		MR_CHECK_OK(mr_loader_create(r.run, &r.run->train, &l));
		mr_loader_seek(l, 0, 50);
		MR_CHECK_OK(mr_loader_start(l));
		take_all(&r, 0, 50);
		mr_loader_join(l);
		CU_ASSERT_EQUAL(slow.n_cpus, pinned ? 1 : before);
		CU_ASSERT_EQUAL(slow.cpu, (int)cpu[0]);
		mr_loader_destroy(l);
		small_run_fini(&r);
	}
}

void mr_suite_loader(void)
{
	MR_SUITE("loader");
	MR_TEST(micro_batches_come_in_the_order_of_the_lists);
	MR_TEST(it_begins_at_a_pause_point);
	MR_TEST(evaluation_ends_with_the_data);
	MR_TEST(its_thread_ends);
	MR_TEST(several_threads_make_samples);
	MR_TEST(it_runs_ahead_and_goes_on);
	MR_TEST(each_sample_is_made_once);
	MR_TEST(threads_run_on_idle_cores);
}
