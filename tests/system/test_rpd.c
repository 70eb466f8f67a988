/*
 * test_rpd.c - one definition of steps that update one stage each, carried out in three ways: one after the other, by
 * the replay in any order, and by the engine in parallel under random delays. The same weights, to the bit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/result.h"
#include "check.h"
#include "exec/features/window_store.h"
#include "rig.h"
#include "perf/theory/aged_run.h"
#include "perf/theory/ages.h"
#include "schedules/common/rpd_draw.h"

#define STEPS 60
#define SEAMS 1100 /* over the first place where one window follows another */
#define RUNS (RIG_TSAN ? 2 : 5)

typedef struct weights {
	uint16_t n;
	uint8_t *at[8];
	size_t bytes[8];
} weights;

static void weights_fini(weights *w)
{
	for (uint16_t s = 0; s < w->n; s++)
		free(w->at[s]);
}

static void weights_init(weights *w, const mr_session *s)
{
	w->n = s->partition.n_stages;
	for (uint16_t i = 0; i < w->n; i++) {
		w->bytes[i] = 0;
		for (uint32_t p = 0; p < s->graph->n_params; p++)
			if (mr_partition_stage(&s->partition, s->graph->params[p].node) == i)
				w->bytes[i] += (size_t)s->graph->params[p].n *
					       mr_dtype_bytes(s->kernels->types.weights) + 64;
		w->at[i] = calloc(1, w->bytes[i] + 64);
		CU_ASSERT_PTR_NOT_NULL_FATAL(w->at[i]);
	}
}

/* The definition: the sequence that the system's options name, carried out step by step. */
static weights one_by_one(const mr_session *s, mr_rpd_params p, uint32_t limit, uint32_t n_steps)
{
	void *final[8];
	mr_aged *steps;
	weights w;

	weights_init(&w, s);
	for (uint16_t i = 0; i < w.n; i++)
		final[i] = w.at[i];
	p.n_stages = w.n;
	p.n_steps = n_steps;
	p.n_batches = (uint32_t)(s->data->n_train / (uint64_t)s->samples);
	MR_CHECK_OK(mr_rpd_draw(&p, &steps));
	if (limit) {
		mr_aged_destroy(steps);
		p.n_steps = 8 * n_steps;
		MR_CHECK_OK(mr_rpd_draw(&p, &steps));
		mr_aged_discard(steps, limit);
		CU_ASSERT_FATAL(steps->n_steps >= n_steps);
		steps->n_steps = n_steps;
		MR_CHECK_OK(mr_aged_index(steps));
	}
	MR_CHECK_OK(mr_aged_run(&(mr_aged_config){.graph = s->graph,
						  .partition = &s->partition,
						  .kernels = s->kernels,
						  .data = s->data,
						  .optim = &s->optim,
						  .lr = &s->lr,
						  .place = &s->place.worker[0],
						  .samples = s->samples,
						  .seed = 1,
						  .steps = steps},
				final));
	mr_aged_destroy(steps);
	return w;
}

static void same(const weights *want, const mr_run *run, uint64_t n_steps, const char *what)
{
	for (uint16_t s = 0; s < want->n; s++) {
		const mr_stage_weights *b = &run->weights[s];
		uint32_t first, end;

		CU_ASSERT_EQUAL_FATAL(b->latest, n_steps);
		mr_stage_params(b->stage, &first, &end);
		for (uint32_t p = first; p < end; p++) {
			size_t at = mr_stage_weight_at(b->stage, p);
			const uint8_t *got = (const uint8_t *)mr_weights_at(b, 0, b->latest) + at;
			size_t bytes = (size_t)run->c.graph->params[p].n *
				       mr_dtype_bytes(run->c.kernels->types.weights);

			if (memcmp(got, want->at[s] + at, bytes) != 0)
				fprintf(stderr, "\n%s: stage %u: %s differs\n", what, s, run->c.graph->params[p].name);
			CU_ASSERT_FATAL(memcmp(got, want->at[s] + at, bytes) == 0);
		}
	}
}

