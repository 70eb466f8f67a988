/*
 * test_models_golden.c - whole models against PyTorch's f64 loss and gradients, and in bf16 against those of its
 * autocast (tests/golden/torch).
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

#define F64_TOLERANCE 1e-10 /* both sides are f64 and differ by the order of sums */
#define F32_TOLERANCE 1e-5  /* what the recorders saw between their own f32 and f64, times five or more */

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

/* @part: "own" or "tied", the head. */
static void load_llama(golden *m, const char *part)
{
	static const char *const same[] = {"layers", "width", "heads", "kv_heads", "hidden"};
	const mr_json *config;

	load(m, "llama.json");
	m->record = mr_json_get(m->root, part);
	config = mr_json_get(m->record, "config");
	MR_CHECK_OK(mr_values_create(mr_model_find("llama")->options, &m->values));
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		MR_CHECK_OK(mr_values_set_int(m->values, same[i], config_int(m, same[i])));
	MR_CHECK_OK(mr_values_set_int(m->values, "context", config_int(m, "block")));
	MR_CHECK_OK(mr_values_set_float(m->values, "eps", mr_json_double(mr_json_get(config, "eps"))));
	MR_CHECK_OK(mr_values_set_float(m->values, "rope_theta", mr_json_double(mr_json_get(config, "theta"))));
	MR_CHECK_OK(mr_values_set_bool(m->values, "tied", mr_json_bool(mr_json_get(config, "tied"))));
	m->data = (mr_model_data){
		.input = {config_int(m, "block"), 1, true},
		.target = {config_int(m, "block"), 1, true},
		.classes = config_int(m, "vocab"),
	};
	build(m, "llama");
}

static void load_vit(golden *m)
{
	static const char *const same[] = {"layers", "width", "heads", "hidden", "patch"};
	int64_t side;

	load(m, "vit.json");
	side = config_int(m, "side");
	MR_CHECK_OK(mr_values_create(mr_model_find("vit")->options, &m->values));
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		MR_CHECK_OK(mr_values_set_int(m->values, same[i], config_int(m, same[i])));
	m->data = (mr_model_data){
		.input = {1, side * side * config_int(m, "channels"), false},
		.image = mr_shape_of(3, (const int64_t[]){side, side, config_int(m, "channels")}, false),
		.target = {1, 1, true},
		.classes = config_int(m, "classes"),
	};
	build(m, "vit");
}

static void load_gnmt(golden *m)
{
	load(m, "gnmt.json");
	m->record = mr_json_get(m->root, "model");
	MR_CHECK_OK(mr_values_create(mr_model_find("gnmt")->options, &m->values));
	MR_CHECK_OK(mr_values_set_int(m->values, "layers", config_int(m, "layers")));
	MR_CHECK_OK(mr_values_set_int(m->values, "width", config_int(m, "width")));
	MR_CHECK_OK(mr_values_set_float(m->values, "dropout", 0));
	m->data = (mr_model_data){
		.input = {config_int(m, "rows") + config_int(m, "out_rows"), 1, true},
		.target = {config_int(m, "out_rows"), 1, true},
		.classes = config_int(m, "target"),
		.source_classes = config_int(m, "source"),
	};
	build(m, "gnmt");
}

