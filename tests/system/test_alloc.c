/*
 * test_alloc.c - after its first steps the engine neither allocates nor frees: no call of malloc's family from a worker
 * or a loader while steps are made, with tracing on. (An evaluation before them must not change that; in itself it
 * starts a loader thread, for which glibc frees memory at its end.) oneDNN allocates for itself when it executes; those
 * calls are recognised by their caller.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "interpose.h"
#include "rig.h"

#define WARM 2

/* Calls during steps of a run, with @observer on it. */
static uint64_t count(bool gpt, const char *sets, mr_run_observer *observer, bool eval)
{
	mr_session_opts opts = {.trace = true, .observer = observer};
	uint64_t n, reached;
	mr_status st;
	double loss;
	rig r;

	rig_init(&r);
	if (gpt)
		rig_gpt(&r);
	rig_sets(&r, sets);
	rig_open(&r);
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	rig_run(&r, WARM, NULL);
	if (eval)
		MR_CHECK_OK(mr_executor_eval(&r.s.executor, NULL, NULL, &loss));
	interpose_begin();
	st = mr_executor_run(&r.s.executor, WARM + 20, NULL, NULL, &reached);
	n = interpose_end();
	CU_ASSERT_EQUAL_FATAL(st, MR_OK);
	rig_fini(&r);
	return n;
}

static bool foreign(const char *object)
{
	return strstr(object, "dnnl") || strstr(object, "libgomp") || strstr(object, "libomp") ||
	       strstr(object, "libstdc++");
}

static void check_none(bool gpt, const char *sets)
{
	uint64_t n = interpose_works() ? count(gpt, sets, NULL, true) : 0;

	for (uint64_t i = 0; i < n && i < 5; i++)
		fprintf(stderr, "\n%s: %llu calls, one from %s\n", sets, (unsigned long long)n, interpose_object(i));
	CU_ASSERT_EQUAL(n, 0);
}

static void reference(void)
{
	check_none(false, "system.name=pipedream machine.workers=3 train.microbatches=1");
	check_none(true, "system.name=pipedream system.vertical_sync=true machine.workers=2 train.microbatches=1 "
			 "train.clip=0.1");
	check_none(true, "system.name=gpipe machine.workers=3 model.tied=true train.clip=0.1 precision=f32");
	check_none(false, "system.name=1f1b machine.workers=4");
	check_none(true, "system.name=1f1b machine.workers=1 model.dropout=0.1");
}

static void check_dnnl(bool gpt, const char *sets)
{
	uint64_t n = interpose_works() ? count(gpt, sets, NULL, true) : 0, ours = 0;

	for (uint64_t i = 0; i < n && i < INTERPOSE_NOTES; i++)
		if (!foreign(interpose_object(i)) && ours++ < 5)
			fprintf(stderr, "\n%s: a call from %s\n", sets, interpose_object(i));
	CU_ASSERT_EQUAL(ours, 0);
}

static void dnnl(void)
{
	if (!mr_kernels_find("auto", MR_F32))
		return;
	check_dnnl(false, "system.name=pipedream machine.workers=2 train.microbatches=1 backend=auto precision=f32");
	check_dnnl(true, "system.name=1f1b machine.workers=2 train.clip=0.1 backend=auto precision=f32");
}

static void allocate(void *arg, const mr_run *run, const mr_instr *in, uint64_t micro, uint64_t version)
{
	void *volatile p = malloc(10);

	(void)arg;
	(void)run;
	(void)in;
	(void)micro;
	(void)version;
	free(p);
}

/* The counter counts. */
static void is_seen(void)
{
	if (interpose_works())
		CU_ASSERT(count(false, "system.name=1f1b", allocate, false) >= 20 * 2 * 2 * 4);
}

void mr_suite_alloc(void)
{
	MR_SUITE("alloc");
	MR_TEST(reference);
	MR_TEST(dnnl);
	MR_TEST(is_seen);
}
