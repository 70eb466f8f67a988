/* test_exact.c - the exact scheduler (schedules/exact/exact.h): its orders are the shortest of all that an exhaustive
 * search finds, its bounds are below every order, and what it claims to prove holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bound_cases.h"
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "sched_help.h"
#include "schedules/exact/exact.h"
#include "schedules/exact/exact_beam.h"
#include "schedules/exact/exact_cross.h"
#include "schedules/exact/exact_patch.h"
#include "search_help.h"

#define MOST_STAGES 8u

/* A problem: a stage for each worker. */
typedef struct problem {
	uint16_t n_workers;
	uint32_t n_micro;
	mr_stage_cost stage[MOST_STAGES];
	uint32_t cap[MOST_STAGES];
} problem;

static uint32_t draw(uint64_t n, uint32_t i, uint32_t from, uint32_t to)
{
	return from + (uint32_t)(mr_rng_uniform(n, MR_RNG_TEST, i, 31, 0) * (to - from + 1));
}

static problem draw_problem(uint64_t n, uint16_t workers, uint32_t micro, double unit)
{
	problem p = {.n_workers = (uint16_t)draw(n, 0, 2, workers), .n_micro = draw(n, 1, 2, micro)};
	uint32_t far = draw(n, 2, 0, 3);

	for (uint16_t s = 0; s < p.n_workers; s++) {
		p.stage[s] = (mr_stage_cost){.f = unit * draw(n, 10 + s, 1, 9), .i = unit * draw(n, 20 + s, 1, 9),
					     .w = unit * draw(n, 30 + s, 0, 9), .c = unit * draw(n, 40 + s, 0, far)};
		p.cap[s] = draw(n, 50 + s, 1, p.n_micro);
	}
	return p;
}

static void take(const problem *p, const mr_exact_job *job, const mr_list_order *from, int64_t *begin)
{
	for (size_t k = 0; k < from->first[p->n_workers]; k++) {
		const mr_list_step *x = &from->at[k];
		uint32_t kind = x->op == MR_OP_F ? MR_EXACT_F : x->op == MR_OP_I ? MR_EXACT_I : MR_EXACT_W;

		begin[(MR_EXACT_KINDS * x->stage + kind) * p->n_micro + x->micro] = llround(x->begin / job->unit);
	}
}

static void make_job(const problem *p, mr_list_order **from, mr_exact_job *job, mr_exact_order *order)
{
	static const uint16_t worker_of[MOST_STAGES] = {0, 1, 2, 3, 4, 5, 6, 7};
	mr_list_job list = {.n_workers = p->n_workers,
			    .n_stages = p->n_workers,
			    .n_pipes = 1,
			    .n_micro = p->n_micro,
			    .worker_of = worker_of,
			    .cost = p->stage,
			    .cap = p->cap,
			    .split = true};

	MR_CHECK_OK(mr_list_order_create(&list, from));
	MR_CHECK_OK(mr_exact_job_init(job, &list));
	MR_CHECK_OK(mr_exact_order_init(job, order));
}

/* No pass of @order begins before crossings allow. */
static void check_begins(const mr_exact_job *job, const mr_exact_order *order)
{
	int64_t *least = calloc(2 * (size_t)job->n_passes, sizeof(*least)), *begin = least + job->n_passes;
	uint32_t early = 0;

	CU_ASSERT_FATAL(least != NULL);
	MR_CHECK_OK(mr_exact_cross(job, least));
	for (bool later = true; later;) {
		later = false;
		for (uint32_t k = 0; k < job->n_passes; k++) {
			uint32_t x = order->pass[k], w = job->worker[x / job->n_micro];
			int64_t t = 0;

			if (k > job->first[w] * job->n_micro)
				t = begin[order->pass[k - 1]] + job->work[order->pass[k - 1] / job->n_micro];
			for (uint32_t e = 0; e < job->needs[x].n; e++) {
				uint32_t y = job->needs[x].at[e].pass;
				int64_t there = begin[y] + job->work[y / job->n_micro] + job->needs[x].at[e].lag;

				t = there > t ? there : t;
			}
			later |= t > begin[x];
			begin[x] = t;
		}
	}
	for (uint32_t x = 0; x < job->n_passes; x++)
		early += begin[x] < least[x];
	CU_ASSERT_EQUAL(early, 0);
	free(least);
}

