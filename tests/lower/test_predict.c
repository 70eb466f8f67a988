/* Reads that aim at another version than the one read: lowered, kept through text, unrolled, and refused where they
 * make no sense. */
#include <string.h>

#include "check.h"
#include "ir/unroll.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "ir/sched.h"
#include "ir/text.h"
#include "small_plans.h"

/* Latest weights, one micro-batch a commit, B of stage k back by 2 - k, or F ahead by as much. */
static mr_plan *aiming(bool ahead)
{
	static const int32_t none[3] = {0}, back[3] = {-2, -1, 0}, on[3] = {2, 1, 0};
	mr_plan *p = small_accumulate(3, 1);

	p->contract.predict = ahead ? MR_PREDICT_AHEAD : MR_PREDICT_BACK;
	p->contract.ema_decay_ppm = ahead ? 0 : 500000;
	mr_sched_aim(p, ahead ? on : none, ahead ? none : back);
	return p;
}

static void lowered_and_back(void)
{
	for (int ahead = 0; ahead < 2; ahead++) {
		mr_plan *p = aiming(ahead), *read = NULL, *flat = NULL;
		const mr_list *body;
		mr_strbuf text = {0};

		MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true}));
		MR_CHECK_OK(mr_plan_check(p));
		body = mr_plan_list(p, 0, MR_BODY); /* F B U: no step inside */
		CU_ASSERT_EQUAL_FATAL(body->n, 3);
		CU_ASSERT_EQUAL(mr_instr_horizon(p, &body->at[0]), ahead ? 2 : 0);
		CU_ASSERT_EQUAL(mr_instr_horizon(p, &body->at[1]), ahead ? 0 : -2);
		MR_CHECK_OK(mr_text_print(p, &text));
		CU_ASSERT_PTR_NOT_NULL(strstr(text.data, ahead ? "aim=ahead\n" : "aim=back memory=500000\n"));
		MR_CHECK_OK(mr_text_read(text.data, text.len, &read));
		CU_ASSERT_EQUAL(mr_plan_hash(read), mr_plan_hash(p));
		mr_strbuf_fini(&text);
		/* Before the first commits what is read is clamped to version 0; the horizon is not. */
		MR_CHECK_OK(mr_plan_unroll(p, 4, &flat));
		for (uint32_t i = 0; i < mr_plan_list(flat, 0, MR_PROLOGUE)->n; i++) {
			const mr_instr *in = &mr_plan_list(flat, 0, MR_PROLOGUE)->at[i];

			if (in->op == MR_OP_F || in->op == MR_OP_B)
				CU_ASSERT_EQUAL(mr_instr_horizon(flat, in),
						ahead == (in->op == MR_OP_F) ? (ahead ? 2 : -2) : 0);
		}
		mr_plan_destroy(flat);
		mr_plan_destroy(read);
		mr_plan_destroy(p);
	}
}

static void refused(void)
{
	mr_plan *p = aiming(false);

	MR_CHECK_OK(mr_plan_lower(p, NULL));
	mr_plan_list(p, 0, MR_BODY)->at[0].target--;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w0 F m2 s0 p0: predicts 1 back, which the contract does not allow");
	mr_plan_list(p, 0, MR_BODY)->at[0].target++;
	mr_plan_list(p, 1, MR_BODY)->at[1].target += 5;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "w1 B m0 s1 p0: predicts 4 ahead");
	mr_plan_list(p, 1, MR_BODY)->at[1].target -= 5;
	MR_CHECK_OK(mr_plan_check(p));
	p->contract.ema_decay_ppm = 0;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "memory=0 millionths");
	p->contract.ema_decay_ppm = 1;
	p->contract.same_version_b = true;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "only weights predicted ahead of the latest can be those of F and B alike");
	mr_plan_destroy(p);
	p = aiming(true);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	mr_plan_list(p, 0, MR_PROLOGUE)->at[1].target++;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w0 F m1 s0 p0: has horizon 3 where the others of its stage have 2");
	mr_plan_destroy(p);
}

static void put(mr_plan *p, uint16_t w, mr_section section, const char *ops, uint32_t f, uint32_t b)
{
	for (; *ops; ops++)
		MR_CHECK_OK(
			mr_sched_emit(p, w, section, *ops == 'F' ? MR_OP_F : MR_OP_B, *ops == 'F' ? f++ : b++, w, 0));
}

/* Two stages, two synchronous commits; @stale: the second begins before the first has ended. */
static mr_plan *synced(bool stale)
{
	static const int32_t none[2] = {0}, back[2] = {-1, 0};
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(2, 2, 1, &p));
	p->n_micro = p->commits = 1;
	p->contract = (mr_contract){.flush = MR_FLUSH_NONE,
				    .read_f = MR_READ_LATEST,
				    .need = 1,
				    .max_staleness = 1,
				    .sync_steps = 2,
				    .predict = MR_PREDICT_BACK,
				    .ema_decay_ppm = 500000};
	p->worker_of[0] = 0;
	p->worker_of[1] = 1;
	put(p, 0, MR_PROLOGUE, stale ? "FFBBF" : "FBFBF", 0, 0);
	put(p, 0, MR_BODY, "FB", 3, 2);
	put(p, 1, MR_PROLOGUE, "FBFB", 0, 0);
	put(p, 1, MR_BODY, "FB", 2, 2);
	mr_sched_aim(p, none, back);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	return p;
}

