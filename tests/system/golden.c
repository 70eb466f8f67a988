#include "golden.h"

#include <math.h>

#include "check.h"
#include "golden_files.h"

#define NO_STASH "system.name=pipedream system.stashing=false"
#define ASYNC_ROUNDS "system.name=roundpipe system.optimizer=async system.stages=4"
#define GREEDY "system.name=pipedream system.order=greedy"
#define LOCAL "system.name=local_sgd train.steps="
#define ELASTIC "system.name=avgpipe train.steps="
#define MOMENTUM " optimizer.name=momentum optimizer.mu=0.9"

const golden_case golden_pipelines[] = {
	{.name = "pipedream_stash_sgd", .sets = "system.name=pipedream"},
	{.name = "pipedream_stash_momentum", .sets = "system.name=pipedream"},
	{.name = "pipedream_stash_adamw", .sets = "system.name=pipedream"},
	{.name = "pipedream_stash_nadam", .sets = "system.name=pipedream"},
	/* The second epoch begins where the first has drained: a backward meets its forward's version there, too. */
	{.name = "pipedream_two_epochs_sgd", .sets = "system.name=pipedream system.drain=6 train.steps=12"},
	{.name = "pipedream_vsync_sgd", .sets = "system.name=pipedream system.vertical_sync=true"},
	{.name = "nostash_sgd", .sets = NO_STASH},
	{.name = "nostash_momentum", .sets = NO_STASH},
	{.name = "nostash_sgd", .sets = "system.name=ampnet"},
	/* Costs of F, I and W for which the orders were recorded: F as long as B, and half as long. */
	{.name = "pipedream_greedy_unit_sgd", .sets = GREEDY " system.costs=1,0.5,0.5"},
	{.name = "pipedream_greedy_b2_sgd", .sets = GREEDY " system.costs=1,1,1"},
	{.name = "pipedream_greedy_b2_sgd", .sets = GREEDY},
	{.name = "ampnet_accum2_sgd", .sets = "system.name=ampnet"},
	{.name = "paci_accumM_sgd", .sets = "system.name=ampnet"},
	{.name = "paci_accumM_sgd", .sets = "system.name=paci"},
	{.name = "twobw_sgd", .sets = "system.name=pipedream_2bw"},
	{.name = "twobw_momentum", .sets = "system.name=pipedream_2bw"},
	{.name = "twobw_momentum", .sets = "system.name=pipedream_2bw system.recompute=always"},
	{.name = "twobw_adam", .sets = "system.name=pipedream_2bw"},
	{.name = "twobw_sgd", .sets = ASYNC_ROUNDS},
	{.name = "twobw_adam", .sets = ASYNC_ROUNDS},
	{.name = "wpipe_sgd", .sets = "system.name=wpipe machine.workers=2"},
	{.name = "pipemare_T1_sgd", .sets = "system.name=pipemare system.t2=false system.t1_steps=6"},
	{.name = "pipemare_T2_sgd", .sets = "system.name=pipemare system.t2_memory=0.5"},
	{.name = "pipemare_T1T2_momentum", .sets = "system.name=pipemare system.t2_memory=0.5 system.t1_steps=6"},
	{.name = "spectrain_v1_ema", .sets = "system.name=spectrain"},
	{.name = "spectrain_v2_momentum", .sets = "system.name=spectrain system.variant=v2"},
	{.name = "pipeoptim_momentum", .sets = "system.name=pipeoptim"},
	{.name = "pipeoptim_adam", .sets = "system.name=pipeoptim"},
	{.name = "pipeoptim_momentum", .sets = NO_STASH " mitigation.name=weight_prediction"},
	{.name = "pipeoptim_adam", .sets = NO_STASH " mitigation.name=weight_prediction"},
	{.name = "xpipe_adam", .sets = "system.name=xpipe"},
	{.name = "pb_sc_momentum", .sets = "system.name=pipedream mitigation.name=spike_compensation"},
	{.name = "pb_lwp_momentum", .sets = "system.name=pipedream mitigation.name=weight_prediction"},
	{.name = "pb_lwpsc_momentum",
	 .sets = "system.name=pipedream mitigation.name=spike_compensation mitigation.predict=true"},
	{.name = "async_nag",
	 .sets = "system.name=pipedream optimizer.name=ema optimizer.nesterov=true optimizer.mu=0.9"},
	{.name = "sync_flush_sgd", .sets = "system.name=gpipe system.backward=fifo"},
	{.name = "sync_flush_sgd", .sets = "system.name=1f1b"},
	{.name = "sync_flush_sgd", .sets = "system.name=sequential"},
	{.name = "sync_flush_momentum", .sets = "system.name=gpipe system.backward=fifo"},
	{.name = "sync_flush_momentum", .sets = "system.name=1f1b"},
	{.name = "sync_flush_momentum", .sets = "system.name=sequential"},
	{.name = "sync_flush_adam", .sets = "system.name=gpipe system.backward=fifo"},
	{.name = "sync_flush_adam", .sets = "system.name=1f1b"},
	{.name = "sync_flush_adam", .sets = "system.name=sequential"},
	{0},
};

