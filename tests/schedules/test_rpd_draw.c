/* test_rpd_draw.c - drawn steps: their ranges, their distribution, what the timeline gives, and that a seed fixes them.
 */
#include "schedules/common/rpd_draw.h"

#include <string.h>

#include "check.h"

static mr_aged *draw(mr_rpd_params p)
{
	mr_aged *a;

	MR_CHECK_OK(mr_rpd_draw(&p, &a));
	return a;
}

static const mr_rpd_params base = {.n_stages = 5, .n_steps = 20000, .n_batches = 7, .delta = 9, .seed = 3};

static void uniform_steps(void)
{
	uint32_t stages[5] = {0}, batches[7] = {0}, delays[10] = {0}, same = 0;
	mr_aged *a = draw(base), *b = draw(base), *c;
	mr_rpd_params other = base;

	for (uint32_t k = 0; k < a->n_steps; k++) {
		stages[a->stage[k]]++;
		batches[a->batch[k]]++;
		for (uint16_t s = 0; s < 5; s++) {
			uint32_t d = mr_aged_delay(a, k, s);

			CU_ASSERT_FATAL(d <= 9 && d <= k);
			delays[d]++;
		}
		same += mr_aged_delay(a, k, 0) == mr_aged_delay(a, k, 1);
	}
	for (int i = 0; i < 5; i++)
		CU_ASSERT(stages[i] > 3800 && stages[i] < 4200); /* deviation 57 */
	for (int i = 0; i < 7; i++)
		CU_ASSERT(batches[i] > 2660 && batches[i] < 3060);
	for (int i = 0; i < 10; i++)
		CU_ASSERT(delays[i] > 9600 && delays[i] < 10400);
	CU_ASSERT(same > 1800 && same < 2200); /* delays of two blocks are independent */
	CU_ASSERT(memcmp(a->delay, b->delay, 5 * a->n_steps * sizeof(uint32_t)) == 0);
	CU_ASSERT(memcmp(a->stage, b->stage, a->n_steps * sizeof(uint16_t)) == 0);
	other.seed = 4;
	c = draw(other);
	CU_ASSERT(memcmp(a->stage, c->stage, a->n_steps * sizeof(uint16_t)) != 0);
	mr_aged_destroy(a);
	mr_aged_destroy(b);
	mr_aged_destroy(c);
}

static void fixed_steps(void)
{
	mr_rpd_params p = base;
	mr_aged *a;

	p.n_steps = 40;
	p.batch = MR_RPD_CYCLIC;
	p.delays = MR_RPD_DELAY_MAX;
	a = draw(p);
	for (uint32_t k = 0; k < 40; k++)
		CU_ASSERT(a->batch[k] == k % 7 && mr_aged_delay(a, k, 4) == (k < 9 ? k : 9));
	mr_aged_destroy(a);
	p.delays = MR_RPD_DELAY_ZERO;
	a = draw(p);
	for (uint32_t k = 0; k < 40; k++)
		CU_ASSERT(mr_aged_version(a, k, a->stage[k]) == mr_aged_latest(a, k, a->stage[k]));
	CU_ASSERT_EQUAL(mr_aged_cap(a, 0), 1);
	mr_aged_destroy(a);
}

/* Not a whole number of micro-batches either. */
static void steps_of_the_timeline(void)
{
	mr_rpd_params p = {.n_stages = 4,
			   .n_steps = 30,
			   .n_batches = 3,
			   .stage = MR_RPD_TIMELINE,
			   .batch = MR_RPD_TIMELINE,
			   .delays = MR_RPD_DELAY_EXACT};
	mr_aged *a = draw(p), *t;
	mr_unit_time u;

	MR_CHECK_OK(mr_unit_greedy(4, 8, 0, &u));
	MR_CHECK_OK(mr_aged_of_timeline(&u, 3, &t));
	CU_ASSERT(memcmp(a->stage, t->stage, 30 * sizeof(uint16_t)) == 0);
	CU_ASSERT(memcmp(a->batch, t->batch, 30 * sizeof(uint32_t)) == 0);
	CU_ASSERT(memcmp(a->delay, t->delay, 120 * sizeof(uint32_t)) == 0);
	mr_aged_destroy(a);
	mr_aged_destroy(t);
	mr_unit_time_fini(&u);
	p.n_batches = 0;
	MR_CHECK_FAIL(mr_rpd_draw(&p, &a), MR_EINVAL, "got 4, 30 and 0");
}

void mr_suite_rpd_draw(void);
void mr_suite_rpd_draw(void)
{
	MR_SUITE("rpd_draw");
	MR_TEST(uniform_steps);
	MR_TEST(fixed_steps);
	MR_TEST(steps_of_the_timeline);
}
