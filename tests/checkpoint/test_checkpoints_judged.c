/*
 * test_checkpoints_judged.c - what is not saved: weights that are of no use, judged by losses, finite or not; and for
 * how many checkpoints a run needs room on the disk before it begins. The test sets the size that the disk reports.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint/checkpoints.h"
#include "job/job_help.h"
#include "scratch.h"

#define BASE                                                                                                           \
	"model.name=mlp model.hidden=[12,12] data.name=synthetic data.features=8 data.classes=4 data.samples=100 "     \
	"optimizer.name=momentum system.name=gpipe train.steps=10 train.batch=6 train.microbatches=2 " \
		"optimizer.lr=0.01 " \
	"checkpoint.every=2 checkpoint.keep=2 machine.workers=2 machine.threads=1 backend=reference"

static mr_job job;
static mr_session session;
static char dir[64];
static uint64_t room; /* bytes that are free on any disk; 0: as it is */

/* In place of the library's. */
int statvfs(const char *path, struct statvfs *out)
{
	struct statfs s;

	if (statfs(path, &s))
		return -1;
	memset(out, 0, sizeof(*out));
	out->f_bsize = out->f_frsize = room ? 1 : (unsigned long)s.f_bsize;
	out->f_bavail = room ? room : s.f_bavail;
	return 0;
}

static void begin(const char *sets)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mr_scratch(dir, sizeof(dir), "judged")));
	mr_test_job_of(&job, BASE, sets);
	MR_CHECK_OK(mr_session_open(&job, &session));
	MR_CHECK_OK(mr_session_start(&session, NULL));
}