static void by_replay(const rig *r, const weights *want, uint32_t n_steps, const char *what)
{
	for (int order = MR_REPLAY_ROUND_ROBIN; order <= MR_REPLAY_RANDOM && !RIG_TSAN; order++) {
		mr_run_config c = mr_session_run_config(&r->s, NULL);
		mr_replay *replay;

		MR_CHECK_OK(mr_replay_create(&c, &replay));
		MR_CHECK_OK(mr_replay_run(replay, n_steps, (mr_replay_order)order, 3));
		same(want, mr_replay_run_of(replay), n_steps, what);
		mr_replay_destroy(replay);
	}
}

static void by_engine(rig *r, const weights *want, uint32_t n_steps, const char *what)
{
	rig_start(r);
	for (uint32_t i = 0; i < (n_steps == STEPS ? RUNS : 1); i++) {
		if (i > 0)
			MR_CHECK_OK(mr_engine_restart(r->s.executor.engine));
		rig_delays(i && n_steps == STEPS ? 200 : 0, i);
		rig_run(r, n_steps, NULL);
		rig_delays(0, 0);
		same(want, mr_engine_run_of(r->s.executor.engine), n_steps, what);
	}
}

typedef enum network { MLP, GPT, QUADRATIC, LOGISTIC } network;

static void set_network(rig *r, network n)
{
	if (n == MLP)
		return;
	if (n == GPT) {
		rig_gpt(r);
		return;
	}
	rig_sets(r, n == LOGISTIC ? "model.name=logistic model.l2=0.01" : "model.name=quadratic");
	rig_set(r, "model.noise=0.1");
	rig_sets(r, "data.name=formula data.features=13 optimizer.name=sgd optimizer.lr=0.1");
	if (n == LOGISTIC)
		rig_set(r, "data.target=classes");
}

static void check_for(const char *sets, network n, unsigned workers, const char *system, mr_rpd_params p,
		      uint32_t n_steps)
{
	weights want;
	rig r;

	rig_init(&r);
	set_network(&r, n);
	rig_set(&r, "train.steps=%u", n_steps);
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2");
	rig_set(&r, "machine.workers=%u", workers);
	rig_sets(&r, sets);
	rig_sets(&r, system);
	rig_open(&r);
	want = one_by_one(&r.s, p, strstr(system, "ringmaster=4") ? 4 : 0, n_steps);
	by_replay(&r, &want, n_steps, sets);
	by_engine(&r, &want, n_steps, sets);
	weights_fini(&want);
	rig_fini(&r);
}

static void check(const char *sets, network n, unsigned workers, const char *system, mr_rpd_params p)
{
	check_for(sets, n, workers, system, p, STEPS);
}

static void drawn_delays(void)
{
	for (unsigned d = 1; d <= 4; d++) {
		check("", MLP, d, "system.delta=7 system.seed=5", (mr_rpd_params){.delta = 7, .seed = 5});
		check("optimizer.name=momentum lr_schedule.name=cosine", MLP, d, "system.delta=20",
		      (mr_rpd_params){.delta = 20});
	}
	check("precision=f32", MLP, 3, "", (mr_rpd_params){.delta = 7}); /* S^2 - S/2 = 7.5 */
	check("precision=bf16 optimizer.name=adamw", MLP, 3, "", (mr_rpd_params){.delta = 7});
}

static void other_orders(void)
{
	check("", MLP, 3, "system.delays=max system.delta=4 system.batch=cyclic",
	      (mr_rpd_params){.delays = MR_RPD_DELAY_MAX, .delta = 4, .batch = MR_RPD_CYCLIC});
	check("", MLP, 3, "system.delays=zero", (mr_rpd_params){.delays = MR_RPD_DELAY_ZERO});
	check("", MLP, 2, "system.delta=6 system.ringmaster=4", (mr_rpd_params){.delta = 6});
	/* whole models: replicas */
	check("", MLP, 1, "system.delta=6 system.ringmaster=4", (mr_rpd_params){.delta = 6});
	check("", MLP, 3, "system.delays=exact system.stage=timeline system.batch=timeline",
	      (mr_rpd_params){.delays = MR_RPD_DELAY_EXACT, .stage = MR_RPD_TIMELINE, .batch = MR_RPD_TIMELINE});
}

static void on_a_gpt(void)
{
	for (unsigned d = 2; d <= 4; d++)
		check("model.dropout=0.2", GPT, d, "system.delta=5", (mr_rpd_params){.delta = 5});
	check("optimizer.name=muon optimizer.lr=0.01", GPT, 2, "system.delta=3", (mr_rpd_params){.delta = 3});
}

