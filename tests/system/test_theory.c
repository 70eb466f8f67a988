/*
 * test_theory.c - PipeDream, LocalSGD and Randomized PipeDream in unit time on the recorded problems
 * (tests/golden/rpd): every value of the objective after every update and in every time step, final weights, gradient
 * norms, the bound's ingredients.
 */
#include "theory.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/result.h"
#include "check.h"

#define MOST 256

typedef struct curve {
	theory *t;
	double step[MOST], update[MOST], grad[MOST], distance[MOST];
	double w[THEORY_D];
	uint32_t n_step, n_update;
	double largest;        /* block gradient */
	uint16_t replicas;
} curve;

static void set_all(curve *c, const mr_histories *model)
{
	double *at = c->w;

	for (uint16_t s = 0; s < THEORY_STAGES; s++) {
		double w[8];

		mr_unit_mean(model, c->replicas, s, &(mr_types)MR_TYPES_ALL(MR_F64), w, NULL);
		mr_objective_set(c->t->f, s, w, MR_F64);
		memcpy(at, w, (size_t)(s == 0 ? 4 : 3) * sizeof(double));
		at += s == 0 ? 4 : 3;
	}
}

static bool on_unit(void *arg, const mr_unit_event *e)
{
	curve *c = arg;

	set_all(c, e->model);
	CU_ASSERT_FATAL(c->n_step < MOST && c->n_update < MOST);
	if (e->kind == MR_UNIT_STEP) {
		c->step[c->n_step++] = mr_objective_value(c->t->f);
		return true;
	}
	c->grad[c->n_update] = mr_objective_gradient(c->t->f, NULL);
	c->update[c->n_update++] = mr_objective_value(c->t->f);
	return true;
}

static double norm(int64_t n, const double *g)
{
	double s = 0;

	for (int64_t i = 0; i < n; i++)
		s += g[i] * g[i];
	return sqrt(s);
}

static bool on_aged(void *arg, const mr_aged_event *e)
{
	curve *c = arg;
	double sum = 0;

	set_all(c, e->model);
	CU_ASSERT_FATAL(c->n_update < MOST);
	c->grad[c->n_update] = mr_objective_gradient(c->t->f, NULL);
	for (uint16_t s = 0; s < THEORY_STAGES; s++) {
		const mr_history *h = &e->model->at[s];
		const double *now = mr_history_latest(h), *then = mr_history_weights(h, e->read[s]);

		for (int i = 0; i < (s == 0 ? 4 : 3); i++)
			sum += (now[i] - then[i]) * (now[i] - then[i]);
	}
	c->distance[c->n_update] = sqrt(sum);
	c->largest = fmax(c->largest,
			  norm(e->stage == 0 ? 4 : 3, (const double *)(const void *)e->model->at[e->stage].grads));
	c->update[c->n_update++] = mr_objective_value(c->t->f);
	return true;
}

static void check_list(const char *what, const mr_json *want, const double *got, uint32_t n)
{
	CU_ASSERT_EQUAL_FATAL(mr_json_size(want), n);
	for (uint32_t i = 0; i < n; i++)
		theory_number(what, i, mr_json_at(want, i), got[i]);
}

/* Curves that begin with the value at w = 0. */
static void check_steps(const mr_json *want, const curve *c)
{
	CU_ASSERT_EQUAL_FATAL(mr_json_size(want), c->n_step + 1u);
	for (uint32_t i = 0; i < c->n_step; i++)
		theory_number("f in a time step", i, mr_json_at(want, i + 1), c->step[i]);
}

static curve run_unit(theory *t, mr_unit_time *u)
{
	curve c = {.t = t, .replicas = u->n_replicas};
	mr_unit_config config = theory_unit(t, u);

	config.observer = on_unit;
	config.arg = &c;
	MR_CHECK_OK(mr_unit_run(&config));
	return c;
}

