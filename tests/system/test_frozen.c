/*
 * test_frozen.c - frozen stages (ir/plan.h, mr_frozen): their weights stay the same bytes, the rest is what naive loops
 * make of it, and a run has nothing for them beside the weights.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "costs/cost_model.h"
#include "exec/run.h"
#include "oracle.h"
#include "rig.h"
#include "schedules/registry.h"
#include "sum_lists.h"
#include "sync_networks.h"
#include "ir/frozen.h"
#include "ir/stage_ops.h"

#define STEPS 4

/* Four stages of one layer, or of two. */
#define BASE "backend=reference precision=f64 optimizer.name=momentum train.batch=8 train.microbatches=4 model.depth=4 "
#define CUT "partition=fc.1,fc.2,fc.4 "

static void open(rig *r, const char *sets, const char *system, const char *frozen)
{
	rig_init(r);
	rig_sets(r, BASE);
	rig_sets(r, sets);
	rig_sets(r, system);
	rig_set(r, "train.frozen=%s", frozen);
	rig_open(r);
}

static const mr_saved_tensor *find(const mr_state_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].name, name))
			return &l->at[i];
	return NULL;
}

/* Is every tensor of @got in @wanted, with the same bytes? */
static bool all_in(const mr_state_list *got, const mr_state_list *wanted)
{
	for (size_t i = 0; i < got->n; i++) {
		const mr_saved_tensor *t = find(wanted, got->at[i].name);

		if (t && t->bytes == got->at[i].bytes && !memcmp(t->data, got->at[i].data, t->bytes))
			continue;
		fprintf(stderr, "%s differs\n", got->at[i].name);
		return false;
	}
	return got->n > 0;
}

/* What the oracle makes of the same job, in the order in which the system sums, without stepping @frozen. */
static void by_oracle(const rig *r, const char *sets, const char *frozen, rig_result *out)
{
	mr_sched_args a = {.n_workers = mr_job_workers(r->job), .n_micro = r->s.n_micro,
			   .options = mr_job_system(r->job)->options ? r->job->system.values : NULL};
	mr_plan *emitted;
	oracle_config c;
	sum_lists l;
	oracle *o;
	rig whole;

	MR_CHECK_OK(mr_schedule_emit(mr_job_system(r->job), &a, &emitted));
	sum_lists_of(emitted, &r->s.partition, &l);
	rig_init(&whole);
	rig_sets(&whole, BASE);
	rig_sets(&whole, sets);
	rig_sets(&whole, "system.name=sequential partition=auto machine.workers=1");
	rig_open(&whole);
	c = oracle_config_of(&whole.s);
	c.lists = &l.lists;
	c.frozen = frozen;
	o = oracle_create(&c);
	oracle_run(o, STEPS, rig_progress, out);
	oracle_collect(o, true, out);
	oracle_destroy(o);
	rig_fini(&whole);
	sum_lists_fini(&l);
	mr_plan_destroy(emitted);
}

static bool same_losses(const rig_result *a, const rig_result *b)
{
	bool same = a->n_steps == b->n_steps && a->eval == b->eval;

	for (uint64_t i = 0; same && i < a->n_steps; i++)
		same = a->step[i].loss == b->step[i].loss && a->step[i].norm == b->step[i].norm;
	return same;
}

static void one(const char *sets, const char *system, const char *frozen)
{
	rig_result got = {0}, wanted = {0}, again = {0};
	size_t n_states;
	rig r;

	open(&r, sets, system, frozen);
	rig_train(&r, STEPS, true, &got);
	by_oracle(&r, sets, frozen, &wanted);
	CU_ASSERT_EQUAL(got.model.n, wanted.model.n);
	CU_ASSERT_TRUE(all_in(&got.model, &wanted.model));
	CU_ASSERT_TRUE(all_in(&got.optimizer, &wanted.optimizer));
	CU_ASSERT_TRUE(same_losses(&got, &wanted));
	/* a weight and a bias of each layer, and one state of those that train */
	n_states = got.model.n;
	for (const char *at = frozen; at; at = strchr(at + 1, ','))
		n_states -= 2;
	CU_ASSERT_EQUAL(got.optimizer.n, n_states);
	rig_fini(&r);
	open(&r, sets, system, frozen);
	rig_replay(&r, STEPS, MR_REPLAY_RANDOM, 7, &again);
	CU_ASSERT_TRUE(rig_equal_weights(&got, &again, system));
	rig_fini(&r);
	rig_result_fini(&got);
	rig_result_fini(&wanted);
	rig_result_fini(&again);
}

