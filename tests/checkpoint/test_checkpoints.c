/* Checkpoints that other builds made: from which of them this build continues, and its message about the others. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint/checkpoints.h"
#include "checkpoint/identity.h"
#include "job/job_help.h"
#include "lower/lower.h"
#include "store/checkpoint_io.h"

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[12,12] data.name=synthetic data.features=8 data.classes=4 data.samples=100 "     \
	"optimizer.name=momentum system.name=1f1b train.steps=8 train.batch=6 train.microbatches=2 train.lr=0.01 "     \
	"machine.workers=2 machine.threads=1 backend=reference"

static mr_job job;
static mr_session session;
static char dir[64];

/* @system: in place of BASE's. */
static void begin_with(const char *system)
{
	snprintf(dir, sizeof(dir), "/tmp/mr-saves-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	mr_test_job_of(&job, BASE, system);
	MR_CHECK_OK(mr_session_open(&job, &session));
	MR_CHECK_OK(mr_session_start(&session, NULL));
}

static void begin(void)
{
	begin_with("");
}

static void end(void)
{
	static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "inflight.safetensors",
					    "MANIFEST.json"};
	char path[200];

	for (int step = 2; step <= 3; step++) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(path, sizeof(path), "%s/step-%08d/%s", dir, step, files[i]);
			unlink(path);
		}
		snprintf(path, sizeof(path), "%s/step-%08d", dir, step);
		rmdir(path);
	}
	snprintf(path, sizeof(path), "%s/LATEST", dir);
	unlink(path);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
	mr_session_close(&session);
	mr_job_fini(&job);
}

static bool on_step(void *arg, const mr_step_rec *rec)
{
	(void)arg;
	(void)rec;
	return true;
}

/* The session's state after @steps steps as this build saves it. */
static void save(uint64_t steps)
{
	mr_checkpoints_case c = {.step = steps, .loss = NAN, .val_loss = NAN, .best_loss = NAN};
	mr_checkpoints_guard guard;
	uint64_t reached;
	bool saved;

	MR_CHECK_OK(mr_checkpoints_guard_init(&session, 0, &guard));
	MR_CHECK_OK(mr_executor_run(&session.executor, steps, on_step, NULL, &reached));
	MR_CHECK_OK(mr_checkpoints_put(&session, dir, NULL, &c, &guard, &saved));
	CU_ASSERT_TRUE_FATAL(saved);
}

/* The same as step 3 of a build that noted no options, run_hash in place of an identity, and @slots, or none; with
 * these hashes, or for NULL its own. */
static void save_as_old(const char *plan, const char *run, const char *slots)
{
	mr_checkpoint_shard parts[3] = {
		{.name = "model.safetensors"}, {.name = "optimizer.safetensors"}, {.name = "inflight.safetensors"}};
	mr_checkpoint_content c = {.step = 3, .parts = parts, .n_parts = 2, .keep = 9};
	mr_saved_text facts[32];
	mr_checkpoint *ck;
	char path[100], former[20];
	mr_state st;

	snprintf(former, sizeof(former), "%016" PRIx64, mr_identity_former(&session));
	snprintf(path, sizeof(path), "%s/step-00000002", dir);
	MR_CHECK_OK(mr_checkpoint_open(path, &ck));
	for (size_t i = 0; mr_checkpoint_fact_at(ck, i).key; i++) {
		mr_saved_text f = mr_checkpoint_fact_at(ck, i);

		CU_ASSERT_FATAL(i < 32);
		if (!strcmp(f.key, "options") || (!strcmp(f.key, "slots") && !slots))
			continue;
		if (!strcmp(f.key, "slots"))
			f.value = slots;
		if (!strcmp(f.key, "plan") && plan)
			f.value = plan;
		if (!strcmp(f.key, "identity"))
			f = (mr_saved_text){"run_hash", run ? run : former};
		facts[c.n_facts++] = f;
	}
	c.facts = facts;
	MR_CHECK_OK(mr_executor_state(&session.executor, &st));
	parts[0].tensors = st.model.at;
	parts[0].n_tensors = st.model.n;
	parts[1].tensors = st.optimizer.at;
	parts[1].n_tensors = st.optimizer.n;
	parts[2].tensors = st.inflight.at;
	parts[2].n_tensors = st.inflight.n;
	c.n_parts += st.inflight.n > 0;
	MR_CHECK_OK(mr_checkpoint_save(dir, &c, NULL));
	mr_state_fini(&st);
	mr_checkpoint_close(ck);
}

