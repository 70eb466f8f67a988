/* Checkpoints that are written while the training goes on: the state of their step, whatever is computed meanwhile. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "check.h"
#include "job/job_help.h"
#include "checkpoint/checkpoints.h"
#include "session/memory_plan.h"
#include "checkpoint/state_copy.h"
#include "store/ckpt_help.h"

#define BASE \
	"model.name=mlp model.hidden=[96,96,96] data.name=synthetic data.features=8 data.classes=4 data.samples=400 " \
	"optimizer.name=adamw train.steps=40 train.batch=8 optimizer.lr=0.01 machine.workers=2 machine.threads=1 " \
	"backend=reference checkpoint.every=2 "

static mr_job job;
static mr_session session;
static char here[512], behind[512];

static void begin(const char *with)
{
	ckpt_help_folder(here);
	ckpt_help_folder(behind);
	mr_test_job_of(&job, BASE, with);
	MR_CHECK_OK(mr_session_open(&job, &session));
	MR_CHECK_OK(mr_session_start(&session, NULL));
}

static void end(void)
{
	mr_session_close(&session);
	mr_job_fini(&job);
	ckpt_help_remove(here);
	ckpt_help_remove(behind);
}

static void run_to(uint64_t step)
{
	uint64_t reached;

	MR_CHECK_OK(mr_executor_run(&session.executor, step, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, step);
}

static void put(const char *dir, mr_checkpoint_writer *w, uint64_t step)
{
	mr_checkpoints_case c = {.step = step, .loss = NAN, .val_loss = NAN, .best_loss = NAN};
	mr_checkpoints_guard g;
	bool saved;

	MR_CHECK_OK(mr_checkpoints_guard_init(&session, 0, &g));
	MR_CHECK_OK(mr_checkpoints_put(&session, dir, w, &c, &g, &saved));
	CU_ASSERT_TRUE(saved);
	CU_ASSERT_EQUAL(mr_checkpoint_writer_busy(w), w != NULL);
}

/* The file @name of checkpoint @step in both folders. */
static void same(uint64_t step, const char *name)
{
	unsigned char *text[2];
	char path[100];
	size_t len[2];

	snprintf(path, sizeof(path), "step-%08u/%s", (unsigned)step, name);
	text[0] = ckpt_help_read(here, path, &len[0]);
	text[1] = ckpt_help_read(behind, path, &len[1]);
	CU_ASSERT_EQUAL_FATAL(len[0], len[1]);
	CU_ASSERT_EQUAL(memcmp(text[0], text[1], len[0]), 0);
	free(text[0]);
	free(text[1]);
}

/* Two saves of step 2 and of step 4, one waiting and one behind, while the weights go on. */
static void states_of_their_step(const char *system)
{
	mr_checkpoint_writer *w;
	bool written;

	begin(system);
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, NULL, NULL, &w));
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	for (uint64_t step = 2; step <= 4; step += 2) {
		run_to(step);
		put(here, NULL, step);
		put(behind, w, step);
		run_to(step + 2);
		CU_ASSERT_FALSE(mr_checkpoint_writer_failed(w));
		MR_CHECK_OK(mr_checkpoint_writer_wait(w, &written));
		CU_ASSERT_TRUE(written);
		same(step, "model.safetensors");
		same(step, "optimizer.safetensors");
		if (session.plan && session.plan->contract.flush == MR_FLUSH_NONE)
			same(step, "inflight.safetensors");
	}
	MR_CHECK_OK(mr_checkpoint_writer_wait(w, &written));
	CU_ASSERT_FALSE(written);
	mr_checkpoint_writer_close(w);
	end();
}

static void of_several_systems(void)
{
	states_of_their_step("system.name=sequential");
	states_of_their_step("system.name=1f1b train.microbatches=2");
	states_of_their_step("system.name=pipedream");
	states_of_their_step("system.name=data_parallel train.microbatches=2");
}

static mr_status refuse(void *arg)
{
	*(int *)arg += 1;
	return mr_fail(MR_EIO, "no");
}

/* An error is kept until it is asked for, and nothing is written after one of `before`. */
static void errors(void)
{
	mr_checkpoint_writer *w;
	int calls = 0;
	bool written;

	begin("system.name=pipedream");
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, refuse, &calls, &w));
	run_to(2);
	put(behind, w, 2);
	MR_CHECK_FAIL(mr_checkpoint_writer_wait(w, &written), MR_EIO, "no");
	CU_ASSERT_FALSE(written);
	CU_ASSERT_EQUAL(calls, 1);
	CU_ASSERT_EQUAL(ckpt_help_count(behind, "step-"), 0);
	MR_CHECK_OK(mr_checkpoint_writer_wait(w, &written));
	mr_checkpoint_writer_close(w);
#ifdef MR_FAULTS
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, NULL, NULL, &w));
	mr_fault_set_fail("checkpoint.write", 2, ENOSPC);
	put(behind, w, 2);
	run_to(3);
	for (int i = 0; !mr_checkpoint_writer_failed(w) && i < 6000; i++) /* its thread has a low priority */
		usleep(10000);
	CU_ASSERT(mr_checkpoint_writer_failed(w));
	mr_fault_set_fail(NULL, 0, 0);
	MR_CHECK_FAIL(mr_checkpoint_writer_wait(w, &written), MR_ERESOURCE, "checkpoint of step 2: ");
	CU_ASSERT_FALSE(mr_checkpoint_writer_failed(w));
	mr_checkpoint_writer_close(w);
