/* test_auto.c - the search for a configuration: what staleness costs, and how the work of a search grows. */
#include "choose/auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "choose/auto_internal.h"
#include "choose/auto_penalty.h"
#include "job/job_help.h"

/* --- steps to a loss --- */

enum { STEPS = 200 };

/* A loss that falls from @from to @to in a straight line, and stays. */
static void fall(double *loss, double from, double to, uint32_t steps)
{
	for (uint32_t i = 0; i < STEPS; i++)
		loss[i] = i < steps ? from + (to - from) * i / steps : to;
}

static void twice_the_steps_is_a_penalty_of_two(void)
{
	double flush[STEPS], stale[STEPS], target;

	fall(flush, 2, 1, 50);
	fall(stale, 2, 1, 50);
	CU_ASSERT_DOUBLE_EQUAL(mr_auto_penalty_of(stale, flush, STEPS, &target), 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(target, 1, 1e-12);
	/* means over 20 steps: 1 is reached after 50 + 20 steps, and after 100 + 20 */
	fall(stale, 2, 1, 100);
	CU_ASSERT_DOUBLE_EQUAL(mr_auto_penalty_of(stale, flush, STEPS, &target), 120.0 / 70, 0.02);
	CU_ASSERT_DOUBLE_EQUAL(mr_auto_penalty_of(flush, stale, STEPS, &target), 70.0 / 120, 0.02);
	/* the loss that both reach is the greater one, which the better one has sooner */
	fall(stale, 2, 1.5, 150);
	CU_ASSERT_DOUBLE_EQUAL(mr_auto_penalty_of(stale, flush, STEPS, &target), 170.0 / (25 + 10), 0.2);
	CU_ASSERT_DOUBLE_EQUAL(target, 1.5, 1e-12);
}

static void a_loss_that_is_none_has_no_penalty(void)
{
	double flush[STEPS], stale[STEPS], target;

	fall(flush, 2, 1, 50);
	fall(stale, 2, 1, 50);
	stale[3] = NAN;
	CU_ASSERT(isnan(mr_auto_penalty_of(stale, flush, STEPS, &target)));
	stale[3] = INFINITY;
	CU_ASSERT(isnan(mr_auto_penalty_of(stale, flush, STEPS, &target)));
}

/* --- the choice --- */

/* Searches for @layers layers of 512 on @topology, and says what it took. */
typedef struct effort {
	double step_s;
	uint64_t visited;
	uint32_t tried;
} effort;

static effort search(uint32_t layers, const char *topology, const char *systems)
{
	char sets[4000] = "model.hidden=[";
	mr_auto_question q = {.systems = systems};
	effort e;
	mr_auto a;
	mr_job j;

	for (uint32_t i = 0; i < layers; i++)
		strcat(sets, i ? ",512" : "512");
	strcat(sets, "]");
	mr_test_job_of(&j,
		       "model.name=mlp data.name=synthetic data.features=512 data.classes=16 data.samples=4096 "
		       "optimizer.name=adamw system.name=sequential train.steps=2 train.batch=512 train.microbatches=1 "
		       "optimizer.lr=0.01",
		       sets);
	j.machine.topology = topology;
	q.job = &j;
	MR_CHECK_OK(mr_auto_search(&q, &a));
	e = (effort){a.row[0].step_s, a.state->visited, a.n_tried};
	CU_ASSERT(a.row[0].step_s >= a.row[0].bound_s * (1 - 1e-9));
	for (uint32_t i = 1; i < a.n && mr_auto_is_done(&a.row[i]); i++)
		CU_ASSERT(a.row[i].step_s >= a.row[0].step_s);
	mr_auto_fini(&a);
	mr_job_fini(&j);
	return e;
}

/* The budget of instructions holds the search on machines of any size. */
static void the_search_ends(void)
{
	effort small = search(16, "numa:2 core:4", ""), large = search(64, "numa:8 core:16", "");

	CU_ASSERT(small.tried > 20 && large.tried > 20);
	CU_ASSERT(large.visited < 2500000); /* MOST_INSTRUCTIONS of auto.c and auto_refine.c, and one plan more */
	CU_ASSERT(large.step_s < small.step_s * 4);
}

/* Eight layers on @topology, which is two hosts with @links between them. */
static void on_two_hosts(const char *topology, const char *links, mr_job *j)
{
	mr_test_job_of(j,
		       "model.name=mlp data.name=synthetic data.features=1024 data.classes=16 data.samples=4096 "
		       "optimizer.name=adamw system.name=sequential train.steps=2 train.batch=256 train.microbatches=1 "
		       "optimizer.lr=0.01",
		       "model.hidden=[1024,1024,1024,1024,1024,1024,1024]");
	j->machine.topology = topology;
	j->machine.hosts = 2;
	j->machine.links = links;
}

/* The system that is chosen for two hosts with @links between them, on @topology. */
static void chosen_over(const char *topology, const char *links, char *system, size_t size, uint32_t *threads)
{
	mr_auto_question q = {.plain = true, .systems = "sequential,data_parallel,1f1b,zb_h1"};
	mr_auto a;
	mr_job j;

	on_two_hosts(topology, links, &j);
	q.job = &j;
	MR_CHECK_OK(mr_auto_search(&q, &a));
	snprintf(system, size, "%s", mr_auto_value(&a.row[0], "system.name"));
	*threads = 0;
	for (uint32_t i = 0; i < a.n && mr_auto_is_done(&a.row[i]); i++)
		*threads = a.row[i].threads > *threads ? a.row[i].threads : *threads;
	MR_CHECK_FAIL(mr_auto_verify(&q, &a, 1), MR_ECONFIG, "machine.topology");
	mr_auto_fini(&a);
	mr_job_fini(&j);
}

/* Over a fast link all weights go round in no time; a slow one carries the activations of one boundary; over a very
 * slow one nothing is worth its while. No worker has cores of two hosts, also where these are one node. */
static void links_decide_what_goes_over_them(void)
{
	/* With room for a sanitizer's own memory: nodes have 1 GiB otherwise. */
	static const char *const on[] = {"numa:2(memory=8GB) core:2", "numa:1(memory=8GB) core:4"};

	for (int i = 0; i < 2; i++) {
		char system[32];
		uint32_t threads;

		chosen_over(on[i], "1e-6,1e12", system, sizeof(system), &threads);
		CU_ASSERT_STRING_EQUAL(system, "data_parallel");
		CU_ASSERT_EQUAL(threads, 2);
		chosen_over(on[i], "5e-5,1.17e8", system, sizeof(system), &threads);
		CU_ASSERT_STRING_NOT_EQUAL(system, "data_parallel");
		CU_ASSERT_STRING_NOT_EQUAL(system, "sequential");
		chosen_over(on[i], "1e-5,1e7", system, sizeof(system), &threads);
		CU_ASSERT_STRING_EQUAL(system, "sequential");
		CU_ASSERT_EQUAL(threads, 2);
	}
}

/* Over two hosts of four cores stages with replicas are also cut by levels, from the machine and its hosts alone. */
static void hosts_have_cuts_by_levels(void)
{
	mr_auto_question q = {.systems = "dapple"};
	bool found = false;
	mr_auto a;
	mr_job j;

	on_two_hosts("numa:2(memory=8GB) core:4", "5e-5,1.17e8", &j);
	q.job = &j;
	MR_CHECK_OK(mr_auto_search(&q, &a));
	for (uint32_t i = 0; i < a.n; i++)
		if (strstr(a.row[i].label, "by levels")) {
			found = true;
			CU_ASSERT(mr_auto_is_done(&a.row[i]));
			CU_ASSERT_PTR_NOT_NULL(strstr(mr_auto_value(&a.row[i], "system.replicas"), ","));
		}
	CU_ASSERT(found);
	mr_auto_fini(&a);
	mr_job_fini(&j);
}

/* A system alone is found no faster than all together. */
static void all_systems_are_no_slower_than_one(void)
{
	static const char *const one[] = {"sequential", "data_parallel", "1f1b", "zb_v"};
	static const char *const on[] = {"gnr6980:32", "graviton4:8"};

	for (size_t t = 0; t < 2; t++) {
		double all = search(12, on[t], "").step_s;

		for (size_t i = 0; i < 4; i++)
			CU_ASSERT(all <= search(12, on[t], one[i]).step_s * (1 + 1e-6));
	}
}

/* Weight gradients of several micro-batches as one product are among what is tried, and where sums of gradients are
 * long they win; not where a norm is needed before the step. */
static void gradients_are_tried_together(void)
{
	static const struct {
		const char *system, *set;
		bool clips, found;
	} ask[] = {
		{"1f1b", "system.merge_w", false, true},
		{"1f1b", "system.merge_w", true, true},
		{"data_parallel", "system.gradients", false, true},
		{"data_parallel", "system.gradients", true, false},
	};

	for (size_t t = 0; t < sizeof(ask) / sizeof(*ask); t++) {
		mr_auto_question q = {.systems = ask[t].system};
		bool found = false;
		mr_auto a;
		mr_job j;

		mr_test_job_of(&j,
			       "model.name=mlp data.name=synthetic data.features=512 data.classes=16 "
			       "data.samples=4096 optimizer.name=adamw system.name=sequential train.steps=2 "
			       "train.batch=32 train.microbatches=1 optimizer.lr=0.01 model.hidden=[512,512,512,512]",
			       "");
		j.machine.topology = "numa:1 core:4";
		j.train.clip = ask[t].clips;
		j.train.gradients = MR_GRADIENTS_EACH; /* by themselves they would be merged without the option */
		q.job = &j;
		MR_CHECK_OK(mr_auto_search(&q, &a));
		for (uint32_t i = 0; i < a.n; i++)
			found |= *mr_auto_value(&a.row[i], ask[t].set) != '\0';
		CU_ASSERT_EQUAL(found, ask[t].found);
		CU_ASSERT_EQUAL(ask[t].found, *mr_auto_value(&a.row[0], ask[t].set) != '\0');
		CU_ASSERT_EQUAL(ask[t].found, strstr(a.row[0].label, ask[t].system[0] == '1' ? ", merged W"
										       : ", joint gradients") != NULL);
		mr_auto_fini(&a);
		mr_job_fini(&j);
	}
}

/* Released gradients and sharded weights keep less, and are candidates where memory is limited. */
static void what_keeps_less_is_tried_where_memory_is_short(void)
{
	for (int limited = 0; limited < 2; limited++) {
		mr_auto_question q = {.systems = "data_parallel", .memory = limited ? (uint64_t)230 << 20 : 0};
		uint32_t released = 0, sharded = 0;
		mr_auto a;
		mr_job j;

		mr_test_job_of(&j,
			       "model.name=mlp data.name=synthetic data.features=512 data.classes=16 data.samples=4096 "
			       "optimizer.name=adamw system.name=sequential train.steps=2 train.batch=4 "
			       "train.microbatches=1 optimizer.lr=0.01 "
			       "model.hidden=[1024,1024,1024,1024,1024,1024,1024,1024]",
			       "");
		j.machine.topology = "emr8592*4";
		j.machine.hosts = 4;
		j.machine.links = "3e-5,1.17e9";
		q.job = &j;
		MR_CHECK_OK(mr_auto_search(&q, &a));
		for (uint32_t i = 0; i < a.n; i++) {
			released += !strcmp(a.row[i].label, "data_parallel, released gradients");
			sharded += !strcmp(a.row[i].label, "data_parallel, sharded weights");
		}
		CU_ASSERT_EQUAL(released > 0, limited);
		CU_ASSERT_EQUAL(sharded > 0, limited);
		if (limited)
			CU_ASSERT(a.row[0].fits && strstr(a.row[0].label, "released") && a.row[0].bytes <= q.memory);
		mr_auto_fini(&a);
		mr_job_fini(&j);
	}
}

/* The row like @r with the next smaller or (@more) larger number of micro-batches, of those that were not refined. */
static const mr_auto_row *next_to(const mr_auto *a, const mr_auto_row *r, bool more)
{
	const mr_auto_row *near = NULL;

	for (uint32_t i = 0; i < a->n; i++) {
		const mr_auto_row *x = &a->row[i];

		if (x->refined || x->workers != r->workers || x->threads != r->threads || strcmp(x->label, r->label) ||
		    (more ? x->n_micro <= r->n_micro : x->n_micro >= r->n_micro))
			continue;
		if (!near || (more ? x->n_micro < near->n_micro : x->n_micro > near->n_micro))
			near = x;
	}
	return near;
}

/* Also where the budget is spent before all groups had their turn: the best has no neighbour that was left out. */
static void the_best_is_tried_with_other_numbers_of_micro_batches(void)
{
	mr_auto_question q = {0};
	uint32_t at = 0;
	mr_auto a;
	mr_job j;

	mr_test_job_of(&j,
		       "model.name=mlp data.name=synthetic data.features=512 data.classes=16 data.samples=8192 "
		       "optimizer.name=adamw system.name=sequential train.steps=2 train.batch=128 train.microbatches=1 "
		       "optimizer.lr=0.01",
		       "model.hidden=[128,128,128,128,128,128,128,128,128,128,128,128]");
	j.machine.topology = "numa:4 core:16";
	q.job = &j;
	MR_CHECK_OK(mr_auto_search(&q, &a));
	CU_ASSERT(!a.complete);
	while (at < a.n && a.row[at].refined)
		at++;
	CU_ASSERT(at < a.n && mr_auto_is_done(&a.row[at]));
	for (int more = 0; more < 2 && at < a.n; more++) {
		const mr_auto_row *x = next_to(&a, &a.row[at], more);

		CU_ASSERT(!x || x->tried || x->bound_s >= a.row[at].step_s);
	}
	mr_auto_fini(&a);
	mr_job_fini(&j);
}

void mr_suite_auto(void);
void mr_suite_auto(void)
{
	MR_SUITE("auto");
	MR_TEST(twice_the_steps_is_a_penalty_of_two);
	MR_TEST(a_loss_that_is_none_has_no_penalty);
	MR_TEST(the_search_ends);
	MR_TEST(all_systems_are_no_slower_than_one);
	MR_TEST(links_decide_what_goes_over_them);
	MR_TEST(hosts_have_cuts_by_levels);
	MR_TEST(gradients_are_tried_together);
	MR_TEST(what_keeps_less_is_tried_where_memory_is_short);
	MR_TEST(the_best_is_tried_with_other_numbers_of_micro_batches);
}
