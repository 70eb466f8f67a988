/*
 * test_validated.c - steps taken on trust and taken back where they were wrong end in the bits of the version with a
 * barrier: weights, optimizer state, losses, norms, evaluation; with clipping that bites always, sometimes and never,
 * with gradients that are not numbers, with delays at random and pauses in between, on the engine, over links whose
 * ends share no memory, and on the replay.
 */
#include <math.h>
#include <string.h>

#include "bounded_link.h"
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "rig.h"
#include "sync_cases.h"
#include "weights/validation.h"

#define STEPS 8

/* Of the engine a case: the first as it comes, the others delayed. The thread sanitizer needs a tenth of them to see an
 * edge. */
#ifdef __SANITIZE_THREAD__
#define RUNS 3
#else
#define RUNS 21
#endif

/* The gradient of one stage is spoilt when its sum is complete, at these steps. */
typedef struct poison {
	uint16_t stage;
	uint64_t step[3];
} poison;

static void spoil(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	const poison *p = arg;
	uint32_t need = run->c.plan->contract.need;
	void *grads = run->weights[in->stage].shard[0].grads;

	if ((in->op != MR_OP_B && in->op != MR_OP_W) || in->stage != p->stage || (micro + in->span) % need)
		return;
	for (int i = 0; i < 3; i++)
		if (version + 1 == p->step[i]) {
			if (run->c.kernels->types.weights == MR_F64)
				*(double *)grads = i == 1 ? (double)INFINITY : (double)NAN;
			else
				*(float *)grads = i == 1 ? INFINITY : NAN;
		}
}

static void open_case(rig *r, bool gpt, const char *sets, const char *system, unsigned workers)
{
	rig_init(r);
	if (gpt)
		rig_gpt(r);
	rig_sets(r, sets);
	rig_sets(r, system);
	rig_set(r, "machine.workers=%u", workers);
	rig_open(r);
}

static void start(rig *r, poison *p)
{
	mr_session_opts opts = {.observer = spoil, .observer_arg = p};

	MR_CHECK_OK(mr_session_start(&r->s, p ? &opts : NULL));
}

static uint64_t taken_back(const mr_run *run)
{
	uint64_t sum = 0;

	for (uint16_t s = 0; s < run->n_stages; s++)
		sum += run->weights[s].validation->n_taken_back;
	return sum;
}

/* Steps that a barrier would have clipped or left out: each is an iteration whose forwards were repeated, but the last
 * one's. */
static uint32_t wrong_steps(const rig_result *r, double clip, uint64_t steps)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < steps; i++)
		n += r->step[i].norm < 0 || mr_clip_factor(r->step[i].norm, clip) < 1; /* -1: not a number */
	return n;
}

/* Over all cases of a test; the second: repetitions over links. */
static uint64_t n_taken_back, n_sent_again;

static const mr_link_kind *const bounded[] = {&bounded_link, NULL};

static void on_replay(rig *r, poison *p, const rig_result *want, double clip)
{
	static const mr_replay_order orders[] = {MR_REPLAY_LAST_FIRST, MR_REPLAY_ROUND_ROBIN, MR_REPLAY_RANDOM};
	mr_session_opts opts = {.observer = spoil, .observer_arg = p};
	rig_result got = {0};

	for (int i = 0; i < 3; i++) {
		mr_run_config c = mr_session_run_config(&r->s, p ? &opts : NULL);
		mr_replay *replay;

		MR_CHECK_OK(mr_replay_create(&c, &replay));
		MR_CHECK_OK(mr_replay_run(replay, STEPS, orders[i], 7));
		rig_losses_of_run(mr_replay_run_of(replay), &got);
		rig_collect_run(mr_replay_run_of(replay), &got);
		got.eval = want->eval;
		CU_ASSERT_FATAL(rig_equal(&got, want, true, "replay of the validated plan"));
		CU_ASSERT_EQUAL(mr_replay_run_of(replay)->worker[0].validation->n, wrong_steps(want, clip, STEPS - 1));
		/* where a worker stepped before it heard of the others */
		n_taken_back += taken_back(mr_replay_run_of(replay));
		mr_replay_destroy(replay);
	}
	rig_result_fini(&got);
}

/* Over links of @kinds (NULL: the product's). */
static void start_over(rig *r, poison *p, const mr_link_kind *const *kinds)
{
	mr_session_opts opts = {.observer = spoil, .observer_arg = p};
	mr_run_config c = mr_session_run_config(&r->s, p ? &opts : NULL);

	c.links = kinds;
	MR_CHECK_OK(mr_executor_of_engine(&c, 60, &r->s.executor));
}

