/* Options, refusals and odd sizes of the systems with several pipes (and of those that are measured against them). */
#include <string.h>

#include "check.h"
#include "ir/contract.h"
#include "ir/deps.h"
#include "lower/check.h"
#include "timing/metrics.h"
#include "sched_help.h"

static sched_case at(const char *system, uint16_t n_workers, uint32_t n_micro, const char *sets)
{
	sched_case c = {.ops = mr_schedule_find(system), .n_workers = n_workers, .n_micro = n_micro, .sets = sets};

	CU_ASSERT_PTR_NOT_NULL_FATAL(c.ops);
	return c;
}

/* The figures of one case with costs @cost and a hand-over of @hand. */
static mr_metrics *figures(const sched_case *c, const double *cost, double hand)
{
	mr_plan *plan = sched_lowered(c);
	mr_walk *walk = NULL;
	mr_metrics *m = NULL;

	MR_CHECK_OK(mr_metrics_walk(plan, cost[0], cost[1], cost[2], hand, 1, &walk));
	MR_CHECK_OK(mr_metrics_create(plan, walk, &m));
	mr_walk_destroy(walk);
	mr_plan_destroy(plan);
	return m;
}

static double makespan(const char *system, uint16_t n_workers, uint32_t n_micro, const char *sets, const double *cost)
{
	sched_case c = at(system, n_workers, n_micro, sets);
	mr_metrics *m = figures(&c, cost, 0);
	double x = m->makespan;

	mr_metrics_destroy(m);
	return x;
}

static void refuse(const char *system, uint16_t n_workers, uint32_t n_micro, const char *sets, const char *message)
{
	sched_case c = at(system, n_workers, n_micro, sets);

	CU_ASSERT_PTR_NULL(sched_try_emit(&c));
	if (!strstr(mr_error_text(), message))
		fprintf(stderr, "\n%s\n", mr_error_text());
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), message));
}

static void twoway_refusals_say_what_to_do(void)
{
	for (uint16_t d = 1; d <= 9; d += 2) {
		refuse("chimera", d, 8, NULL, "1f1b and gems take any number");
		refuse("bitpipe", d, 8, NULL, "1f1b and gems take any number");
		refuse("dualpipe", d, 32, NULL, "dualpipe_v does the same in one folded pipe on any number");
	}
	refuse("chimera", 6, 6, "pipes=4", "pipes must be even and divide the workers, got 4 pipes on 6 workers");
	refuse("chimera", 6, 6, "pipes=3", "pipes must be even");
	refuse("chimera", 4, 6, "pipes=8", "got 8 pipes on 4 workers");
	refuse("chimera", 4, 8, "pipes=4 variant=doubling", "variant doubling has 2 pipes, got pipes = 4");
	refuse("chimera", 4, 7, "variant=halving", "must be even, got 7");
	refuse("chimera", 4, 6, "variant=halving ref_tail=true", "ref_tail: variant halving joins no unit directly");
	refuse("data_parallel", 256, 256, NULL, "256 pipes are more than a plan may have (255)");
	refuse("dapple", 4, 8, "replicas=[2,1]", "replicas: 2 stages on 3 workers in all, but there are 4 workers");
	refuse("dapple", 4, 8, "replicas=[1.5,2.5]", "stage 0 cannot be on 1.5 workers");
	refuse("dapple", 41, 8, "replicas=[7,11,13,10]",
	       "the replicas of stages 0 to 2 meet only every 1001 micro-batches; at most 255");
}

/* A unit that is not full: shared evenly it takes 25 and 57, as in the reference 28 and 62 (all costs 1). */
static void twoway_chimera_tails(void)
{
	static const double one[] = {1, 1, 1};

	CU_ASSERT_EQUAL(makespan("chimera", 4, 6, NULL, one), 25);
	CU_ASSERT_EQUAL(makespan("chimera", 4, 6, "ref_tail=true", one), 28);
	CU_ASSERT_EQUAL(makespan("chimera", 8, 12, NULL, one), 57);
	CU_ASSERT_EQUAL(makespan("chimera", 8, 12, "ref_tail=true", one), 62);
}