static curve run_aged(theory *t, const mr_aged *steps)
{
	curve c = {.t = t, .replicas = 1};
	mr_aged_config config = theory_aged(t, steps);

	config.observer = on_aged;
	config.arg = &c;
	MR_CHECK_OK(mr_aged_run(&config, NULL));
	return c;
}

static double mean(uint32_t n, const double *x, double first)
{
	double sum = first;

	for (uint32_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (n + 1);
}

/* --- constants ---------------------------------------------------------------------------------------------------- */

static void constants(bool logistic)
{
	double l, f_star;
	theory t;

	theory_open(&t, logistic);
	MR_CHECK_OK(mr_objective_smoothness(t.f, &l));
	theory_number("L", 0, mr_json_get(t.want, "L"), l);
	theory_number("f(0)", 0, mr_json_get(t.want, "f0"), mr_objective_value(t.f));
	MR_CHECK_OK(mr_objective_minimum(t.f, &f_star));
	theory_number("f*", 0, mr_json_get(t.want, "f_star"), f_star);
	theory_number("f(0) again", 0, mr_json_get(t.want, "f0"), mr_objective_value(t.f));
	theory_close(&t);
}

static void known_quantities(void)
{
	constants(false);
	constants(true);
}

/* --- PipeDream, and the same as steps of one block each ------------------------------------------------------------
 */

static void check_pipedream(bool logistic)
{
	const mr_json *want;
	mr_unit_time u;
	curve c, again;
	mr_aged *a;
	theory t;

	theory_open(&t, logistic);
	want = mr_json_get(t.want, "PD");
	MR_CHECK_OK(mr_unit_greedy(THEORY_STAGES, 16, 0, &u));
	c = run_unit(&t, &u);
	check_steps(mr_json_get(want, "objective_per_timestep"), &c);
	check_list("f after an update", mr_json_get(want, "objective_per_block_update"), c.update, c.n_update);
	check_list("w", mr_json_get(want, "final_w"), c.w, THEORY_D);
	theory_number("gradient", 0, mr_json_get(want, "final_full_grad_norm_sq"), c.grad[c.n_update - 1]);
	MR_CHECK_OK(mr_aged_of_timeline(&u, 8, &a));
	again = run_aged(&t, a);
	CU_ASSERT_EQUAL(again.n_update, c.n_update);
	CU_ASSERT(memcmp(again.w, c.w, sizeof(c.w)) == 0);
	CU_ASSERT(memcmp(again.update, c.update, c.n_update * sizeof(double)) == 0);
	mr_aged_destroy(a);
	mr_unit_time_fini(&u);
	theory_close(&t);
}

static void pipedream_and_its_steps(void)
{
	check_pipedream(false);
	check_pipedream(true);
}

/* --- LocalSGD ----------------------------------------------------------------------------------------------------- */

static void check_local(bool logistic)
{
	const mr_json *want;
	mr_unit_time u;
	theory t;
	curve c;

	theory_open(&t, logistic);
	want = mr_json_get(t.want, "LocalSGD_R4_H2");
	MR_CHECK_OK(mr_unit_rounds(THEORY_STAGES, 16, 4, 2, &u));
	CU_ASSERT_EQUAL(u.length, (uint32_t)mr_json_int(mr_json_get(want, "timeline_len")));
	c = run_unit(&t, &u);
	check_steps(mr_json_get(want, "objective_per_timestep"), &c);
	check_list("w", mr_json_get(want, "final_w"), c.w, THEORY_D);
	mr_unit_time_fini(&u);
	want = mr_json_get(t.want, "LocalSGD_R4_H2_N20_partial_last_round");
	MR_CHECK_OK(mr_unit_rounds(THEORY_STAGES, 20, 4, 2, &u));
	CU_ASSERT_EQUAL(u.length, (uint32_t)mr_json_int(mr_json_get(want, "timeline_len")));
	c = run_unit(&t, &u);
	theory_number("f", 0, mr_json_get(want, "objective_final"), c.step[c.n_step - 1]);
	check_list("w", mr_json_get(want, "final_w"), c.w, THEORY_D);
	mr_unit_time_fini(&u);
	theory_close(&t);
}

static void local_sgd(void)
{
	check_local(false);
	check_local(true);
}

/* The latest weights of the first replica, parameter after parameter. */
typedef struct kept {
	const mr_graph *g;
	uint8_t at[8192];
	size_t bytes;
} kept;

static bool keep(void *arg, const mr_unit_event *e)
{
	kept *k = arg;

	k->bytes = 0;
	for (uint16_t s = 0; s < e->model->n; s++) {
		const mr_history *h = &e->model->at[s];
		uint32_t first, end;

		mr_stage_params(h->stage, &first, &end);
		for (uint32_t p = first; p < end; p++) {
			size_t bytes = (size_t)k->g->params[p].n * sizeof(uint16_t);

			CU_ASSERT_FATAL(k->bytes + bytes <= sizeof(k->at));
			memcpy(k->at + k->bytes, (const char *)mr_history_latest(h) + mr_stage_weight_at(h->stage, p),
			       bytes);
			k->bytes += bytes;
		}
	}
	return true;
}

/* Weights and masters of their own types: steps and averages in unit time end in the engine's weights. */
static void local_sgd_in_bf16(void)
{
	static kept k;
	mr_unit_config c;
	mr_unit_time u;
	mr_state st;
	size_t at = 0;
	theory t = {0};

	rig_init(&t.r);
	rig_sets(&t.r, "precision=bf16 system.name=local_sgd system.replicas=2 system.every=2 train.batch=4 "
		       "train.microbatches=2 machine.workers=4");
	rig_open(&t.r);
	MR_CHECK_OK(mr_unit_rounds(THEORY_STAGES, 16, 2, 2, &u));
	c = theory_unit(&t, &u);
	k.g = c.graph;
	c.observer = keep;
	c.arg = &k;
	MR_CHECK_OK(mr_unit_run(&c));
	mr_unit_time_fini(&u);
	rig_start(&t.r);
	rig_run(&t.r, 8, NULL);
	MR_CHECK_OK(mr_executor_state(&t.r.s.executor, &st));
	for (size_t i = 0; i < st.model.n; i++) {
		CU_ASSERT_FATAL(at + st.model.at[i].bytes <= k.bytes);
		CU_ASSERT(memcmp(st.model.at[i].data, k.at + at, st.model.at[i].bytes) == 0);
		at += st.model.at[i].bytes;
	}
	CU_ASSERT_EQUAL(at, k.bytes);
	mr_state_fini(&st);
	theory_close(&t);
}

/* --- drawn steps -------------------------------------------------------------------------------------------------- */

static void check_drawn(theory *t, uint32_t delta)
{
	double l, f_star, f0 = mr_json_double(mr_json_get(t->want, "f0")), g0, bound, g2, k, d = delta;
	const mr_json *want, *first;
	mr_aged *a = theory_lcg(64, delta);
	char key[32];
	curve c;

	snprintf(key, sizeof(key), "RPD_LCG_delta%u", delta);
	want = mr_json_get(t->want, key);
	CU_ASSERT_FATAL(mr_json_is_object(want));
	first = mr_json_get(want, "first6");
	for (size_t i = 0; i < mr_json_size(first); i++) {
		CU_ASSERT_EQUAL(a->stage[i], (uint16_t)mr_json_int(mr_json_get(mr_json_at(first, i), "stage")));
		CU_ASSERT_EQUAL(a->batch[i], (uint32_t)mr_json_int(mr_json_get(mr_json_at(first, i), "batch")));
	}
	c = run_aged(t, a);
	check_list("f after an update", mr_json_get(want, "objective_per_block_update"), c.update, c.n_update);
	check_list("w", mr_json_get(want, "final_w"), c.w, THEORY_D);
	check_list("stale distance", mr_json_get(want, "stale_distance"), c.distance, c.n_update);
	theory_number("G", 0, mr_json_get(want, "G_est"), c.largest);
	for (uint16_t s = 0; s < THEORY_STAGES; s++)
		mr_objective_set(t->f, s, (double[4]){0}, MR_F64);
	g0 = mr_objective_gradient(t->f, NULL);
	theory_number("mean gradient", 0, mr_json_get(want, "avg_full_grad_norm_sq"), mean(c.n_update, c.grad, g0));
	/* 2 S (f(0) - f*) / (lr K) + lr S L G^2 + (lr L delta G)^2, over K = 65 recorded norms */
	MR_CHECK_OK(mr_objective_smoothness(t->f, &l));
	MR_CHECK_OK(mr_objective_minimum(t->f, &f_star));
	g2 = c.largest * c.largest;
	k = c.n_update + 1;
	bound = 2 * THEORY_STAGES * (f0 - f_star) / (0.25 * k) + 0.25 * THEORY_STAGES * l * g2 +
		0.25 * 0.25 * l * l * d * d * g2;
	theory_number("bound", 0, mr_json_get(want, "theory_bound_last"), bound);
	mr_aged_destroy(a);
}

static void drawn_steps(void)
{
	static const uint32_t deltas[] = {0, 3, 14};

	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < 3; i++) {
			theory t;

			theory_open(&t, kind);
			check_drawn(&t, deltas[i]);
			theory_close(&t);
		}
}