static mr_exact_result solve(const problem *p, uint64_t nodes, uint64_t steps)
{
	mr_list_order *from = NULL;
	mr_exact_order order;
	mr_exact_result r = {0};
	mr_exact_job job;
	int64_t *begin, found;

	make_job(p, &from, &job, &order);
	begin = calloc(job.n_passes, sizeof(*begin));
	CU_ASSERT_FATAL(begin != NULL);
	take(p, &job, from, begin);
	MR_CHECK_OK(mr_exact_solve(&job, begin, nodes, steps, &order, &r));
	CU_ASSERT(r.makespan <= from->makespan * (1 + 1e-7));
	found = order.makespan;
	MR_CHECK_OK(mr_exact_improve(&job, &order, 0, 0)); /* times anew */
	CU_ASSERT_EQUAL(order.makespan, found);
	check_begins(&job, &order);
	free(begin);
	mr_exact_order_fini(&order);
	mr_exact_job_fini(&job);
	mr_list_order_destroy(from);
	return r;
}

/* The shortest makespan of all orders. */
static double shortest(const problem *p, uint64_t nodes)
{
	bound_case c = {.n_workers = p->n_workers, .n_micro = p->n_micro};

	memcpy(c.stage, p->stage, p->n_workers * sizeof(*c.stage));
	memcpy(c.cap, p->cap, p->n_workers * sizeof(*c.cap));
	return bound_exhaustive(&c, nodes);
}

/* No order begins a pass before crossings allow it, and nearly all passes begin just then in some order. */
static void crossings_allow_all_orders(void)
{
	uint32_t solved = 0, passes = 0, equal = 0;

	for (uint64_t n = 0; n < 400; n++) {
		problem p = draw_problem(n, 4, 4, 1);
		bound_case c = {.n_workers = p.n_workers, .n_micro = p.n_micro};
		mr_list_order *from = NULL;
		mr_exact_order order;
		mr_exact_job job;
		bound_begins all;
		int64_t *least;

		memcpy(c.stage, p.stage, p.n_workers * sizeof(*c.stage));
		memcpy(c.cap, p.cap, p.n_workers * sizeof(*c.cap));
		if (!bound_exhaust_begins(&c, 30000, all))
			continue;
		solved++;
		make_job(&p, &from, &job, &order);
		least = calloc(job.n_passes, sizeof(*least));
		CU_ASSERT_FATAL(least != NULL);
		MR_CHECK_OK(mr_exact_cross(&job, least));
		for (uint32_t x = 0; x < job.n_passes; x++) {
			uint32_t chain = x / p.n_micro;
			double first = all[chain / MR_EXACT_KINDS][chain % MR_EXACT_KINDS][x % p.n_micro];

			CU_ASSERT((double)least[x] * job.unit <= first + 1e-9);
			equal += (double)least[x] * job.unit >= first - 1e-9;
		}
		passes += job.n_passes;
		free(least);
		mr_exact_order_fini(&order);
		mr_exact_job_fini(&job);
		mr_list_order_destroy(from);
	}
	CU_ASSERT(solved >= 300 && equal >= passes / 200 * 199); /* without trials one in a hundred is too early */
}

