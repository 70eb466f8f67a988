/*
 * test_cyclic.c - cyclic data parallelism: its rules, written out in f64 from the paper's words, against the engine and
 * the replay; rule v1 against pipedream_2bw, whose weights it has to the bit; and the memory that it saves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "rig.h"

#define D 8
#define ROWS 40
#define STEPS 12

static void open_logistic(rig *r, const char *system, uint32_t n, uint32_t need, uint32_t samples)
{
	rig_init(r);
	r->model = "model.name=logistic model.l2=0.01";
	rig_sets(r, r->model);
	rig_set(r, "model.blocks=%u", n);
	rig_set(r, "data.name=formula");
	rig_set(r, "data.rows=%d", ROWS);
	rig_set(r, "data.features=%d", D);
	rig_sets(r, "data.target=classes optimizer.name=sgd optimizer.lr=0.5");
	rig_sets(r, system);
	rig_set(r, "machine.workers=%u", n);
	rig_set(r, "train.microbatches=%u", need);
	rig_set(r, "train.batch=%u", need * samples);
	rig_set(r, "train.steps=%d", STEPS);
	rig_open(r);
}

static void weights_of(const mr_state_list *model, double *w)
{
	size_t n = 0;

	for (size_t i = 0; i < model->n; i++)
		for (size_t k = 0; k < model->at[i].bytes / sizeof(double) && n < D; k++)
			w[n++] = ((const double *)model->at[i].data)[k];
	CU_ASSERT_EQUAL_FATAL(n, D);
}

/* The stage of each coordinate. */
static void stages_of(const rig *r, uint32_t *stage)
{
	uint32_t j = 0;

	for (uint32_t p = 0; p < r->s.graph->n_params; p++)
		for (int64_t k = 0; k < r->s.graph->params[p].n && j < D; k++, j++)
			for (stage[j] = 0; r->s.graph->params[p].node >= r->s.partition.first[stage[j] + 1];)
				stage[j]++;
	CU_ASSERT_EQUAL_FATAL(j, D);
}

/*
 * theta[t] are the weights after t counts. Replica j of count t reads at stage i theta[t - 1], by rule v2 theta[t]
 * where that is committed when it comes: 2 j + i passes after the count begins, and count t - 1 ends stage i with its
 * last replica's backward pass, 2 n - 2 - i passes after that.
 */
static void rule(const rig *r, uint32_t n, uint32_t need, uint32_t samples, bool v2, double theta[STEPS + 1][D])
{
	const mr_dataset *d = r->s.data;
	uint32_t stage[D];

	stages_of(r, stage);
	for (uint32_t t = 0; t < STEPS; t++) {
		double g[D] = {0};

		for (uint32_t j = 0; j < need; j++)
			for (uint32_t i = 0; i < samples; i++) {
				double x[D], y, z = 0, w[D];

				d->ops->train(d, (t * need + j) * samples + i, x, &y);
				for (uint32_t k = 0; k < D; k++) {
					bool done = 2 * n - 2 - stage[k] <= 2 * j + stage[k];

					w[k] = theta[v2 && done ? t : t ? t - 1 : 0][k];
					z += x[k] * w[k];
				}
				for (uint32_t k = 0; k < D; k++)
					g[k] += ((1 / (1 + exp(-z)) - y) * x[k] + 0.01 * w[k]) / (need * samples);
			}
		for (uint32_t k = 0; k < D; k++)
			theta[t + 1][k] = theta[t][k] - 0.5 * g[k];
	}
}

static double distance(const double *a, const double *b)
{
	double sum = 0;

	for (int j = 0; j < D; j++)
		sum += (a[j] - b[j]) * (a[j] - b[j]);
	return sqrt(sum);
}

static void one_rule(uint32_t n, uint32_t need, bool v2)
{
	static double theta[STEPS + 1][D];
	const char *system = v2 ? "system.name=cyclic system.rule=v2" : "system.name=cyclic";
	rig_result got = {0}, again = {0};
	double w[D];
	rig r;

	open_logistic(&r, system, n, need, 2);
	rig_replay(&r, 0, MR_REPLAY_ROUND_ROBIN, 0, &again);
	weights_of(&again.model, theta[0]);
	rule(&r, n, need, 2, v2, theta);
	rig_train(&r, STEPS, false, &got);
	weights_of(&got.model, w);
	CU_ASSERT_TRUE(distance(w, theta[STEPS]) < 1e-10);
	for (uint64_t seed = 1; seed < 4; seed++) {
		rig_replay(&r, STEPS, MR_REPLAY_RANDOM, seed, &again);
		CU_ASSERT_TRUE(rig_equal(&got, &again, true, system));
	}
	rig_result_fini(&got);
	rig_result_fini(&again);
	rig_fini(&r);
}