#endif
	end();
}

/* A state that outgrew the copy is written by the caller, also not before what has to be on the disk first. */
static void larger_than_its_copy(void)
{
	mr_checkpoints_case c = {.step = 2, .loss = NAN, .val_loss = NAN, .best_loss = NAN};
	mr_checkpoint_writer *w;
	mr_checkpoints_guard g;
	int calls = 0;
	bool saved;

	begin("system.name=pipedream");
	session.copy_bytes = 1;
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, refuse, &calls, &w));
	run_to(2);
	MR_CHECK_OK(mr_checkpoints_guard_init(&session, 0, &g));
	MR_CHECK_FAIL(mr_checkpoints_put(&session, behind, w, &c, &g, &saved), MR_EIO, "no");
	CU_ASSERT_FALSE(saved);
	CU_ASSERT_EQUAL(calls, 1);
	CU_ASSERT_EQUAL(ckpt_help_count(behind, "step-"), 0);
	mr_checkpoint_writer_close(w);
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, NULL, NULL, &w));
	MR_CHECK_OK(mr_checkpoints_put(&session, behind, w, &c, &g, &saved));
	CU_ASSERT_TRUE(saved);
	CU_ASSERT_FALSE(mr_checkpoint_writer_busy(w));
	CU_ASSERT_EQUAL(ckpt_help_count(behind, "step-"), 1);
	mr_checkpoint_writer_close(w);
	end();
}

/* Closing waits for the write under way. */
static void closed_while_it_writes(void)
{
	mr_checkpoint_writer *w;

	begin("system.name=pipedream");
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, NULL, NULL, &w));
	run_to(2);
	put(behind, w, 2);
	mr_checkpoint_writer_close(w);
	CU_ASSERT_TRUE(ckpt_help_exists(behind, "LATEST"));
	CU_ASSERT_EQUAL(ckpt_help_count(behind, ".tmp-"), 0);
	end();
}

/* One number that is not finite is found wherever it is. */
static void not_finite(void)
{
	enum { N = 11 };
	static float f32[N];
	static double f64[N];
	mr_saved_tensor t[] = {
		{"a", MR_F32, 1, {N}, f32, sizeof(f32), 0},
		{"b", MR_F64, 1, {N}, f64, sizeof(f64), 0},
	};
	mr_state st = {.model = {.at = t, .n = 2, .room = 2}};
	const mr_place place = {0};
	const mr_saved_tensor *bad;
	double squares;

	for (int i = 0; i < N; i++) {
		f32[i] = 2;
		f64[i] = 1e200; /* its square is infinite, and it is not */
	}
	MR_CHECK_OK(mr_state_copy(&st, &place, NULL, &squares, &bad));
	CU_ASSERT_PTR_NULL(bad);
	for (int i = 0; i < N; i++) {
		f64[i] = NAN;
		MR_CHECK_OK(mr_state_copy(&st, &place, NULL, &squares, &bad));
		CU_ASSERT_PTR_EQUAL(bad, &t[1]);
		f32[i] = -INFINITY;
		MR_CHECK_OK(mr_state_copy(&st, &place, NULL, &squares, &bad));
		CU_ASSERT_PTR_EQUAL(bad, &t[0]);
		f32[i] = 2;
		f64[i] = 3;
	}
	MR_CHECK_OK(mr_state_copy(&st, &place, NULL, &squares, &bad));
	CU_ASSERT_EQUAL(squares, N * 4 + N * 9);
}

/* A copy counts in the plan of memory, and is left out before a run is refused. */
static void memory(void)
{
	mr_checkpoint_writer *w;
	mr_memory_plan with, without;

	begin("system.name=pipedream");
	MR_CHECK_OK(mr_memory_plan_of(&session, 0, &with));
	CU_ASSERT(with.copy > 4 * (uint64_t)mr_graph_n_params(session.graph) * 3);
	CU_ASSERT_EQUAL(session.copy_bytes, with.copy);
	end();

	begin("system.name=pipedream checkpoint.every=40");
	session.program_bytes = mr_memory_of_program(&session);
	MR_CHECK_OK(mr_memory_plan_of(&session, 0, &without));
	CU_ASSERT_EQUAL(without.copy, 0); /* the only save is the last */
	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, NULL, NULL, &w));
	CU_ASSERT_PTR_NULL(w);
	job.checkpoint.every = 2;
	job.machine.memory_limit = (int64_t)(without.total + with.copy / 2);
	MR_CHECK_OK(mr_memory_plan_of(&session, 0, &with));
	CU_ASSERT_EQUAL(with.copy, 0);
	CU_ASSERT_EQUAL(with.total, without.total);
	job.machine.memory_limit = 0;
	end();
}

void mr_suite_checkpoint_writer(void);

void mr_suite_checkpoint_writer(void)
{
	MR_SUITE("checkpoint_writer");
	MR_TEST(of_several_systems);
	MR_TEST(errors);
	MR_TEST(larger_than_its_copy);
	MR_TEST(closed_while_it_writes);
	MR_TEST(not_finite);
	MR_TEST(memory);
}