static void on_engine(rig *r, poison *p, const rig_result *want, uint32_t runs, const mr_link_kind *const *kinds)
{
	rig_result got = {0};
	char what[64];

	start_over(r, p, kinds);
	for (uint32_t i = 0; i < runs; i++) {
		if (i > 0)
			MR_CHECK_OK(mr_engine_restart(r->s.executor.engine));
		got.n_steps = 0;
		rig_delays(i ? 200 : 0, i);
		if (i % 3 == 1) { /* a pause, between steps that are wrong and steps that are right */
			double loss;

			rig_run(r, STEPS / 2, &got);
			MR_CHECK_OK(mr_executor_eval(&r->s.executor, NULL, NULL, &loss));
		}
		rig_run(r, STEPS, &got);
		rig_delays(0, 0);
		rig_collect(r, true, &got);
		snprintf(what, sizeof(what), "engine with the validated plan, run %u%s", i, kinds ? " over links" : "");
		CU_ASSERT_FATAL(rig_equal(&got, want, true, what));
		if (kinds)
			n_sent_again += mr_engine_run_of(r->s.executor.engine)->worker[0].validation->n;
	}
	mr_executor_fini(&r->s.executor);
	rig_result_fini(&got);
}

/* @system without its optimizer option, e.g. "system.name=zb_h2"; @clip 0: of no account, everything is far below it.
 */
static void check(bool gpt, const char *sets, const char *system, unsigned workers, double clip, poison *p)
{
	rig_result want = {0};
	char all[300];
	rig r;

	snprintf(all, sizeof(all), "%s train.clip=%.17g%s", sets, clip > 0 ? clip : 1e6,
		 p ? " train.nonfinite=skip" : "");
	open_case(&r, gpt, all, system, workers);
	CU_ASSERT_EQUAL(r.s.plan->contract.flush, MR_FLUSH_BARRIER);
	start(&r, p);
	rig_run(&r, STEPS, &want);
	rig_collect(&r, true, &want);
	rig_fini(&r);

	snprintf(all + strlen(all), sizeof(all) - strlen(all), " system.optimizer=validated");
	open_case(&r, gpt, all, system, workers);
	CU_ASSERT_EQUAL(r.s.plan->contract.flush, MR_FLUSH_VALIDATED);
	on_replay(&r, p, &want, clip > 0 ? clip : 1e6);
	on_engine(&r, p, &want, RUNS, NULL);
	on_engine(&r, p, &want, RUNS, bounded);
	rig_result_fini(&want);
	rig_fini(&r);
}

/* The norms without a limit, the largest first. */
static void free_norms(bool gpt, const char *sets, const char *system, unsigned workers, double norm[STEPS])
{
	rig_result free_run = {0};
	char all[300];
	double t;
	rig r;

	snprintf(all, sizeof(all), "%s train.clip=1e6", sets);
	open_case(&r, gpt, all, system, workers);
	rig_train(&r, STEPS, false, &free_run);
	for (int i = 0; i < STEPS; i++)
		norm[i] = free_run.step[i].norm;
	for (int i = 0; i < STEPS; i++)
		for (int k = i + 1; k < STEPS; k++)
			if (norm[k] > norm[i])
				t = norm[i], norm[i] = norm[k], norm[k] = t;
	rig_result_fini(&free_run);
	rig_fini(&r);
}

/* A limit that some steps exceed and others do not: the median of the norms without it. */
static double middle_norm(const char *sets, const char *system, unsigned workers)
{
	double norm[STEPS];

	free_norms(false, sets, system, workers, norm);
	return (norm[STEPS / 2] + norm[STEPS / 2 - 1]) / 2;
}

#define MLP "train.batch=12 train.microbatches=6"

static void clipping(void)
{
	n_taken_back = 0;
	check(false, MLP, "system.name=zb_h2", 3, 0.01, NULL);
	check(false, MLP, "system.name=zb_h2", 3, 0, NULL);
	check(false, MLP, "system.name=zb_h2", 3, middle_norm(MLP, "system.name=zb_h2", 3), NULL);
	check(false, MLP " precision=f32", "system.name=zb_h1", 2,
	      middle_norm(MLP " precision=f32", "system.name=zb_h1", 2),
	      NULL);
	check(false, MLP " optimizer.name=sgd", "system.name=zb_h1", 1, 0.01, NULL);
	check(false, "train.microbatches=2", "system.name=zb_h2", 4, 0.01, NULL); /* every forward comes before V */
	/* Then the last worker may be done with a step, norms and all, before the first has looked at those of the step
	 * before. */
	check(false, "train.microbatches=2", "system.name=zb_h2", 4,
	      middle_norm("train.microbatches=2", "system.name=zb_h2", 4), NULL);
	CU_ASSERT(n_taken_back > 0);
	CU_ASSERT(n_sent_again > 0 && atomic_load(&bounded_arrived[MR_EDGE_FORWARD]) > 0);
}