/* With noise on every block's gradient, which belongs to the step and not to who is first. */
static void on_objectives(void)
{
	for (unsigned d = 2; d <= 4; d++) {
		check("", QUADRATIC, d, "system.delta=9 system.seed=2", (mr_rpd_params){.delta = 9, .seed = 2});
		check("", LOGISTIC, d, "system.delta=9 system.seed=2", (mr_rpd_params){.delta = 9, .seed = 2});
	}
}

/* Write the steps of @r's run, which stands behind @n_micro micro-batches, to a file of its folder. */
static void record(const rig *r, uint32_t n_micro, char *path, size_t size)
{
	mr_strbuf text = {0};
	mr_aged *a;

	MR_CHECK_OK(mr_ages_of_run(mr_engine_run_of(r->s.executor.engine), n_micro, &a));
	CU_ASSERT_EQUAL(a->n_steps, n_micro * a->n_stages);
	mr_aged_print(a, &text);
	snprintf(path, size, "%s/text.txt", r->dir);
	MR_CHECK_OK(mr_result_write(path, text.data, text.len, MR_RESULT_OWN));
	mr_strbuf_fini(&text);
	mr_aged_destroy(a);
}

/*
 * The delays that PipeDream really had on this machine, fed back: steps of one stage each, in parallel again, end in
 * the weights that the pipeline ended in. Whatever the timing, which the random delays see to.
 */
static void measured(unsigned workers, const char *sets, uint64_t seed)
{
	static const char base[] = "train.microbatches=1 train.batch=2 optimizer.name=momentum machine.workers=%u";
	uint32_t n_micro = 40; /* more than an epoch: 25 */
	rig_result want = {0}, got = {0};
	char path[128], all[200];
	rig r, again;

	snprintf(all, sizeof(all), base, workers);
	rig_init(&r);
	rig_sets(&r, all);
	rig_sets(&r, sets);
	rig_sets(&r, "system.name=pipedream");
	rig_open(&r);
	MR_CHECK_OK(mr_session_start(&r.s, &(mr_session_opts){.trace = true}));
	rig_delays(200, seed);
	rig_run(&r, n_micro, NULL);
	rig_collect(&r, false, &want);
	record(&r, n_micro, path, sizeof(path));
	rig_init(&again);
	rig_sets(&again, all);
	rig_sets(&again, sets);
	rig_set(&again, "system.name=rpd");
	rig_set(&again, "train.steps=%u", n_micro * workers);
	rig_set(&again, "system.record=%s", path);
	rig_open(&again);
	rig_start(&again);
	rig_run(&again, n_micro * workers, NULL);
	rig_delays(0, 0);
	rig_collect(&again, false, &got);
	CU_ASSERT_FATAL(rig_equal_weights(&got, &want, sets));
	rig_result_fini(&want);
	rig_result_fini(&got);
	rig_fini(&again);
	rig_fini(&r);
}

static void measured_delays(void)
{
	for (unsigned d = 1; d <= 4; d++)
		for (uint64_t seed = 0; seed < (RIG_TSAN ? 1 : 3); seed++)
			measured(d, "optimizer.lr=0.05", seed);
	measured(3, "train.clip=0.2", 1); /* U stands apart */
}

/* What has no such steps, or has not looked, says so. */
static void nothing_measured(void)
{
	static const char *const cases[][2] = {
		{"system.name=pipedream train.microbatches=1", "worker 0 has kept no trace"},
		{"system.name=gpipe", "gpipe does not commit after each micro-batch"},
		{"system.name=pipedream system.stashing=false train.microbatches=1",
		 "does not commit after each micro-batch"},
	};

	for (int i = 0; i < 3; i++) {
		mr_aged *a;
		rig r;

		rig_init(&r);
		rig_sets(&r, cases[i][0]);
		rig_open(&r);
		rig_start(&r);
		rig_run(&r, 4, NULL);
		MR_CHECK_FAIL(mr_ages_of_run(mr_engine_run_of(r.s.executor.engine), 4, &a), MR_EINVAL, cases[i][1]);
		rig_fini(&r);
	}
}

