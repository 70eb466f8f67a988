/* Saves whose state is copied while the workers go on have the bytes of those for which they pause: random products of
 * system, workers, optimizer, precision and step, with random delays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/rng.h"
#include "check.h"
#include "job/job_help.h"
#include "checkpoint/checkpoints.h"
#include "exec/snapshot.h"
#include "session/memory_plan.h"
#include "store/ckpt_help.h"

#define BASE \
	"data.name=synthetic data.features=8 data.classes=4 data.samples=400 train.steps=60 train.batch=8 " \
	"optimizer.lr=0.01 checkpoint.every=7 "
#define CASES 60
#define FURTHER 3 /* steps behind the save */
#define FLUSHES 5 /* systems before the first one that flushes */

static mr_job job;
static mr_session session;
static char here[512], behind[512];
static uint64_t seed, drawn;

static uint32_t draw(uint32_t n)
{
	return mr_rng_u32(seed, MR_RNG_TEST, 0, 0, drawn++) % n;
}

/* A save of step `step` under way. */
typedef struct passing {
	mr_checkpoint_writer *writer;
	mr_state_copying *copying;
	uint64_t step, last;
	bool armed, early, saved;
} passing;

static void land(passing *x)
{
	mr_checkpoints_case c = {.step = x->step, .loss = NAN, .val_loss = NAN, .best_loss = NAN};
	mr_checkpoints_guard g = {.loss = NAN};

	MR_CHECK_OK(mr_checkpoints_land(&session, behind, x->writer, &c, x->copying, &g, &x->saved));
	x->copying = NULL;
}

static bool progress(void *arg, const mr_step_rec *rec)
{
	passing *x = arg;

	if (rec) {
		x->last = rec->step;
	} else if (!x->armed) {
		x->early = x->last + 1 < x->step;
		MR_CHECK_OK(mr_checkpoints_arm(&session, x->writer, x->step, x->step + FURTHER, NAN, &x->copying));
		x->armed = x->copying != NULL;
	} else if (x->copying && x->last >= x->step &&
		   mr_snapshot_is_whole(mr_executor_run_of(&session.executor))) {
		land(x);
	}
	return true;
}

static bool begin(const char *with)
{
	mr_test_job_of(&job, BASE, with);
	if (mr_session_open(&job, &session) == MR_OK) {
		if (mr_session_start(&session, NULL) == MR_OK)
			return true;
		mr_session_close(&session);
	}
	mr_job_fini(&job);
	return false;
}

static void end(void)
{
	mr_session_close(&session);
	mr_job_fini(&job);
}

static void save_paused(uint64_t step)
{
	mr_checkpoints_case c = {.step = step, .loss = NAN, .val_loss = NAN, .best_loss = NAN};
	mr_checkpoints_guard g = {.loss = NAN};
	uint64_t reached;
	bool saved;

	MR_CHECK_OK(mr_executor_run(&session.executor, step, NULL, NULL, &reached));
	MR_CHECK_OK(mr_checkpoints_put(&session, here, NULL, &c, &g, &saved));
	CU_ASSERT_TRUE(saved);
}

static void save_passing(passing *x)
{
	uint64_t reached;
	bool written;

	MR_CHECK_OK(mr_checkpoint_writer_open(&session, behind, NULL, NULL, &x->writer));
	CU_ASSERT_PTR_NOT_NULL_FATAL(x->writer);
	MR_CHECK_OK(mr_executor_run(&session.executor, x->step, progress, x, &reached));
	CU_ASSERT_TRUE(x->armed);
	CU_ASSERT_EQUAL(reached, x->step + FURTHER);
	if (x->copying) {
		CU_ASSERT_TRUE(mr_snapshot_complete(mr_executor_run_of(&session.executor)));
		land(x);
	}
	CU_ASSERT_TRUE(x->saved);
	MR_CHECK_OK(mr_checkpoint_writer_wait(x->writer, &written));
	CU_ASSERT_TRUE(written);
	mr_checkpoint_writer_close(x->writer);
}

