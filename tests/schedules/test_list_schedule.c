/* The greedy list scheduler: complete and legal orders for any placement, limits kept, never locked up, the same each
 * time. */
#include "schedules/common/list_schedule.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "timing/walk.h"
#include "sched_help.h"

#define MAX_WORKERS 5
#define MAX_STAGES 12
#define MAX_PIPES 3
#define MAX_MICRO 10

/* A job with its tables. */
typedef struct owned_job {
	mr_list_job job;
	uint16_t worker_of[MAX_PIPES * MAX_STAGES];
	uint8_t pipe_of[MAX_MICRO];
	mr_stage_cost cost[MAX_STAGES];
	uint32_t cap[MAX_WORKERS];
	uint32_t rank[3 * MAX_STAGES * MAX_MICRO];
} owned_job;

static uint32_t below(uint64_t seed, uint32_t *at, uint32_t n)
{
	uint32_t words[4];

	mr_rng_block(seed, MR_RNG_TEST, 0, 0, (*at)++, words);
	return words[0] % n;
}

/* Anything goes: placements with neighbours on one worker, workers without a stage, costs of 0, limits at the floor. */
static void random_job(uint64_t seed, owned_job *o)
{
	uint32_t at = 0;
	mr_list_job *j = &o->job;

	*j = (mr_list_job){
		.n_workers = (uint16_t)(1 + below(seed, &at, MAX_WORKERS)),
		.n_stages = (uint16_t)(1 + below(seed, &at, MAX_STAGES)),
		.n_pipes = (uint8_t)(1 + below(seed, &at, MAX_PIPES)),
		.n_micro = 1 + below(seed, &at, MAX_MICRO),
		.worker_of = o->worker_of,
		.pipe_of = o->pipe_of,
		.cost = o->cost,
		.cap = below(seed, &at, 3) ? o->cap : NULL,
		.split = below(seed, &at, 2),
		.patient = below(seed, &at, 2),
		.rank = below(seed, &at, 2) ? o->rank : NULL,
	};
	for (uint32_t i = 0; i < (uint32_t)j->n_pipes * j->n_stages; i++)
		o->worker_of[i] = (uint16_t)below(seed, &at, j->n_workers);
	for (uint32_t m = 0; m < j->n_micro; m++)
		o->pipe_of[m] = (uint8_t)below(seed, &at, j->n_pipes);
	for (uint16_t s = 0; s < j->n_stages; s++)
		o->cost[s] = (mr_stage_cost){.f = below(seed, &at, 4),
					     .i = below(seed, &at, 4),
					     .w = below(seed, &at, 4),
					     .c = below(seed, &at, 3) / 2.0,
					     .o = below(seed, &at, 2) / 2.0,
					     .b = below(seed, &at, 2)};
	for (uint16_t w = 0; w < j->n_workers; w++)
		o->cap[w] = mr_list_job_floor(j, w) + below(seed, &at, 3);
	for (uint32_t i = 0; i < 3u * j->n_stages * j->n_micro; i++)
		o->rank[i] = below(seed, &at, 20);
}

/* Each worker's steps follow each other, and no more activations are kept than allowed. */
static void keeps_limits(const mr_list_job *j, const mr_list_order *o)
{
	for (uint16_t w = 0; w < j->n_workers; w++) {
		uint32_t kept = 0;
		double at = 0;

		for (size_t i = o->first[w]; i < o->first[w + 1u]; i++) {
			const mr_list_step *x = &o->at[i];

			CU_ASSERT_FATAL(x->begin >= at - 1e-9 && x->end >= x->begin);
			at = x->end;
			kept += x->op == MR_OP_F;
			CU_ASSERT_FATAL(!j->cap || kept <= j->cap[w]);
			kept -= x->op == MR_OP_W || x->op == MR_OP_B;
		}
		CU_ASSERT_EQUAL_FATAL(kept, 0);
	}
}

static mr_plan *plan_of(const mr_list_job *j, const mr_list_order *o)
{
	mr_plan *plan = NULL;

	MR_CHECK_OK(mr_plan_create(j->n_stages, j->n_workers, j->n_pipes, &plan));
	memcpy(plan->worker_of, j->worker_of, (size_t)j->n_pipes * j->n_stages * sizeof(*plan->worker_of));
	plan->n_micro = j->n_micro;
	plan->commits = 1;
	plan->contract = (mr_contract){.coverage = MR_COVER_TRAIN, .flush = MR_FLUSH_BARRIER, .read_f = MR_READ_BATCH,
				       .sum = MR_SUM_ASCENDING, .need = j->n_micro, .same_version_b = true};
	MR_CHECK_OK(mr_list_order_emit(o, plan));
	return plan;
}

/* The checker counts what is there and refuses what is out of order; a walk can only be faster than the order's own
 * times. */
static void random_jobs_are_done(void)
{
	static owned_job o;

	for (uint64_t seed = 0; seed < 400; seed++) {
		mr_list_order *order = NULL;
		mr_walk *walk = NULL;
		mr_cost cost;
		mr_plan *plan;

		random_job(seed, &o);
		cost = (mr_cost){o.job.n_stages, o.cost};
		MR_CHECK_OK(mr_list_order_create(&o.job, &order));
		keeps_limits(&o.job, order);
		plan = plan_of(&o.job, order);
		MR_CHECK_OK(mr_plan_walk(plan, &cost, 1, &(mr_walk_opts){.unlimited = true, .no_period = true}, &walk));
		CU_ASSERT_FATAL(walk->makespan <= order->makespan + 1e-9);
		CU_ASSERT_FATAL(o.job.patient || walk->makespan >= order->makespan - 1e-9);
		CU_ASSERT_FATAL(order->span <= order->makespan + 1e-9);
		mr_walk_destroy(walk);
		MR_CHECK_OK(mr_plan_lower(plan, NULL));
		MR_CHECK_OK(mr_plan_check(plan));
		mr_plan_destroy(plan);
		mr_list_order_destroy(order);
	}
}

