/*
 * test_golden.c - every recorded system of the scalar chain is held by a case, and the steps that update one stage
 * each: by the definition, by the engine and by the replay.
 */
#include <string.h>

#include "base/file.h"
#include "base/result.h"
#include "check.h"
#include "golden.h"
#include "perf/theory/aged_run.h"
#include "trajectory.h"

#define N_RECORDED 40 /* systems in the file: one that is lost is missed */
#define MOST_STAGES 8

/* --- which case holds what --- */

static const golden_case *const lists[] = {golden_pipelines, golden_turns, golden_replicas, golden_steps};

static bool is_held(const char *name)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const golden_case *c = lists[i]; c->name; c++)
			if (!strcmp(c->name, name))
				return true;
	return false;
}

static void every_system_is_held(void)
{
	const char *name = NULL;
	unsigned n = 0;
	golden g;

	golden_load(&g);
	while ((name = mr_json_next_key(golden_systems(&g), name))) {
		n++;
		if (!is_held(name))
			fprintf(stderr, "\n%s is recorded, and no list of tests/system/golden.c names a case for it\n",
				name);
		CU_ASSERT_TRUE(is_held(name));
	}
	CU_ASSERT_EQUAL(n, N_RECORDED);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const golden_case *c = lists[i]; c->name; c++)
			(void)golden_system(&g, c->name);
	golden_fini(&g);
}

/* --- steps of one stage each --- */

static mr_aged *listed(const mr_json *ops, uint16_t n_stages)
{
	mr_aged *a;

	MR_CHECK_OK(mr_aged_create(n_stages, (uint32_t)mr_json_size(ops), &a));
	for (uint32_t k = 0; k < a->n_steps; k++) {
		const mr_json *op = mr_json_at(ops, k);

		a->stage[k] = (uint16_t)mr_json_int(mr_json_at(op, 0));
		a->batch[k] = (uint32_t)mr_json_int(mr_json_at(op, 1));
		for (uint16_t b = 0; b < n_stages; b++)
			a->delay[(size_t)k * n_stages + b] = (uint32_t)mr_json_int(mr_json_at(mr_json_at(op, 2), b));
	}
	return a;
}

/* The steps of system @sys; Ringmaster's are what it keeps of rpd_sgd's. */
static mr_aged *steps_of(const golden *g, const mr_json *sys)
{
	uint16_t n_stages = (uint16_t)mr_json_int(mr_json_get(g->in, "D"));
	const mr_json *limit = mr_json_get(sys, "R");
	mr_aged *a = listed(mr_json_get(limit ? golden_system(g, "rpd_sgd") : sys, "ops"), n_stages);

	if (limit)
		mr_aged_discard(a, (uint32_t)mr_json_int(limit));
	MR_CHECK_OK(mr_aged_index(a));
	return a;
}

typedef struct story {
	const char *name;
	const mr_json *sys, *pipeline; /* pipeline: what the steps are those of, where they are recorded as such; else
	                                  NULL */
	const mr_aged *steps;
	uint32_t updates[MOST_STAGES]; /* of each stage so far */
} story;

static story open_story(const golden *g, const char *name, const mr_aged *steps)
{
	story s = {.name = name, .sys = golden_system(g, name), .steps = steps};

	if (!mr_json_get(s.sys, "history"))
		s.pipeline = golden_system(g, "pipedream_stash_sgd");
	return s;
}

/* The weight of stage @s behind @k steps. Ask in ascending order of steps, and of all stages. */
static void check_weight(story *st, uint32_t k, uint16_t s, double w)
{
	const mr_json *history = mr_json_get(st->sys, "history");

	if (history) {
		golden_number(st->name, mr_json_at(mr_json_at(history, k), s), w);
		return;
	}
	st->updates[s] += k > 0 && st->steps->stage[k - 1] == s;
	golden_number(st->name, mr_json_at(mr_json_at(mr_json_get(st->pipeline, "weights"), s), st->updates[s]), w);
	if (k == st->steps->n_steps)
		golden_number(st->name, mr_json_at(mr_json_get(st->sys, "final"), s), w);
}

static bool on_step(void *arg, const mr_aged_event *e)
{
	story *st = arg;

	for (uint16_t s = 0; s < st->steps->n_stages; s++)
		check_weight(st, e->k + 1, s, *(const double *)mr_history_latest(&e->model->at[s]));
	return true;
}

