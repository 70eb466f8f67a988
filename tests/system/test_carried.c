/*
 * test_carried.c - LSTM layers that carry their state from window to window: it goes on through an epoch, begins at
 * zero in the next one, and belongs to the columns, however they are cut into micro-batches.
 *
 * Systems that flush are compared with sequential in system.equal_sync, resumption in slow_restored.c.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "check.h"
#include "replay_cases.h"
#include "rig.h"
#include "weights/carried.h"

#define LM \
	"model.name=awd_lm model.layers=2 model.embed=6 model.width=8 data.order=columns precision=f64 " \
		"backend=reference " \
	"optimizer.name=sgd "

static void open_case(rig *r, const char *sets)
{
	rig_init(r);
	rig_tokens(r, LM);
	rig_sets(r, LM);
	rig_sets(r, sets);
}

static void train(const char *sets, uint64_t steps, rig_result *out)
{
	rig r;

	open_case(&r, sets);
	rig_open(&r);
	rig_train(&r, steps, false, out);
	rig_fini(&r);
	CU_ASSERT_EQUAL_FATAL(out->n_steps, steps);
}

static uint64_t windows_of(const char *sets)
{
	uint64_t n;
	rig r;

	open_case(&r, sets);
	rig_open(&r);
	n = r.s.data->n_train / r.s.data->columns;
	rig_fini(&r);
	return n;
}

/* A seed with which the first two epochs begin at the first token, for windows of up to 10. */
static unsigned seed_without_shift(void)
{
	unsigned seed = 1;

	while (mr_rng_uniform(seed, MR_RNG_EXCERPT, 0, 0, 0) >= 0.1 ||
	       mr_rng_uniform(seed, MR_RNG_EXCERPT, 1, 0, 0) >= 0.1)
		seed++;
	return seed;
}

/* With a learning rate of 0, two windows of 4 tokens have the loss of one window of 8: the state of the first goes on
 * in the second. And the second epoch begins as the first one did. */
static void goes_on_through_an_epoch(void)
{
	static const char *const systems[] = {"sequential", "1f1b", "pipedream_2bw"};
	char both[200], sets[300];
	unsigned validation = 5;
	uint64_t n;

	for (;; validation++) { /* columns of as many tokens for both */
		snprintf(both, sizeof(both),
			 "model.tied=false train.batch=4 train.microbatches=2 optimizer.lr=0.0 train.seed=%u "
			 "data.validation=%.2f ",
			 seed_without_shift(), validation / 100.0);
		snprintf(sets, sizeof(sets), "%smodel.context=8", both);
		n = windows_of(sets);
		snprintf(sets, sizeof(sets), "%smodel.context=4", both);
		CU_ASSERT_FATAL(validation < 50);
		if (windows_of(sets) == 2 * n)
			break;
	}
	CU_ASSERT_FATAL(n >= 3);
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
		rig_result whole = {0}, half = {0};

		snprintf(sets, sizeof(sets), "%smodel.context=8 system.name=%s", both, systems[i]);
		train(sets, n + 1, &whole);
		snprintf(sets, sizeof(sets), "%smodel.context=4 system.name=%s", both, systems[i]);
		train(sets, 2 * n + 1, &half);
		for (uint64_t k = 0; k < n; k++)
			CU_ASSERT_DOUBLE_EQUAL((half.step[2 * k].loss + half.step[2 * k + 1].loss) / 2,
					       whole.step[k].loss, 1e-12);
		CU_ASSERT_EQUAL(whole.step[n].loss, whole.step[0].loss);
		CU_ASSERT_EQUAL(half.step[2 * n].loss, half.step[0].loss);
		rig_result_fini(&whole);
		rig_result_fini(&half);
	}
}

