/*
 * test_recompute.c - training with recomputation equals training without it to the bit: weights, state, losses, norms,
 * evaluation. The plans here recompute everywhere, the last stage included (1f1b as a system never does that), with one
 * slot a stage, so that what a backward reads can come from its R alone.
 */
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"
#include "rig.h"
#include "sync_cases.h"

#define STEPS 3

/* All forwards, then R and backward of each; @split: R, then I and W apart; @kept: a micro-batch that is not
 * recomputed. */
static mr_plan *recomputing(const mr_plan *like, bool split, uint32_t kept)
{
	mr_plan *p;

	MR_CHECK_OK(mr_plan_create(like->n_stages, like->n_workers, 1, &p));
	p->n_micro = like->n_micro;
	p->commits = 1;
	p->contract = like->contract;
	for (uint16_t s = 0; s < p->n_stages; s++) {
		mr_instr in = {.span = 1, .stage = s};
		uint16_t w = p->worker_of[s] = like->worker_of[s];

		for (in.micro = 0, in.op = MR_OP_F; in.micro < p->n_micro; in.micro++)
			MR_CHECK_OK(mr_plan_append(p, w, MR_BODY, in));
		for (in.micro = 0; in.micro < p->n_micro; in.micro++) {
			const uint8_t ops[] = {MR_OP_R, split ? MR_OP_I : MR_OP_B, MR_OP_W};

			for (int k = in.micro == kept; k < 2 + split; k++) {
				in.op = ops[k];
				MR_CHECK_OK(mr_plan_append(p, w, MR_BODY, in));
			}
		}
	}
	MR_CHECK_OK(mr_plan_lower(p, &(mr_lower_opts){.update_inside = !p->contract.clip && !p->contract.tied}));
	MR_CHECK_OK(mr_plan_check(p));
	return p;
}

static void open_case(rig *r, bool gpt, const char *sets, unsigned workers)
{
	rig_init(r);
	if (gpt)
		rig_gpt(r);
	rig_sets(r, sets);
	rig_set(r, "machine.workers=%u", workers);
	rig_open(r);
}

static uint64_t activation_bytes(const rig *r)
{
	const mr_run *run = mr_engine_run_of(r->s.executor.engine);
	uint64_t sum = 0;

	for (uint16_t s = 0; s < run->n_stages; s++) {
		mr_run_memory m;

		mr_run_memory_of_stage(run, 0, s, &m);
		sum += m.activations;
	}
	return sum;
}

static void check(bool gpt, const char *sets, unsigned workers, bool split, uint32_t kept)
{
	rig_result want = {0}, got = {0};
	uint64_t bytes;
	rig r;

	open_case(&r, gpt, sets, workers);
	rig_train(&r, STEPS, true, &want);
	bytes = activation_bytes(&r);
	rig_fini(&r);

	open_case(&r, gpt, sets, workers);
	mr_plan *p = recomputing(r.s.plan, split, kept);
	mr_plan_destroy(r.s.plan);
	r.s.plan = p;
	CU_ASSERT_EQUAL(p->n_slots[0], kept < p->n_micro ? 2 : 1);
	rig_replay(&r, STEPS, MR_REPLAY_RANDOM, 1, &got);
	got.eval = want.eval; /* a replay does not evaluate */
	CU_ASSERT_FATAL(rig_equal(&got, &want, true, "replay of a plan that recomputes"));
	got.n_steps = 0;
	rig_train(&r, STEPS, true, &got);
	CU_ASSERT_FATAL(rig_equal(&got, &want, true, "engine with a plan that recomputes"));
	if (kept >= p->n_micro && !split) /* the evaluation's slots stay */
		CU_ASSERT(activation_bytes(&r) < bytes);
	rig_result_fini(&got);
	rig_result_fini(&want);
	rig_fini(&r);
}

static void mlp(void)
{
	check(false, "model.activation=gelu", 3, false, 4);
	check(false, "model.activation=relu optimizer.name=momentum", 1, false, 4);
	check(false, "train.clip=0.1 precision=f32", 2, false, 1);
}

static void gpt_dropout(void)
{
	check(true, "model.dropout=0.2 model.tied=true train.clip=0.5 precision=f32", 3, false, 4);
	check(true, "model.dropout=0.1 model.tied=false", 2, true, 0);
}

static void dnnl(void)
{
	if (sync_dnnl())
		check(true, "backend=auto precision=f32 model.dropout=0.1", 2, false, 4);
}

/* At a pause with micro-batches under way the last stage would have targets that are not saved. */
static void without_a_flush_not_everywhere(void)
{
	mr_run_config c;
	mr_replay *replay;
	mr_plan *p;
	rig r;

	open_case(&r, false, "system.name=pipedream train.microbatches=1", 2);
	c = mr_session_run_config(&r.s, NULL);
	MR_CHECK_OK(mr_plan_create(2, 2, 1, &p));
	p->n_micro = p->commits = 1;
	p->contract = r.s.plan->contract;
	for (uint16_t s = 0; s < 2; s++) {
		static const uint8_t ops[] = {MR_OP_F, MR_OP_R, MR_OP_B};

		p->worker_of[s] = s;
		for (int k = 0; k < 3; k++)
			MR_CHECK_OK(mr_plan_append(p, s, MR_BODY, (mr_instr){.op = ops[k], .span = 1, .stage = s}));
	}
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	MR_CHECK_OK(mr_plan_check(p));
	c.plan = p;
	MR_CHECK_FAIL(mr_replay_create(&c, &replay), MR_ECONFIG,
		      "without a flush the engine recomputes right before B, and not at the last stage");
	mr_plan_destroy(p);
	rig_fini(&r);
}

void mr_suite_recompute(void)
{
	MR_SUITE("recompute");
	MR_TEST(mlp);
	MR_TEST(gpt_dropout);
	MR_TEST(dnnl);
	MR_TEST(without_a_flush_not_everywhere);
}
