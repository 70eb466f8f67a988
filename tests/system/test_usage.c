/*
 * test_usage.c - weight versions live and bytes in use at each stage, counted while training, are those that the plan predicts: for
 * every system that there is, so that a new one is held to it too.
 */
#include <string.h>

#include "check.h"
#include "ir/live.h"
#include "rig.h"
#include "run/usage.h"
#include "schedules/registry.h"

/* Small: 13 linear layers. Long enough to fill every pipeline and go round every ring. */
#define SMALL "model.depth=12 model.width=4 dtype=f32 train.batch=4 train.lr=0.001 data.samples=400"
#define STEPS 24

static bool same(const mr_usage *got, const mr_usage *want, bool racing)
{
	bool slots = got->slots == want->slots && got->activation_bytes == want->activation_bytes;

	if (racing) /* how many gather depends on timing; there is room for the worst */
		slots = got->slots <= want->slots && got->activation_bytes <= want->activation_bytes;
	return slots && got->versions == want->versions && got->buffers == want->buffers && got->boundaries == want->boundaries &&
	       got->weight_bytes == want->weight_bytes && got->boundary_bytes == want->boundary_bytes;
}

static void compare(const mr_run *run, const char *what)
{
	uint32_t n = (uint32_t)run->n_pipes * run->n_stages;
	mr_usage *want = calloc(n, sizeof(*want)), *got = calloc(n, sizeof(*got));

	CU_ASSERT_FATAL(want && got);
	MR_CHECK_OK(mr_usage_predict(run, want));
	mr_usage_count(run, got);
	for (uint32_t i = 0; i < n; i++) {
		bool ok = same(&got[i], &want[i], run->c.plan->contract.racing);

		if (!ok)
			fprintf(stderr,
				"\n%s: stage %u pipe %u: %u versions live (predicted %u), %u weight buffers (%u), %u slots (%u), %u boundary buffers (%u)\n",
				what, i % run->n_stages, i / run->n_stages, got[i].versions, want[i].versions, got[i].buffers, want[i].buffers,
				got[i].slots, want[i].slots, got[i].boundaries, want[i].boundaries);
		CU_ASSERT(ok);
		CU_ASSERT(want[i].versions >= 1 && want[i].slots >= 1);
	}
	free(want);
	free(got);
}

/* Every version buffer holds a version that is yet to be read at some moment; but where versions are drawn, some never are. */
static void no_spare_buffer(const mr_plan *plan, const char *what)
{
	uint16_t *live = calloc(plan->n_stages, sizeof(*live));

	CU_ASSERT_PTR_NOT_NULL_FATAL(live);
	MR_CHECK_OK(mr_plan_live(plan, live));
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		bool ok = plan->contract.read_f == MR_READ_AGED ? live[s] <= plan->n_versions[s] : live[s] == plan->n_versions[s];

		if (!ok)
			fprintf(stderr, "\n%s: stage %u has %u version buffers, and %u versions are live\n", what, s, plan->n_versions[s], live[s]);
		CU_ASSERT(ok);
	}
	free(live);
}

/* Trains, if the system takes so many workers. */
static bool train(const char *system, unsigned workers)
{
	char what[240];
	mr_status st;
	rig r;

	snprintf(what, sizeof(what), "%.200s on %u workers", system, workers);
	rig_init(&r);
	rig_sets(&r, SMALL);
	rig_sets(&r, system);
	rig_set(&r, "machine.workers=%u", workers);
	st = rig_try_open(&r);
	if (st == MR_OK) {
		no_spare_buffer(r.s.plan, what);
		rig_start(&r);
		rig_run(&r, STEPS, NULL);
		compare(mr_executor_run_of(&r.s.executor), what);
	} else if (!strstr(mr_error_text(), "system.name: ")) {
		fprintf(stderr, "\n%s: %s\n", what, mr_error_text());
		CU_FAIL("a system is refused for another reason than the number of workers");
	}
	rig_fini(&r);
	return st == MR_OK;
}

static void every_system(void)
{
	const mr_sched_ops *ops;

	for (size_t i = 0; (ops = mr_schedule_at(i)); i++) {
		char sets[200];
		bool any = false;

		snprintf(sets, sizeof(sets), "system.name=%s train.steps=%d%s", ops->name, STEPS,
			 ops->asynchronous && !ops->accumulates ? " train.microbatches=1" : "");
		for (unsigned d = 2; d <= 3; d++)
			any = train(sets, d) || any;
		if (!any)
			fprintf(stderr, "\n%s trains on neither 2 nor 3 workers\n", ops->name);
		CU_ASSERT(any);
	}
}

/* What keeps weights, activations or boundaries in another way than the defaults do. */
static const char *const variants[] = {
	"system.name=gpipe system.backward=lifo system.recompute=always",
	"system.name=zb_h2 train.clip=0.01 system.optimizer=validated",
	"system.name=gems system.weights=private",
	"system.name=data_parallel system.chunks=3 system.weights=private",
	"system.name=pipedream train.microbatches=1 system.vertical_sync=true",
	"system.name=pipedream train.microbatches=1 system.noam=6",
	"system.name=pipedream train.microbatches=1 system.stashing=false",
	"system.name=pipedream train.microbatches=1 mitigation.name=dc_asgd",
	"system.name=pipedream train.microbatches=1 system.stashing=false mitigation.name=gap_aware",
	"system.name=pipedream_2bw system.recompute=always",
	"system.name=pipedream_2bw mitigation.name=dc_asgd",
	"system.name=roundpipe system.optimizer=async",
	"system.name=local_sgd system.outer=nesterov system.every=4",
	"system.name=avgpipe system.advance=2",
	"system.name=rpd train.microbatches=1 train.steps=24 system.delta=9",
	"system.name=spectrain train.microbatches=1 mitigation.name=staleness_aware",
};

static void variants_too(void)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		bool any = false;

		for (unsigned d = 2; d <= 3; d++)
			any = train(variants[i], d) || any;
		CU_ASSERT(any);
	}
}

void mr_suite_usage(void)
{
	MR_SUITE("usage");
	MR_TEST(every_system);
	MR_TEST(variants_too);
}