/* A sequence that was drawn elsewhere, given as data. */
static void recorded_steps(void)
{
	const mr_json *want, *delays;
	mr_aged *a;
	theory t;
	curve c;

	theory_open(&t, false);
	want = mr_json_get(t.want, "RPD_numpy_seed0_delta14");
	delays = mr_json_get(want, "delays");
	MR_CHECK_OK(mr_aged_create(THEORY_STAGES, (uint32_t)mr_json_size(delays), &a));
	for (uint32_t k = 0; k < a->n_steps; k++) {
		a->stage[k] = (uint16_t)mr_json_int(mr_json_at(mr_json_get(want, "stages"), k));
		a->batch[k] = (uint32_t)mr_json_int(mr_json_at(mr_json_get(want, "batches"), k));
		for (uint16_t b = 0; b < THEORY_STAGES; b++)
			a->delay[k * THEORY_STAGES + b] = (uint32_t)mr_json_int(mr_json_at(mr_json_at(delays, k), b));
	}
	MR_CHECK_OK(mr_aged_index(a));
	c = run_aged(&t, a);
	theory_number("f", 0, mr_json_get(want, "objective_final"), c.update[c.n_update - 1]);
	check_list("w", mr_json_get(want, "final_w"), c.w, THEORY_D);
	mr_aged_destroy(a);
	theory_close(&t);
}