/* Lists are made a window at a time, and the result does not depend on where a window ends. */
static void over_seams(void)
{
	check_for("", MLP, 3, "", (mr_rpd_params){.delta = 7}, SEAMS);
	check_for("optimizer.name=momentum", MLP, 4, "system.delta=40 system.seed=9",
		  (mr_rpd_params){.delta = 40, .seed = 9}, SEAMS);
	check_for("", MLP, 2, "system.delta=6 system.ringmaster=4", (mr_rpd_params){.delta = 6}, SEAMS);
	check_for("", MLP, 3, "system.delays=exact system.stage=timeline system.batch=timeline",
		  (mr_rpd_params){.delays = MR_RPD_DELAY_EXACT, .stage = MR_RPD_TIMELINE, .batch = MR_RPD_TIMELINE},
		  SEAMS);
}

/* However long the run is to be, it begins at once, and no memory grows with it. */
static void any_length(void)
{
	const mr_run *run;
	uint64_t made;
	uint32_t most;
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2 train.steps=1000000000000 machine.workers=2 "
		     "model.depth=2 model.width=2");
	rig_open(&r);
	for (uint16_t w = 0; w < 2; w++)
		CU_ASSERT(mr_plan_list(r.s.plan, w, MR_PROLOGUE)->n <= 4096);
	rig_start(&r);
	rig_run(&r, 30000, NULL);
	run = mr_engine_run_of(r.s.executor.engine);
	mr_windows_count(run->windows, &made, &most);
	CU_ASSERT(made >= 29 && made <= 34);
	CU_ASSERT(most <= 6);
	rig_fini(&r);
}

/* Version buffers are as many as a short run can fill, whatever the bound; given more steps it has more. */
static void short_and_old(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2 train.steps=10 machine.workers=2 "
		     "system.delta=60000");
	rig_open(&r);
	CU_ASSERT_EQUAL(r.s.plan->n_versions[0], 13);
	rig_fini(&r);
}

/* A list may end: no more steps than it has, and a record must hold as many as the run makes. */
static void the_list_ends(void)
{
	uint64_t reached;
	char path[160];
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2 train.steps=10");
	rig_open(&r);
	rig_start(&r);
	MR_CHECK_OK(mr_engine_run(r.s.executor.engine, 11, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, 11);
	rig_fini(&r);
	rig_init(&r);
	/* A timeline has no end. It is computed for the steps of the run and those that begin before its end. */
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2 train.steps=10 system.delays=exact "
		     "machine.workers=2");
	rig_open(&r);
	rig_start(&r);
	MR_CHECK_FAIL(mr_engine_run(r.s.executor.engine, 13, NULL, NULL, &reached), MR_ECONFIG,
		      "the plan ends after 12 steps, and 13 were requested");
	MR_CHECK_OK(mr_engine_run(r.s.executor.engine, 12, NULL, NULL, &reached));
	CU_ASSERT_EQUAL(reached, 12);
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r,
		 "system.name=rpd train.microbatches=1 train.batch=2 train.steps=10 system.delays=max system.delta=9 "
		 "system.ringmaster=2");
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "ringmaster: of "));
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2 train.steps=10 system.record=/nonexistent");
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "/nonexistent"));
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, "system.name=rpd train.microbatches=1 train.batch=2 train.steps=10 machine.workers=2");
	snprintf(path, sizeof(path), "%s/short.txt", r.dir);
	MR_CHECK_OK(mr_result_write(path, "0 0 0 0\n1 1 0 1\n", 16, MR_RESULT_OWN));
	rig_set(&r, "system.record=%s", path);
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(), "has 2 steps, and 10 are asked for"));
	MR_CHECK_OK(mr_result_write(path, "0 0 0 0\n1 99 0 1\n", 17, MR_RESULT_OWN));
	rig_set(&r, "train.steps=2");
	CU_ASSERT_EQUAL(rig_try_open(&r), MR_ECONFIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(mr_error_text(),
				      "short.txt:2: expected a minibatch below 22, as many as the data have, got 99"));
	rig_fini(&r);
}

void mr_suite_rpd(void);
void mr_suite_rpd(void)
{
	MR_SUITE("rpd");
	MR_TEST(drawn_delays);
	MR_TEST(other_orders);
	MR_TEST(on_a_gpt);
	MR_TEST(on_objectives);
	MR_TEST(measured_delays);
	MR_TEST(nothing_measured);
	MR_TEST(over_seams);
	MR_TEST(any_length);
	MR_TEST(short_and_old);
	MR_TEST(the_list_ends);
}
