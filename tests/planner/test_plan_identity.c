/*
 * test_plan_identity.c - one system, one hash: however a plan of it was lowered, for every system, with and without
 * clipping.
 */
#include <stdlib.h>

#include "base/str.h"
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "ir/text.h"
#include "planner/plan_identity.h"
#include "schedules/registry.h"

/* The address sanitizer takes four times as long, and larger plans have no other lines. */
#ifdef __SANITIZE_ADDRESS__
#define MOST_MICRO 4
#else
#define MOST_MICRO 8
#endif

typedef struct shape {
	const mr_sched_ops *ops;
	uint16_t n_workers;
	uint32_t n_micro;
	bool finite, clip;
} shape;

static mr_plan *lowered(const shape *c, mr_flush flush, const mr_lower_opts *opts)
{
	mr_values *values = NULL;
	mr_plan *p;

	if (c->ops->options)
		MR_CHECK_OK(mr_values_create(c->ops->options, &values));
	MR_CHECK_OK(mr_schedule_emit(c->ops,
				     &(mr_sched_args){.n_workers = c->n_workers, .n_micro = c->n_micro,
						      .finite = c->finite, .options = values},
				     &p));
	mr_values_destroy(values);
	if (!mr_contract_replicates(&p->contract) &&
	    (p->contract.flush == MR_FLUSH_BARRIER || p->contract.flush == MR_FLUSH_LOCAL)) {
		p->contract.clip = c->clip;
		p->contract.flush = flush;
	}
	MR_CHECK_OK(mr_plan_lower(p, opts));
	MR_CHECK_OK(mr_plan_check(p));
	return p;
}

/* Some systems want more micro-batches a commit than workers, or an even number of them. */
static bool refuses(const shape *c)
{
	mr_plan *p = NULL;
	mr_status st = mr_schedule_emit(c->ops, &(mr_sched_args){.n_workers = c->n_workers, .n_micro = c->n_micro}, &p);

	mr_plan_destroy(p);
	return st == MR_ECONFIG;
}

static uint64_t identity(const mr_plan *p)
{
	uint64_t h = 0;

	MR_CHECK_OK(mr_plan_identity(p, &h));
	return h;
}

/* Clipping by the global norm changes nothing in a plan that cannot have it. */
static bool keeps_its_flush(const shape *c)
{
	mr_plan *p = lowered(c, MR_FLUSH_BARRIER, NULL);
	bool keeps = p->contract.flush != MR_FLUSH_BARRIER;

	mr_plan_destroy(p);
	return keeps;
}

/* Returns the identity, which all ways of lowering must agree on. */
static uint64_t one_shape(const shape *c)
{
	static const mr_lower_opts ways[] = {
		{0}, {.update_inside = true}, {.update_inside = true, .handoff_first = true}};
	mr_flush flush = c->clip ? MR_FLUSH_BARRIER : MR_FLUSH_LOCAL;
	mr_plan *plain = lowered(c, flush, NULL), *p, *read;
	uint64_t want = mr_plan_hash(plain);
	mr_strbuf text = {0};

	mr_plan_destroy(plain);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		for (int barrier = 0; barrier < 2; barrier++) {
			p = lowered(c, barrier ? MR_FLUSH_BARRIER : flush, &ways[i]);
			CU_ASSERT_EQUAL_FATAL(identity(p), want);
			MR_CHECK_OK(mr_text_print(p, &text));
			MR_CHECK_OK(mr_text_read(mr_strbuf_text(&text), text.len, &read));
			CU_ASSERT_EQUAL_FATAL(identity(read), want);
			mr_strbuf_fini(&text);
			mr_plan_destroy(read);
			mr_plan_destroy(p);
		}
	return want;
}

static void all_ways_of_lowering_agree(void)
{
	unsigned n = 0;

	for (size_t i = 0; mr_schedule_at(i); i++)
		for (uint16_t d = 1; d <= 4; d++)
			for (uint32_t t = 1; t <= MOST_MICRO; t *= 2) {
				shape c = {.ops = mr_schedule_at(i), .n_workers = d, .n_micro = t};
				uint64_t h, clipped;

				if (c.ops->asynchronous && !c.ops->accumulates && (t > 1 || c.ops->ends)) {
					c.finite = true;
					one_shape(&c);
					continue;
				}
				if (refuses(&c))
					continue;
				h = one_shape(&c);
				c.clip = true;
				clipped = one_shape(&c);
				CU_ASSERT_EQUAL_FATAL(h == clipped, keeps_its_flush(&c));
				n++;
			}
	CU_ASSERT(n > 20);
}

static void what_decides_weights_counts(void)
{
	const mr_lower_opts inside = {.update_inside = true};
	shape c = {.ops = mr_schedule_find("1f1b"), .n_workers = 3, .n_micro = 4};
	uint64_t h[4];
	mr_plan *p;

	for (int i = 0; i < 4; i++) {
		c.n_workers = i == 1 ? 2 : 3;
		c.n_micro = i == 2 ? 5 : 4;
		if (i == 3)
			c.ops = mr_schedule_find("gpipe");
		p = lowered(&c, MR_FLUSH_LOCAL, &inside);
		h[i] = identity(p);
		mr_plan_destroy(p);
		for (int k = 0; k < i; k++)
			CU_ASSERT_NOT_EQUAL(h[k], h[i]);
	}
	/* Versions that no lowering would have chosen. */
	c.ops = mr_schedule_find("pipedream");
	c.n_micro = 1;
	p = lowered(&c, MR_FLUSH_NONE, &inside);
	h[0] = identity(p);
	mr_plan_list(p, 0, MR_BODY)->at[0].read--;
	CU_ASSERT_NOT_EQUAL(identity(p), h[0]);
	CU_ASSERT_EQUAL(identity(p), mr_plan_hash(p));
	mr_plan_destroy(p);
}

void mr_suite_plan_identity(void);

void mr_suite_plan_identity(void)
{
	MR_SUITE("plan_identity");
	MR_TEST(all_ways_of_lowering_agree);
	MR_TEST(what_decides_weights_counts);
}
