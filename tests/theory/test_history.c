/* test_history.c - versions kept without a plan, in one type and with masters, and what replicas of them average to. */
#include "perf/theory/history.h"

#include <math.h>

#include "check.h"
#include "exec/small_run.h"
#include "nn/element.h"
#include "perf/theory/unit_run.h"

typedef struct made {
	small_model model;
	mr_stage *stage;
	mr_histories h;
	mr_kctx *kc;
	mr_optim optim;
} made;

/* One stage of SMALL_COLS x SMALL_COLS weights and a bias, @cap versions, all weights @value; steps by sgd. */
static void make(made *m, mr_dtype dtype, uint32_t cap, double value)
{
	const mr_optim_ops *ops = mr_optim_find("sgd");
	mr_values *values;

	small_model_init(&m->model, 1);
	m->model.k = mr_kernels_find("reference", dtype);
	MR_CHECK_OK(mr_values_create(ops->options, &values));
	mr_optim_init(&m->optim, ops, values);
	mr_values_destroy(values);
	MR_CHECK_OK(mr_stage_create(m->model.graph, 0, 2, 1, m->model.k, true, NULL, &m->stage));
	MR_CHECK_OK(m->model.k->ctx_create(m->model.k, 1, &m->kc));
	MR_CHECK_OK(mr_histories_create(&m->stage, 1, &cap, m->model.k, &m->optim, 1, &m->h));
	for (uint32_t p = 0; p < 2; p++)
		for (int64_t i = 0; i < m->model.graph->params[p].n; i++) {
			size_t at = mr_stage_weight_at(m->stage, p), each = mr_dtype_bytes(m->model.k->types.weights);

			mr_element_put_master(m->model.k->types.weights,
					      (char *)mr_history_weights(&m->h.at[0], 0) + at,
					      m->h.at[0].rest ? m->h.at[0].rest + at / each : NULL, i, value);
		}
}

static void unmake(made *m)
{
	mr_histories_destroy(&m->h);
	m->model.k->ctx_destroy(m->kc);
	mr_stage_destroy(m->stage);
	small_model_fini(&m->model);
}

/* A step against gradients that are all @g. */
static void commit(made *m, double lr, double g)
{
	mr_history *h = &m->h.at[0];

	for (uint32_t p = 0; p < 2; p++)
		for (int64_t i = 0; i < m->model.graph->params[p].n; i++)
			mr_element_put(m->model.k->types.gradients, h->grads + mr_stage_grad_at(m->stage, p), i, g);
	MR_CHECK_OK(mr_history_commit(h, m->model.k, m->kc, &m->optim, lr, h->latest + 1));
}

/* The last weight of the bias, which lies behind the matrix. */
static double weight(const made *m, uint64_t v)
{
	return mr_element(m->model.k->types.weights,
			  (const char *)mr_history_weights(&m->h.at[0], v) + mr_stage_weight_at(m->stage, 1),
			  SMALL_COLS - 1);
}

static void a_version_overwrites_the_one_cap_before(void)
{
	for (uint32_t cap = 1; cap <= 3; cap++) {
		made m;

		make(&m, MR_F64, cap, 8);
		for (uint64_t v = 1; v < 8; v++) {
			commit(&m, 0.5, 1);
			CU_ASSERT_EQUAL(m.h.at[0].latest, v);
			for (uint64_t u = v < cap ? 0 : v + 1 - cap; u <= v; u++)
				CU_ASSERT_EQUAL(weight(&m, u), 8 - 0.5 * (double)u);
		}
		CU_ASSERT_PTR_NULL(m.h.at[0].rest);
		unmake(&m);
	}
}

/* Steps far below the distance of two bf16 numbers add up in the master, and versions that are kept stay. */
static void small_steps_add_up_in_masters(void)
{
	made m;

	make(&m, MR_BF16, 2, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m.h.at[0].rest);
	for (int i = 0; i < 64; i++)
		commit(&m, 1.0 / 4096, 1);
	CU_ASSERT_EQUAL(weight(&m, 64), 1 - 64.0 / 4096);
	commit(&m, 0.25, 1);
	CU_ASSERT_EQUAL(weight(&m, 64), 1 - 64.0 / 4096);
	CU_ASSERT_EQUAL(weight(&m, 65), mr_bf16_widen(mr_bf16_round(0.75f - 64.0f / 4096)));
	unmake(&m);
}

/* Of the masters: both weights are the same bf16 number, and so is the mean, but the rest says what it stands for. */
static void averages_are_of_masters(void)
{
	const mr_types types = MR_TYPES_BF16;
	uint16_t mean[64];
	int16_t rest[64];
	mr_histories both[2];
	made m[2];

	for (int i = 0; i < 2; i++) {
		make(&m[i], MR_BF16, 1, 1);
		commit(&m[i], i ? 1.0 / 1024 : 3.0 / 1024, 1);
		both[i] = m[i].h;
	}
	CU_ASSERT_FATAL(mr_stage_size(m[0].stage)->weight_bytes <= sizeof(mean));
	mr_unit_mean(both, 2, 0, &types, mean, rest);
	CU_ASSERT_EQUAL(mr_element_master(MR_BF16, mean, rest, 0), 1 - 2.0 / 1024);
	for (int i = 0; i < 2; i++)
		unmake(&m[i]);
}

void mr_suite_history(void)
{
	MR_SUITE("history");
	MR_TEST(a_version_overwrites_the_one_cap_before);
	MR_TEST(small_steps_add_up_in_masters);
	MR_TEST(averages_are_of_masters);
}