static const char *const systems[] = {
	"system.name=gpipe machine.workers=4",
	"system.name=1f1b machine.workers=4",
	"system.name=gpipe system.recompute=always machine.workers=4",
	"system.name=zb_h1 machine.workers=4",
	"system.name=chimera machine.workers=4",
	"system.name=interleaved machine.workers=2",
	"system.name=gems machine.workers=4", /* passes of a frozen stage behind the last sum of a worker */
	"system.name=hanayo machine.workers=2",
};

static void each_system(const char *sets, const char *frozen)
{
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		one(sets, systems[i], frozen);
}

static void leading_stages(void)
{
	each_system(CUT, "fc.0");
	each_system(CUT, "fc.0,fc.1");
	each_system(CUT "train.clip=0.05", "fc.0,fc.1");
}

static void stages_between(void)
{
	each_system(CUT, "fc.1");
	each_system(CUT "train.clip=0.05", "fc.0,fc.2,fc.3");
}

/* Another stage than the last records the steps. */
static void the_last_stage(void)
{
	each_system(CUT, "fc.4");
	each_system(CUT "train.norm_every=1", "fc.0,fc.4");
}

/* Beside layers that train, in one stage or in several. */
static void in_stages_that_train(void)
{
	static const char *const more[] = {
		"system.name=sequential machine.workers=1 partition=auto",
		"system.name=data_parallel machine.workers=2 partition=auto",
		"system.name=data_parallel machine.workers=2 partition=auto system.weights=private",
		"system.name=weipipe machine.workers=4",
		"system.name=helixpipe system.blocks=1 machine.workers=2 partition=fc.2,fc.4",
	};

	each_system(CUT, "fc.2");
	each_system(CUT "train.clip=0.05", "fc.0,fc.3");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		one(CUT "train.clip=0.05", more[i], "fc.0,fc.2");
		one(CUT "train.norm_every=1", more[i], "fc.1,fc.4");
	}
	one(CUT, "system.name=data_parallel machine.workers=2 partition=auto system.gradients=joint", "fc.0,fc.2");
}

static void nothing_but_weights(void)
{
	rig_result before = {0}, after = {0};
	mr_run_memory m;
	mr_run *run;
	rig r;

	open(&r, CUT, "system.name=1f1b machine.workers=4", "fc.0,fc.2,fc.3");
	CU_ASSERT_EQUAL(r.s.plan->frozen[0], MR_FROZEN_LEAF);
	CU_ASSERT_EQUAL(r.s.plan->frozen[1], MR_TRAINS);
	CU_ASSERT_EQUAL(r.s.plan->frozen[2], MR_FROZEN_PASSES);
	CU_ASSERT_EQUAL(r.s.plan->frozen[3], MR_TRAINS);
	for (uint16_t w = 0; w < 4; w++)
		for (uint32_t i = 0; i < mr_plan_list(r.s.plan, w, MR_BODY)->n; i++) {
			const mr_instr *in = &mr_plan_list(r.s.plan, w, MR_BODY)->at[i];

			CU_ASSERT_TRUE(in->stage != 0 || in->op == MR_OP_F);
			CU_ASSERT_TRUE(in->stage != 2 || in->op == MR_OP_F || in->op == MR_OP_I);
			CU_ASSERT_TRUE(in->stage % 2 == 1 || in->read == 0);
		}
	CU_ASSERT_EQUAL(r.s.plan->n_bwd[1], 0);
	CU_ASSERT_TRUE(r.s.plan->n_bwd[2] > 0 && r.s.plan->n_bwd[3] > 0);
	rig_start(&r);
	run = mr_engine_run_of(r.s.executor.engine);
	for (uint16_t s = 0; s < 4; s++) {
		mr_run_memory_of_stage(run, 0, s, &m);
		CU_ASSERT_EQUAL(m.grads > 0, s % 2 == 1);
		CU_ASSERT_EQUAL(m.optimizer > 0, s % 2 == 1);
		CU_ASSERT_EQUAL(m.stashes, 0);
	}
	rig_collect(&r, false, &before);
	rig_run(&r, STEPS, &after);
	rig_collect(&r, false, &after);
	for (size_t i = 0; i < before.model.n; i++) {
		const char *name = before.model.at[i].name;
		bool frozen = !strncmp(name, "fc.0.", 5) || !strncmp(name, "fc.2.", 5) || !strncmp(name, "fc.3.", 5);

		CU_ASSERT_EQUAL(!memcmp(before.model.at[i].data, after.model.at[i].data, before.model.at[i].bytes),
				frozen);
	}
	for (uint16_t s = 0; s < 4; s++)
		CU_ASSERT_EQUAL(run->weights[s].latest, s % 2 ? STEPS : 0);
	rig_result_fini(&before);
	rig_result_fini(&after);
	rig_fini(&r);
}

