/* test_predict.c - weights made from one version to stand for another, against the formulas of plan.h (mr_predict). */
#include "weights/predict.h"

#include <math.h>

#include "check.h"
#include "small_run.h"

/* One stage whose F and B of a micro-batch predict by @forward and @backward. */
static mr_plan *plan_of(mr_contract contract, int32_t forward, int32_t backward)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(1, 1, 1, &p));
	contract.need = contract.need ? contract.need : 1;
	contract.flush = MR_FLUSH_NONE;
	p->contract = contract;
	p->n_micro = 1;
	p->n_slots[0] = 2;
	p->worker_of[0] = 0;
	MR_CHECK_OK(mr_plan_append(p, 0, MR_BODY, (mr_instr){.op = MR_OP_F, .span = 1, .target = forward}));
	MR_CHECK_OK(mr_plan_append(p, 0, MR_BODY, (mr_instr){.op = MR_OP_B, .span = 1, .target = backward}));
	return p;
}

static void open_weights(small_weights *w, const char *optim, uint32_t cap, mr_plan *p)
{
	small_weights_init(w, optim, cap, 1);
	MR_CHECK_OK(mr_predict_open(&w->b, p, 0));
	mr_plan_destroy(p);
	small_weights_layout(w);
	for (int64_t i = 0; i < small_elements(w); i++)
		*small_weight(w, 0, 0, i) = 1 + (double)i;
}

/* A commit with gradient @g in all elements. */
static void commit(small_weights *w, double lr, double g)
{
	for (int64_t i = 0; i < small_elements(w); i++)
		*small_grad(w, 0, i) = g;
	mr_predict_before_step(&w->b);
	MR_CHECK_OK(mr_weights_step(&w->b, 0, w->kc, lr, 1));
	MR_CHECK_OK(mr_predict_after_step(&w->b, w->kc));
	mr_weights_committed(&w->b);
}

static bool has(const void *weights, double first)
{
	double got = *(const double *)weights;

	if (fabs(got - first) < 1e-12)
		return true;
	fprintf(stderr, "\nthe first weight is %.17g instead of %.17g\n", got, first);
	return false;
}

static void plans_without_prediction_have_none(void)
{
	small_weights w;

	open_weights(&w, "sgd", 1, plan_of((mr_contract){0}, 0, 0));
	CU_ASSERT_PTR_NULL(w.b.prediction);
	CU_ASSERT_EQUAL(mr_predict_buffers(&w.b), 0);
	CU_ASSERT_EQUAL(mr_predict_buffers_used(&w.b), 0);
	small_weights_fini(&w);
}

static const void *weights_of(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon)
{
	const void *made = NULL;

	MR_CHECK_OK(mr_predict_weights(b, kc, lr, horizon, &made));
	return made;
}

static const void *held_of(mr_stage_weights *b, mr_kctx *kc, double lr, int32_t horizon, uint64_t version)
{
	const void *made = NULL;

	MR_CHECK_OK(mr_predict_held(b, kc, lr, horizon, version, &made));
	return made;
}

static const void *steps_of(mr_stage_weights *b, uint8_t pipe, mr_kctx *kc, uint64_t version, int32_t horizon,
			    uint32_t slot)
{
	const void *made = NULL;

	MR_CHECK_OK(mr_predict_steps(b, pipe, kc, version, horizon, slot, &made));
	return made;
}

/* AHEAD: w - horizon lr m, along the optimizer's momentum; before the first commit there is nothing to move along. */
static void ahead_follows_the_momentum(void)
{
	small_weights w;

	open_weights(&w, "momentum", 1, plan_of((mr_contract){.predict = MR_PREDICT_AHEAD}, 3, 0));
	CU_ASSERT_EQUAL(mr_predict_buffers(&w.b), 1);
	CU_ASSERT_PTR_EQUAL(weights_of(&w.b, w.kc, 0.5, 3), mr_weights_at(&w.b, 0, 0));
	CU_ASSERT_EQUAL(mr_predict_buffers_used(&w.b), 0);
	commit(&w, 0.25, 2); /* momentum 2, weight 1 - 0.25 * 2 */
	CU_ASSERT_TRUE(has(weights_of(&w.b, w.kc, 0.5, 3), 0.5 - 3 * 0.5 * 2));
	CU_ASSERT_EQUAL(mr_predict_buffers_used(&w.b), 1);
	CU_ASSERT_EQUAL(*small_weight(&w, 0, 1, 0), 0.5); /* the version itself stays */
	mr_predict_reset(&w.b);
	CU_ASSERT_EQUAL(mr_predict_buffers_used(&w.b), 0);
	small_weights_fini(&w);
}