static void load_s2vt(golden *m)
{
	static const char *const same[] = {"projection", "embed", "width"};

	load(m, "s2vt.json");
	MR_CHECK_OK(mr_values_create(mr_model_find("s2vt")->options, &m->values));
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		MR_CHECK_OK(mr_values_set_int(m->values, same[i], config_int(m, same[i])));
	m->data = (mr_model_data){
		.input = {config_int(m, "frames") * config_int(m, "features") + config_int(m, "rows"), 1, true},
		.target = {config_int(m, "rows"), 1, true},
		.classes = config_int(m, "vocab"),
		.frames = config_int(m, "frames"),
	};
	build(m, "s2vt");
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

static void *read_end(const graph_run *r, const mr_json *list, mr_shape shape, mr_dtype type)
{
	int64_t n = r->samples * shape.rows * shape.cols;
	void *p = calloc((size_t)n, 8);

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	for (int64_t i = 0; i < n; i++) {
		if (shape.tokens)
			((int32_t *)p)[i] = (int32_t)flat(list, (size_t)i);
		else
			mr_element_put(type, p, i, flat(list, (size_t)i));
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
		for (uint32_t d = 0; d < param->rank; d++) {
			bool turned = mr_golden_at(params, param->name, 2, 2, 1) != 1;

			CU_ASSERT_EQUAL_FATAL(mr_json_int(mr_json_at(shape, d)), param->dim[turned ? 1 - d : d]);
		}
		for (int64_t i = 0; i < param->n; i++)
			mr_element_put(r->k->types.weights, r->w[p], i,
				       mr_json_double(mr_json_at(list, mr_golden_at(params, param->name, param->dim[0],
										    param->dim[1], (size_t)i))));
	}
	CU_ASSERT_EQUAL(n_own, mr_json_size(params));
}

/* @p: the parameter, whose name in @table is @key. */
static void check_list(const graph_run *r, const char *name, const mr_json *table, const char *key, uint32_t p,
		       const double *got, double tolerance)
{
	const mr_json *list = mr_json_get(table, key);
	const int64_t *dim = r->g->params[p].dim;

	for (size_t i = 0; i < mr_json_size(list); i++) {
		double want = mr_json_double(mr_json_at(list, mr_golden_at(table, key, dim[0], dim[1], i)));
		bool ok = fabs(got[i] - want) <= tolerance * (1 + fabs(want));

		if (!ok)
			fprintf(stderr, "\n%s, %s %s: [%zu] is %.17g, recorded %.17g\n", name, r->k->name,
				mr_types_name(&r->k->types), i, got[i], want);
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
				sum[i] += mr_element(r->k->types.gradients, r->dw[p], i) / count;
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
		check_list(r, param->name, grads, param->name, p, sum, tolerance);
		free(sum);
	}
	if (apart) {
		uint32_t embedding = mr_graph_find_param(r->g, "wte.weight");
		uint32_t head = mr_graph_find_param(r->g, "lm_head.weight");

		sum = gradient_of(r, embedding, false, count);
		check_list(r, "wte as embedding", apart, "embedding", embedding, sum, tolerance);
		free(sum);
		sum = gradient_of(r, head, false, count);
		check_list(r, "wte as head", apart, "head", head, sum, tolerance);
		free(sum);
	}
}

/* The recorded batch in @n_micro micro-batches: the mean of their losses and gradients is the batch's. */
static void check_on(const golden *m, const mr_kernels *k, int64_t n_micro, double tolerance)
{
	int64_t batch = (int64_t)mr_json_size(mr_json_get(m->record, "inputs"));
	double loss = 0, want = mr_json_double(mr_json_get(m->record, "loss"));
	mr_dtype in_type = k->types.activations, target_type = k->types.compute;
	size_t in_bytes, target_bytes;
	char *input, *target;
	graph_run r;

	CU_ASSERT_FATAL(batch > 0 && batch % n_micro == 0);
	graph_run_init(&r, m->graph, k, batch, 1);
	read_params(m, &r);
	input = read_end(&r, mr_json_get(m->record, "inputs"), m->data.input, in_type);
	target = read_end(&r, mr_json_get(m->record, "targets"), m->data.target, target_type);
	r.samples = batch / n_micro;
	in_bytes = (size_t)r.samples * mr_shape_bytes(m->data.input, in_type);
	target_bytes = (size_t)r.samples * mr_shape_bytes(m->data.target, target_type);
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

static void llama(void)
{
	golden m;

	load_llama(&m, "own");
	check_model(&m);
	load_llama(&m, "tied");
	check_model(&m);
}

static void vit(void)
{
	golden m;

	load_vit(&m);
	check_model(&m);
}

/* Sentences of different lengths: padding in the encoder, in the attention and in the loss. */
static void gnmt(void)
{
	golden m;

	load_gnmt(&m);
	check_model(&m);
}

static void s2vt(void)
{
	golden m;

	load_s2vt(&m);
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

/* --- in bf16, against PyTorch's autocast --- */

/*
 * How far a gradient may be from autocast's, as the norm of the difference over the norm. A rounding to bf16 is off by
 * at most u = 2^-9 of a number. On the way to a gradient lie at most R of them. Forward through a block of the gpt: two
 * norms, four products and their weights, the activation, probabilities and their product, two sums, 15; two blocks,
 * table, sum, norm, head and its weight, 35; as many back: 70. Through the mlp: input, three products and their
 * weights, two activations, 9; as many back, and the gradient of the logits: 19. They are independent, so their squares
 * add: sqrt(R) u for one side, sqrt(2 R) u for the difference of two that round in different places. A rounding is off
 * by u / 2.4 on the average of squares: what is left, a factor of 2.4, is for norms and softmax, which pass on more
 * than they get, and for tensors of few numbers.
 */
static double allowed(int roundings)
{
	return sqrt(2.0 * roundings) / 512;
}

enum { MLP_ROUNDINGS = 19, GPT_ROUNDINGS = 70 };

static const mr_kernels *right; /* what wrong kernels are made of */

/* Every number a unit too small. */
static mr_status low_gemm(mr_kctx *kc, const mr_gemm_args *o)
{
	const mr_gemm *g = o->g;
	uint16_t *y = o->c;

	MR_TRY(right->gemm(kc, o));
	for (int64_t i = 0; g->of == MR_GEMM_ACTIVATIONS && i < g->m * g->n; i++)
		y[i] = (uint16_t)(y[i] - ((y[i] & 0x7fff) != 0));
	return MR_OK;
}

static void larger(uint16_t *x, int64_t n, float by)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = mr_bf16_round(mr_bf16_widen(x[i]) * by);
}

static mr_status large_act_backward(mr_kctx *kc, const mr_act_backward_args *o)
{
	MR_TRY(right->act_backward(kc, o));
	larger(o->dz, o->n, 1.0625f);
	return MR_OK;
}

static mr_status large_attn_backward(mr_kctx *kc, const mr_attn_backward_args *o)
{
	MR_TRY(right->attn_backward(kc, o));
	larger(o->dqkv, o->a->samples * o->a->t * o->a->heads * o->a->dim * 3, 1.0625f);
	return MR_OK;
}

static mr_status large_norm_backward(mr_kctx *kc, const mr_norm_backward_input_args *o)
{
	MR_TRY(right->norm_backward_input(kc, o));
	larger(o->dx, o->rows * o->cols, 1.0625f);
	return MR_OK;
}

/* The distance of the gradient of parameter @p from that in @grads. Those of keys' biases are 0 but for rounding. */
static double distance_of(const graph_run *r, uint32_t p, const mr_json *grads)
{
	const mr_param *param = &r->g->params[p];
	const mr_json *list = mr_json_get(grads, param->name);
	double *got = gradient_of(r, p, true, 1), off = 0, size = 0;
	bool keys = strstr(param->name, "c_attn.bias");

	CU_ASSERT_EQUAL_FATAL(mr_json_size(list), (size_t)param->n);
	for (int64_t i = 0; i < param->n; i++) {
		double want = mr_json_double(mr_json_at(
			list, mr_golden_at(grads, param->name, param->dim[0], param->dim[1], (size_t)i)));

		if (keys && i >= param->n / 3 && i < param->n / 3 * 2)
			continue;
		off += (got[i] - want) * (got[i] - want);
		size += want * want;
	}
	free(got);
	return sqrt(off / size);
}

/* The largest distance of a gradient from @recorded; the loss to *@loss. */
static double farthest(const golden *m, const mr_kernels *k, const mr_json *recorded, const char **name, double *loss)
{
	const mr_json *grads = mr_json_get(recorded, "grads");
	double most = 0;
	char *input, *target;
	graph_run r;

	graph_run_init(&r, m->graph, k, (int64_t)mr_json_size(mr_json_get(m->record, "inputs")), 1);
	read_params(m, &r);
	input = read_end(&r, mr_json_get(m->record, "inputs"), m->data.input, k->types.activations);
	target = read_end(&r, mr_json_get(m->record, "targets"), m->data.target, k->types.compute);
	*loss = graph_run_forward(&r, input, target);
	graph_run_backward(&r, false);
	for (uint32_t p = 0; p < m->graph->n_params; p++) {
		double d = distance_of(&r, p, grads);

		*name = d >= most ? m->graph->params[p].name : *name;
		most = d >= most ? d : most;
	}
	free(input);
	free(target);
	graph_run_fini(&r);
	return most;
}

/* Kernels that are wrong by as little as a unit or a sixteenth are beyond the bound. */
static void wrong_kernels_show(const golden *m, const mr_json *recorded, int roundings, bool has_attention)
{
	mr_kernels wrong[4] = {*right, *right, *right, *right};
	const char *name;
	double loss;

	wrong[0].gemm = low_gemm;
	wrong[1].act_backward = large_act_backward;
	wrong[2].attn_backward = large_attn_backward;
	wrong[3].norm_backward_input = large_norm_backward;
	for (int i = 0; i < (has_attention ? 4 : 2); i++)
		CU_ASSERT(farthest(m, &wrong[i], recorded, &name, &loss) > allowed(roundings));
}

static void check_bf16(golden *m, const char *part, int roundings)
{
	static const char *const backends[] = {"reference", "onednn", "fused"};
	char path[MR_GOLDEN_PATH];
	const mr_json *recorded;
	mr_json *root;

	MR_CHECK_OK(mr_json_read_file(mr_golden_path(path, "torch/bf16.json"), 1 << 24, &root));
	recorded = mr_json_get(root, part);
	for (int i = 0; i < 6; i++) {
		const char *backend = backends[i / 2], *name = "";
		const mr_kernels *k = mr_kernels_of(backend, i % 2 ? MR_AS_bf16_pure : MR_AS_bf16);
		double want = mr_json_double(mr_json_get(recorded, "loss")), d, loss;

		if (!k)
			continue;
		d = farthest(m, k, recorded, &name, &loss);
		if (!(d <= allowed(roundings)))
			fprintf(stderr, "\n%s %s, %s: the gradient of %s is %.3g away, allowed is %.3g\n", part,
				backend, mr_types_name(&k->types), name, d, allowed(roundings));
		CU_ASSERT(d <= allowed(roundings));
		CU_ASSERT_DOUBLE_EQUAL(loss, want, allowed(roundings) * want);
	}
	right = mr_kernels_find("reference", MR_BF16);
	wrong_kernels_show(m, recorded, roundings, mr_graph_find_param(m->graph, "wte.weight") != UINT32_MAX);
	mr_json_destroy(root);
	unload(m);
}

static void gpt_bf16(void)
{
	golden m;

	load_gpt(&m, "gpt.json");
	check_bf16(&m, "gpt", GPT_ROUNDINGS);
}

static void mlp_bf16(void)
{
	golden m;

	load_mlp(&m, NULL);
	check_bf16(&m, "mlp", MLP_ROUNDINGS);
	load_mlp(&m, "mse");
	check_bf16(&m, "mse", MLP_ROUNDINGS);
}

void mr_suite_models_golden(void); /* the runner declares it too */

void mr_suite_models_golden(void)
{
	MR_SUITE("models_golden");
	MR_TEST(gpt);
	MR_TEST(gpt_tied);
	MR_TEST(llama);
	MR_TEST(gnmt);
	MR_TEST(s2vt);
	MR_TEST(vit);
	MR_TEST(mlp_classes);
	MR_TEST(mlp_numbers);
	MR_TEST(gpt_bf16);
	MR_TEST(mlp_bf16);
}