static void the_papers_rules(void)
{
	for (uint32_t n = 2; n <= 4; n++)
		for (uint32_t times = 1; times <= 2; times++)
			for (int v2 = 0; v2 < 2; v2++)
				one_rule(n, n * times, v2);
}

/* The same equation, from other orders: W(t+1) = W(t) - lr * mean gradient at W(t-1), summed in ascending order. */
static void the_weights_of_2bw(void)
{
	for (uint32_t n = 2; n <= 4; n++) {
		rig_result cyclic = {0}, pipeline = {0};
		rig r;

		for (int k = 0; k < 2; k++) {
			rig_init(&r);
			rig_sets(&r, k ? "system.name=pipedream_2bw" : "system.name=cyclic");
			rig_sets(&r, "model.depth=15 model.width=16 precision=f32 optimizer.name=adamw train.steps=20");
			rig_set(&r, "machine.workers=%u", n);
			rig_set(&r, "train.microbatches=%u", n);
			rig_set(&r, "train.batch=%u", 2 * n);
			rig_open(&r);
			rig_train(&r, 20, true, k ? &pipeline : &cyclic);
			rig_fini(&r);
		}
		CU_ASSERT_TRUE(rig_equal(&cyclic, &pipeline, false, "cyclic and pipedream_2bw"));
		rig_result_fini(&cyclic);
		rig_result_fini(&pipeline);
	}
}

static uint64_t activations(const char *system, uint32_t n)
{
	uint64_t sum = 0;
	rig r;

	rig_init(&r);
	rig_sets(&r, "model.depth=15 model.width=16 precision=f32");
	rig_sets(&r, system);
	rig_set(&r, "machine.workers=%u", n);
	rig_set(&r, "train.microbatches=%u", n);
	rig_set(&r, "train.batch=%u", 8 * n);
	rig_open(&r);
	rig_start(&r);
	for (uint32_t p = 0; p < r.s.plan->n_pipes; p++)
		for (uint16_t s = 0; s < r.s.plan->n_stages; s++) {
			struct mr_run_memory m;

			mr_run_memory_of_stage(mr_engine_run_of(r.s.executor.engine), (uint8_t)p, s, &m);
			sum += m.activations;
		}
	rig_fini(&r);
	return sum;
}

/* (n + 1) / (2 n) of what replicas keep that begin together, with 16 equal layers; rooms of the first stage may be
 * larger than the stage needs. */
static void half_the_activations(void)
{
	for (uint32_t n = 2; n <= 4; n += 2) {
		double all = (double)activations("system.name=data_parallel system.chunks=4", n),
		       kept = (double)activations("system.name=cyclic", n), share = (n + 1.0) / (2 * n);

		printf("%u workers: %.0f of %.0f bytes, %.3f of what begins together keeps, for %.3f\n", n, kept, all,
		       kept / all, share);
		CU_ASSERT_TRUE(kept / all > 0.9 * share && kept / all < 1.15 * share);
	}
}

static void refused(void)
{
	rig r;

	rig_init(&r);
	rig_sets(&r, "system.name=cyclic machine.workers=3 train.microbatches=4 train.batch=8");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, "3 replicas cannot share 4 micro-batches a commit evenly");
	rig_fini(&r);
	rig_init(&r);
	rig_sets(&r, "system.name=cyclic machine.workers=2 train.microbatches=2 train.batch=4 model.norm=batch");
	MR_CHECK_FAIL(rig_try_open(&r), MR_ECONFIG, "a model whose layers keep running means is not possible where");
	rig_fini(&r);
}

void mr_suite_cyclic(void);
void mr_suite_cyclic(void)
{
	MR_SUITE("cyclic");
	MR_TEST(the_papers_rules);
	MR_TEST(the_weights_of_2bw);
	MR_TEST(half_the_activations);
	MR_TEST(refused);
}