static void not_numbers(void)
{
	n_taken_back = 0;
	check(false, MLP, "system.name=zb_h2", 3, 0, &(poison){0, {1, 4, 8}});
	check(false, MLP, "system.name=zb_h2", 3, 0.05, &(poison){2, {2, 3, 4}});
	check(false, MLP " optimizer.name=momentum precision=f32", "system.name=zb_h1", 2, 0, &(poison){1, {1, 2, 7}});
	CU_ASSERT(n_taken_back > 0);
}

/*
 * Three limits. Far below all norms hardly a step is taken on trust: the part of the norm that is known first exceeds
 * the limit already. Just below the largest norm no part does, so that this step is taken on trust and taken back,
 * whatever the weights are. The median has some of both.
 */
static void check_gpt(const char *sets, poison *p)
{
	static const char system[] = "system.name=zb_h2";
	double norm[STEPS];

	free_norms(true, sets, system, 2, norm);
	check(true, sets, system, 2, norm[STEPS - 1] / 2, p);
	check(true, sets, system, 2, (norm[STEPS / 2] + norm[STEPS / 2 - 1]) / 2, p);
	n_taken_back = 0;
	check(true, sets, system, 2, 0.999 * norm[0], p);
	CU_ASSERT(n_taken_back > 0);
}

static void gpt(void)
{
	check_gpt("model.dropout=0.1 train.microbatches=8 precision=f32", NULL);
	if (sync_dnnl())
		check_gpt("backend=auto precision=f32 train.microbatches=4", &(poison){0, {3, 5, 8}});
}

/* A run that stands at a step goes on from there as the one that never stopped: nothing at a pause is taken on trust.
 */
static void resumes(void)
{
	static const char sets[] = MLP " train.clip=0.5 precision=f32",
			  system[] = "system.name=zb_h2 system.optimizer=validated";
	rig_result whole = {0}, saved = {0}, rest = {0};
	mr_state st;
	rig r;

	open_case(&r, false, sets, system, 3);
	rig_start(&r);
	rig_run(&r, 3, NULL);
	rig_collect(&r, false, &saved);
	CU_ASSERT_EQUAL(saved.inflight.n, 0);
	rig_run(&r, STEPS, &whole);
	rig_collect(&r, true, &whole);
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, 3));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, &saved));
	mr_state_fini(&st);
	rig_run(&r, STEPS, &rest);
	rig_collect(&r, true, &rest);
	CU_ASSERT(rig_equal(&rest, &whole, true, "resumed at step 3"));
	rig_result_fini(&whole);
	rig_result_fini(&saved);
	rig_result_fini(&rest);
	rig_fini(&r);
}

/* Without `skip` the same gradient ends the run, with the same message. */
static void stops_where_it_is_told_to(void)
{
	poison p = {1, {3}};

	for (int validated = 0; validated < 2; validated++) {
		uint64_t reached;
		rig r;

		open_case(&r, false, MLP " train.clip=1.0",
			  validated ? "system.name=zb_h2 system.optimizer=validated" : "system.name=zb_h2", 2);
		start(&r, &p);
		MR_CHECK_FAIL(mr_executor_run(&r.s.executor, STEPS, NULL, NULL, &reached), MR_EDIVERGED,
			      "the gradient norm of step 3 is not finite");
		rig_fini(&r);
	}
}

/* Sequential training leaves the same steps out: a learning rate that makes numbers overflow. */
static void skipping_equals_sequential(void)
{
	static const char *const systems[] = {"system.name=sequential", "system.name=gpipe",
					      "system.name=zb_h2 system.optimizer=validated"};
	rig_result got[3] = {0};

	for (int i = 0; i < 3; i++) {
		rig r;

		open_case(&r, false, "precision=f32 optimizer.name=sgd optimizer.lr=1e6 train.clip=1e30 "
			"train.nonfinite=skip",
			  systems[i], i ? 2 : 1);
		rig_train(&r, 4, false, &got[i]);
		rig_fini(&r);
	}
	CU_ASSERT(got[0].step[1].norm > 0 && got[0].step[3].norm < 0); /* not a number */
	for (int i = 1; i < 3; i++)
		CU_ASSERT(rig_equal_weights(&got[i], &got[0], systems[i]));
	for (int i = 0; i < 3; i++)
		rig_result_fini(&got[i]);
}

static void skipping_needs_the_norm(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "train.nonfinite=skip");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, "only a run that clips computes its gradient norm");
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, "system.name=zb_h2 system.optimizer=validated");
	MR_CHECK_FAIL(
		rig_try_open(&r), MR_ECONFIG,
		"system.optimizer: what is validated is the norm of clipped gradients, and none are clipped");
	rig_fini(&r);
}

void mr_suite_validated(void)
{
	MR_SUITE("validated");
	MR_TEST(clipping);
	MR_TEST(not_numbers);
	MR_TEST(gpt);
	MR_TEST(resumes);
	MR_TEST(stops_where_it_is_told_to);
	MR_TEST(skipping_equals_sequential);
	MR_TEST(skipping_needs_the_norm);
}
