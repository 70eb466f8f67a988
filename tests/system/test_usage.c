/*
 * test_usage.c - weight versions live and bytes in use at each stage, counted while training, are those that the plan
 * predicts: for every system that there is, so that a new one is held to it too. And optimizer state lies with the
 * worker that steps it.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "ir/liveness.h"
#include "rig.h"
#include "exec/usage.h"
#include "host/numa_fake.h"
#include "schedules/registry.h"

/* Small: 13 linear layers. Long enough to fill every pipeline and go round every ring. */
#define SMALL "model.depth=12 model.width=4 precision=f32 train.batch=4 optimizer.lr=0.001 data.samples=400"
#define STEPS 24

static bool same(const mr_usage *got, mr_usage *want, const mr_plan *plan)
{
	bool slots = got->slots == want->slots && got->activation_bytes == want->activation_bytes;

	if (plan->endless && got->versions < want->versions) /* which are drawn shows only as they come */
		want->versions = got->versions;
	if (plan->contract.racing) /* how many gather depends on timing; there is room for the worst */
		slots = got->slots <= want->slots && got->activation_bytes <= want->activation_bytes;
	return slots && got->versions == want->versions && got->buffers == want->buffers &&
	       got->boundaries == want->boundaries && got->weight_bytes == want->weight_bytes &&
	       got->boundary_bytes == want->boundary_bytes;
}

static void compare(const mr_run *run, const char *what)
{
	uint32_t n = (uint32_t)run->n_pipes * run->n_stages;
	mr_usage *want = calloc(n, sizeof(*want)), *got = calloc(n, sizeof(*got));

	CU_ASSERT_FATAL(want && got);
	MR_CHECK_OK(mr_usage_predict(run, want));
	mr_usage_count(run, got);
	for (uint32_t i = 0; i < n; i++) {
		bool ok = same(&got[i], &want[i], run->c.plan);

		if (!ok)
			fprintf(stderr,
				"\n%s: stage %u pipe %u: %u versions live (predicted %u), %u weight buffers (%u), %u "
				"slots (%u), %u boundary buffers (%u)\n",
				what, i % run->n_stages, i / run->n_stages, got[i].versions, want[i].versions,
				got[i].buffers, want[i].buffers, got[i].slots, want[i].slots, got[i].boundaries,
				want[i].boundaries);
		CU_ASSERT(ok);
		CU_ASSERT(want[i].versions >= 1 && (want[i].slots >= 1 || i / run->n_stages >= run->c.plan->n_micro));
	}
	free(want);
	free(got);
}

/* Every version buffer holds a version that is yet to be read at some moment; but where versions are drawn, some never
 * are. */
static void no_spare_buffer(const mr_plan *plan, const char *what)
{
	uint16_t *live = calloc(plan->n_stages, sizeof(*live));

	CU_ASSERT_PTR_NOT_NULL_FATAL(live);
	MR_CHECK_OK(mr_plan_liveness(plan, live));
	for (uint16_t s = 0; s < plan->n_stages; s++) {
		bool ok = plan->contract.read_f == MR_READ_AGED ? live[s] <= plan->n_versions[s]
								: live[s] == plan->n_versions[s];

		if (!ok)
			fprintf(stderr, "\n%s: stage %u has %u version buffers, and %u versions are live\n", what, s,
				plan->n_versions[s], live[s]);
		CU_ASSERT(ok);
	}
	free(live);
}

/* Trains, if the system takes this many workers. */
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
	"system.name=gems train.microbatches=1", /* a pipe without work */
	"system.name=data_parallel train.microbatches=1",
	"system.name=data_parallel system.chunks=3 system.weights=private",
	"system.name=data_parallel system.chunks=3 system.gradients=released",
	"system.name=data_parallel system.chunks=4 system.parameters=sharded",
	"system.name=pipedream train.microbatches=1 system.vertical_sync=true",
	"system.name=pipedream train.microbatches=1 system.noam=6",
	"system.name=pipedream train.microbatches=1 system.stashing=false",
	"system.name=pipedream train.microbatches=1 mitigation.name=dc_asgd",
	"system.name=pipedream train.microbatches=1 system.stashing=false mitigation.name=gap_aware",
	"system.name=pipedream train.microbatches=2 system.replicas=[2,1]",
	"system.name=pipedream train.microbatches=2 system.replicas=[1,2]",
	"system.name=pipedream train.microbatches=1 system.drain=8",
	"system.name=1f1b system.merge_w=2",
	"system.name=zb_h1 system.steal=true",
	"system.name=spectrain train.microbatches=1 system.variant=v2",
	"system.name=pipemare train.microbatches=4 system.t3_steps=2",
	"system.name=pipemare train.microbatches=2 system.recompute=always",
	"system.name=pipemare train.microbatches=2 system.t2=false system.t3_steps=3",
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

/* Counting begins anew where a run is resumed, with older versions and activations under way; the figures are the same.
 */