/* The hash that manifests had while steps stood behind their gradients: of the plan lowered without options. */
static void old_hash(char text[20])
{
	mr_sched_args a = {.n_workers = 2, .n_micro = 2};
	mr_plan *p;

	MR_CHECK_OK(mr_schedule_emit(mr_job_system(&job), &a, &p));
	p->contract.flush = MR_FLUSH_LOCAL;
	MR_CHECK_OK(mr_plan_lower(p, NULL));
	snprintf(text, 20, "%016" PRIx64, mr_plan_hash(p));
	mr_plan_destroy(p);
}

static void checkpoints_from_before_steps_moved_inside_go_on(void)
{
	double best;
	uint64_t step;
	char plan[20];

	begin();
	save(2);
	CU_ASSERT_EQUAL_FATAL(session.plan->contract.clip, false);
	old_hash(plan);
	save_as_old(plan, NULL, NULL);
	MR_CHECK_OK(mr_checkpoints_resume(&session, dir, "", &step, &best));
	CU_ASSERT_EQUAL(step, 3);
	end();
}

static void another_plan_is_another_builds(void)
{
	char message[200], plan[20];
	double best;
	uint64_t step;

	begin();
	save(2);
	save_as_old("0123456789abcdef", NULL, NULL);
	snprintf(plan, sizeof(plan), "%016" PRIx64, session.plan_hash);
	snprintf(message, sizeof(message),
		 "it was made with another build's plan 0123456789abcdef and cannot be resumed with %s", plan);
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT, message);
	CU_ASSERT_PTR_NULL(strstr(mr_error_text(), "options"));
	end();
	begin(); /* the plan is the same, something else is not */
	save(2);
	save_as_old(plan, "0123456789abcdef", NULL);
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "other options of the model, the optimizer");
	end();
}

/* Activations under way mean something to builds alone that save the same. */
static void slots_of_other_builds_are_refused(void)
{
	double best;
	uint64_t step;

	begin_with("system.name=paci");
	save(2);
	MR_CHECK_OK(mr_checkpoints_resume(&session, dir, "", &step, &best));
	CU_ASSERT_EQUAL(step, 2);
	MR_CHECK_OK(mr_executor_run(&session.executor, 3, on_step, NULL, &step));
	save_as_old(NULL, NULL, "2"); /* what layers saved when they were numbered they still save */
	MR_CHECK_OK(mr_checkpoints_resume(&session, dir, "", &step, &best));
	CU_ASSERT_EQUAL(step, 3);
	save_as_old(NULL, NULL, "0123456789abcdef");
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "as another build saves them (slots 0123456789abcdef, ");
	save_as_old(NULL, NULL, NULL);
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "as another build saves them (slots of no number, ");
	end();
}

/* A manifest of this build is held to its identity. */
static void another_option_is_another_run(void)
{
	mr_values *values;
	double best;
	uint64_t step;

	begin();
	save(2);
	MR_CHECK_OK(mr_checkpoints_resume(&session, dir, "", &step, &best));
	values = session.job->optimizer.values;
	MR_CHECK_OK(mr_values_set_text(values, "mu", "0.5"));
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "other options of the model, the optimizer");
	end();
}

void mr_suite_checkpoints(void);

void mr_suite_checkpoints(void)
{
	MR_SUITE("checkpoints");
	MR_TEST(checkpoints_from_before_steps_moved_inside_go_on);
	MR_TEST(another_plan_is_another_builds);
	MR_TEST(slots_of_other_builds_are_refused);
	MR_TEST(another_option_is_another_run);
}
