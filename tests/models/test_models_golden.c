/*
 * test_models_golden.c - whole models against PyTorch's f64 loss and gradients (tests/golden/torch).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "check.h"
#include "golden_files.h"
#include "graph_run.h"
#include "models/registry.h"

#define F64_TOLERANCE 1e-10 /* both sides are f64 and differ by the order of sums */
#define F32_TOLERANCE 1e-5  /* what the recorder saw between its own f32 and f64, times five */

/* A recorded model and the graph that stands for it. */
typedef struct golden {
	mr_json *root;
	const mr_json *record; /* root, or a part of it */
	mr_values *values;
	mr_graph *graph;
	mr_model_data data;
} golden;

static void load(golden *m, const char *file)
{
	char path[MR_GOLDEN_PATH];

	*m = (golden){0};
	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/%s", file), 1 << 24, &m->root));
	m->record = m->root;
}

static int64_t config_int(const golden *m, const char *key)
{
	const mr_json *j = mr_json_get(mr_json_get(m->record, "config"), key);

	CU_ASSERT_FATAL(mr_json_is_int(j));
	return mr_json_int(j);
}

static void build(golden *m, const char *model)
{
	MR_CHECK_OK(mr_model_build(mr_model_find(model), m->values, &m->data, &m->graph));
}

static void unload(golden *m)
{
	mr_graph_destroy(m->graph);
	mr_values_destroy(m->values);
	mr_json_destroy(m->root);
}

static void load_gpt(golden *m, const char *file)
{
	bool tied;

	load(m, file);
	tied = mr_json_bool(mr_json_get(mr_json_get(m->record, "config"), "tied"));
	MR_CHECK_OK(mr_values_create(mr_model_find("gpt")->options, &m->values));
	MR_CHECK_OK(mr_values_set_int(m->values, "layers", config_int(m, "n_layer")));
	MR_CHECK_OK(mr_values_set_int(m->values, "width", config_int(m, "n_embd")));
	MR_CHECK_OK(mr_values_set_int(m->values, "heads", config_int(m, "n_head")));
	MR_CHECK_OK(mr_values_set_int(m->values, "context", config_int(m, "block")));
	MR_CHECK_OK(mr_values_set_bool(m->values, "tied", tied));
	m->data = (mr_model_data){
		.input = {config_int(m, "block"), 1, true},
		.target = {config_int(m, "block"), 1, true},
		.classes = config_int(m, "vocab"),
	};
	build(m, "gpt");
}

/* @part: NULL for the classifier, "mse" for the regression. */
static void load_mlp(golden *m, const char *part)
{
	const mr_json *sizes;
	double hidden[8];
	size_t n;
	int64_t out;

	load(m, "mlp.json");
	if (part)
		m->record = mr_json_get(m->root, part);
	sizes = mr_json_get(mr_json_get(m->record, "config"), "sizes");
	n = mr_json_size(sizes);
	CU_ASSERT_FATAL(n >= 3 && n <= 8);
	for (size_t i = 1; i + 1 < n; i++)
		hidden[i - 1] = mr_json_double(mr_json_at(sizes, i));
	out = mr_json_int(mr_json_at(sizes, n - 1));
	MR_CHECK_OK(mr_values_create(mr_model_find("mlp")->options, &m->values));
	MR_CHECK_OK(mr_values_set_floats(m->values, "hidden", hidden, n - 2));
	MR_CHECK_OK(mr_values_set_string(m->values, "activation", part ? "gelu" : "relu"));
	m->data = (mr_model_data){
		.input = {1, mr_json_int(mr_json_at(sizes, 0)), false},
		.target = {1, part ? out : 1, !part},
		.classes = part ? 0 : out,
	};
	build(m, "mlp");
}

/* Entry @i of a list, or of a list of equal lists, read row by row. */
static double flat(const mr_json *list, size_t i)
{
	const mr_json *first = mr_json_at(list, 0);
	size_t cols = mr_json_size(first);

	return mr_json_double(mr_json_is_array(first) ? mr_json_at(mr_json_at(list, i / cols), i % cols)
						      : mr_json_at(list, i));
}

static void *read_end(const graph_run *r, const mr_json *list, mr_shape shape)
{
	int64_t n = r->samples * shape.rows * shape.cols;
	void *p = calloc((size_t)n, 8);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	for (int64_t i = 0; i < n; i++) {
		if (shape.tokens)
			((int32_t *)p)[i] = (int32_t)flat(list, (size_t)i);
		else
			graph_run_set(r, p, i, flat(list, (size_t)i));
	}
	return p;
}

static void read_params(const golden *m, graph_run *r)
{
	const mr_json *params = mr_json_get(m->record, "params"), *shapes = mr_json_get(m->record, "shapes");
	size_t n_own = 0;

	for (uint32_t p = 0; p < m->graph->n_params; p++) {
		const mr_param *param = &m->graph->params[p];
		const mr_json *list = mr_json_get(params, param->name), *shape = mr_json_get(shapes, param->name);

		if (param->tied_to >= 0)
			continue;
		n_own++;
		if (!list)
			fprintf(stderr, "\nno recorded parameter is called %s\n", param->name);
		CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)param->n);
		CU_ASSERT_EQUAL_FATAL(mr_json_size(shape), param->rank);
		for (uint32_t d = 0; d < param->rank; d++)
			CU_ASSERT_EQUAL_FATAL(mr_json_int(mr_json_at(shape, d)), param->dim[d]);
		for (int64_t i = 0; i < param->n; i++)
			graph_run_set(r, r->w[p], i, mr_json_double(mr_json_at(list, (size_t)i)));
	}
	CU_ASSERT_EQUAL(n_own, mr_json_size(params));
}

