/*
 * test_links.c - training over links whose ends share no memory gives the weights of training over rings, to the bit.
 */
#include "bounded_link.h"
#include "check.h"
#include "rig.h"
#include "sync_cases.h"
#include "weights/ranges.h"

/* Between two halves of the workers alone, as between two hosts. */
static bool carries_across(const mr_link_kind *k, const mr_edge *e)
{
	(void)k;
	return e->from / 2 != e->to / 2;
}

static mr_link_kind across;
static const mr_link_kind *const everywhere[] = {&bounded_link, NULL};
static const mr_link_kind *halves[3];

static void train(rig *r, const mr_link_kind *const *kinds, uint64_t steps, rig_result *out)
{
	mr_run_config c = mr_session_run_config(&r->s, NULL);

	c.links = kinds;
	MR_CHECK_OK(mr_executor_of_engine(&c, 60, &r->s.executor));
	rig_run(r, steps / 2, out);
	rig_collect(r, true, out);
	rig_run(r, steps, out);
	rig_collect(r, true, out);
	mr_executor_fini(&r->s.executor);
}

/* False: the system does not take this many workers. */
static bool check(const char *sets, const char *system, unsigned workers)
{
	rig_result want = {0}, got = {0};
	char what[300];
	mr_status st;
	rig r;

	snprintf(what, sizeof(what), "%s %s, %u workers", sets, system, workers);
	rig_init(&r);
	if (strstr(sets, "model.tied"))
		rig_gpt(&r);
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
		if (!strstr(mr_error_text(), "system.name: "))
			printf("%s: %s\n", what, mr_error_text());
		CU_ASSERT_FATAL(st == MR_ECONFIG && strstr(mr_error_text(), "system.name: "));
	}
	rig_fini(&r);
	return st == MR_OK;
}

#define MLP "precision=f32 model.depth=15 model.width=8 train.norm_every=0"

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

/* data_parallel with @option and each of @sets, over four, three and two workers. */
static void check_data_parallel(const char *option, const char *const *sets, size_t n)
{
	char text[300];

	for (unsigned d = 4; d >= 2; d--)
		for (size_t i = 0; i < n; i++) {
			snprintf(text, sizeof(text), "system.name=data_parallel %s %s", option, sets[i]);
			CU_ASSERT_TRUE(check(MLP, text, d));
		}
}

/* Sums of several stages in one buffer, and what comes of them: one that is overwritten too early is torn. */
static void released(void)
{
	static const char *const sets[] = {
		"system.chunks=3 train.microbatches=8", "system.chunks=5 train.microbatches=4",
		"system.chunks=7 train.batch=12 train.microbatches=6 optimizer.name=adamw optimizer.lr=0.01",
		"system.chunks=4 train.batch=6 train.microbatches=3", /* a worker without micro-batches */
		"system.chunks=4 train.microbatches=4 system.weights=private",
		"system.chunks=5 train.microbatches=8 precision=bf16 optimizer.name=momentum",
		"system.chunks=4 train.microbatches=8 optimizer.name=muon optimizer.lr=0.01",
		"system.chunks=6 train.microbatches=8 model.norm=batch train.batch=24",
	};

	check_data_parallel("system.gradients=released", sets, sizeof(sets) / sizeof(sets[0]));
}

/* Weights that are fetched into rooms: one that is overwritten while it is read, or not there yet, gives other bits. */
static void sharded(void)
{
	static const char *const sets[] = {
		"system.chunks=3 system.rooms=2 train.microbatches=8",
		"system.chunks=5 train.microbatches=4",
		"system.chunks=5 system.rooms=5 train.microbatches=4 optimizer.name=momentum",
		"system.chunks=7 system.rooms=4 train.batch=12 train.microbatches=6 optimizer.name=adamw",
		"system.chunks=4 train.batch=6 train.microbatches=3", /* a worker without micro-batches */
		"system.chunks=5 system.rooms=2 train.microbatches=8 precision=bf16 optimizer.name=momentum",
		"system.chunks=4 train.microbatches=8 optimizer.name=muon optimizer.lr=0.01",
		"system.chunks=6 train.microbatches=8 model.norm=batch train.batch=24",
		"system.chunks=4 train.microbatches=4 precision=bf16_pure train.eval_every=1",
	};

	check_data_parallel("system.parameters=sharded", sets, sizeof(sets) / sizeof(sets[0]));
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) { /* each group on its half, and all apart */
		char text[300];

		snprintf(text, sizeof(text), "system.name=data_parallel system.parameters=sharded system.groups=2 %s",
			 sets[i]);
		CU_ASSERT_TRUE(check(MLP, text, 4));
	}
}

