/* Which weights an iteration fetches, and when: against the rule walked run by run, and closed forms. */
#include "ir/fetches.h"

#include <stdlib.h>

#include "base/rng.h"
#include "check.h"

enum { MOST = 64 };

/* F of stages 0 to @s - 1, then B back, each of @share micro-batches. */
static mr_list up_and_down(mr_instr *room, uint16_t s, uint32_t share)
{
	mr_list l = {.at = room};

	for (uint32_t i = 0; i < 2u * s; i++)
		for (uint32_t m = 0; m < share; m++)
			room[l.n++] = (mr_instr){.op = i < s ? MR_OP_F : MR_OP_B, .micro = m, .span = 1,
						 .stage = (uint16_t)(i < s ? i : 2u * s - 1 - i)};
	return l;
}

static uint32_t draw(uint64_t seed, uint32_t below)
{
	return (uint32_t)(mr_mix64(seed) % below);
}

static void fetches_closed_form(void)
{
	mr_instr at[MOST * 8];

	for (uint16_t s = 2; s <= 12; s++)
		for (uint32_t rooms = 2; rooms <= 14; rooms++) {
			mr_list l = up_and_down(at, s, 1 + s % 3);
			uint32_t most = rooms < s ? rooms : s;
			mr_fetches f;

			MR_CHECK_OK(mr_fetches_of(&l, 0, rooms, &f));
			CU_ASSERT_EQUAL(f.n, 2 * s - most);
			CU_ASSERT_EQUAL(f.n_runs, 2 * s - 1);
			for (uint16_t i = 0; i < s; i++)
				CU_ASSERT_EQUAL(mr_fetches_of_stage(&f, i), i + most < s ? 2 : 1);
			mr_fetches_fini(&f);
		}
}

/* Of random lists: what a run reads is the last that was fetched into its room, and no fetch comes while the room is
 * read, nor earlier than it is promised. */
static void fetches_are_sound(void)
{
	mr_instr at[MOST];

	for (uint64_t seed = 0; seed < 3000; seed++) {
		uint32_t rooms = 2 + draw(seed, 5), stages = 1 + draw(seed + 1000000, 9);
		uint32_t next = 0, fetched = 0, n_last = 0, stage_of[MOST], holds[8];
		mr_list l = {.at = at, .n = 1 + draw(seed + 2000000, MOST - 1)};
		mr_fetches f;

		for (uint32_t i = 0; i < l.n; i++) {
			uint64_t x = mr_mix64(seed * MOST + i + 3000000);
			static const uint8_t ops[] = {MR_OP_F, MR_OP_B, MR_OP_I, MR_OP_R, MR_OP_W, MR_OP_AR};

			at[i] = (mr_instr){.op = ops[x % 6], .stage = (uint16_t)(x / 6 % stages), .span = 1,
					   .pipe = x / 64 % 8 == 0};
		}
		for (uint32_t i = 0; i < rooms; i++)
			holds[i] = MR_NO_RUN;
		MR_CHECK_OK(mr_fetches_of(&l, 0, rooms, &f));
		for (uint32_t i = 0; i < l.n; i++) {
			bool reads = !at[i].pipe && at[i].op != MR_OP_W && at[i].op != MR_OP_AR;

			CU_ASSERT_EQUAL_FATAL(f.run_of[i] != MR_NO_RUN, reads);
			if (!reads || (n_last && f.run_of[i] == n_last - 1))
				continue;
			CU_ASSERT_EQUAL_FATAL(f.run_of[i], n_last);
			stage_of[n_last++] = at[i].stage;
			/* whatever may be asked for now has a room that no earlier run needs any more */
			for (; next < f.n && f.fetch[next].at <= f.run_of[i]; next++, fetched++)
				holds[f.fetch[next].stage % rooms] = f.fetch[next].stage;
			CU_ASSERT_EQUAL(holds[at[i].stage % rooms], at[i].stage);
		}
		CU_ASSERT_EQUAL(fetched, f.n);
		CU_ASSERT_EQUAL(n_last, f.n_runs);
		for (uint32_t i = 0; i < f.n; i++) {
			uint32_t run = f.fetch[i].at; /* of which it is read, at the latest rooms - 1 further on */

			while (run < f.n_runs && stage_of[run] != f.fetch[i].stage)
				run++;
			CU_ASSERT(run < f.n_runs && run - f.fetch[i].at < rooms);
		}
		mr_fetches_fini(&f);
	}
}

void mr_suite_fetches(void); /* the runner declares it too */

void mr_suite_fetches(void)
{
	MR_SUITE("fetches");
	MR_TEST(fetches_closed_form);
	MR_TEST(fetches_are_sound);
}
