/*
 * test_dlrm_golden.c - dlrm against PyTorch (tests/golden/torch/dlrm.json): loss, logits and gradients, and five steps
 * of plain SGD, of lazy momentum, and of SparseAdam on the tables with Adam on the rest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "graph_run.h"
#include "models/registry.h"
#include "nn/element.h"
#include "nn/optim.h"

#define F64_TOLERANCE 1e-10 /* both sides are f64 and differ by the order of sums */
#define F32_TOLERANCE 1e-5

typedef struct golden {
	mr_json *root;
	const mr_json *record;
	mr_values *values;
	mr_graph *graph;
	int64_t batch, numbers, tables;
	int32_t *input;
	void *target;
} golden;

static void set_list(const golden *m, const char *key)
{
	const mr_json *list = mr_json_get(m->record, key);
	double value[16];

	for (size_t i = 0; i < mr_json_size(list); i++)
		value[i] = mr_json_double(mr_json_at(list, i));
	MR_CHECK_OK(mr_values_set_floats(m->values, key, value, mr_json_size(list)));
}

static void load(golden *m)
{
	char path[MR_GOLDEN_PATH];
	const mr_model_ops *model = mr_model_find("dlrm");
	mr_model_data data = {.target = {.rows = 1, .cols = 1}, .target_high = 1};

	*m = (golden){0};
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/dlrm.json"), 1 << 24, &m->root));
	m->record = mr_json_get(m->root, "model");
	m->batch = mr_json_int(mr_json_get(m->record, "batch"));
	data.numbers = m->numbers = mr_json_int(mr_json_get(m->record, "numbers"));
	m->tables = (int64_t)mr_json_size(mr_json_get(m->record, "rows"));
	data.input = (mr_shape){.rows = 1, .cols = m->numbers + m->tables, .tokens = true};
	MR_CHECK_OK(mr_values_create(model->options, &m->values));
	MR_CHECK_OK(mr_values_set_int(m->values, "width", mr_json_int(mr_json_get(m->record, "width"))));
	set_list(m, "rows"), set_list(m, "bottom"), set_list(m, "top");
	MR_CHECK_OK(mr_model_build(model, m->values, &data, &m->graph));
	m->input = calloc((size_t)(m->batch * data.input.cols), sizeof(*m->input));
	m->target = calloc((size_t)m->batch, sizeof(double));
	CU_ASSERT_FATAL(m->input && m->target);
}

static void unload(golden *m)
{
	mr_graph_destroy(m->graph);
	mr_values_destroy(m->values);
	mr_json_destroy(m->root);
	free(m->input);
	free(m->target);
}

/* Micro-batch @step: numbers as the bits of f32, which holds them. */
static void read_micro(golden *m, const mr_kernels *k, size_t step)
{
	const mr_json *x = mr_json_at(mr_json_get(m->record, "x"), step);
	const mr_json *c = mr_json_at(mr_json_get(m->record, "categories"), step);
	const mr_json *t = mr_json_at(mr_json_get(m->record, "targets"), step);
	int32_t *to = m->input;

	for (int64_t i = 0; i < m->batch; i++) {
		for (int64_t j = 0; j < m->numbers; j++, to++) {
			float number = (float)mr_json_double(mr_json_at(x, (size_t)(i * m->numbers + j)));

			memcpy(to, &number, sizeof(number));
		}
		for (int64_t j = 0; j < m->tables; j++)
			*to++ = (int32_t)mr_json_int(mr_json_at(c, (size_t)(i * m->tables + j)));
		mr_element_put(k->types.compute, m->target, i, mr_json_double(mr_json_at(t, (size_t)i)));
	}
}

/* Index in PyTorch's tensor of our number @i: matrices of linear layers are [in, out] here and [out, in] there. */
static size_t torch_index(const mr_param *p, int64_t i)
{
	return (size_t)(p->rank == 2 && !p->lazy ? i % p->dim[1] * p->dim[0] + i / p->dim[1] : i);
}

static void set_weights(const golden *m, graph_run *r)
{
	for (uint32_t p = 0; p < m->graph->n_params; p++) {
		const mr_param *param = &m->graph->params[p];
		const mr_json *list = mr_json_get(mr_json_get(m->record, "params"), param->name);

		CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)param->n);
		for (int64_t i = 0; i < param->n; i++)
			mr_element_put(r->k->types.weights, r->w[p], i,
				       mr_json_double(mr_json_at(list, torch_index(param, i))));
	}
}

static void check_near(const char *what, const char *of, const mr_kernels *k, double got, double want, double tolerance)
{
	bool ok = fabs(got - want) <= tolerance * (1 + fabs(want));

	if (!ok)
		fprintf(stderr, "\n%s of %s, %s %s: %.17g, recorded %.17g\n", what, of, k->name,
			mr_types_name(&k->types), got, want);
	CU_ASSERT_FATAL(ok);
}

