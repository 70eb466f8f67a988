/*
 * test_links.c - training over links whose ends share no memory gives the weights of training over rings, to the bit.
 */
#include "bounded_link.h"
#include "check.h"
#include "rig.h"
#include "sync_cases.h"

/* Between two halves of the workers alone, as between two hosts. */
static bool carries_across(const mr_edge *e)
{
	return e->from / 2 != e->to / 2;
}

static mr_link_kind across;
static const mr_link_kind *const everywhere[] = {&bounded_link, NULL};
static const mr_link_kind *halves[3];

static void train(rig *r, const mr_link_kind *const *kinds, uint64_t steps, rig_result *out)
{
	mr_run_config c = mr_session_run_config(&r->s, NULL);

	c.links = kinds;
	MR_CHECK_OK(mr_engine_create(&c, 60, &r->s.executor.engine));
	rig_run(r, steps / 2, out);
	rig_collect(r, true, out);
	rig_run(r, steps, out);
	rig_collect(r, true, out);
	mr_executor_fini(&r->s.executor);
}

/* False: the system does not take so many workers. */
static bool check(const char *sets, const char *system, unsigned workers)
{
	rig_result want = {0}, got = {0};
	char what[300];
	mr_status st;
	rig r;

	snprintf(what, sizeof(what), "%s %s, %u workers", sets, system, workers);
	rig_init(&r);
	rig_sets(&r, sets);
	rig_sets(&r, system);
	rig_set(&r, "machine.workers=%u", workers);
	st = rig_try_open(&r);
	if (st == MR_OK) {
		uint64_t steps = 2 * mr_plan_stride(r.s.plan) * (r.s.n_micro > 1 ? 2 : 4);

		train(&r, NULL, steps, &want);
		train(&r, everywhere, steps, &got);
		CU_ASSERT_FATAL(rig_equal(&got, &want, true, what));
		if (workers > 2) {
			got.n_steps = 0;
			train(&r, halves, steps, &got);
			CU_ASSERT_FATAL(rig_equal(&got, &want, true, what));
		}
		rig_result_fini(&want);
		rig_result_fini(&got);
	} else {
		CU_ASSERT_FATAL(st == MR_ECONFIG && strstr(mr_error_text(), "system.name: "));
	}
	rig_fini(&r);
	return st == MR_OK;
}

#define MLP "dtype=f32 model.depth=15 model.width=8 train.norm_every=0"

static void flushing(void)
{
	const char *system;

	for (uint32_t i = 0; (system = sync_system(i)); i++) {
		bool any = false;

		if (strstr(system, "steal=true"))
			continue;
		for (unsigned d = 4; d >= 2 && !any; d--)
			any = check(MLP " train.microbatches=8", system, d);
		CU_ASSERT_TRUE(any || strstr(system, "name=sequential"));
	}
}

static void asynchronous(void)
{
	static const char *const systems[] = {
		"system.name=pipedream train.batch=4 train.microbatches=1",
		"system.name=pipedream_2bw train.microbatches=4",
		"system.name=pipedream_2bw system.recompute=always train.microbatches=4",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (unsigned d = 2; d <= 4; d++)
			CU_ASSERT_TRUE(check(MLP, systems[i], d));
}

/* The tests above did go over them. */
static void carried(void)
{
	CU_ASSERT(atomic_load(&bounded_arrived[MR_EDGE_FORWARD]) > 1000);
	CU_ASSERT(atomic_load(&bounded_arrived[MR_EDGE_BACKWARD]) > 1000);
}

void mr_suite_links(void)
{
	across = bounded_link;
	across.carries = carries_across;
	halves[0] = &across;
	halves[1] = mr_link_kind_at(0);
	MR_SUITE("links");
	MR_TEST(flushing);
	MR_TEST(asynchronous);
	MR_TEST(carried);
}