/* Each column has its state, however many of them a micro-batch has, and masks of weights and words are the step's. */
static void micro_batches_are_cut_along_columns(void)
{
	static const char *const more[] = {
		"",
		"model.weight_dropout=0.3 model.word_dropout=0.2 model.hidden_dropout=0.2 model.alpha=1 model.beta=1",
	};

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		rig_result want = {0};

		for (unsigned n = 1; n <= 4; n *= 2) {
			rig_result got = {0};
			char sets[300];

			snprintf(sets, sizeof(sets),
				 "system.name=sequential train.batch=4 train.microbatches=%u model.context=5 %s", n,
				 more[i]);
			train(sets, 8, &got);
			for (uint64_t k = 0; k < 8 && n > 1; k++)
				CU_ASSERT_DOUBLE_EQUAL(got.step[k].loss / want.step[k].loss, 1, 1e-11);
			if (n == 1)
				want = got;
			else
				rig_result_fini(&got);
		}
		rig_result_fini(&want);
	}
}

/* Evaluation begins every window with zeros, and leaves the state alone. */
static void evaluation_leaves_it_alone(void)
{
	rig_result with = {0}, without = {0};
	double loss;
	rig r;

	for (int i = 0; i < 2; i++) {
		rig_result *out = i ? &with : &without;

		open_case(&r, "system.name=1f1b train.batch=4 train.microbatches=4 model.context=5 optimizer.lr=0.01");
		rig_open(&r);
		rig_start(&r);
		rig_run(&r, 3, out);
		if (i)
			MR_CHECK_OK(mr_executor_eval(&r.s.executor, NULL, NULL, &loss));
		rig_run(&r, 6, out);
		rig_collect(&r, true, out);
		rig_fini(&r);
	}
	CU_ASSERT(rig_equal(&with, &without, false, "an evaluation between"));
	rig_result_fini(&with);
	rig_result_fini(&without);
}

static void replays(void)
{
	replay_carried(1);
}

/* A plan that has the windows of a column in another order is noticed, and not carried out with another state. */
static void another_order_is_noticed(void)
{
	enum { MICROS = 2, DEPTH = 3, BYTES = 8 };
	uint8_t entry[DEPTH * MICROS * BYTES];
	uint64_t micro[DEPTH * MICROS];
	mr_carried c = {
		.n_micro = MICROS, .depth = DEPTH, .n_windows = 5, .bytes = BYTES, .entry = entry, .micro = micro,
	};

	mr_carried_init(&c);
	mr_carried_stand(&c, 0, true);
	for (uint64_t m = 0; m < 4; m++) {
		MR_CHECK_OK(mr_carried_check(&c, m, 0));
		CU_ASSERT_EQUAL(mr_carried_begin(&c, m) == NULL, m < 2);
		CU_ASSERT_PTR_EQUAL(mr_carried_end(&c, m), mr_carried_begin(&c, m + 2));
	}
	MR_CHECK_FAIL(mr_carried_check(&c, 7, 3), MR_EINVAL,
		      "stage 3: the values with which micro-batch 7 begins are not there");
	mr_carried_end(&c, 5);
	MR_CHECK_OK(mr_carried_check(&c, 7, 3));
	mr_carried_end(&c, 7);
	mr_carried_end(&c, 9); /* and what a backward reads too late */
	MR_CHECK_FAIL(mr_carried_check(&c, 5, 0), MR_EINVAL, "micro-batch 5");
	MR_CHECK_OK(mr_carried_check(&c, 10, 0)); /* begins an epoch */
	mr_carried_stand(&c, 8, true);
	MR_CHECK_OK(mr_carried_check(&c, 17, 0));
	CU_ASSERT_PTR_EQUAL(mr_carried_begin(&c, 17), entry + BYTES);
}

void mr_suite_carried(void);

void mr_suite_carried(void)
{
	MR_SUITE("carried");
	MR_TEST(goes_on_through_an_epoch);
	MR_TEST(micro_batches_are_cut_along_columns);
	MR_TEST(evaluation_leaves_it_alone);
	MR_TEST(replays);
	MR_TEST(another_order_is_noticed);
}