static void by_definition(const golden *g, const char *name, const mr_aged *a)
{
	story st = open_story(g, name, a);
	mr_aged_config c = {.steps = a, .observer = on_step, .arg = &st, .seed = 1};
	rig r;

	golden_rig(&r, g);
	rig_sets(&r, "optimizer.name=sgd system.name=pipedream train.batch=1 train.microbatches=1");
	rig_open(&r);
	c.graph = r.s.graph;
	c.partition = &r.s.partition;
	c.kernels = r.s.kernels;
	c.data = r.s.data;
	c.optim = &r.s.optim;
	c.lr = &r.s.lr;
	c.place = &r.s.place.worker[0];
	c.samples = r.s.samples;
	MR_CHECK_OK(mr_aged_run(&c, NULL));
	rig_fini(&r);
}

/* Version k of any stage is the model behind k steps; step k reads a stage as its delay says. */
static void check_trajectory(const golden *g, const char *name, const mr_aged *a, const trajectory *t)
{
	story st = open_story(g, name, a);

	CU_ASSERT_EQUAL_FATAL(trajectory_steps(t), a->n_steps);
	for (uint32_t k = 0; k <= a->n_steps; k++)
		for (uint16_t s = 0; s < a->n_stages; s++)
			check_weight(&st, k, s, t->stage[s].weights[k]);
	for (uint32_t k = 0; k < a->n_steps; k++) {
		for (uint16_t s = 0; s < a->n_stages; s++) {
			uint32_t d = mr_aged_delay(a, k, s), read = d < k ? k - d : 0;

			CU_ASSERT_EQUAL(t->stage[s].f_version[k], read);
			CU_ASSERT_EQUAL(t->stage[s].b_version[k], read);
		}
		if (!st.pipeline)
			golden_number(name, mr_json_at(mr_json_get(st.sys, "loss"), k), t->loss[k]);
	}
}

/* A stage keeps at once what the oldest of its reads asks for, and no version that is recorded lives longer. */
static void check_live(const mr_plan *plan, const trajectory *t)
{
	for (uint16_t s = 0; s < plan->n_stages; s++)
		CU_ASSERT_TRUE(trajectory_peak_live(t, s) <= plan->n_versions[s]);
}

static void by_plan(const golden *g, const golden_case *c, const mr_aged *a)
{
	mr_session_opts opts = {.observer = trajectory_observer};
	trajectory *t;
	mr_replay *replay;
	mr_run_config rc;
	mr_strbuf text = {0};
	char path[160];
	rig r;

	golden_rig(&r, g);
	mr_aged_print(a, &text);
	snprintf(path, sizeof(path), "%s/text.txt", r.dir);
	MR_CHECK_OK(mr_result_write(path, text.data, text.len, MR_RESULT_OWN));
	mr_strbuf_fini(&text);
	rig_sets(&r, "optimizer.name=sgd train.batch=1 train.microbatches=1");
	rig_sets(&r, c->sets);
	rig_set(&r, "train.steps=%u", a->n_steps);
	rig_set(&r, "system.record=%s", path);
	rig_open(&r);
	MR_CHECK_OK(trajectory_create(r.s.graph, &r.s.partition, 1, a->n_steps, &t));
	opts.observer_arg = t;
	MR_CHECK_OK(mr_session_start(&r.s, &opts));
	rig_run(&r, a->n_steps, NULL);
	check_trajectory(g, c->name, a, t);
	check_live(r.s.plan, t);
	rc = mr_session_run_config(&r.s, NULL);
	rc.observer = trajectory_observer;
	rc.observer_arg = t;
	MR_CHECK_OK(mr_replay_create(&rc, &replay));
	MR_CHECK_OK(mr_replay_run(replay, a->n_steps, MR_REPLAY_RANDOM, 3));
	check_trajectory(g, c->name, a, t);
	mr_replay_destroy(replay);
	trajectory_destroy(t);
	rig_fini(&r);
}

static void steps_of_one_stage(void)
{
	golden g;

	golden_load(&g);
	for (const golden_case *c = golden_steps; c->name; c++) {
		mr_aged *a = steps_of(&g, golden_system(&g, c->name));

		CU_ASSERT_FATAL(a->n_stages <= MOST_STAGES);
		by_definition(&g, c->name, a);
		by_plan(&g, c, a);
		mr_aged_destroy(a);
	}
	golden_fini(&g);
}

void mr_suite_golden(void);
void mr_suite_golden(void)
{
	MR_SUITE("golden");
	MR_TEST(every_system_is_held);
	MR_TEST(steps_of_one_stage);
}