/* Recorded noise is used up in the order of the backward operations: one micro-batch, from the last block to the first.
 */
static void recorded_noise(void)
{
	mr_unit_config config;
	double noise[THEORY_D];
	curve quiet, c;
	mr_unit_time u;
	theory t;

	theory_open(&t, false);
	MR_CHECK_OK(mr_unit_greedy(THEORY_STAGES, 1, 0, &u));
	quiet = run_unit(&t, &u);
	for (int i = 0; i < THEORY_D; i++)
		noise[i] = 1 + i;
	c = (curve){.t = &t, .replicas = 1};
	config = theory_unit(&t, &u);
	config.observer = on_unit;
	config.arg = &c;
	config.noise = noise;
	config.n_noise = THEORY_D;
	MR_CHECK_OK(mr_unit_run(&config));
	for (int i = 0; i < THEORY_D; i++) { /* blocks of 4, 3, 3, 3 coordinates: where block b's noise begins is 13
	                                        less its end */
		int end = i < 4 ? 4 : i < 7 ? 7 : i < 10 ? 10 : 13, first = end == 4 ? 0 : end - 3;

		CU_ASSERT_DOUBLE_EQUAL(c.w[i], quiet.w[i] - 0.25 * noise[THEORY_D - end + i - first], 1e-15);
	}
	config.n_noise = THEORY_D - 1;
	c.n_step = c.n_update = 0;
	MR_CHECK_FAIL(mr_unit_run(&config), MR_EDATA, "the recorded noise ends after 12 numbers");
	mr_unit_time_fini(&u);
	theory_close(&t);
}