static void check_list(const graph_run *r, const char *name, const mr_json *list, const double *got, double tolerance)
{
	for (size_t i = 0; i < mr_json_size(list); i++) {
		double want = mr_json_double(mr_json_at(list, i));
		bool ok = fabs(got[i] - want) <= tolerance * (1 + fabs(want));

		if (!ok)
			fprintf(stderr, "\n%s, %s %s: [%zu] is %.17g, recorded %.17g\n", name, r->k->name,
				mr_dtype_name(r->k->dtype), i, got[i], want);
		CU_ASSERT_FATAL(ok);
	}
}

/* The gradient of @param as numbers, plus those of the parameters tied to it, over @count. The caller frees it. */
static double *gradient_of(const graph_run *r, uint32_t param, bool with_tied, double count)
{
	int64_t n = r->g->params[param].n;
	double *sum = calloc((size_t)n, sizeof(*sum));

	CU_ASSERT_PTR_NOT_NULL_FATAL(sum);
	for (uint32_t p = 0; p < r->g->n_params; p++)
		if (p == param || (with_tied && r->g->params[p].tied_to == (int32_t)param))
			for (int64_t i = 0; i < n; i++)
				sum[i] += graph_run_get(r, r->dw[p], i) / count;
	return sum;
}

static void check_gradients(const golden *m, const graph_run *r, double count, double tolerance)
{
	const mr_json *grads = mr_json_get(m->record, "grads"), *apart = mr_json_get(m->record, "grads_wte");
	double *sum;

	for (uint32_t p = 0; p < r->g->n_params; p++) {
		const mr_param *param = &r->g->params[p];

		if (param->tied_to >= 0)
			continue;
		CU_ASSERT_EQUAL_FATAL(mr_json_size(mr_json_get(grads, param->name)), (size_t)param->n);
		sum = gradient_of(r, p, true, count);
		check_list(r, param->name, mr_json_get(grads, param->name), sum, tolerance);
		free(sum);
	}
	if (apart) {
		sum = gradient_of(r, mr_graph_find_param(r->g, "wte.weight"), false, count);
		check_list(r, "wte as embedding", mr_json_get(apart, "embedding"), sum, tolerance);
		free(sum);
		sum = gradient_of(r, mr_graph_find_param(r->g, "lm_head.weight"), false, count);
		check_list(r, "wte as head", mr_json_get(apart, "head"), sum, tolerance);
		free(sum);
	}
}

/* The recorded batch in @n_micro micro-batches: the mean of their losses and gradients is the batch's. */
static void check_on(const golden *m, const mr_kernels *k, int64_t n_micro, double tolerance)
{
	int64_t batch = (int64_t)mr_json_size(mr_json_get(m->record, "inputs"));
	double loss = 0, want = mr_json_double(mr_json_get(m->record, "loss"));
	size_t size = mr_dtype_bytes(k->dtype), in_bytes, target_bytes;
	char *input, *target;
	graph_run r;

	CU_ASSERT_FATAL(batch > 0 && batch % n_micro == 0);
	graph_run_init(&r, m->graph, k, batch, 1);
	read_params(m, &r);
	input = read_end(&r, mr_json_get(m->record, "inputs"), m->data.input);
	target = read_end(&r, mr_json_get(m->record, "targets"), m->data.target);
	r.samples = batch / n_micro;
	in_bytes = (size_t)(r.samples * m->data.input.rows * m->data.input.cols) * (m->data.input.tokens ? 4 : size);
	target_bytes = (size_t)(r.samples * m->data.target.rows * m->data.target.cols) *
		       (m->data.target.tokens ? 4 : size);
	for (int64_t i = 0; i < n_micro; i++) {
		loss += graph_run_forward(&r, input + (size_t)i * in_bytes, target + (size_t)i * target_bytes);
		graph_run_backward(&r, i > 0);
	}
	loss /= (double)n_micro;
	CU_ASSERT_DOUBLE_EQUAL(loss, want, tolerance * want);
	check_gradients(m, &r, (double)n_micro, tolerance);
	free(input);
	free(target);
	graph_run_fini(&r);
}

static void check_model(golden *m)
{
	const mr_kernels *dnnl = mr_kernels_find("fused", MR_F32);

	check_on(m, mr_kernels_find("reference", MR_F64), 1, F64_TOLERANCE);
	check_on(m, mr_kernels_find("reference", MR_F64), 3, F64_TOLERANCE);
	check_on(m, mr_kernels_find("reference", MR_F32), 1, F32_TOLERANCE);
	if (dnnl)
		check_on(m, dnnl, 1, F32_TOLERANCE);
	if (dnnl)
		check_on(m, dnnl, 3, F32_TOLERANCE);
	unload(m);
}

static void gpt(void)
{
	golden m;

	load_gpt(&m, "gpt.json");
	CU_ASSERT(mr_graph_find_param(m.graph, "lm_head.weight") != UINT32_MAX);
	check_model(&m);
}

static void gpt_tied(void)
{
	golden m;

	load_gpt(&m, "gpt_tied.json");
	check_model(&m);
}

static void mlp_classes(void)
{
	golden m;

	load_mlp(&m, NULL);
	check_model(&m);
}

static void mlp_numbers(void)
{
	golden m;

	load_mlp(&m, "mse");
	check_model(&m);
}

void mr_suite_models_golden(void); /* the runner declares it too */

void mr_suite_models_golden(void)
{
	MR_SUITE("models_golden");
	MR_TEST(gpt);
	MR_TEST(gpt_tied);
	MR_TEST(mlp_classes);
	MR_TEST(mlp_numbers);
}