/* The first and the last layer of a run that is restored go on from the same bytes. */
static void goes_on_from_a_state(void)
{
	rig_result half = {0}, whole = {0}, rest = {0};
	mr_state st;
	rig r;

	open(&r, CUT, "system.name=1f1b machine.workers=4", "fc.0,fc.2,fc.3");
	rig_start(&r);
	rig_run(&r, STEPS / 2, NULL);
	rig_collect(&r, false, &half);
	rig_run(&r, STEPS, NULL);
	rig_collect(&r, false, &whole);
	rig_fini(&r);
	open(&r, CUT, "system.name=1f1b machine.workers=4", "fc.0,fc.2,fc.3");
	rig_start(&r);
	MR_CHECK_OK(mr_executor_stand_at(&r.s.executor, STEPS / 2));
	MR_CHECK_OK(mr_executor_state(&r.s.executor, &st));
	CU_ASSERT_TRUE(rig_fill(&st, &half));
	mr_state_fini(&st);
	rig_run(&r, STEPS, NULL);
	rig_collect(&r, false, &rest);
	CU_ASSERT_TRUE(rig_equal_weights(&whole, &rest, "restored"));
	rig_fini(&r);
	rig_result_fini(&half);
	rig_result_fini(&whole);
	rig_result_fini(&rest);
}

/* Are the times of a plan those of what its stages do? @plan is that of the session. */
static void times_are_those_of_the_plan(const rig *r, const mr_costs *c)
{
	mr_workload of = mr_session_workload(&r->s);
	mr_stage_cost *t = calloc(r->s.plan->n_stages, sizeof(*t));

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	mr_costs_of_stages(&of, c, t);
	for (uint16_t i = 0; i < r->s.plan->n_stages; i++) {
		uint8_t is = r->s.plan->frozen[i];

		CU_ASSERT(t[i].f > 0);
		CU_ASSERT(is == MR_FROZEN_LEAF ? t[i].i == 0 : t[i].i > 0 || !mr_stage_hands_back(r->s.plan, i));
		CU_ASSERT_EQUAL(t[i].w > 0, is == MR_TRAINS);
		CU_ASSERT_EQUAL(t[i].u > 0, is == MR_TRAINS);
		CU_ASSERT_EQUAL(t[i].n > 0, is == MR_TRAINS && r->s.plan->contract.clip);
	}
	free(t);
}

/* Models of costs know what frozen layers lack, and measured costs of a training of all layers leave it out. */
static void no_time_for_what_is_not_done(void)
{
	mr_workload of;
	mr_costs whole, c;
	rig r;

	open(&r, CUT "train.clip=1", "system.name=1f1b machine.workers=4", "");
	CU_ASSERT_FALSE(mr_frozen_any(r.s.plan));
	of = mr_session_workload(&r.s);
	MR_CHECK_OK(mr_costs_nominal(&of, &whole));
	whole.measured = true;
	rig_fini(&r);
	open(&r, CUT "train.clip=1", "system.name=1f1b machine.workers=4", "fc.0,fc.2,fc.3");
	of = mr_session_workload(&r.s);
	times_are_those_of_the_plan(&r, &whole);
	MR_CHECK_OK(mr_costs_nominal(&of, &c));
	times_are_those_of_the_plan(&r, &c);
	mr_costs_fini(&c);
	MR_CHECK_OK(mr_costs_modelled(&of, 0, &c));
	times_are_those_of_the_plan(&r, &c);
	mr_costs_fini(&c);
	of.costs = &whole;
	MR_CHECK_OK(mr_costs_forecast(&of, 0, &c));
	times_are_those_of_the_plan(&r, &c);
	mr_costs_fini(&c);
	for (uint32_t i = 0; i < r.s.graph->n_nodes; i++) {
		mr_stage_cost l = mr_model_layer(&of, r.s.samples, 1, MR_MODEL_L2, i);

		CU_ASSERT_EQUAL(l.w > 0, mr_graph_trains(r.s.graph, i));
		CU_ASSERT_EQUAL(l.u > 0, mr_graph_trains(r.s.graph, i));
		CU_ASSERT_EQUAL(mr_graph_needs(r.s.graph, i, 1).flops_w > 0, mr_graph_trains(r.s.graph, i));
	}
	mr_costs_fini(&whole);
	rig_fini(&r);
}