static void asynchronous(void)
{
	static const struct {
		const char *system;
		unsigned fewest, most; /* workers */
	} cases[] = {
		{"system.name=pipedream train.batch=4 train.microbatches=1 train.clip=0.1", 2, 4},
		{"system.name=pipedream system.stashing=false train.microbatches=1", 2, 4},
		{"system.name=pipedream_2bw system.recompute=always train.microbatches=4", 2, 4},
		{"system.name=pipedream system.replicas=[2,1] train.microbatches=2", 3, 3},
		{"system.name=pipedream system.replicas=[1,2] train.microbatches=2 optimizer.name=muon "
			"optimizer.lr=0.01",
		 3, 3},
		{"system.name=pipedream system.replicas=[2,2] train.microbatches=2 mitigation.name=gap_aware", 4, 4},
		{"system.name=pipedream system.replicas=[1,2] train.microbatches=2 train.clip=0.05", 3, 3},
		{"system.name=pipedream system.replicas=[2,2] train.microbatches=2 train.clip=0.05 optimizer.name=muon "
		 "optimizer.lr=0.01", 4, 4},
		{"system.name=pipedream system.replicas=[2,2] train.microbatches=2 mitigation.name=error_feedback "
		 "optimizer.name=soap optimizer.frequency=2 optimizer.lr=0.01", 4, 4},
		{"system.name=pipedream train.microbatches=1 optimizer.name=rotated_adam optimizer.frequency=2 "
		 "optimizer.refresh=delay optimizer.lr=0.01", 3, 4},
		{"system.name=ampnet train.microbatches=2", 2, 4},
		{"system.name=paci train.microbatches=4 train.clip=0.1", 2, 4},
		{"system.name=wpipe train.microbatches=4", 2, 4},
		{"system.name=roundpipe system.optimizer=async train.microbatches=4", 2, 4},
		{"system.name=pipemare system.t1_steps=9 train.microbatches=1", 2, 4},
		{"system.name=spectrain optimizer.name=momentum train.microbatches=1", 2, 4},
		{"system.name=pipeoptim train.microbatches=1", 2, 4},
		{"system.name=xpipe train.microbatches=4", 2, 4},
		{"system.name=rpd train.steps=24 train.microbatches=1", 2, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned d = cases[i].most; d >= cases[i].fewest; d--)
			CU_ASSERT_TRUE(check(MLP, cases[i].system, d));
}

/* Bytes that the links of @sets need, by their own count and by the sums that come: each shard keeps @copies of those
 * of the three others. */
static void needs(const char *sets, uint64_t copies)
{
	mr_run_config c;
	mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP " machine.workers=4 train.microbatches=8");
	rig_sets(&r, sets);
	rig_open(&r);
	c = mr_session_run_config(&r.s, NULL);
	c.links = everywhere;
	c.only_layout = true;
	MR_CHECK_OK(mr_run_create(&c, &run));
	for (uint16_t s = 0; s < run->n_stages; s++) {
		const mr_stage_weights *b = &run->weights[s];

		for (uint32_t i = 0; i < b->n_shards; i++) {
			mr_range_span span = b->ranges->of_sums[i];
			uint64_t lines = (span.end - span.begin) / MR_CACHE_LINE + 1;

			CU_ASSERT_EQUAL(mr_ranges_bytes(b, i), copies * 3 * lines * MR_CACHE_LINE);
		}
	}
	mr_run_destroy(run);
	rig_fini(&r);
}

static void rooms(void)
{
	needs("system.name=data_parallel", 1);
	needs("system.name=weipipe", 1);
	/* one shard has none, and waits for nobody */
	needs("system.name=data_parallel train.batch=6 train.microbatches=3", 2);
}

