/*
 * test_stage_weights.c - the weight-version table: where versions lie and when they are overwritten, what a reader on
 * another thread sees behind `published`, how ranges share a step, and what a commit leaves behind.
 */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "host/event.h"
#include "small_run.h"

static void fill(small_weights *w, uint8_t shard, uint64_t v, double value)
{
	for (int64_t i = 0; i < small_elements(w); i++)
		*small_weight(w, shard, v, i) = value + (double)i;
}

static bool holds(small_weights *w, uint8_t shard, uint64_t v, double value)
{
	for (int64_t i = 0; i < small_elements(w); i++)
		if (*small_weight(w, shard, v, i) != value + (double)i)
			return false;
	return true;
}

static void fill_grads(small_weights *w, uint8_t shard, double value)
{
	for (int64_t i = 0; i < small_elements(w); i++)
		*small_grad(w, shard, i) = value;
}

/* Version v lies in buffer v mod cap: the step that makes it overwrites version v - cap and no other. */
static void a_version_overwrites_the_one_cap_before(void)
{
	for (uint32_t cap = 1; cap <= 4; cap++) {
		small_weights w;

		small_weights_init(&w, "sgd", cap, 1);
		small_weights_layout(&w);
		fill(&w, 0, 0, 100);
		fill_grads(&w, 0, 1);
		for (uint64_t v = 1; v < 10; v++) {
			MR_CHECK_OK(mr_weights_step(&w.b, 0, w.kc, 2, 1));
			CU_ASSERT_EQUAL(w.b.latest, v - 1); /* the step alone makes nothing the latest */
			mr_weights_committed(&w.b);
			CU_ASSERT_EQUAL(w.b.latest, v);
			for (uint64_t u = v < cap ? 0 : v - cap + 1; u <= v; u++)
				CU_ASSERT_TRUE(holds(&w, 0, u, 100 - 2 * (double)u));
		}
		CU_ASSERT_EQUAL(w.b.version_count.n_buffers, cap);
		small_weights_fini(&w);
	}
}

/* A commit without a step: the next version is a copy, of its range alone; with one buffer there is nothing to do. */
static void a_skipped_step_copies(void)
{
	small_weights w;

	small_weights_init(&w, "sgd", 2, 1);
	small_weights_layout(&w);
	fill(&w, 0, 0, 7);
	fill(&w, 0, 1, 0);
	mr_weights_skip(&w.b, 0);
	CU_ASSERT_TRUE(holds(&w, 0, 1, 7));
	small_weights_fini(&w);
	small_weights_init(&w, "sgd", 1, 1);
	small_weights_layout(&w);
	fill(&w, 0, 0, 7);
	mr_weights_skip(&w.b, 0);
	CU_ASSERT_TRUE(holds(&w, 0, 1, 7));
	small_weights_fini(&w);
}

/* The ranges of all shards cover each parameter once, whether they are cut by cache lines or by whole tensors. */
static void ranges_cover_each_element_once(void)
{
	for (uint32_t n = 1; n <= 5; n++)
		for (int whole = 0; whole < 2; whole++) {
			small_weights w;

			small_weights_init(&w, "sgd", 1, n);
			w.b.whole = whole;
			for (uint32_t p = 0; p < w.model.graph->n_params; p++) {
				int64_t next = 0, owners = 0;

				for (uint32_t s = 0; s < n; s++) {
					int64_t first, count;

					if (!mr_weights_part(&w.b, (uint8_t)s, p, &first, &count))
						continue;
					CU_ASSERT_EQUAL(first, next);
					next += count;
					owners++;
				}
				CU_ASSERT_EQUAL(next, w.model.graph->params[p].n);
				CU_ASSERT_TRUE(!whole || owners == 1);
			}
			small_weights_fini(&w);
		}
}

/* Shards step their ranges apart: together they make what one shard makes. Private copies, and those of each node, get
 * all of it. */
static void ranges_step_like_one(void)
{
	for (uint32_t n = 1; n <= 4; n++)
		for (int private = 0; private < 3; private++) { /* 2: the copies of two nodes */
			small_weights w;

			small_weights_init(&w, "adam", 2, n);
			w.b.private_weights = private == 1;
			for (uint32_t s = n / 2; private == 2 && s < n; s++)
				w.b.shard[s].home = n / 2;
			small_weights_layout(&w);
			CU_ASSERT_EQUAL(!private || n == 1, w.b.shard[0].version == w.b.shard[n - 1].version);
			for (uint32_t s = 0; s < n; s++)
				fill(&w, (uint8_t)s, 0, 3);
			fill_grads(&w, 0, 0.5);
			for (uint32_t s = 0; s < n; s++)
				MR_CHECK_OK(mr_weights_step(&w.b, (uint8_t)s, w.kc, 0.25, 1));
			mr_weights_committed(&w.b);
			for (uint32_t s = 0; s < n; s++) /* Adam's first step is the rate, but for eps */
				for (int64_t i = 0; i < small_elements(&w); i++)
					CU_ASSERT_DOUBLE_EQUAL(*small_weight(&w, (uint8_t)s, 1, i),
							       2.75 + (double)i, 1e-7);
			small_weights_fini(&w);
		}
}

/* Restored weights reach the private copies. */
static void private_copies_follow(void)
{
	small_weights w;

	small_weights_init(&w, "sgd", 2, 3);
	w.b.private_weights = true;
	small_weights_layout(&w);
	w.b.latest = 5;
	fill(&w, 0, 5, 9);
	mr_weights_spread(&w.b);
	for (uint8_t s = 0; s < 3; s++)
		CU_ASSERT_TRUE(holds(&w, s, 5, 9));
	small_weights_fini(&w);
}

