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
#include "scratch.h"
#include "store/checkpoint_io.h"

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[12,12] data.name=synthetic data.features=8 data.classes=4 data.samples=100 "     \
	"optimizer.name=momentum system.name=1f1b train.steps=8 train.batch=6 train.microbatches=2 optimizer.lr=0.01 " \
	"machine.workers=2 machine.threads=1 backend=reference"

static mr_job job;
static mr_session session;
static char dir[64];

/* @system: in place of BASE's. */
static void begin_with(const char *system)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mr_scratch(dir, sizeof(dir), "saves")));
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
	static const char *const saves[] = {"step-00000002", "step-00000003", "step-00000003.1"};
	char path[200];

	for (size_t k = 0; k < sizeof(saves) / sizeof(saves[0]); k++) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(path, sizeof(path), "%s/%s/%s", dir, saves[k], files[i]);
			unlink(path);
		}
		snprintf(path, sizeof(path), "%s/%s", dir, saves[k]);
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

/* The same as step 3, whose manifest has @value as its fact @key, or for NULL no such fact. */
static void save_with(const char *key, const char *value)
{
	mr_checkpoint_shard parts[3] = {
		{.name = "model.safetensors"}, {.name = "optimizer.safetensors"}, {.name = "inflight.safetensors"}};
	mr_checkpoint_content c = {.step = 3, .parts = parts, .n_parts = 2, .keep = 9};
	mr_saved_text facts[32];
	mr_checkpoint *ck;
	char path[100];
	mr_state st;

	snprintf(path, sizeof(path), "%s/step-00000002", dir);
	MR_CHECK_OK(mr_checkpoint_open(path, &ck));
	for (size_t i = 0; mr_checkpoint_fact_at(ck, i).key; i++) {
		mr_saved_text f = mr_checkpoint_fact_at(ck, i);

		CU_ASSERT_FATAL(i < 32);
		if (!strcmp(f.key, key))
			f.value = value;
		if (!strcmp(f.key, "elastic")) /* by which other plans would be taken */
			f.value = NULL;
		if (f.value)
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

static void another_plan_is_another_builds(void)
{
	char message[200];
	double best;
	uint64_t step;

	begin();
	save(2);
	save_with("plan", "0123456789abcdef");
	snprintf(message, sizeof(message),
		 "it was made with another build's plan 0123456789abcdef and cannot be resumed with %016" PRIx64,
		 session.plan_hash);
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT, message);
	CU_ASSERT_PTR_NULL(strstr(mr_error_text(), "options"));
	end();
	begin(); /* the plan is the same, something else is not */
	save(2);
	save_with("identity", "0123456789abcdef");
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "other options of the model, the optimizer");
	save_with("identity", NULL);
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "its manifest does not say identity");
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
	save_with("slots", "0123456789abcdef");
	MR_CHECK_FAIL(mr_checkpoints_resume(&session, dir, "", &step, &best), MR_ECKPT,
		      "as another build saves them (slots 0123456789abcdef, ");
	save_with("slots", NULL);
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
	MR_TEST(another_plan_is_another_builds);
	MR_TEST(slots_of_other_builds_are_refused);
	MR_TEST(another_option_is_another_run);
}