/* --- the same in parallel ------------------------------------------------------------------------------------------
 */

/* @steps on the engine, held up at random; then the weights are the recorded ones of @want, and G where that is
 * recorded. */
static void check_parallel(theory *t, const char *what, uint64_t steps)
{
	const mr_json *want = mr_json_get(t->want, what), *w = mr_json_get(want, "final_w");
	mr_state st;
	size_t at = 0;

	rig_start(&t->r);
	rig_delays(200, steps);
	rig_run(&t->r, steps, NULL);
	rig_delays(0, 0);
	MR_CHECK_OK(mr_executor_state(&t->r.s.executor, &st));
	for (size_t i = 0; i < st.model.n; i++)
		for (uint64_t j = 0; j < st.model.at[i].bytes / sizeof(double); j++, at++)
			theory_number(what, at, mr_json_at(w, at), ((const double *)st.model.at[i].data)[j]);
	CU_ASSERT_EQUAL(at, THEORY_D);
	mr_state_fini(&st);
	if (mr_json_is_number(mr_json_get(want, "G_est")))
		theory_number("G", 0, mr_json_get(want, "G_est"),
			      mr_run_largest_gradient(mr_executor_run_of(&t->r.s.executor)));
}

static void check_steps_in_parallel(bool logistic, uint32_t delta, const char *path)
{
	mr_aged *a = theory_lcg(64, delta);
	char what[32], sets[256];
	mr_strbuf text = {0};
	theory t;

	mr_aged_print(a, &text);
	MR_CHECK_OK(mr_result_write(path, text.data, text.len, MR_RESULT_OWN));
	mr_strbuf_fini(&text);
	mr_aged_destroy(a);
	snprintf(sets, sizeof(sets), "system.name=rpd train.steps=64 system.record=%s", path);
	snprintf(what, sizeof(what), "RPD_LCG_delta%u", delta);
	theory_open_with(&t, logistic, sets);
	check_parallel(&t, what, 64);
	theory_close(&t);
}

static void in_parallel(void)
{
	char path[128];
	rig folder;

	rig_init(&folder);
	snprintf(path, sizeof(path), "%s/drawn.steps", folder.dir);
	for (int kind = 0; kind < 2; kind++) {
		theory t;

		check_steps_in_parallel(kind, 0, path);
		check_steps_in_parallel(kind, 3, path);
		check_steps_in_parallel(kind, 14, path);
		theory_open_with(&t, kind, "system.order=greedy system.costs=1,0.5,0.5"); /* B as long as F */
		check_parallel(&t, "PD", 16);
		theory_close(&t);
		theory_open_with(
			&t, kind,
			"system.name=local_sgd system.replicas=4 system.every=2 train.microbatches=4 train.batch=16");
		check_parallel(&t, "LocalSGD_R4_H2", 4);
		theory_close(&t);
	}
	rig_fini(&folder);
}

void mr_suite_theory(void);
void mr_suite_theory(void)
{
	MR_SUITE("theory");
	MR_TEST(known_quantities);
	MR_TEST(pipedream_and_its_steps);
	MR_TEST(local_sgd);
	MR_TEST(local_sgd_in_bf16);
	MR_TEST(drawn_steps);
	MR_TEST(recorded_steps);
	MR_TEST(recorded_noise);
	MR_TEST(in_parallel);
}