/* No micro-batch is left out, whatever T is (the reference does so for two workers). */
static void twoway_every_micro_batch_comes_once(void)
{
	static const char *const systems[] = {"chimera", "bitpipe", "dualpipe", "dualpipe_v", "gems", "data_parallel"};

	for (size_t k = 0; k < sizeof(systems) / sizeof(*systems); k++)
		for (uint32_t t = 1; t <= 20; t++)
			for (uint16_t d = 2; d <= 6; d += 2) {
				sched_case c = at(systems[k], d, t, NULL);
				mr_plan *plan = sched_lowered(&c);
				uint32_t n = 0;

				for (uint16_t w = 0; w < d; w++)
					for (uint32_t i = 0; i < mr_plan_list(plan, w, MR_BODY)->n; i++)
						n += mr_plan_list(plan, w, MR_BODY)->at[i].op == MR_OP_F;
				CU_ASSERT_TRUE_FATAL(sched_blame(&c, n == t * plan->n_stages && plan->n_micro == t));
				mr_plan_destroy(plan);
			}
}

/* Most micro-batches that each worker keeps. */
static void twoway_memory_of_every_worker(void)
{
	static const double one[] = {1, 1, 1};

	for (uint16_t d = 2; d <= 8; d += 2)
		for (unsigned k = 0; k < 4; k++) {
			static const char *const systems[] = {"chimera", "chimera", "bitpipe", "dualpipe"};
			sched_case c = at(systems[k], d, 4u * d, k == 1 ? "variant=doubling" : NULL);
			mr_metrics *m = figures(&c, one, 0);

			for (uint16_t w = 0; w < d; w++) {
				unsigned in = w < d - 1 - w ? w : d - 1u - w;
				double want[] = {d / 2. + 1 + in, 1.5 * d + 1 + in, 0.75 * d + 0.5 * (1 + in), d + 1};

				CU_ASSERT_TRUE_FATAL(sched_blame(&c, m->peak_until_w[w] == want[k]));
			}
			mr_metrics_destroy(m);
		}
}

/* Several pipes may have private weights; a single replica has nothing to share. */
static void twoway_private_weights(void)
{
	static const char *const systems[] = {"chimera", "bitpipe", "dualpipe", "gems", "data_parallel"};

	for (size_t k = 0; k < sizeof(systems) / sizeof(*systems); k++)
		for (int private = 0; private < 2; private++) {
			sched_case c = at(systems[k], 2, 4, private ? "weights=private" : NULL);
			mr_plan *plan = sched_lowered(&c);

			CU_ASSERT_EQUAL(plan->contract.private_weights, private);
			mr_plan_destroy(plan);
		}
	sched_case c = at("data_parallel", 1, 4, "weights=private");
	mr_plan *plan = sched_lowered(&c);

	CU_ASSERT_FALSE(plan->contract.private_weights);
	mr_plan_destroy(plan);
}

/* Contiguous shares, the first ones larger by one, each replica forward and back at once. */
static void twoway_data_parallel_shares(void)
{
	static const uint32_t first[] = {0, 3, 6, 8, 10};
	sched_case c = at("data_parallel", 5, 12, "chunks=2");
	mr_plan *plan;

	c.chunks = 0; /* the option's */
	plan = sched_emit(&c);
	CU_ASSERT_EQUAL_FATAL(plan->n_stages, 2);
	CU_ASSERT_EQUAL_FATAL(plan->n_pipes, 5);
	for (uint16_t w = 0; w < 5; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);

		CU_ASSERT_EQUAL_FATAL(l->n, w < 2 ? 12 : 8);
		for (uint32_t i = 0; i < l->n; i++) {
			CU_ASSERT_EQUAL(l->at[i].micro, first[w] + i / 4);
			CU_ASSERT_EQUAL(l->at[i].op, i % 4 < 2 ? MR_OP_F : MR_OP_B);
			CU_ASSERT_EQUAL(l->at[i].stage, i % 4 == 1 || i % 4 == 2);
			CU_ASSERT_EQUAL(l->at[i].pipe, w);
		}
	}
	mr_plan_destroy(plan);
}