const golden_case golden_turns[] = {
	{.name = "onef1b_rr_2_1", .sets = "system.name=pipedream"},
	{.name = "onef1b_rr_1_2_2_1", .sets = "system.name=pipedream"},
	{0},
};

const golden_case golden_replicas[] = {
	{"localsgd_sgd", LOCAL "6 system.replicas=2 system.every=2 train.batch=2 train.microbatches=2", 6},
	{"localsgd_sgd",
	 LOCAL "6 system.replicas=2 system.every=2 system.placement=rotated train.batch=2 train.microbatches=2", 6},
	{"localsgd_momentum_localstate",
	 LOCAL "4 system.replicas=3 system.every=1 train.batch=3 train.microbatches=3" MOMENTUM, 4},
	{"avgpipe_sgd", ELASTIC "3 system.replicas=2 train.batch=4 train.microbatches=4", 3},
	{"avgpipe_alpha01",
	 ELASTIC "4 system.replicas=3 system.alpha=0.1 system.advance=1 train.batch=3 train.microbatches=3", 4},
	{0},
};

const golden_case golden_steps[] = {
	{.name = "rpd_sgd", .sets = "system.name=rpd"},
	{.name = "rpd_ringmaster", .sets = "system.name=rpd"},
	{.name = "pipedream_as_rpd", .sets = "system.name=rpd"},
	{0},
};

void golden_load(golden *g)
{
	char path[MR_GOLDEN_PATH];

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "async/chain.json"), 1 << 22, &g->root));
	g->in = mr_json_get(mr_json_get(mr_json_get(g->root, "sets"), "open"), "inputs");
	CU_ASSERT_FATAL(mr_json_is_object(g->in));
}

void golden_fini(golden *g)
{
	mr_json_destroy(g->root);
}

const mr_json *golden_systems(const golden *g)
{
	return mr_json_get(mr_json_get(mr_json_get(g->root, "sets"), "open"), "systems");
}

const mr_json *golden_system(const golden *g, const char *name)
{
	const mr_json *j = mr_json_get(golden_systems(g), name);

	if (!mr_json_is_object(j))
		fprintf(stderr, "\n%s is not recorded\n", name);
	CU_ASSERT_FATAL(mr_json_is_object(j));
	return j;
}

void golden_set_list(rig *r, const char *key, const mr_json *list)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s=[", key);

	for (size_t i = 0; i < mr_json_size(list); i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%.17g", i ? ", " : "",
			      mr_json_double(mr_json_at(list, i)));
	snprintf(line + n, sizeof(line) - (size_t)n, "]");
	rig_set(r, "%s", line);
}

void golden_rig(rig *r, const golden *g)
{
	long long depth = (long long)mr_json_int(mr_json_get(g->in, "D"));

	rig_init(r);
	rig_set(r, "model.name=chain");
	rig_set(r, "model.depth=%lld", depth);
	golden_set_list(r, "model.init", mr_json_get(g->in, "w0"));
	rig_set(r, "data.name=numbers");
	golden_set_list(r, "data.x", mr_json_get(g->in, "xs"));
	golden_set_list(r, "data.y", mr_json_get(g->in, "ys"));
	rig_set(r, "optimizer.lr=%.17g", mr_json_double(mr_json_get(g->in, "lr")));
	rig_set(r, "machine.workers=%lld", depth);
}

void golden_number(const char *what, const mr_json *want, double got)
{
	double x = mr_json_double(want);

	if (fabs(got - x) > GOLDEN_TOLERANCE * fabs(x))
		fprintf(stderr, "\n%s: %.17g where %.17g is recorded\n", what, got, x);
	CU_ASSERT_FATAL(mr_json_is_number(want) && fabs(got - x) <= GOLDEN_TOLERANCE * fabs(x));
}