static void resumed(const char *system)
{
	rig_result saved = {0};
	mr_state st;
	rig r;

	rig_init(&r);
	rig_sets(&r, SMALL " machine.workers=3");
	rig_sets(&r, system);
	rig_open(&r);
	rig_start(&r);
	rig_run(&r, STEPS / 2, NULL);
	rig_collect(&r, false, &saved);
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, STEPS / 2));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_FATAL(rig_fill(&st, &saved));
	mr_state_fini(&st);
	rig_run(&r, STEPS, NULL);
	compare(mr_executor_run_of(&r.s.executor), system);
	rig_result_fini(&saved);
	rig_fini(&r);
}

static void after_a_resume(void)
{
	resumed("system.name=pipedream train.microbatches=1");
	resumed("system.name=pipedream train.microbatches=1 system.vertical_sync=true");
	resumed("system.name=pipedream_2bw system.recompute=always");
	resumed("system.name=spectrain train.microbatches=1");
	resumed("system.name=xpipe");
	resumed("system.name=pipemare train.microbatches=2 system.t3_steps=2 system.recompute=always");
}

/* The policy of the page at @p: 0 the default, 2 bound; -1: the kernel does not say. */
static int policy_at(const void *p)
{
	enum { MPOL_F_ADDR_ = 2 };
	int policy = -1;

	return syscall(SYS_get_mempolicy, &policy, NULL, 0ul, p, (unsigned long)MPOL_F_ADDR_) ? -1 : policy;
}

/*
 * Of two pipes that share their steps, each range of the optimizer's state is bound where it is stepped. One node is
 * enough to see it: worker 0 binds nothing, so worker 1 has bound whatever is bound in worker 0's memory.
 */
static void states_lie_where_they_are_stepped(void)
{
	const mr_run *run;
	uint32_t n = 0;
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=chimera model.width=96 model.depth=3 train.batch=4 train.microbatches=4");
	rig_open(&r);
	r.s.place.worker[0].bindable = false;
	if (r.s.place.worker[1].bindable) {
		rig_start(&r);
		run = mr_executor_run_of(&r.s.executor);
		for (uint16_t s = 0; s < run->n_stages && !run->worker[0].region.note[0]; s++) {
			const mr_stage_weights *b = &run->weights[s];
			bool from_first = mr_plan_worker(run->c.plan, 0, s) == 0;
			size_t middle = (b->shard[1].begin + b->shard[1].end) / 2;

			if (!from_first || b->shard[1].end - b->shard[1].begin < 3 * 4096 || policy_at(b->state[0]) < 0)
				continue;
			CU_ASSERT_EQUAL(policy_at(b->state[0] + middle), 1);
			CU_ASSERT_EQUAL(policy_at(b->state[1] + middle), 1);
			CU_ASSERT_EQUAL(policy_at(b->state[1] + (b->shard[0].begin + b->shard[0].end) / 2), 0);
			n++;
		}
		CU_ASSERT(n > 0 || run->worker[0].region.note[0] || policy_at(&r) < 0);
		rig_run(&r, 2, NULL);
	}
	rig_fini(&r);
}

/* On two fake nodes data parallel has a copy of its weights on each, and a thread of the loader. */
static void nodes_have_copies_and_loaders(void)
{
#ifdef MR_FAULTS
	const mr_stage_weights *b;
	const mr_run *run;
	rig r;

	mr_numa_set_fakes(2, 0);
	rig_init(&r);
	rig_sets(&r, "system.name=data_parallel model.width=96 train.batch=4 train.microbatches=4");
	rig_open(&r);
	if (r.s.place.n_memories == 2) {
		rig_start(&r);
		run = mr_executor_run_of(&r.s.executor);
		b = &run->weights[0];
		CU_ASSERT_EQUAL(run->n_lanes, 2);
		CU_ASSERT_EQUAL(run->lane_of[1], 1);
		CU_ASSERT_EQUAL_FATAL(b->n_shards, 2);
		CU_ASSERT_EQUAL(b->shard[1].home, 1);
		CU_ASSERT((char *)b->shard[1].version - (char *)run->worker[1].region.base >= 0 &&
			  (char *)b->shard[1].version - (char *)run->worker[1].region.base <
				  (ptrdiff_t)run->worker[1].region.bytes);
		rig_run(&r, 2, NULL);
		CU_ASSERT_EQUAL(memcmp(mr_weights_at(b, 0, b->latest), mr_weights_at(b, 1, b->latest),
				       mr_stage_size(b->stage)->weight_bytes), 0);
		for (uint16_t w = 0; w < 2; w++) {
			mr_region_look l = mr_region_look_up(&run->worker[w].region);

			CU_ASSERT(l.error || (l.n_pages > 0 && l.n_elsewhere == 0));
		}
	}
	rig_fini(&r);
	mr_numa_set_fakes(0, 0);
#endif
}

void mr_suite_usage(void)
{
	MR_SUITE("usage");
	MR_TEST(every_system);
	MR_TEST(variants_too);
	MR_TEST(after_a_resume);
	MR_TEST(states_lie_where_they_are_stepped);
	MR_TEST(nodes_have_copies_and_loaders);
}