/* All F and I of a share, then one W of all of them; the range of each replica is stepped when all sums are made. */
static void twoway_joint_gradients(void)
{
	static const uint32_t first[] = {0, 3, 6, 8, 10};
	sched_case c = at("data_parallel", 5, 12, "gradients=joint");
	mr_plan *plan = sched_emit(&c);

	CU_ASSERT_TRUE(plan->contract.joint_w);
	for (uint16_t w = 0; w < 5; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);
		uint32_t share = w < 2 ? 3 : 2;

		CU_ASSERT_EQUAL_FATAL(l->n, 2 * share + 1);
		for (uint32_t i = 0; i < 2 * share; i++) {
			CU_ASSERT_EQUAL(l->at[i].micro, first[w] + i / 2);
			CU_ASSERT_EQUAL(l->at[i].op, i % 2 ? MR_OP_I : MR_OP_F);
		}
		CU_ASSERT_EQUAL(l->at[2 * share].op, MR_OP_W);
		CU_ASSERT_EQUAL(l->at[2 * share].micro, first[w]);
		CU_ASSERT_EQUAL(l->at[2 * share].span, share);
	}
	mr_plan_destroy(plan);
	plan = sched_lowered(&c);
	for (uint16_t w = 0; w < 5; w++) {
		CU_ASSERT_EQUAL(plan->n_slots[w], w < 2 ? 3 : 2);
		CU_ASSERT_EQUAL(mr_plan_list(plan, w, MR_BODY)->n, 2 * (w < 2 ? 3 : 2) + 3);
	}
	/* One who has finished early may not step while another still adds: the AR of all come first. */
	CU_ASSERT_EQUAL(makespan("data_parallel", 5, 12, "gradients=joint", sched_costs[0]),
			makespan("data_parallel", 5, 12, NULL, sched_costs[0]));
	mr_plan_destroy(plan);
	c = at("data_parallel", 1, 3, "gradients=joint"); /* there is nothing to join */
	plan = sched_lowered(&c);
	CU_ASSERT_FALSE(plan->contract.joint_w);
	mr_plan_destroy(plan);
	refuse("data_parallel", 2, 4, "gradients=joint chunks=2", "chunks must be 1, got 2");
}

/* W of a list that F follows, a B, clipping, or weights of their own are refused by the contract. */
static void twoway_joint_contract(void)
{
	sched_case c = at("data_parallel", 2, 4, "gradients=joint");
	mr_plan *plan = sched_emit(&c);
	mr_list *l = mr_plan_list(plan, 0, MR_BODY);
	mr_instr kept;

	MR_CHECK_OK(mr_contract_check(plan));
	kept = l->at[l->n - 1];
	l->at[l->n - 1] = l->at[0];
	l->at[0] = kept;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "every W comes behind all F and I");
	mr_plan_destroy(plan);
	plan = sched_emit(&c);
	mr_plan_list(plan, 1, MR_BODY)->at[1].op = MR_OP_B;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "there is no B or R");
	mr_plan_destroy(plan);
	plan = sched_emit(&c);
	plan->contract.clip = true;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "cannot be clipped");
	plan->contract.clip = false;
	plan->contract.private_weights = true;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "share their weights");
	mr_plan_destroy(plan);
}

/* @in is the @n-th of three instructions of stage @s: B of the @share micro-batches from @first on, then AR and U. */
static bool is_released(const mr_instr *in, uint32_t n, uint16_t s, uint32_t first, uint32_t share)
{
	mr_op op = n < share ? MR_OP_B : n == share ? MR_OP_AR : MR_OP_U;

	return in->op == op && in->stage == s && (n >= share || in->micro == first + n);
}

