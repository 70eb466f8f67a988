#include "small_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/zeroed.h"
#include "check.h"
#include "lower/check.h"
#include "lower/lower.h"

static const mr_shape row = {.rows = 1, .cols = SMALL_COLS};

/* @cols: columns of every layer. */
static void init_model(small_model *m, uint16_t n_stages, int64_t cols)
{
	const mr_shape wide = {.rows = 1, .cols = cols};
	uint16_t x = 0;

	CU_ASSERT_FATAL(n_stages <= SMALL_MOST);
	*m = (small_model){.k = mr_kernels_find("reference", MR_F64)};
	MR_CHECK_OK(mr_graph_create(wide, wide, &m->graph));
	for (uint16_t s = 0; s < n_stages; s++) {
		const mr_layer_cfg cfg = {.out = cols};
		char name[16];

		snprintf(name, sizeof(name), "fc.%u", s);
		m->first[s] = s;
		MR_CHECK_OK(mr_graph_add(m->graph, mr_layer_find("linear"), name, &cfg, &x, 1, &x));
	}
	MR_CHECK_OK(mr_graph_add(m->graph, mr_layer_find("mse"), "loss", &(mr_layer_cfg){0}, &x, 1, &x));
	MR_CHECK_OK(mr_graph_finish(m->graph));
	m->first[n_stages] = n_stages + 1u;
	m->partition = (mr_partition){.n_stages = n_stages, .first = m->first};
}

void small_model_init(small_model *m, uint16_t n_stages)
{
	init_model(m, n_stages, SMALL_COLS);
}

void small_model_fini(small_model *m)
{
	mr_graph_destroy(m->graph);
}

/* --- a run --- */

static void sample(uint64_t g, void *input, void *target)
{
	for (int i = 0; i < SMALL_COLS; i++) {
		((double *)input)[i] = (double)(g + 1);
		((double *)target)[i] = -(double)(g + 1);
	}
}

static void train(const mr_dataset *d, uint64_t g, void *input, void *target)
{
	(void)d;
	sample(g, input, target);
}

static void valid(const mr_dataset *d, uint64_t i, void *input, void *target)
{
	(void)d;
	sample(1000 + i, input, target);
}

static const mr_dataset_ops data_ops = {.name = "small", .train = train, .valid = valid};
static const uint32_t cpu = 0;

static void init_optim(mr_optim *o, const char *name)
{
	const mr_optim_ops *ops = mr_optim_find(name);
	mr_values *values;

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	MR_CHECK_OK(mr_values_create(ops->options, &values));
	mr_optim_init(o, ops, values);
	mr_values_destroy(values);
}

void small_run_init(small_run *r, mr_plan *plan)
{
	*r = (small_run){.plan = plan, .lr = {.kind = MR_LR_CONSTANT, .base = 0.001}};
	MR_CHECK_OK(mr_plan_lower(plan, NULL));
	MR_CHECK_OK(mr_plan_check(plan));
	small_model_init(&r->model, plan->n_stages);
	init_optim(&r->optim, "sgd");
	r->data = (mr_dataset){.ops = &data_ops, .input = row, .target = row, .n_train = 64, .n_valid = SMALL_VALID};
	for (uint16_t w = 0; w < plan->n_workers; w++)
		r->worker[w] = (mr_place_worker){.n_threads = 1, .cpu = &cpu};
	r->place = (mr_place){.worker = r->worker, .n_workers = plan->n_workers};
	r->c = (mr_run_config){
		.graph = r->model.graph,
		.partition = &r->model.partition,
		.plan = plan,
		.kernels = r->model.k,
		.data = &r->data,
		.optim = &r->optim,
		.lr = &r->lr,
		.place = &r->place,
		.samples = 2,
		.spin_us = UINT32_MAX,
	};
}

void small_run_start(small_run *r)
{
	MR_CHECK_OK(mr_run_create(&r->c, &r->run));
	for (uint16_t w = 0; w < r->plan->n_workers; w++)
		MR_CHECK_OK(mr_run_setup_worker(r->run, w));
	MR_CHECK_OK(mr_run_reset(r->run));
}

void small_run_fini(small_run *r)
{
	for (uint16_t w = 0; r->run && w < r->plan->n_workers; w++)
		mr_run_finish_worker(r->run, w);
	mr_run_destroy(r->run);
	mr_plan_destroy(r->plan);
	small_model_fini(&r->model);
}

/* --- weights alone --- */

void small_weights_init(small_weights *w, const char *optim, uint32_t cap, uint32_t n_shards)
{
	small_weights_init_wide(w, optim, cap, n_shards, SMALL_COLS);
}

void small_weights_init_wide(small_weights *w, const char *optim, uint32_t cap, uint32_t n_shards, int64_t cols)
{
	memset(w, 0, sizeof(*w));
	init_model(&w->model, 1, cols);
	init_optim(&w->optim, optim);
	MR_CHECK_OK(mr_stage_create(w->model.graph, 0, 2, 1, w->model.k, false, NULL, &w->stage));
	MR_CHECK_OK(w->model.k->ctx_create(w->model.k, 1, &w->kc));
	w->shard = mr_zeroed(n_shards * sizeof(*w->shard));
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->shard);
	w->b = (mr_stage_weights){.stage = w->stage, .k = w->model.k, .optim = w->optim, .cap = cap, .shard = w->shard,
				  .n_shards = n_shards, .sum = 1, .in_step = 1, .rate = 1};
	for (uint32_t i = 0; i < n_shards; i++) {
		w->shard[i].need = 1;
		w->shard[i].block = cols;
		w->shard[i].place = i;
	}
	mr_weights_cut(&w->b);
}

static void lay_out(small_weights *w, mr_arena *a)
{
	for (uint32_t i = 0; i < w->b.n_shards; i++)
		mr_weights_layout(&w->b, a, (uint8_t)i);
}

void small_weights_layout(small_weights *w)
{
	mr_arena a;

	mr_arena_init(&a, NULL, 0);
	lay_out(w, &a);
	w->memory = mr_zeroed(a.used);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w->memory);
	mr_arena_init(&a, w->memory, a.used);
	lay_out(w, &a);
	mr_weights_join(&w->b);
	mr_version_count_begin(&w->b.version_count, 0);
}

void small_weights_fini(small_weights *w)
{
	mr_weights_fini(&w->b);
	w->model.k->ctx_destroy(w->kc);
	mr_stage_destroy(w->stage);
	small_model_fini(&w->model);
	free(w->shard);
	free(w->memory);
}

/* The byte of element @i among the parameters, which begin on cache lines. */
static size_t place_of(const small_weights *w, int64_t i, size_t (*at)(const mr_stage *s, uint32_t p))
{
	const mr_graph *g = w->model.graph;
	uint32_t p = 0;

	for (; i >= g->params[p].n; p++)
		i -= g->params[p].n;
	return at(w->stage, p) + (size_t)i * sizeof(double);
}

double *small_weight(small_weights *w, uint8_t shard, uint64_t v, int64_t i)
{
	return (double *)((uint8_t *)mr_weights_at(&w->b, shard, v) + place_of(w, i, mr_stage_weight_at));
}

double *small_grad(small_weights *w, uint8_t shard, int64_t i)
{
	return (double *)(w->shard[shard].grads + place_of(w, i, mr_stage_grad_at));
}

int64_t small_elements(const small_weights *w)
{
	return mr_graph_n_params(w->model.graph);
}