static void check_tensors(const golden *m, const char *what, const mr_kernels *k, mr_dtype t, void *const *got,
			  const mr_json *want, double tolerance)
{
	CU_ASSERT_EQUAL(mr_json_size(want), m->graph->n_params);
	for (uint32_t p = 0; p < m->graph->n_params; p++) {
		const mr_param *param = &m->graph->params[p];
		const mr_json *list = mr_json_get(want, param->name);

		for (int64_t i = 0; i < param->n; i++)
			check_near(what, param->name, k, mr_element(t, got[p], i),
				   mr_json_double(mr_json_at(list, torch_index(param, i))), tolerance);
	}
}

static void check_once(golden *m, const mr_kernels *k, double tolerance)
{
	const mr_json *logits = mr_json_get(m->record, "logits");
	const void *out;
	graph_run r;
	double loss;

	graph_run_init(&r, m->graph, k, m->batch, 1);
	set_weights(m, &r);
	read_micro(m, k, 0);
	loss = graph_run_forward(&r, m->input, m->target);
	check_near("loss", "dlrm", k, loss, mr_json_double(mr_json_get(m->record, "loss")), tolerance);
	out = r.value[m->graph->nodes[m->graph->n_nodes - 1].in[0]];
	for (int64_t i = 0; i < m->batch; i++)
		check_near("logit", "dlrm", k, mr_element(k->types.activations, out, i),
			   mr_json_double(mr_json_at(logits, (size_t)i)), tolerance);
	graph_run_backward(&r, false);
	check_tensors(m, "gradient", k, k->types.gradients, r.dw, mr_json_get(m->record, "grads"), tolerance);
	graph_run_fini(&r);
}

static void loss_and_gradients(void)
{
	golden m;

	load(&m);
	check_once(&m, mr_kernels_find("reference", MR_F64), F64_TOLERANCE);
	check_once(&m, mr_kernels_find("reference", MR_F32), F32_TOLERANCE);
	if (mr_kernels_find("fused", MR_F32))
		check_once(&m, mr_kernels_find("fused", MR_F32), F32_TOLERANCE);
	unload(&m);
}

/* The run @name, by the optimizer @optim with "key=value". */
static void check_run(golden *m, const char *name, const char *optim, const char *key, const char *value)
{
	const mr_kernels *k = mr_kernels_find("reference", MR_F64);
	const mr_json *run = mr_json_get(mr_json_get(m->record, "runs"), name), *losses = mr_json_get(run, "losses");
	void *state[MR_OPTIM_STATES][64];
	mr_values *values;
	mr_optim o;
	graph_run r;

	CU_ASSERT_FATAL(m->graph->n_params <= 64);
	MR_CHECK_OK(mr_values_create(mr_optim_find(optim)->options, &values));
	if (key)
		MR_CHECK_OK(mr_values_set_text(values, key, value));
	mr_optim_init(&o, mr_optim_find(optim), values);
	graph_run_init(&r, m->graph, k, m->batch, 1);
	set_weights(m, &r);
	for (uint32_t p = 0; p < m->graph->n_params; p++)
		for (int i = 0; i < MR_OPTIM_STATES; i++)
			state[i][p] = calloc((size_t)m->graph->params[p].n, sizeof(double));
	for (size_t step = 0; step < mr_json_size(losses); step++) {
		read_micro(m, k, step);
		check_near("loss", name, k, graph_run_forward(&r, m->input, m->target),
			   mr_json_double(mr_json_at(losses, step)), F64_TOLERANCE);
		graph_run_backward(&r, false);
		for (uint32_t p = 0; p < m->graph->n_params; p++) {
			mr_optim_call c = {.src = r.w[p], .dst = r.w[p], .state = {state[0][p], state[1][p]},
					   .lr = mr_json_double(mr_json_get(m->record, "lr")), .t = step + 1,
					   .gscale = 1, .lazy_cols = mr_param_lazy_cols(&m->graph->params[p])};

			MR_CHECK_OK(mr_optim_step(&o, &c, k, r.kc, m->graph->params[p].n, r.dw[p]));
		}
	}
	check_tensors(m, "weight", k, MR_F64, r.w, mr_json_get(run, "params"), F64_TOLERANCE);
	for (uint32_t p = 0; p < m->graph->n_params; p++)
		for (int i = 0; i < MR_OPTIM_STATES; i++)
			free(state[i][p]);
	graph_run_fini(&r);
	mr_values_destroy(values);
}

static void steps_leave_rows_that_are_not_met(void)
{
	golden m;

	load(&m);
	check_run(&m, "sgd", "sgd", NULL, NULL);
	check_run(&m, "momentum", "momentum", "mu", "0.9");
	check_run(&m, "adam", "adam", "eps", "1e-20");
	unload(&m);
}

void mr_suite_dlrm_golden(void);

void mr_suite_dlrm_golden(void)
{
	MR_SUITE("dlrm_golden");
	MR_TEST(loss_and_gradients);
	MR_TEST(steps_leave_rows_that_are_not_met);
}