/* Backward stage by stage over the share; each stage steps behind the next one's passes, the last ones at the end. */
static void twoway_released_gradients(void)
{
	static const uint32_t first[] = {0, 3, 6, 8, 10};
	sched_case c = at("data_parallel", 5, 12, "gradients=released chunks=4");
	mr_plan *plan = sched_lowered(&c);

	CU_ASSERT_TRUE(plan->contract.release_sums);
	CU_ASSERT_EQUAL_FATAL(plan->n_stages, 4);
	for (uint16_t w = 0; w < 5; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);
		uint32_t share = w < 2 ? 3 : 2, at = 4 * share;

		CU_ASSERT_EQUAL_FATAL(l->n, 8 * share + 8);
		for (uint32_t i = 0; i < at; i++) {
			CU_ASSERT_EQUAL(l->at[i].micro, first[w] + i / 4);
			CU_ASSERT_EQUAL(l->at[i].op, MR_OP_F);
		}
		for (uint16_t s = 4; s-- > 0;) {
			for (uint32_t n = 0; n < share; n++)
				CU_ASSERT_TRUE(is_released(&l->at[at++], n, s, first[w], share));
			for (uint32_t n = share; s < 3 && n < share + 2; n++)
				CU_ASSERT_TRUE(is_released(&l->at[at++], n, (uint16_t)(s + 1), 0, share));
		}
		for (uint32_t n = share; n < share + 2; n++)
			CU_ASSERT_TRUE(is_released(&l->at[at++], n, 0, 0, share));
	}
	for (int k = 0; k < SCHED_COSTS; k++)
		CU_ASSERT_DOUBLE_EQUAL(makespan("data_parallel", 5, 12, "gradients=released chunks=4", sched_costs[k]),
				       makespan("data_parallel", 5, 12, "chunks=4", sched_costs[k]), 1e-9);
	mr_plan_destroy(plan);
	c = at("data_parallel", 1, 3, "gradients=released"); /* nobody reads its sums */
	plan = sched_lowered(&c);
	CU_ASSERT_FALSE(plan->contract.release_sums);
	mr_plan_destroy(plan);
	refuse("data_parallel", 2, 4, "gradients=released chunks=2", "a worker needs at least 3, got 2");
}

/* Does the plan of @c wait for all pipes' commit of stage @before in front of the first B of @stage? */
static bool waits(const mr_plan *plan, uint16_t stage, uint16_t before)
{
	const mr_list *l = mr_plan_list(plan, 1, MR_BODY);
	mr_dep dep[MR_DEPS_MAX];
	uint32_t i = 0, n;

	while (l->at[i].op != MR_OP_B || l->at[i].stage != stage)
		i++;
	n = mr_deps_of(plan, &l->at[i], 2, dep);
	for (i = 0; i < n; i++)
		if (dep[i].kind == MR_DEP_COMMIT)
			return dep[i].stage == before && dep[i].number == 3;
	return before == plan->n_stages;
}

/* A sum that is begun before the one in its buffer is stepped is refused, and so are clipping and shared parameters. */
static void twoway_released_contract(void)
{
	sched_case c = at("data_parallel", 2, 4, "gradients=released chunks=5");
	mr_plan *plan = sched_lowered(&c);
	mr_list *l = mr_plan_list(plan, 1, MR_BODY);

	for (uint16_t s = 0; s < 5; s++)
		CU_ASSERT_TRUE(waits(plan, s, s < 3 ? (uint16_t)(s + 2) : 5));
	for (uint32_t i = 0; i + 1 < l->n; i++) /* U of the last stage, to the end */
		if (l->at[i].op == MR_OP_U) {
			mr_instr u = l->at[i];

			memmove(&l->at[i], &l->at[i + 1], (l->n - i - 1) * sizeof(*l->at));
			l->at[l->n - 1] = u;
			break;
		}
	MR_CHECK_FAIL(mr_plan_check(plan), MR_ECONFIG, "");
	mr_plan_destroy(plan);
	plan = sched_lowered(&c);
	plan->frozen[3] = MR_FROZEN_PASSES; /* then the stages next to it have buffers of their own */
	CU_ASSERT_TRUE(waits(plan, 2, 5));
	CU_ASSERT_TRUE(waits(plan, 1, 4));
	mr_plan_destroy(plan);
	plan = sched_emit(&c);
	plan->contract.tied = true;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "no stages share a parameter");
	plan->contract.tied = false;
	plan->contract.clip = true;
	MR_CHECK_FAIL(mr_contract_check(plan), MR_ECONFIG, "nothing is clipped");
	mr_plan_destroy(plan);
}

/* With fewer micro-batches than the order is made for, dualpipe still takes no longer than 1f1b. */
static void twoway_dualpipe_with_few(void)
{
	for (uint16_t d = 2; d <= 8; d += 2)
		for (uint32_t t = 1; t < 2u * d; t++)
			for (int k = 0; k < SCHED_COSTS; k++) {
				double most = makespan("1f1b", d, t, NULL, sched_costs[k]);

				CU_ASSERT_TRUE(makespan("dualpipe", d, t, NULL, sched_costs[k]) <= most);
				CU_ASSERT_TRUE(makespan("dualpipe_v", d, t, NULL, sched_costs[k]) <= most);
			}
}