/* Adam's direction is m / (sqrt(v) + eps), and its state is none the worse for having been looked at. */
static void ahead_leaves_adam_alone(void)
{
	small_weights w;
	double m, v;

	open_weights(&w, "adam", 1, plan_of((mr_contract){.predict = MR_PREDICT_AHEAD}, 2, 0));
	commit(&w, 0.125, 4);
	m = *(double *)w.b.state[0];
	v = *(double *)w.b.state[1];
	CU_ASSERT_DOUBLE_EQUAL(*(const double *)weights_of(&w.b, w.kc, 0.25, 2), 0.875 - 2 * 0.25,
			       1e-7);
	CU_ASSERT_EQUAL(*(double *)w.b.state[0], m);
	CU_ASSERT_EQUAL(*(double *)w.b.state[1], v);
	small_weights_fini(&w);
}

/* STEPS: w + horizon (w - the version before it), from any version, into the buffer of a slot. */
static void steps_repeat_the_last_step(void)
{
	const mr_contract c = {.predict = MR_PREDICT_STEPS, .same_version_b = true};
	small_weights w;

	open_weights(&w, "sgd", 3, plan_of(c, 2, 2));
	CU_ASSERT_EQUAL(mr_predict_buffers(&w.b), 2); /* one a slot */
	CU_ASSERT_TRUE(has(steps_of(&w.b, 0, w.kc, 0, 2, 1), 1)); /* no step behind version 0 */
	CU_ASSERT_EQUAL(mr_predict_buffers_used(&w.b), 2);
	commit(&w, 1, 0.25);
	commit(&w, 1, 0.125);
	CU_ASSERT_TRUE(has(steps_of(&w.b, 0, w.kc, 2, 2, 0), 0.625 - 2 * 0.125));
	CU_ASSERT_TRUE(has(steps_of(&w.b, 0, w.kc, 1, 3, 1), 0.75 - 3 * 0.25));
	CU_ASSERT_TRUE(has(mr_predict_kept(&w.b, 0, 0), 0.375)); /* where B of that slot finds it */
	CU_ASSERT_TRUE(has(mr_predict_kept(&w.b, 0, 1), 0));
	small_weights_fini(&w);
}

/* F of all micro-batches of a commit work on the same weights, made for the first of them. */
static void held_weights_are_made_once(void)
{
	small_weights w;
	const void *held;

	open_weights(&w, "momentum", 1,
		     plan_of((mr_contract){.predict = MR_PREDICT_AHEAD, .read_f = MR_READ_FIRST, .need = 2}, 1, 0));
	held = held_of(&w.b, w.kc, 1, 1, 0);
	CU_ASSERT_TRUE(has(held, 1));
	CU_ASSERT_EQUAL(mr_predict_buffers_used(&w.b), 1);
	commit(&w, 0.5, 1);
	CU_ASSERT_PTR_EQUAL(held_of(&w.b, w.kc, 1, 1, 0), held);
	CU_ASSERT_TRUE(has(held, 1));
	CU_ASSERT_TRUE(has(held_of(&w.b, w.kc, 1, 1, 1), 0.5 - 1));
	small_weights_fini(&w);
}

/* BACK: delta is the running mean of the steps, and B works on w - tau delta, made once a version. */
static void back_follows_the_mean_step(void)
{
	const mr_contract c = {.predict = MR_PREDICT_BACK, .ema_decay_ppm = 250000};
	const double tau = 2, keep = 0.5; /* 0.25^(1 / tau) */
	small_weights w;
	double delta = 0;

	open_weights(&w, "sgd", 1, plan_of(c, 0, -2));
	CU_ASSERT_EQUAL(w.b.prediction->back, tau);
	CU_ASSERT_DOUBLE_EQUAL(w.b.prediction->delta_keep, keep, 1e-15);
	w.b.prediction->sync_steps = 1; /* the plan above has no instructions of a synchronous start */
	mr_predict_init(&w.b);
	commit(&w, 1, 1); /* synchronous: delta does not follow */
	CU_ASSERT_TRUE(has(weights_of(&w.b, w.kc, 1, -2), 0));
	commit(&w, 1, 0.5);
	delta = keep * delta - (1 - keep) * 0.5;
	CU_ASSERT_TRUE(has(weights_of(&w.b, w.kc, 1, -2), -0.5 - tau * delta));
	CU_ASSERT_TRUE(has(mr_weights_at(&w.b, 0, 2), -0.5));
	commit(&w, 1, 0.25);
	delta = keep * delta - (1 - keep) * 0.25;
	CU_ASSERT_TRUE(has(weights_of(&w.b, w.kc, 1, -2), -0.75 - tau * delta));
	/* Made once: what changes behind its back does not reach it before the next commit. */
	*small_weight(&w, 0, 3, 0) = 77;
	CU_ASSERT_TRUE(has(weights_of(&w.b, w.kc, 1, -2), -0.75 - tau * delta));
	small_weights_fini(&w);
}

void mr_suite_predict(void)
{
	MR_SUITE("predict");
	MR_TEST(plans_without_prediction_have_none);
	MR_TEST(ahead_follows_the_momentum);
	MR_TEST(ahead_leaves_adam_alone);
	MR_TEST(steps_repeat_the_last_step);
	MR_TEST(held_weights_are_made_once);
	MR_TEST(back_follows_the_mean_step);
}
