/* test_first_choice.c - the system of a first configuration. */
#include "choose/first_choice.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "choose/auto.h"
#include "job/job_help.h"

/* A network of @layers layers of @width on @topology, which no clock and no other program can disturb. */
static void make_job(uint32_t layers, uint32_t width, const char *topology, mr_job *out)
{
	char sets[1000] = "model.hidden=[";

	for (uint32_t i = 0; i < layers; i++)
		snprintf(sets + strlen(sets), sizeof(sets) - strlen(sets), "%s%u", i ? "," : "", width);
	strcat(sets, "]");
	mr_test_job_of(out,
		       "model.name=mlp data.name=synthetic data.features=64 data.classes=4 data.samples=4096 "
		       "optimizer.name=adamw system.name=sequential train.steps=2 train.batch=64 train.microbatches=1 "
		       "optimizer.lr=0.01",
		       sets);
	out->machine.topology = topology;
}

static mr_first_choice choose(uint32_t layers, uint32_t width, const char *topology, const char *asked)
{
	mr_first_choice c;
	mr_job j;

	make_job(layers, width, topology, &j);
	MR_CHECK_OK(mr_first_choice_find(&j, asked, strcmp(topology, "core:1") ? 2 : 1, &c));
	mr_job_fini(&j);
	return c;
}

/* The predicted step of @c, and the least of all that the same search tries; 0: @c is none of them. */
static double step_of(const mr_auto *a, const mr_first_choice *c)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *r = &a->row[i];

		if (mr_auto_is_done(r) && !strcmp(mr_auto_value(r, "system.name"), c->system) &&
		    r->workers == c->workers && r->n_micro == c->n_micro &&
		    (!c->threads || r->threads == c->threads))
			return r->step_s;
	}
	return 0;
}

static void it_is_near_the_best_and_the_same_each_time(void)
{
	static const char *const on[] = {"core:2", "core:8", "numa:2 core:8"};

	for (size_t t = 0; t < sizeof(on) / sizeof(*on); t++) {
		mr_first_choice c = choose(8, 1024, on[t], NULL), again = choose(8, 1024, on[t], NULL);
		mr_auto_question q = {.plain = true};
		mr_auto a;
		mr_job j;
		double step;

		CU_ASSERT_STRING_EQUAL(c.system, again.system);
		CU_ASSERT_STRING_EQUAL(c.why, again.why);
		CU_ASSERT(c.workers == again.workers && c.threads == again.threads && c.n_micro == again.n_micro);
		make_job(8, 1024, on[t], &j);
		q.job = &j;
		MR_CHECK_OK(mr_auto_search(&q, &a));
		step = step_of(&a, &c);
		CU_ASSERT(step > 0 && step <= 1.05 * a.best_s + 20e-6);
		for (uint32_t i = 0; i < a.n && mr_auto_is_done(&a.row[i]); i++) {
			const mr_auto_row *r = &a.row[i];

			/* plain: a system with its defaults */
			CU_ASSERT(!*mr_auto_value(r, "system.merge_w") && !*mr_auto_value(r, "system.replicas"));
			CU_ASSERT(r->step_s > 1.05 * a.best_s + 20e-6 || r->workers >= c.workers);
		}
		mr_auto_fini(&a);
		mr_job_fini(&j);
	}
}

static void where_no_pipeline_is_worth_it_there_is_none(void)
{
	mr_first_choice small = choose(2, 16, "core:8", NULL), alone = choose(8, 1024, "core:1", NULL);

	CU_ASSERT_STRING_EQUAL(small.system, "sequential");
	CU_ASSERT(strstr(small.why, "with several workers") != NULL);
	CU_ASSERT_STRING_EQUAL(alone.system, "sequential");
	CU_ASSERT_STRING_EQUAL(alone.why, "One core: no pipeline.");
}

static void a_system_that_is_asked_for_is_taken(void)
{
	static const char *const asked[] = {"pipedream", "1f1b", "zb_h1", "sequential"};

	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		mr_first_choice c = choose(8, 1024, "core:8", asked[i]);

		CU_ASSERT_STRING_EQUAL(c.system, asked[i]);
		CU_ASSERT((c.workers > 1) == (i < 3));
		CU_ASSERT(strstr(c.why, "plan --auto predicts") != NULL);
	}
}

/* plan --auto compares no systems that average models: then it is the usual shape, and said. */
static void without_a_plan_it_says_so(void)
{
	mr_first_choice c = choose(8, 64, "core:8", "local_sgd"), alone = choose(8, 64, "core:1", "pipedream");

	CU_ASSERT_STRING_EQUAL(c.system, "local_sgd");
	CU_ASSERT_EQUAL(c.workers, 2);
	CU_ASSERT(strstr(c.why, "no plan --auto") != NULL);
	CU_ASSERT_STRING_EQUAL(alone.system, "pipedream");
	CU_ASSERT_EQUAL(alone.workers, 1);
	CU_ASSERT(strstr(alone.why, "on one core only sequential runs") != NULL);
}

static void an_unknown_system_is_refused(void)
{
	mr_first_choice c;
	mr_job j;

	make_job(2, 16, "core:2", &j);
	CU_ASSERT_EQUAL(mr_first_choice_find(&j, "pipedreem", 2, &c), MR_EUSAGE);
	CU_ASSERT(strstr(mr_error_text(), "no system is called \"pipedreem\"") != NULL);
	mr_job_fini(&j);
}

void mr_suite_first_choice(void);
void mr_suite_first_choice(void)
{
	MR_SUITE("first_choice");
	MR_TEST(it_is_near_the_best_and_the_same_each_time);
	MR_TEST(where_no_pipeline_is_worth_it_there_is_none);
	MR_TEST(a_system_that_is_asked_for_is_taken);
	MR_TEST(without_a_plan_it_says_so);
	MR_TEST(an_unknown_system_is_refused);
}