static void the_last_part_is_told_once(void)
{
	mr_parts done = {0};

	for (int round = 0; round < 3; round++) {
		CU_ASSERT_FALSE(mr_weights_last_of(&done, 3));
		CU_ASSERT_FALSE(mr_weights_last_of(&done, 3));
		CU_ASSERT_TRUE(mr_weights_last_of(&done, 3));
	}
	CU_ASSERT_TRUE(mr_weights_last_of(&done, 1));
	CU_ASSERT_EQUAL(done.done, 0);
}

static void ages_add_up_over_shards(void)
{
	uint64_t bins[MR_STALENESS_BINS];
	small_weights w;

	small_weights_init(&w, "sgd", 1, 2);
	w.shard[0].staleness[0] = 4;
	w.shard[1].staleness[0] = 3;
	w.shard[1].staleness[MR_STALENESS_BINS - 1] = 1;
	mr_weights_staleness(&w.b, bins);
	CU_ASSERT_EQUAL(bins[0], 7);
	CU_ASSERT_EQUAL(bins[1], 0);
	CU_ASSERT_EQUAL(bins[MR_STALENESS_BINS - 1], 1);
	small_weights_fini(&w);
}

/* With stage replicas a step of the run is several commits, and the rate is a share of the run's. */
static void rates_follow_steps_of_the_run(void)
{
	const mr_lr lr = {.kind = MR_LR_LINEAR, .base = 1, .total = 10};
	small_weights w;

	small_weights_init(&w, "sgd", 1, 1);
	CU_ASSERT_EQUAL(mr_weights_lr(&w.b, &lr, 4), mr_lr_at(&lr, 4));
	w.b.in_step = 2;
	w.b.rate = 0.5;
	CU_ASSERT_EQUAL(mr_weights_lr(&w.b, &lr, 4), 0.5 * mr_lr_at(&lr, 2));
	CU_ASSERT_EQUAL(mr_weights_lr(&w.b, &lr, 5), 0.5 * mr_lr_at(&lr, 3));
	CU_ASSERT_EQUAL(mr_weights_step_of(&w.b, 5), 5);
	small_weights_fini(&w);
}

/* --- two threads --- */

enum { VERSIONS = 300, CAP = 2 };

typedef struct reader {
	small_weights *w;
	mr_event read; /* versions read */
	mr_stop stop;
	mr_parker parker[2]; /* the reader's and the writer's */
	mr_parker *of_reader, *of_writer;
	uint64_t n_wrong;
} reader;

static void *read_all(void *arg)
{
	reader *r = arg;
	mr_waiter waiter;

	mr_waiter_init(&waiter, &r->parker[0], &r->stop, 100);
	for (uint64_t v = 1; v <= VERSIONS; v++) {
		if (mr_event_wait(&r->w->b.published.event, (uint32_t)v, &waiter) != MR_OK)
			break;
		r->n_wrong += !holds(r->w, 0, v, -(double)v);
		mr_event_publish(&r->read, (uint32_t)v);
	}
	return NULL;
}

/*
 * A reader that waits for `published` sees all of that version, and keeps seeing it while the next ones are made in the
 * other buffers; the writer goes on when the version that it will overwrite has been read, as the plan makes sure.
 */
static void readers_see_whole_versions(void)
{
	pthread_t thread;
	small_weights w;
	reader r = {.w = &w};
	mr_waiter waiter;

	small_weights_init(&w, "sgd", CAP, 1);
	small_weights_layout(&w);
	r.of_reader = &r.parker[0];
	r.of_writer = &r.parker[1];
	mr_parker_init(&r.parker[0]);
	mr_parker_init(&r.parker[1]);
	mr_stop_init(&r.stop, &r.of_reader, 1);
	mr_counter_reset(&w.b.published, 0, &r.of_reader, 1, NULL);
	mr_event_init(&r.read, 0, &r.of_writer, 1);
	mr_waiter_init(&waiter, &r.parker[1], &r.stop, 100);
	fill(&w, 0, 0, 0);
	fill_grads(&w, 0, 1);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_all, &r), 0);
	for (uint64_t v = 1; v <= VERSIONS; v++) {
		if (v > CAP)
			MR_CHECK_OK(mr_event_wait(&r.read, (uint32_t)(v - CAP), &waiter));
		MR_CHECK_OK(mr_weights_step(&w.b, 0, w.kc, 1, 1));
		mr_weights_committed(&w.b);
		mr_counter_raise(&w.b.published, 0, (uint32_t)v);
	}
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(r.n_wrong, 0);
	CU_ASSERT_EQUAL(mr_event_count(&r.read), VERSIONS);
	small_weights_fini(&w);
}

void mr_suite_stage_weights(void)
{
	MR_SUITE("stage_weights");
	MR_TEST(a_version_overwrites_the_one_cap_before);
	MR_TEST(a_skipped_step_copies);
	MR_TEST(ranges_cover_each_element_once);
	MR_TEST(ranges_step_like_one);
	MR_TEST(private_copies_follow);
	MR_TEST(the_last_part_is_told_once);
	MR_TEST(ages_add_up_over_shards);
	MR_TEST(rates_follow_steps_of_the_run);
	MR_TEST(readers_see_whole_versions);
}