/* With all it needs it finds the shortest order and proves it; with less its bound is still one. */
static void no_order_is_shorter(void)
{
	uint32_t solved = 0, by_windows = 0;

	for (uint64_t n = 0; n < 150; n++) {
		problem p = draw_problem(n, 3, 4, n % 3 ? 1 : 0.1);
		double best = shortest(&p, 300000);
		mr_exact_result r, quick;

		if (!(best > 0))
			continue;
		solved++;
		r = solve(&p, 100000, 2000);
		quick = solve(&p, 0, 0);
		CU_ASSERT_DOUBLE_EQUAL(r.makespan, best, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(r.bound, best, 1e-9);
		CU_ASSERT(quick.bound <= best + 1e-9);
		by_windows += quick.bound >= best - 1e-9;
	}
	CU_ASSERT(solved >= 100 && by_windows >= solved / 2);
}

/* Swaps alone shorten orders, and the times that they leave are those of the order. */
static void swaps_keep_the_times(void)
{
	uint32_t shorter = 0;

	for (uint64_t n = 700; n < 730; n++) {
		problem p = draw_problem(n, MOST_STAGES, 24, 1);
		mr_exact_result before = solve(&p, 0, 0), after = solve(&p, 0, 4000);

		CU_ASSERT_DOUBLE_EQUAL(before.bound, after.bound, 1e-9);
		CU_ASSERT(after.bound <= after.makespan && after.makespan <= before.makespan);
		shorter += after.makespan < before.makespan;
	}
	CU_ASSERT(shorter >= 6); /* many begin at the bound */
}

/* Costs that are multiples of no decimal fraction are rounded down, and a bound remains one. */
static void costs_need_no_unit(void)
{
	for (uint64_t n = 500; n < 530; n++) {
		problem p = draw_problem(n, 3, 3, sqrt(2) * 1e-3);
		double best = shortest(&p, 300000);
		mr_exact_result r;

		if (!(best > 0))
			continue;
		r = solve(&p, 100000, 2000);
		CU_ASSERT(r.bound <= best * (1 + 1e-12));
		CU_ASSERT(r.bound >= best * (1 - 1e-7));
	}
}

/* Eight workers, sixteen micro-batches, uneven costs and hand-overs, and little room: proved to be optimal. */
static void eight_by_sixteen_is_proved(void)
{
	static const double f[] = {9, 8, 11, 10, 12, 8, 9, 10}, i[] = {10, 12, 8, 9, 9, 11, 10, 8},
			    w[] = {8, 10, 9, 12, 8, 9, 11, 9};
	problem p = {.n_workers = 8, .n_micro = 16};

	for (uint16_t s = 0; s < 8; s++) {
		p.stage[s] = (mr_stage_cost){.f = f[s], .i = i[s], .w = w[s], .c = s % 3};
		p.cap[s] = 8u - s;
	}
	for (unsigned even = 0; even < 2; even++) {
		mr_exact_result r = solve(&p, 20000, 20000), again = solve(&p, 20000, 20000);

		CU_ASSERT_DOUBLE_EQUAL(r.makespan, r.bound, 1e-9);
		CU_ASSERT(again.makespan == r.makespan && again.nodes == r.nodes);
		for (uint16_t s = 0; s < 8; s++)
			p.cap[s] = 5;
	}
}

/* The makespan of a beam's order, whose times are those of the order; 0 where none suits. @by_list: of the list
 * scheduler's. */
static double beam(const problem *p, uint32_t runs, double *by_list)
{
	mr_list_order *from = NULL;
	mr_exact_order order, again;
	mr_exact_job job;
	double found = 0;

	make_job(p, &from, &job, &order);
	MR_CHECK_OK(mr_exact_order_init(&job, &again));
	*by_list = from->makespan;
	if (mr_exact_beam_suits(&job)) {
		MR_CHECK_OK(mr_exact_beam(&job, runs, 0, &order));
		MR_CHECK_OK(mr_exact_beam(&job, runs, 0, &again));
		CU_ASSERT(memcmp(order.pass, again.pass, job.n_passes * sizeof(*order.pass)) == 0);
		CU_ASSERT_EQUAL(order.makespan, again.makespan);
		MR_CHECK_OK(mr_exact_improve(&job, &order, 0, 0)); /* times anew */
		CU_ASSERT_EQUAL(order.makespan, again.makespan);
		found = (double)order.makespan * job.unit;
	}
	mr_exact_order_fini(&again);
	mr_exact_order_fini(&order);
	mr_exact_job_fini(&job);
	mr_list_order_destroy(from);
	return found;
}

/* Where room decides: no order of a beam undercuts the shortest, and most are. */
static void beams_find_short_orders(void)
{
	uint32_t solved = 0, shortest_found = 0;

	for (uint64_t n = 0; n < 150; n++) {
		problem p = draw_problem(n, 3, 4, n % 3 ? 1 : 0.1);
		double by_list, found = beam(&p, 2, &by_list), best = found > 0 ? shortest(&p, 300000) : 0;

		if (!(best > 0))
			continue;
		solved++;
		CU_ASSERT(found >= best - 1e-9);
		shortest_found += found <= best + 1e-9;
	}
	CU_ASSERT(solved >= 40 && shortest_found >= solved * 3 / 4);
}

/* The makespan of the list scheduler's order after @times patches, whose times are those of the order. @by_list:
 * before. */
static double patch(const problem *p, uint64_t times, double *by_list)
{
	mr_list_order *from = NULL;
	mr_exact_order order, again;
	mr_exact_job job;
	int64_t *begin;
	double found;

	make_job(p, &from, &job, &order);
	MR_CHECK_OK(mr_exact_order_init(&job, &again));
	begin = calloc(job.n_passes, sizeof(*begin));
	CU_ASSERT_FATAL(begin != NULL);
	take(p, &job, from, begin);
	MR_CHECK_OK(mr_exact_order_by(&job, begin, &order));
	MR_CHECK_OK(mr_exact_improve(&job, &order, 0, 0));
	*by_list = (double)order.makespan * job.unit;
	again.makespan = order.makespan;
	memcpy(again.pass, order.pass, job.n_passes * sizeof(*order.pass));
	CU_ASSERT(mr_exact_patch_suits(&job));
	MR_CHECK_OK(mr_exact_patch(&job, &order, 0, times, 5));
	MR_CHECK_OK(mr_exact_patch(&job, &again, 0, times, 5));
	CU_ASSERT(memcmp(order.pass, again.pass, job.n_passes * sizeof(*order.pass)) == 0);
	MR_CHECK_OK(mr_exact_improve(&job, &order, 0, 0)); /* times anew */
	CU_ASSERT_EQUAL(order.makespan, again.makespan);
	found = (double)order.makespan * job.unit;
	free(begin);
	mr_exact_order_fini(&again);
	mr_exact_order_fini(&order);
	mr_exact_job_fini(&job);
	mr_list_order_destroy(from);
	return found;
}

/* No order that patches leave undercuts the shortest, and most of those that can be shortened are. */
static void patches_shorten_orders(void)
{
	uint32_t solved = 0, shortest_found = 0, shorter = 0;

	for (uint64_t n = 0; n < 150; n++) {
		problem p = draw_problem(n, 3, 4, n % 3 ? 1 : 0.1);
		double best = shortest(&p, 300000), by_list, found = patch(&p, 100, &by_list);

		CU_ASSERT(found <= by_list + 1e-9);
		if (!(best > 0))
			continue;
		solved++;
		CU_ASSERT(found >= best - 1e-9);
		shortest_found += found <= best + 1e-9;
		shorter += found < by_list - 1e-9;
	}
	CU_ASSERT(solved >= 100 && shortest_found >= solved * 19 / 20 && shorter >= 10);
}

/* Eight workers, room for four of 48: shorter than by the list scheduler, and search begins with it. */
static void beams_are_shorter_than_lists(void)
{
	for (uint64_t n = 900; n < 903; n++) {
		problem p = {.n_workers = 8, .n_micro = 48};
		double by_list, found;
		mr_exact_result r;

		for (uint16_t s = 0; s < 8; s++) {
			p.stage[s] = (mr_stage_cost){.f = draw(n, 10 + s, 8, 12), .i = draw(n, 20 + s, 8, 12),
						     .w = draw(n, 30 + s, 8, 12), .c = draw(n, 40 + s, 0, 3)};
			p.cap[s] = 4;
		}
		found = beam(&p, 2, &by_list);
		r = solve(&p, 0, 30000);
		CU_ASSERT(found > 0 && found < by_list * 0.98);
		CU_ASSERT(r.bound <= found && r.makespan <= found);
	}
}

static void check_plan(mr_plan *plan, const mr_cost *costs, const mr_sched_proof *proof, double cap)
{
	search_figures f = search_walk(plan, costs);

	CU_ASSERT_DOUBLE_EQUAL(f.makespan, proof->makespan, 1e-9);
	CU_ASSERT(proof->bound > 0 && proof->bound <= proof->makespan * (1 + 1e-9));
	CU_ASSERT(f.peak <= cap + 1e-9);
	MR_CHECK_OK(mr_plan_lower(plan, NULL));
	MR_CHECK_OK(mr_plan_check(plan));
}

/* Larger problems, of one and of two stages a worker: plans that the checker accepts, and bounds below them. */
static void plans_of_search_are_checked(void)
{
	for (uint64_t n = 0; n < 12; n++) {
		uint16_t d = (uint16_t)draw(n, 0, 3, 6), v = (uint16_t)(1 + n % 2);
		uint32_t t = draw(n, 1, 6, 10);
		mr_stage_cost stage[12];
		mr_cost costs = {(uint16_t)(d * v), stage};
		mr_sched_proof proof = {0}, less = {0};
		mr_plan *plan;

		for (uint16_t s = 0; s < d * v; s++)
			stage[s] = (mr_stage_cost){.f = draw(n, 10 + s, 2, 9), .i = draw(n, 30 + s, 2, 9),
						   .w = draw(n, 50 + s, 2, 9), .c = draw(n, 70 + s, 0, 2)};
		plan = search_proved(d, t, v, "cap=3 tries=20 proof=1", &costs, &less);
		check_plan(plan, &costs, &less, 3);
		mr_plan_destroy(plan);
		plan = search_proved(d, t, v, "cap=3 tries=20 proof=500", &costs, &proof);
		check_plan(plan, &costs, &proof, 3);
		mr_plan_destroy(plan);
		CU_ASSERT(proof.bound >= less.bound - 1e-9 && proof.bound <= less.makespan + 1e-9);
	}
}

/* 32 workers with room for 16, as in schedules/README.md: four ways and 15 turns of worker 0 make 3436, windows find
 * 3455, and crossings make each of the last two rounds begin 11 later. */
static void crossings_add_up(void)
{
	mr_stage_cost stage[32];
	mr_cost costs = {32, stage};
	mr_sched_proof proof = {0};

	for (uint16_t s = 0; s < 32; s++) {
		double x = s + 1;

		stage[s] = (mr_stage_cost){.f = 8 + floor(5 * fmod(0.618 * x, 1)),
					   .i = 8 + floor(5 * fmod(0.414 * x, 1)),
					   .w = 8 + floor(5 * fmod(0.732 * x, 1)),
					   .c = floor(4 * fmod(0.236 * x, 1))};
	}
	mr_plan_destroy(search_proved(32, 64, 1, "cap=16 tries=1 swaps=1", &costs, &proof));
	CU_ASSERT(proof.bound >= 3464 && proof.bound <= proof.makespan);
}

/* Zero Bubble's handcrafted H1 is the shortest order of equal passes in a stage a worker: T (f + i + w) + (D - 1) f. */
static void equal_passes_are_known(void)
{
	mr_stage_cost share = {.f = 1, .i = 1, .w = 1};
	mr_sched_proof proof = {0};

	for (uint16_t d = 2; d <= 6; d++) {
		mr_plan *plan = search_proved(d, 2u * d, 1, "cap=D tries=1", &(mr_cost){1, &share}, &proof);

		CU_ASSERT_DOUBLE_EQUAL(proof.makespan, 7.0 * d - 1, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(proof.bound, 7.0 * d - 1, 1e-9);
		mr_plan_destroy(plan);
	}
	/* of a period nothing is proved */
	proof = (mr_sched_proof){0};
	mr_plan_destroy(search_proved(3, 6, 1, "objective=period tries=1", &(mr_cost){1, &share}, &proof));
	CU_ASSERT(proof.bound == 0);
}

void mr_suite_exact(void);
void mr_suite_exact(void)
{
	MR_SUITE("exact");
	MR_TEST(crossings_allow_all_orders);
	MR_TEST(no_order_is_shorter);
	MR_TEST(swaps_keep_the_times);
	MR_TEST(costs_need_no_unit);
	MR_TEST(eight_by_sixteen_is_proved);
	MR_TEST(beams_find_short_orders);
	MR_TEST(patches_shorten_orders);
	MR_TEST(beams_are_shorter_than_lists);
	MR_TEST(plans_of_search_are_checked);
	MR_TEST(crossings_add_up);
	MR_TEST(equal_passes_are_known);
}