/* 1F1B is this with a limit of D - w and forwards first. */
static void known_orders_come_out(void)
{
	enum { D = 5, T = 10 };
	static owned_job o;
	mr_list_order *order;
	sched_case c = {.ops = mr_schedule_find("1f1b"), .n_workers = D, .n_micro = T};
	mr_plan *want = sched_emit(&c);

	o.job = (mr_list_job){.n_workers = D,
			      .n_stages = D,
			      .n_pipes = 1,
			      .n_micro = T,
			      .worker_of = o.worker_of,
			      .cost = o.cost,
			      .cap = o.cap,
			      .rank = o.rank};
	for (uint16_t s = 0; s < D; s++) {
		o.worker_of[s] = s;
		o.cost[s] = (mr_stage_cost){.f = 1, .i = 1, .w = 1};
		o.cap[s] = D - s;
		for (uint32_t m = 0; m < T; m++) {
			o.rank[mr_list_rank_at(&o.job, MR_OP_F, s, m)] = 0;
			o.rank[mr_list_rank_at(&o.job, MR_OP_B, s, m)] = 1;
		}
	}
	MR_CHECK_OK(mr_list_order_create(&o.job, &order));
	for (uint16_t w = 0; w < D; w++) {
		const mr_list *l = mr_plan_list(want, w, MR_BODY);

		CU_ASSERT_EQUAL_FATAL(order->first[w + 1] - order->first[w], l->n);
		for (uint32_t i = 0; i < l->n; i++)
			CU_ASSERT(order->at[order->first[w] + i].op == l->at[i].op &&
				  order->at[order->first[w] + i].micro == l->at[i].micro);
	}
	CU_ASSERT_DOUBLE_EQUAL(order->makespan, 3 * T + 3 * (D - 1), 1e-9);
	mr_list_order_destroy(order);
	mr_plan_destroy(want);
}

/* With patience a W that would run over the arrival of an I waits; without, it delays it. */
static void patience_waits(void)
{
	uint16_t worker_of[] = {0, 1};
	mr_stage_cost cost[] = {{.f = 1, .i = 3, .w = 9}, {.f = 2, .i = 2, .w = 1}};
	mr_list_job job = {.n_workers = 2,
			   .n_stages = 2,
			   .n_pipes = 1,
			   .n_micro = 2,
			   .worker_of = worker_of,
			   .cost = cost,
			   .split = true};
	mr_list_order *order;

	MR_CHECK_OK(mr_list_order_create(&job, &order)); /* F0 F1 . . . I0 W0 ... */
	CU_ASSERT_EQUAL(order->at[3].op, MR_OP_W);
	mr_list_order_destroy(order);
	job.patient = true;
	MR_CHECK_OK(mr_list_order_create(&job, &order)); /* F0 F1 . . . I0 . . . I1 W0 W1 */
	CU_ASSERT_EQUAL(order->at[3].op, MR_OP_I);
	mr_list_order_destroy(order);
}

static void bad_jobs_are_refused(void)
{
	uint16_t worker_of[] = {0, 1, 0, 1};
	uint8_t pipe_of[] = {0, 1};
	mr_stage_cost cost[] = {{.f = 1}, {.f = 1}, {.f = 1}, {.f = 1}};
	uint32_t cap[] = {1, 2};
	mr_list_job job = {
		.n_workers = 2, .n_stages = 4, .n_pipes = 1, .n_micro = 2, .worker_of = worker_of, .cost = cost};
	mr_list_order *order = NULL;

	job.cap = cap;
	CU_ASSERT_EQUAL(mr_list_job_floor(&job, 0), 2);
	MR_CHECK_FAIL(mr_list_order_create(&job, &order), MR_ECONFIG, "worker 0 needs room for at least 2 activations");
	job.cap = NULL;
	job.pipe_of = pipe_of;
	MR_CHECK_FAIL(mr_list_order_create(&job, &order), MR_EINVAL, "micro-batch 1 goes through pipe 1 of 1");
	job.pipe_of = NULL;
	worker_of[3] = 2;
	MR_CHECK_FAIL(mr_list_order_create(&job, &order), MR_EINVAL, "stage 3 of pipe 0 lies on worker 2 of 2");
	worker_of[3] = 1;
	cost[2].w = NAN;
	MR_CHECK_FAIL(mr_list_order_create(&job, &order), MR_EINVAL, "costs of stage 2");
	cost[2].w = -1;
	MR_CHECK_FAIL(mr_list_order_create(&job, &order), MR_EINVAL, "costs of stage 2");
	job.n_micro = 0;
	MR_CHECK_FAIL(mr_list_order_create(&job, &order), MR_EINVAL, "0 micro-batches");
	CU_ASSERT_PTR_NULL(order);
}

void mr_suite_list_schedule(void); /* the runner declares it too */

void mr_suite_list_schedule(void)
{
	MR_SUITE("list_schedule");
	MR_TEST(random_jobs_are_done);
	MR_TEST(known_orders_come_out);
	MR_TEST(patience_waits);
	MR_TEST(bad_jobs_are_refused);
}
