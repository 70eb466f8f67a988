/*
 * test_replay.c - a plan on one thread: every legal order gives the same weights, an order from outside is followed or
 * refused, and the clock of an instruction is what the caller says.
 */
#include "replay/replay.h"

#include <string.h>

#include "check.h"
#include "exec/small_run.h"
#include "lower/small_plans.h"

enum { STEPS = 6, MOST_BYTES = 4096 };

/* The latest weights of all stages. */
static size_t weights_of(const mr_run *run, uint8_t out[MOST_BYTES])
{
	size_t n = 0;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		const mr_stage_weights *b = &run->weights[s];
		size_t bytes = mr_stage_size(b->stage)->weight_bytes;

		CU_ASSERT_FATAL(n + bytes <= MOST_BYTES);
		memcpy(out + n, mr_weights_at(b, 0, b->latest), bytes);
		n += bytes;
	}
	return n;
}

static void every_order_gives_the_same_weights(void)
{
	static const struct {
		mr_replay_order order;
		uint64_t seed;
	} orders[] = {{MR_REPLAY_ROUND_ROBIN, 0}, {MR_REPLAY_LAST_FIRST, 0}, {MR_REPLAY_RANDOM, 1},
		      {MR_REPLAY_RANDOM, 2}};

	for (int kind = 0; kind < 3; kind++) {
		uint8_t want[MOST_BYTES], got[MOST_BYTES];
		size_t bytes = 0;

		for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
			mr_replay *replay;
			small_run r;

			small_run_init(&r, kind == 0   ? small_1f1b(3, 4)
					   : kind == 1 ? small_pipedream(3, false, false)
						       : small_gpipe(4, 3, true));
			MR_CHECK_OK(mr_replay_create(&r.c, &replay));
			MR_CHECK_OK(mr_replay_run(replay, 2, orders[i].order, orders[i].seed)); /* and on from there */
			MR_CHECK_OK(mr_replay_run(replay, STEPS, orders[i].order, orders[i].seed));
			CU_ASSERT_EQUAL(mr_replay_run_of(replay)->weights[0].latest, STEPS);
			if (i == 0)
				bytes = weights_of(mr_replay_run_of(replay), want);
			else
				CU_ASSERT_TRUE(weights_of(mr_replay_run_of(replay), got) == bytes &&
					       !memcmp(want, got, bytes));
			mr_replay_destroy(replay);
			small_run_fini(&r);
		}
	}
}

/* Turns of workers one after the other, each a microsecond long. */
typedef struct turns {
	const uint16_t *worker;
	uint64_t n, at;
} turns;

static mr_status next_turn(void *arg, uint64_t until, mr_replay_turn *out, bool *more)
{
	turns *t = arg;

	(void)until;
	*more = t->at < t->n;
	if (*more)
		*out = (mr_replay_turn){.worker = t->worker[t->at],
					.stamp = {.begin_ns = t->at * 1000, .end_ns = (t->at + 1) * 1000}};
	t->at++;
	return MR_OK;
}

/* A step of small_gpipe(2, 1): F on each, then B and U on each. */
static void an_order_is_followed(void)
{
	static const uint16_t legal[] = {0, 1, 1, 1, 0, 0}, wrong[] = {1, 0, 1, 1, 0, 0};
	turns t = {.worker = legal, .n = 6};
	mr_replay *replay;
	uint64_t reached;
	small_run r;

	small_run_init(&r, small_gpipe(2, 1, false));
	MR_CHECK_OK(mr_replay_create(&r.c, &replay));
	MR_CHECK_OK(mr_replay_follow(replay, 1, next_turn, &t, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, 1);
	CU_ASSERT_EQUAL(mr_replay_stands_ns(replay), 6000);
	CU_ASSERT_EQUAL(mr_replay_run_of(replay)->worker[0].stats.busy_ns[MR_OP_F], 1000);
	mr_replay_destroy(replay);
	small_run_fini(&r);
	small_run_init(&r, small_gpipe(2, 1, false)); /* F of stage 1 before that of stage 0 */
	t = (turns){.worker = wrong, .n = 6};
	MR_CHECK_OK(mr_replay_create(&r.c, &replay));
	CU_ASSERT_EQUAL(mr_replay_follow(replay, 1, next_turn, &t, NULL, NULL, &reached), MR_EINVAL);
	mr_replay_destroy(replay);
	small_run_fini(&r);
}

/* All take a second, and a hop two: one micro-batch goes through two stages and back. */
static double end_of(void *arg, const mr_instr *in, uint64_t micro, uint16_t worker, double begin)
{
	(void)arg, (void)micro, (void)worker;
	return begin + (in->op == MR_OP_U ? 0 : 1);
}

static double hop_of(void *arg, uint16_t stage, bool back, uint16_t from, uint16_t to)
{
	(void)arg, (void)stage, (void)back;
	return from == to ? 0 : 2;
}

static void a_clock_makes_the_order(void)
{
	const mr_replay_clock clock = {.end = end_of, .hop = hop_of};
	uint8_t want[MOST_BYTES], got[MOST_BYTES];
	mr_replay *replay;
	uint64_t reached;
	size_t bytes;
	small_run r;

	small_run_init(&r, small_gpipe(2, 1, false));
	MR_CHECK_OK(mr_replay_create(&r.c, &replay));
	MR_CHECK_OK(mr_replay_by_clock(replay, 1, &clock, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, 1);
	CU_ASSERT_EQUAL(mr_replay_stands_ns(replay), 8000000000u); /* F, hop, F, B, hop, B */
	bytes = weights_of(mr_replay_run_of(replay), want);
	mr_replay_destroy(replay);
	MR_CHECK_OK(mr_replay_create(&r.c, &replay));
	MR_CHECK_OK(mr_replay_run(replay, 1, MR_REPLAY_ROUND_ROBIN, 0));
	CU_ASSERT_TRUE(weights_of(mr_replay_run_of(replay), got) == bytes && !memcmp(want, got, bytes));
	mr_replay_destroy(replay);
	small_run_fini(&r);
}

void mr_suite_replay(void)
{
	MR_SUITE("replay");
	MR_TEST(every_order_gives_the_same_weights);
	MR_TEST(an_order_is_followed);
	MR_TEST(a_clock_makes_the_order);
}