/* The automatic cut: three frozen layers do what one that trains does, so they share a stage. */
static void the_cut_knows_what_is_frozen(void)
{
	rig r;

	open(&r, "model.width=256 model.depth=6 ", "system.name=1f1b machine.workers=2", "fc.0,fc.1,fc.2");
	CU_ASSERT_TRUE(r.s.partition.first[1] >= 3 && r.s.partition.first[1] < 5);
	rig_fini(&r);
	open(&r, "model.width=256 model.depth=6 ", "system.name=1f1b machine.workers=3", "fc.0,fc.1,fc.2,fc.3");
	CU_ASSERT_EQUAL(r.s.partition.first[1], 4);
	CU_ASSERT_EQUAL(r.s.partition.first[2], 5);
	rig_fini(&r);
}

/* Is every instruction of the plan one that its stage has: F of a leaf, F and I where the gradient passes? */
static bool does_no_more(const mr_plan *p)
{
	bool f_alone = true, no_w = true;

	for (uint16_t w = 0; w < p->n_workers; w++)
		for (uint32_t i = 0; i < mr_plan_list(p, w, MR_BODY)->n; i++) {
			const mr_instr *in = &mr_plan_list(p, w, MR_BODY)->at[i];

			f_alone &= p->frozen[in->stage] != MR_FROZEN_LEAF || in->op == MR_OP_F;
			no_w &= p->frozen[in->stage] != MR_FROZEN_PASSES || in->op == MR_OP_F || in->op == MR_OP_I;
		}
	return f_alone && no_w;
}

static void open_network(rig *r, const char *sets, bool tokens, const char *system, const char *frozen)
{
	rig_init(r);
	if (tokens)
		rig_tokens(r, sets);
	rig_sets(r, sets);
	rig_sets(r, system);
	rig_set(r, "train.frozen=%s", frozen);
	rig_open(r);
}

/* The last layer of a network trains, and the first one as well; then the last one alone, in a stage by itself, and
 * behind the others in one. */
static void extract(const char *sets, bool tokens)
{
	const char *last = NULL, *first = NULL;
	rig_result apart = {0}, together = {0};
	char frozen[200], cut[200];
	mr_partition *p;
	rig r;

	open_network(&r, sets, tokens, "system.name=sequential machine.workers=1", "");
	for (uint32_t i = 0; i < r.s.graph->n_nodes; i++)
		if (r.s.graph->nodes[i].n_params) {
			first = first ? first : r.s.graph->nodes[i].name;
			last = r.s.graph->nodes[i].name;
		}
	CU_ASSERT_FATAL(last && first);
	snprintf(frozen, sizeof(frozen), "*,!%s,!%s", last, first);
	rig_fini(&r);
	open_network(&r, sets, tokens, "system.name=gpipe machine.workers=3", frozen);
	CU_ASSERT(does_no_more(r.s.plan));
	rig_fini(&r);
	*strrchr(frozen, ',') = '\0';
	snprintf(cut, sizeof(cut), "system.name=gpipe machine.workers=2 partition=%s", strchr(frozen, '!') + 1);
	open_network(&r, sets, tokens, cut, frozen);
	p = &r.s.partition;
	CU_ASSERT(r.s.plan->frozen[0] == MR_FROZEN_LEAF && r.s.plan->frozen[1] == MR_TRAINS);
	CU_ASSERT(does_no_more(r.s.plan));
	for (uint32_t i = 0; i < r.s.graph->n_nodes; i++)
		CU_ASSERT(!r.s.graph->nodes[i].n_params || r.s.graph->nodes[i].frozen == (i < p->first[1]));
	CU_ASSERT_EQUAL(r.s.plan->n_bwd[1], 0);
	rig_train(&r, 2, false, &apart);
	rig_fini(&r);
	open_network(&r, sets, tokens, "system.name=sequential machine.workers=1", frozen);
	CU_ASSERT_EQUAL(r.s.plan->frozen[0], MR_TRAINS);
	rig_train(&r, 2, false, &together);
	CU_ASSERT_EQUAL(together.n_steps, 2);
	CU_ASSERT_EQUAL(together.optimizer.n, apart.optimizer.n);
	CU_ASSERT_TRUE(rig_equal_weights(&apart, &together, sets));
	rig_fini(&r);
	rig_result_fini(&apart);
	rig_result_fini(&together);
}