/* Released sums: of those of five stages, two at a time are kept here and come, one of each of the other workers. */
static void released_rooms(void)
{
	uint64_t sums = 0, come = 0, most[2] = {0};
	mr_run_config c;
	mr_run *run;
	rig r;

	rig_init(&r);
	rig_sets(&r, MLP " machine.workers=4 train.microbatches=8 system.name=data_parallel system.gradients=released "
			 "system.chunks=5");
	rig_open(&r);
	c = mr_session_run_config(&r.s, NULL);
	c.links = everywhere;
	c.only_layout = true;
	MR_CHECK_OK(mr_run_create(&c, &run));
	for (uint16_t s = 0; s < run->n_stages; s++) {
		const mr_stage_weights *b = &run->weights[s];
		uint64_t bytes = mr_stage_size(b->stage)->grad_bytes;

		CU_ASSERT_EQUAL(mr_weights_sum_bytes(b) > 0, s >= 3);
		CU_ASSERT_EQUAL(mr_ranges_bytes(b, 1) > 0, s >= 3);
		CU_ASSERT_PTR_EQUAL(b->shard[2].grads, run->weights[4 - s % 2].shard[2].grads);
		sums += mr_weights_sum_bytes(b);
		come += mr_ranges_bytes(b, 1);
		most[s % 2] = bytes > most[s % 2] ? bytes : most[s % 2];
	}
	CU_ASSERT_EQUAL(sums, most[0] + most[1]);
	CU_ASSERT(come >= 3 * sums / 4 && come <= 3 * (sums / 4 + 4 * MR_CACHE_LINE));
	mr_run_destroy(run);
	rig_fini(&r);
}