/* A copy of lowered @plan in which AR and U all stand at the ends of the lists. */
static mr_plan *steps_at_the_end(const mr_plan *plan)
{
	mr_plan *p = NULL;

	MR_CHECK_OK(mr_plan_create_like(plan, false, &p));
	for (uint16_t w = 0; w < plan->n_workers; w++) {
		const mr_list *l = mr_plan_list(plan, w, MR_BODY);

		for (int late = 0; late < 2; late++)
			for (uint32_t i = 0; i < l->n; i++)
				if ((l->at[i].op == MR_OP_AR || l->at[i].op == MR_OP_U) == late)
					MR_CHECK_OK(mr_plan_append(p, w, MR_BODY, l->at[i]));
	}
	return p;
}

static double with_steps(const mr_plan *plan, const double *cost, double step)
{
	mr_stage_cost stage[32];
	mr_walk *walk = NULL;
	mr_cost table;
	double x;

	CU_ASSERT_FATAL(plan->n_stages <= 32);
	mr_cost_share(plan, cost[0], cost[1], cost[2], stage, &table);
	for (uint16_t s = 0; s < plan->n_stages; s++)
		stage[s].u = step * plan->n_workers / plan->n_stages;
	MR_CHECK_OK(mr_plan_walk(plan, &table, 1, &(mr_walk_opts){.unlimited = true, .no_period = true}, &walk));
	x = walk->makespan;
	mr_walk_destroy(walk);
	return x;
}

/* Steps in gaps never take longer than steps at the end, however long a step takes, and often less. */
static void twoway_steps_in_gaps(void)
{
	static const char *const systems[] = {"chimera", "bitpipe", "dualpipe", "gems", "data_parallel"};
	static const double steps[] = {1, 3, 8};
	unsigned shorter[5] = {0};

	for (size_t k = 0; k < 5; k++)
		for (uint16_t d = 2; d <= 8; d += 2)
			for (uint32_t t = 1; t <= 3u * d; t += d > 4 ? 3 : 1) {
				sched_case c = at(systems[k], d, t, NULL);
				mr_plan *plan = sched_lowered(&c), *late = steps_at_the_end(plan);

				for (int n = 0; n < 3 * SCHED_COSTS; n++) {
					const double *cost = sched_costs[n / 3];
					double x = with_steps(plan, cost, steps[n % 3]),
					       y = with_steps(late, cost, steps[n % 3]);

					CU_ASSERT_TRUE_FATAL(sched_blame(&c, x <= y + 1e-9));
					shorter[k] += x < y - 1e-9;
				}
				mr_plan_destroy(plan);
				mr_plan_destroy(late);
			}
	for (size_t k = 0; k < 4; k++)
		CU_ASSERT_TRUE(shorter[k] > 50);
	CU_ASSERT_EQUAL(shorter[4], 0); /* no gaps */
}

/* bitpipe is what it is for: half the bubble of chimera. */
static void twoway_bitpipe_halves_the_bubble(void)
{
	for (uint16_t d = 2; d <= 8; d += 2)
		for (uint32_t t = d; t <= 3u * d; t += d)
			for (int k = 0; k < SCHED_COSTS; k++) {
				const double *cost = sched_costs[k];
				double busy = t * (cost[0] + cost[1] + cost[2]);

				CU_ASSERT_DOUBLE_EQUAL(2 * (makespan("bitpipe", d, t, NULL, cost) - busy),
						       makespan("chimera", d, t, NULL, cost) - busy, 1e-9);
			}
}

void mr_suite_twoway(void); /* the runner declares it too */

void mr_suite_twoway(void)
{
	MR_SUITE("twoway");
	MR_TEST(twoway_refusals_say_what_to_do);
	MR_TEST(twoway_chimera_tails);
	MR_TEST(twoway_every_micro_batch_comes_once);
	MR_TEST(twoway_memory_of_every_worker);
	MR_TEST(twoway_private_weights);
	MR_TEST(twoway_data_parallel_shares);
	MR_TEST(twoway_joint_gradients);
	MR_TEST(twoway_joint_contract);
	MR_TEST(twoway_released_gradients);
	MR_TEST(twoway_released_contract);
	MR_TEST(twoway_dualpipe_with_few);
	MR_TEST(twoway_steps_in_gaps);
	MR_TEST(twoway_bitpipe_halves_the_bubble);
}