static void same(uint64_t step, const char *name, const char *with)
{
	const char *dir[2] = {here, behind};
	unsigned char *text[2];
	char path[100], whole[2][700];
	size_t len[2];

	snprintf(path, sizeof(path), "step-%08u/%s", (unsigned)step, name);
	for (int i = 0; i < 2; i++)
		snprintf(whole[i], sizeof(whole[i]), "%s/%s", dir[i], path);
	CU_ASSERT_EQUAL_FATAL(access(whole[0], R_OK), access(whole[1], R_OK));
	if (access(whole[0], R_OK)) /* an optimizer without a state */
		return;
	text[0] = ckpt_help_read(here, path, &len[0]);
	text[1] = ckpt_help_read(behind, path, &len[1]);
	CU_ASSERT_EQUAL_FATAL(len[0], len[1]);
	CU_ASSERT_EQUAL(memcmp(text[0], text[1], len[0]), 0);
	if (memcmp(text[0], text[1], len[0]))
		printf("%s, step %u: %s differs\n", with, (unsigned)step, name);
	free(text[0]);
	free(text[1]);
}

/* *@early: the workers had not come near the step when the save was prepared. False: nothing can be copied so. */
static bool one(const char *with, uint64_t step, bool *early)
{
	passing x = {.step = step};

	if (!begin(with))
		return false;
	MR_CHECK_OK(mr_checkpoints_open_snapshots(&session));
	if (!mr_executor_run_of(&session.executor)->snapshot) {
		end();
		return false;
	}
	ckpt_help_folder(here);
	ckpt_help_folder(behind);
	save_passing(&x);
	end();
	CU_ASSERT_TRUE_FATAL(begin(with));
	save_paused(step);
	same(step, "model.safetensors", with);
	same(step, "optimizer.safetensors", with);
	same(step, "inflight.safetensors", with);
	end();
	ckpt_help_remove(here);
	ckpt_help_remove(behind);
	*early = x.early;
	return true;
}

/* Workers that are held up are what leaves the caller time to prepare a save; without delays it may come too late. */
#ifdef MR_FAULTS
#define HOLDS_UP true
static void hold_up(uint32_t most_us, uint32_t one_in)
{
	mr_fault_set_delay(most_us, one_in, seed);
}
#else
#define HOLDS_UP false
static void hold_up(uint32_t most_us, uint32_t one_in)
{
	(void)most_us;
	(void)one_in;
}
#endif

static void products(void)
{
	static const char *const system[] = {"pipedream", "pipedream system.vertical_sync=true",
					     "pipedream_2bw train.microbatches=4", "wpipe train.microbatches=4",
					     "paci train.microbatches=4", "1f1b train.microbatches=4",
					     "gpipe train.microbatches=4", "zb_h1 train.microbatches=4",
					     "interleaved train.microbatches=4", "sequential train.microbatches=2",
					     "1f1b train.microbatches=4 system.merge_w=2",
					     "1f1b train.microbatches=8 system.merge_w=4"};
	static const char *const model[] = {"mlp model.hidden=[24,24,24,24,24,24,24,24]",
					    "mlp model.hidden=[130,7,64,31,5,17,40,20]"};
	static const char *const optimizer[] = {"adamw", "sgd", "momentum", "muon"};
	static const char *const precision[] = {"f64", "f32", "bf16", "bf16_pure"};
	static const char *const kernels[] = {"reference machine.threads=1", "fused machine.threads=2"};
	uint32_t n = 0, n_early = 0, of_pipedream = 0, of_flushing = 0, of_teams = 0;

	for (seed = 1; seed <= CASES; seed++) {
		char with[400];
		uint64_t step;
		uint32_t which, team, type;
		bool early;

		drawn = 0;
		which = draw(sizeof(system) / sizeof(system[0]));
		type = draw(4);
		team = type && mr_kernels_find("fused", type == 1 ? MR_F32 : MR_BF16) ? draw(2) : 0;
		snprintf(with, sizeof(with),
			 "system.name=%s model.name=%s optimizer.name=%s precision=%s backend=%s machine.workers=%u",
			 system[which], model[draw(2)], optimizer[draw(4)], precision[type], kernels[team],
			 1 + draw(4));
		step = 1 + draw(12);
		hold_up(1000 + draw(15000), 1 + draw(2));
		if (one(with, step, &early)) {
			n++;
			n_early += early;
			of_pipedream += !which;
			of_flushing += which >= FLUSHES;
			of_teams += team;
		}
	}
	hold_up(0, 0);
	CU_ASSERT(n >= CASES / 4);
	CU_ASSERT(n_early || !HOLDS_UP);
	CU_ASSERT(of_pipedream >= 2 && of_flushing >= CASES / 4);
	CU_ASSERT(of_teams >= 4 || !mr_kernels_find("fused", MR_F32));
}

void mr_suite_snapshots(void);

void mr_suite_snapshots(void)
{
	MR_SUITE("snapshots");
	MR_TEST(products);
}