static void clipped(void)
{
	static const char *const systems[] = {
		"system.name=chimera",     "system.name=dualpipe_v",
		"system.name=gpipe",       "system.name=bitpipe",
		"system.name=dualpipe",    "system.name=data_parallel",
		"system.name=interleaved", "system.name=data_parallel optimizer.name=muon optimizer.lr=0.01",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		CU_ASSERT_TRUE(check(MLP " train.microbatches=8 train.clip=0.05", systems[i], 4));
}

/* Steps that are taken back, always and sometimes, and forwards that are sent again. */
static void validated(void)
{
	static const char *const systems[] = {
		"system.name=zb_h1 train.clip=0.05", "system.name=zb_h2 train.clip=0.05",
		"system.name=zb_h2 train.clip=0.4", "system.name=zb_h1 train.clip=1e6",
		"system.name=zb_h2 train.clip=0.2 precision=bf16",
	};
	char text[200];

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		for (unsigned d = 4; d >= 2; d--) {
			snprintf(text, sizeof(text), "%s system.optimizer=validated train.microbatches=%u", systems[i],
				 i % 2 ? 2 : 8);
			CU_ASSERT_TRUE(check(MLP, text, d));
		}
}

/* The last stage reads what the first one steps, and sends it gradients. */
static void tied(void)
{
	static const struct {
		const char *system;
		unsigned fewest, most; /* workers */
	} cases[] = {
		{"system.name=gpipe train.microbatches=4", 2, 4},
		{"system.name=1f1b train.microbatches=8 train.clip=0.05", 2, 4},
		{"system.name=zb_h1 train.microbatches=8", 2, 4},
		{"system.name=interleaved train.microbatches=8 model.layers=6", 2, 2},
		{"system.name=chimera train.microbatches=8", 2, 4},
		{"system.name=chimera train.microbatches=8 train.clip=0.05 optimizer.name=muon optimizer.lr=0.01",
			4, 4},
		{"system.name=dualpipe train.microbatches=8 model.layers=6", 4, 4},
		{"system.name=data_parallel train.microbatches=8", 2, 4},
		{"system.name=data_parallel train.microbatches=8 train.clip=0.05", 4, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned d = cases[i].most; d >= cases[i].fewest; d--)
			CU_ASSERT_TRUE(check("precision=f32 train.norm_every=0 model.tied=true", cases[i].system, d) ||
				       d == 3);
}

/* Averages go from all replicas to the owners of ranges, and back. */
static void averaged(void)
{
	static const char *const sets[] = {
		"system.placement=rotated",
		"system.placement=rotated system.state=averaged optimizer.name=adamw optimizer.lr=0.01",
		"system.placement=rotated system.outer=nesterov system.every=2 train.clip=0.05",
		"system.placement=rotated model.norm=batch",
		"system.placement=rotated precision=bf16 system.state=averaged optimizer.name=momentum",
	};
	char text[300];

	for (unsigned d = 4; d >= 2; d--)
		for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
			snprintf(text, sizeof(text), "system.name=local_sgd train.batch=24 train.microbatches=%u %s", d,
				 sets[i]);
			CU_ASSERT_TRUE(check(MLP, text, d));
		}
	CU_ASSERT_TRUE(check(MLP, "system.name=avgpipe train.microbatches=8", 2));
	CU_ASSERT_TRUE(check(MLP, "system.name=avgpipe train.microbatches=8 precision=bf16", 4));
}

/* What micro-batches contribute to the statistics of batch norm. */
static void seen(void)
{
	static const char *const systems[] = {
		"system.name=data_parallel train.microbatches=8",
		"system.name=chimera train.microbatches=8",
		"system.name=bitpipe train.microbatches=8 train.clip=0.05",
		"system.name=pipedream system.replicas=[2,2] train.microbatches=2",
	};

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		CU_ASSERT_TRUE(check(MLP " model.norm=batch train.batch=24", systems[i], 4));
}

#define ASGD "system.name=asgd train.batch=4 train.microbatches=1"
#define CYCLIC "system.name=cyclic train.batch=12 train.microbatches=12"

/* Copies of all weights, each of which makes all steps: a sum that is overwritten too early is torn, and one that is
 * stepped twice, left out or in another order gives other bits. */
static void copies(void)
{
	static const struct {
		const char *system;
		unsigned fewest, most; /* workers */
	} cases[] = {
		{ASGD, 2, 4},
		{ASGD " system.times=[1,2,4]", 3, 3},
		{ASGD " system.times=[2,3,7,1] train.clip=0.05 optimizer.name=adamw optimizer.lr=0.01", 4, 4},
		{ASGD " system.times=[9,1] system.rescaled=true optimizer.name=momentum", 2, 2},
		{ASGD " system.data=own system.rescaled=true precision=bf16", 2, 4},
		{ASGD " precision=bf16_pure optimizer.name=muon optimizer.lr=0.01", 2, 4},
		{CYCLIC, 2, 4},
		{CYCLIC " system.rule=v2 optimizer.name=adamw", 2, 4},
		{CYCLIC " train.clip=0.05 precision=bf16 optimizer.name=soap optimizer.frequency=2", 2, 4},
		{"system.name=cyclic system.rule=v2 train.batch=4 train.microbatches=4 precision=bf16_pure", 4, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (unsigned d = cases[i].most; d >= cases[i].fewest; d--)
			CU_ASSERT_TRUE(check(MLP, cases[i].system, d));
}

/* What shares memory whatever its edges are is refused, and nothing is left behind. */
static void refused(void)
{
	static const struct {
		const char *sets, *why;
	} cases[] = {
		{"system.name=zb_h2 system.steal=true train.microbatches=8",
		 "a worker that steals a weight gradient reads in place"},
		{"system.name=data_parallel system.gradients=joint train.microbatches=8",
		 "joint gradients are computed from the activations that all replicas keep"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mr_run_config c;
		mr_engine *e;
		rig r;

		rig_init(&r);
		if (strstr(cases[i].sets, "model.tied"))
			rig_gpt(&r);
		else
			rig_sets(&r, MLP);
		rig_sets(&r, cases[i].sets);
		rig_open(&r);
		c = mr_session_run_config(&r.s, NULL);
		c.links = everywhere;
		MR_CHECK_FAIL(mr_engine_create(&c, 60, &e), MR_ECONFIG, cases[i].why);
		rig_fini(&r);
	}
}

/* The tests above did go over them. */
static void carried(void)
{
	for (int k = 0; k < MR_EDGE_MEETING; k++)
		CU_ASSERT(atomic_load(&bounded_arrived[k]) > 1000);
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
	MR_TEST(rooms);
	MR_TEST(released);
	MR_TEST(sharded);
	MR_TEST(released_rooms);
	MR_TEST(clipped);
	MR_TEST(validated);
	MR_TEST(tied);
	MR_TEST(averaged);
	MR_TEST(seen);
	MR_TEST(copies);
	MR_TEST(refused);
	MR_TEST(carried);
}