/* A synchronous start: fresh reads, no aim, whole before the body. */
static void synchronous(void)
{
	mr_plan *p = synced(true), *read = NULL;
	mr_strbuf text = {0};

	MR_CHECK_FAIL(
		mr_plan_check(p), MR_ECONFIG,
		"w0 F m1 s0 p0: reads version 0, but the first 2 commits are synchronous, and it belongs to version 1");
	mr_plan_destroy(p);
	p = synced(false);
	MR_CHECK_OK(mr_plan_check(p));
	CU_ASSERT_EQUAL(mr_plan_horizon(p, 0, false), -1);
	MR_CHECK_OK(mr_text_print(p, &text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, " sync_steps=2\n"));
	MR_CHECK_OK(mr_text_read(text.data, text.len, &read));
	CU_ASSERT_EQUAL(mr_plan_hash(read), mr_plan_hash(p));
	mr_strbuf_fini(&text);
	mr_plan_destroy(read);
	mr_plan_list(p, 0, MR_PROLOGUE)->at[1].target--;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "w0 B m0 s0 p0: predicts another version, but the first 2 commits are synchronous");
	mr_plan_list(p, 0, MR_PROLOGUE)->at[1].target++;
	p->contract.sync_steps = 3; /* the third is not in the lists as often as the body promises */
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "missing");
	p->contract.predict = MR_PREDICT_NONE;
	p->contract.ema_decay_ppm = 0;
	p->contract.read_f = MR_READ_TAG;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG,
		      "a synchronous start is for plans that never flush and read the latest version");
	mr_plan_destroy(p);
	p = small_gpipe(2, 4, false);
	p->contract.sync_steps = 1;
	MR_CHECK_FAIL(mr_plan_lower(p, NULL), MR_ECONFIG, "a synchronous start is for plans that never flush");
	mr_plan_destroy(p);
}

/* H / M of the steady state, where a commit sums M; the most where it sums one. */
static void delays(void)
{
	for (uint32_t need = 1; need <= 5; need++) {
		mr_plan *p = small_accumulate(4, need);

		MR_CHECK_OK(mr_plan_lower(p, NULL));
		for (uint16_t s = 0; s < 4; s++)
			CU_ASSERT_DOUBLE_EQUAL(mr_plan_delay(p, s), (3.0 - s) / need, 1e-15);
		mr_plan_destroy(p);
	}
}

/* B on the weights that were made for its F: no version is kept, and both must aim alike. */
static void shared(void)
{
	static const int32_t on[3] = {2, 1, 0};
	mr_plan *p = small_pipedream(3, false, false);

	p->contract.predict = MR_PREDICT_AHEAD;
	mr_sched_aim(p, on, on);
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	for (uint16_t s = 0; s < 3; s++)
		CU_ASSERT_EQUAL(p->n_versions[s], 1);
	for (uint32_t i = 0; i < mr_plan_list(p, 1, MR_BODY)->n; i++)
		if (mr_plan_list(p, 1, MR_BODY)->at[i].op == MR_OP_B)
			mr_plan_list(p, 1, MR_BODY)->at[i].target++;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "where its F has 1, and must work on the same weights");
	mr_plan_destroy(p);
}

/* keep_read: what F read stays until the commit, B notwithstanding; no step hides in B; the text says so. */
static void kept(void)
{
	mr_plan *p = small_accumulate(3, 1), *plain = small_accumulate(3, 1), *read = NULL;
	mr_strbuf text = {0};

	p->contract.keep_read = true;
	MR_CHECK_OK(mr_plan_lower(plain, NULL));
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = true}));
	MR_CHECK_OK(mr_plan_check(p));
	for (uint16_t s = 0; s < 3; s++) {
		CU_ASSERT_EQUAL(plain->n_versions[s], 1);
		CU_ASSERT_EQUAL(p->n_versions[s], 3 - s);
		CU_ASSERT_EQUAL(mr_plan_staleness(p, s), 2u - s);
	}
	CU_ASSERT_EQUAL(mr_plan_list(p, 0, MR_BODY)->at[2].op, MR_OP_U);
	CU_ASSERT_NOT_EQUAL(mr_plan_hash(p), mr_plan_hash(plain));
	MR_CHECK_OK(mr_text_print(p, &text));
	CU_ASSERT_PTR_NOT_NULL(strstr(text.data, " keep_read\n"));
	MR_CHECK_OK(mr_text_read(text.data, text.len, &read));
	CU_ASSERT_EQUAL(mr_plan_hash(read), mr_plan_hash(p));
	p->n_versions[1] = 1;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "which is overwritten before version");
	p->n_versions[1] = 2;
	mr_plan_list(p, 0, MR_BODY)->n--;
	mr_plan_list(p, 0, MR_BODY)->at[1].flags |= MR_INSTR_UPDATE;
	mr_plan_list(p, 0, MR_BODY)->at[1].target = mr_plan_list(p, 0, MR_BODY)->at[2].target;
	MR_CHECK_FAIL(mr_plan_check(p), MR_ECONFIG, "the update compares with the weights before it");
	mr_strbuf_fini(&text);
	mr_plan_destroy(read);
	mr_plan_destroy(plain);
	mr_plan_destroy(p);
	p = small_gpipe(2, 4, false);
	p->contract.keep_read = true;
	MR_CHECK_FAIL(mr_plan_lower(p, NULL), MR_ECONFIG, "keep_read is for stale gradients");
	mr_plan_destroy(p);
}

void mr_suite_predict(void);
void mr_suite_predict(void)
{
	MR_SUITE("predict");
	MR_TEST(lowered_and_back);
	MR_TEST(refused);
	MR_TEST(kept);
	MR_TEST(shared);
	MR_TEST(synchronous);
	MR_TEST(delays);
}