static void end(void)
{
	char command[100];

	mr_session_close(&session);
	mr_job_fini(&job);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* --- the guard ---------------------------------------------------------------------------------------------------- */

static void scale_weights(double by)
{
	mr_state st;

	MR_CHECK_OK(mr_executor_state(&session.executor, &st));
	for (size_t i = 0; i < st.model.n; i++)
		for (uint64_t k = 0; k < st.model.at[i].bytes / sizeof(float); k++)
			((float *)st.model.at[i].data)[k] *= (float)by;
	mr_state_fini(&st);
}

static mr_status put(mr_checkpoints_guard *g, uint64_t step, double loss, double val, double best, bool can_wait,
		     bool *saved)
{
	return mr_checkpoints_put(&session, dir, NULL, &(mr_checkpoints_case){step, loss, val, best, can_wait}, g,
				  saved);
}

static void saves(mr_checkpoints_guard *g, uint64_t step, double loss)
{
	bool saved = false;

	MR_CHECK_OK(put(g, step, loss, NAN, NAN, false, &saved));
	CU_ASSERT_TRUE(saved);
}

static mr_checkpoints_guard fresh(void)
{
	mr_checkpoints_guard g;

	begin("precision=f32");
	MR_CHECK_OK(mr_checkpoints_guard_init(&session, 0, &g));
	return g;
}

/* A loss that is no number says nothing, and the one before it still counts. */
static void a_loss_that_is_no_number(void)
{
	mr_checkpoints_guard g = fresh();
	bool saved;

	saves(&g, 1, 2);
	saves(&g, 2, NAN);
	CU_ASSERT_EQUAL(g.loss, 2);
	scale_weights(1e6);
	MR_CHECK_FAIL(put(&g, 3, 2.5, NAN, NAN, true, &saved), MR_EDIVERGED,
		      "the loss rose from 2 to 2.5, so they are not saved");
	CU_ASSERT_FALSE(saved);
	end();
}

/* From infinite to infinite it has not become better; against no loss at all nothing can be said. */
static void an_infinite_loss(void)
{
	mr_checkpoints_guard g = fresh();
	bool saved;

	saves(&g, 1, INFINITY);
	scale_weights(1e6);
	MR_CHECK_FAIL(put(&g, 2, INFINITY, NAN, NAN, true, &saved), MR_EDIVERGED, "the loss rose from inf to inf");
	CU_ASSERT_FALSE(saved);
	end();
	g = fresh();
	scale_weights(1e6);
	MR_CHECK_OK(put(&g, 1, INFINITY, NAN, NAN, false, &saved));
	CU_ASSERT_TRUE(saved);
	end();
}

/* Put off until a step has read them: then they are saved, and what comes is compared with them, or they are refused.
 */
static void put_off(void)
{
	for (int good = 0; good < 2; good++) {
		mr_checkpoints_guard g = fresh();
		bool saved;

		saves(&g, 1, 2);
		scale_weights(1e6);
		MR_CHECK_OK(put(&g, 2, 1.5, NAN, NAN, true, &saved));
		CU_ASSERT_FALSE(saved);
		CU_ASSERT_EQUAL(g.doubt.step, 2);
		if (good) {
			MR_CHECK_OK(put(&g, 3, 1.9, NAN, NAN, true, &saved));
			CU_ASSERT_TRUE(saved);
			CU_ASSERT_EQUAL(g.doubt.step, 0);
			CU_ASSERT(g.good.size > 1000);
		} else {
			MR_CHECK_FAIL(put(&g, 3, 2.1, NAN, NAN, true, &saved), MR_EDIVERGED, "step 2 left weights of");
			CU_ASSERT_FALSE(saved);
		}
		end();
	}
}

/* An evaluation is of these very weights: no better than before is no rise, and better than ever is proof. */
static void evaluated(void)
{
	static const struct {
		double val, best;
		bool saved;
	} cases[] = {{3, 3, true}, {3.1, 3, false}, {2.9, 3, true}, {1.9, NAN, true}, {2.1, NAN, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_checkpoints_guard g = fresh();
		bool saved;

		saves(&g, 1, 2);
		scale_weights(1e6);
		CU_ASSERT_EQUAL(put(&g, 2, 9, cases[i].val, cases[i].best, true, &saved),
				cases[i].saved ? MR_OK : MR_EDIVERGED);
		CU_ASSERT_EQUAL(saved, cases[i].saved);
		end();
	}
}

/* --- room on the disk --------------------------------------------------------------------------------------------- */

/* How many checkpoints are wanted at once from @step on, and the bytes of all. */
static unsigned wanted(uint64_t step, uint64_t *bytes)
{
	const char *text;
	unsigned n = 1;

	room = 1;
	MR_CHECK_FAIL(mr_checkpoints_preflight(&session, dir, step), MR_ERESOURCE, "on the disk, only");
	room = 0;
	if (strstr(mr_error_text(), "at once need"))
		CU_ASSERT_EQUAL_FATAL(sscanf(strchr(mr_error_text(), ':') + 1, "%u checkpoints", &n), 1);
	text = strchr(mr_error_text(), '(');
	CU_ASSERT_EQUAL_FATAL(sscanf(text, "(%" SCNu64 " bytes)", bytes), 1);
	room = *bytes - 1;
	CU_ASSERT_EQUAL(mr_checkpoints_preflight(&session, dir, step), MR_ERESOURCE);
	room = *bytes;
	MR_CHECK_OK(mr_checkpoints_preflight(&session, dir, step));
	room = 0;
	return n;
}

static unsigned wanted_with(const char *sets, uint64_t step)
{
	uint64_t bytes;
	unsigned n;

	begin(sets);
	n = wanted(step, &bytes);
	end();
	return n;
}

/* Those that are kept, as far as there will be that many, the best one, and one that is being written. */
static void as_many_as_lie_there_at_once(void)
{
	CU_ASSERT_EQUAL(wanted_with("checkpoint.keep=2 data.validation=0.2", 0), 4);
	CU_ASSERT_EQUAL(wanted_with("checkpoint.keep=2 data.validation=0.0", 0), 3);
	CU_ASSERT_EQUAL(wanted_with("checkpoint.keep=3 data.validation=0.0", 0), 4);
	CU_ASSERT_EQUAL(wanted_with("checkpoint.keep=9 data.validation=0.2", 0), 7); /* steps 2, 4, 6, 8, 10 */
	CU_ASSERT_EQUAL(wanted_with("checkpoint.keep=9 data.validation=0.2", 3), 6);
	CU_ASSERT_EQUAL(wanted_with("checkpoint.keep=9 data.validation=0.2", 8), 2); /* that one is the best, too */
	CU_ASSERT_EQUAL(wanted_with("checkpoint.every=0 data.validation=0.2", 0), 2);
}

/* What will be under way is counted before anything is, and is no less than what is then saved of it. */
static void what_is_under_way(void)
{
	uint64_t at_first, later, none, reached;

	begin("system.name=gpipe");
	(void)wanted(8, &none);
	end();
	begin("system.name=pipedream train.microbatches=1");
	(void)wanted(8, &at_first);
	MR_CHECK_OK(mr_executor_run(&session.executor, 4, NULL, NULL, &reached));
	(void)wanted(8, &later);
	CU_ASSERT(at_first >= later);
	CU_ASSERT(later > none);
	end();
}

void mr_suite_checkpoints_judged(void);

void mr_suite_checkpoints_judged(void)
{
	MR_SUITE("checkpoints_judged");
	MR_TEST(a_loss_that_is_no_number);
	MR_TEST(an_infinite_loss);
	MR_TEST(put_off);
	MR_TEST(evaluated);
	MR_TEST(as_many_as_lie_there_at_once);
	MR_TEST(what_is_under_way);
}