static void features_of_every_network(void)
{
	const char *network;

	extract("model.name=mlp model.depth=5 model.norm=batch train.batch=8 train.microbatches=2", false);
	extract("model.name=gpt model.layers=2 model.width=8 model.heads=2 model.context=4 model.tied=false "
		"train.batch=4 train.microbatches=2", true);
	extract(LLAMA "model.tied=false", true);
	extract(DLRM, false);
	extract("model.name=gnmt model.layers=3 model.width=6 data.name=reversal data.letters=5 data.shortest=1 "
		"data.longest=4 train.batch=8 train.microbatches=4", false);
	extract("model.name=s2vt model.projection=4 model.embed=3 model.width=5 data.name=captions data.frames=4 "
		"data.features=3 data.words=5 data.longest=3 train.batch=8 train.microbatches=4", false);
	extract("model.name=lenet data.image=[28,28,1] train.batch=4 train.microbatches=2", false);
	extract("model.name=resnet18 model.width=8 data.image=[8,8,3] train.batch=4 train.microbatches=2", false);
	extract("model.name=vit model.layers=2 model.width=8 model.heads=2 model.patch=4 data.image=[8,8,3] "
		"train.batch=4 train.microbatches=2", false);
	for (size_t i = 0; (network = rig_network(i)); i++) {
		char sets[500];

		snprintf(sets, sizeof(sets), "%s model.tied=false train.batch=8 train.microbatches=4", network);
		extract(sets, true);
	}
}

static void refused_with(const char *sets, const char *frozen, const char *text)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, BASE "machine.workers=4");
	rig_sets(&r, sets);
	rig_set(&r, "train.frozen=%s", frozen);
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	if (!strstr(mr_error_text(), text))
		fprintf(stderr, "%s\n", mr_error_text());
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), text));
	rig_fini(&r);
}

static void refused(void)
{
	refused_with(CUT, "fc.0,head", "no layer with parameters is called \"head\"");
	refused_with(CUT, "fc", "all stages are frozen");
	refused_with(CUT "system.name=pipedream train.microbatches=1", "fc.0", "frozen in plans that repeat and flush");
	refused_with(CUT "system.name=pipedream train.microbatches=1", "fc.2", "frozen in plans that repeat and flush");
	refused_with(CUT "system.name=zb_h1 train.clip=1 system.optimizer=validated", "fc.0",
		     "frozen in plans that repeat and flush");
	refused_with(CUT "optimizer.name=nt_asgd train.eval_every=2", "fc.0", "nt_asgd averages all weights");
	refused_with(CUT "system.name=zb_h1 system.steal=true", "fc.0", "frozen in plans that repeat and flush");
}

void mr_suite_frozen(void)
{
	MR_SUITE("frozen");
	MR_TEST(leading_stages);
	MR_TEST(stages_between);
	MR_TEST(the_last_stage);
	MR_TEST(in_stages_that_train);
	MR_TEST(nothing_but_weights);
	MR_TEST(goes_on_from_a_state);
	MR_TEST(no_time_for_what_is_not_done);
	MR_TEST(the_cut_knows_what_is_frozen);
	MR_TEST(features_of_every_network);
	MR_TEST(refused);
}
